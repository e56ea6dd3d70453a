"""What collect finds, with gradients on request, and what it and the monitor report about attention they cannot see."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from watched import HEADS, LENGTH, WIDTH, Attention, Model, inputs, rows_of

import isentropic
from isentropic.regularisers import EntropyRegulariser

pytestmark = pytest.mark.usefixtures("one_thread")


class PlainAttention(Attention):
    """Like its parent, with PyTorch's own call."""

    def forward(self, x):
        y = F.scaled_dot_product_attention(*self.project(x), is_causal=True)
        return x + y.transpose(1, 2).flatten(2)


class Shared(nn.Module):
    """One layer used in several places."""

    def __init__(self, places):
        super().__init__()
        self.layer = Attention()
        self.places = places

    def forward(self, x):
        for _ in range(self.places):
            x = self.layer(x)
        return x


class Watch:
    """The two ways to watch a model, under one name."""

    collect = staticmethod(isentropic.hf.collect)
    monitor = staticmethod(isentropic.Monitor)


both = pytest.mark.parametrize("watch", [Watch.collect, Watch.monitor], ids=["collect", "Monitor"])


# ---- what is found ----


def test_a_shared_layer_has_an_entry_for_every_place():
    model = Shared(3)
    with torch.no_grad(), isentropic.collect(model, "entropy") as layers, isentropic.Monitor(model) as monitor:
        x = inputs()
        model(x)
    assert list(layers) == list(monitor.last) == ["layer", "layer#2", "layer#3"]
    for aux in layers.values():
        assert torch.equal(aux.entropy, rows_of(model.layer, x).entropy)
        with torch.no_grad():
            x = model.layer(x)
    model.places = 2
    with isentropic.collect(model, "entropy") as layers:
        model(inputs())
        assert list(layers) == ["layer", "layer#2"]
        model.places = 1
        model(inputs())
    assert list(layers) == ["layer"]


def test_every_forward_can_be_kept():
    model = Model(Attention(), Attention())
    with torch.no_grad(), isentropic.collect(model, "entropy", keep="all") as layers:
        for seed in (1, 2, 3):
            model(inputs(seed))
    assert list(layers) == ["layers.0", "layers.1"]
    expected = [rows_of(model.layers[0], inputs(seed)).entropy for seed in (1, 2, 3)]
    assert all(torch.equal(aux.entropy, rows) for aux, rows in zip(layers["layers.0"], expected, strict=True))


@pytest.mark.parametrize("options, error, words", [
    ({"keep": "first"}, ValueError, "keep is 'first'; expected 'last' or 'all'"),
    ({"statistics": ("entropy", "entropie")}, ValueError, "statistics has 'entropie'; expected 'all' or some of .*entropy.*first_mass"),
    ({"statistics": "entropie"}, ValueError, "'entropie'"),
    ({"statistics": 3}, TypeError, "statistics is a int; expected names, or 'all'"),
])  # fmt: skip
def test_mistakes_are_named(options, error, words):
    with pytest.raises(error, match=words), isentropic.collect(Model(), **options):
        pass


# ---- gradients ----


def of_parameters(loss, model):
    return torch.autograd.grad(loss, list(model.parameters()))


def written_out(model, x):
    """The regulariser of the model's own entropies, written with PyTorch's operators."""
    entropies = []
    for layer in model.layers:
        query, key, _ = layer.project(x)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        seen = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        log_p = scores.masked_fill(~seen, -1e9).log_softmax(-1)
        entropies.append(-(log_p.exp() * log_p).sum(-1)[..., 1:].mean())
        x = torch.tanh(layer(x))
    return -0.5 * torch.stack(entropies).mean()


@pytest.mark.parametrize("checkpointed", [None, False], ids=["plain", "checkpointed"])
@pytest.mark.parametrize("kind", [Attention, PlainAttention])
def test_a_regulariser_reaches_the_parameters(kind, checkpointed):
    model = Model(kind(), kind(), checkpointed=checkpointed)
    regulariser = EntropyRegulariser(0.5, normalised=False)
    with isentropic.replace_sdpa(), isentropic.collect(model, ("entropy", "visible"), detach=False) as layers:
        model(inputs())
        found = of_parameters(regulariser(layers), model)
    for ours, expected in zip(found, of_parameters(written_out(model, inputs()), model)):
        torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-4)
    assert any(gradient.abs().max() > 1e-4 for gradient in found)


def test_a_repeated_forward_without_the_statistics_is_refused():
    model = Model(Attention(), checkpointed=False)
    with isentropic.collect(model, detach=False) as layers:
        output = model(inputs())
    loss = EntropyRegulariser(0.5)(layers)
    with pytest.raises(ValueError, match="inside of the same isentropic.collect"):
        loss.backward()
    output.sum().backward()  # needs no statistics


def test_the_gradient_of_every_kept_forward():
    model = Model(Attention())
    with isentropic.collect(model, ("entropy", "visible"), detach=False, keep="all") as layers:
        for seed in (1, 2):
            model(inputs(seed))
    regulariser = EntropyRegulariser(0.5, normalised=False)
    found = of_parameters(regulariser(layers), model)
    each = [of_parameters(written_out(model, inputs(seed)), model) for seed in (1, 2)]
    for ours, first, second in zip(found, *each):
        torch.testing.assert_close(ours, (first + second) / 2, atol=1e-6, rtol=1e-4)


def test_statistics_without_a_gradient_are_refused():
    model, regulariser = Model(Attention()), EntropyRegulariser(0.5)
    with isentropic.collect(model) as detached:
        model(inputs())
    words = r"normalised_entropy has no gradient; expected that of isentropic.collect\(model, detach=False\)"
    with pytest.raises(ValueError, match=words):
        regulariser(detached)
    with torch.no_grad():  # evaluation needs no gradient
        assert regulariser(detached) < 0
    assert regulariser.direction == "encourage"
    model = Model(Attention(map="sparsemax"))
    with isentropic.collect(model, detach=False) as of_another_map:
        model(inputs())
    with pytest.raises(ValueError, match=words):
        regulariser(of_another_map)
    reentrant = Model(Attention(), checkpointed=True)
    with isentropic.collect(reentrant, detach=False) as without_a_graph:
        reentrant(inputs().requires_grad_())
    with pytest.raises(ValueError, match=words):
        regulariser(without_a_graph)


# ---- what is not seen ----


def told(watch, model, run):
    """The warnings of one watch during ``run``."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with watch(model):
            run()
    assert all(warning.filename == __file__ for warning in told)
    return [str(warning.message) for warning in told]


def running(model):
    return model, lambda: model(inputs())


@both
def test_seen_attention_is_passed_over_in_silence(watch):
    assert told(watch, *running(Model(Attention(), Attention()))) == []
    assert told(watch, *running(Attention(calls=2))) == []
    model = Model(Attention(), checkpointed=True)
    assert told(watch, model, lambda: model(inputs().requires_grad_()).sum().backward()) == []
    with isentropic.replace_sdpa():
        assert told(watch, *running(Model(PlainAttention()))) == []


@both
def test_attention_of_pytorch_is_pointed_out_once(watch):
    model = Model(Attention(), PlainAttention(), PlainAttention())
    (message,) = told(watch, model, lambda: [model(inputs()) for _ in range(3)])
    assert "sees no attention in layers.1, layers.2: PlainAttention does not call isentropic.attention" in message
    assert "run it inside isentropic.replace_sdpa()" in message


@both
def test_two_levels_say_where_their_entropies_are(watch):
    (message,) = told(watch, *running(isentropic.nn.HierarchicalAttention(WIDTH, HEADS, block=4)))
    assert "attention in two levels does not report; HierarchicalAttention returns its entropies itself" in message


@both
def test_a_model_without_a_module_to_name_is_named_itself(watch):
    class Mixer(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x)

    (message,) = told(watch, *running(nn.Sequential(Mixer())))
    assert "sees no attention in Sequential: Sequential does not call isentropic.attention" in message


@both
def test_multi_head_attention_says_what_it_needs(watch):
    class Wrapped(nn.MultiheadAttention):
        def forward(self, x, need_weights=True):
            return super().forward(x, x, x, need_weights=need_weights)[0]

    model = Wrapped(WIDTH, HEADS, batch_first=True)
    with isentropic.replace_sdpa():
        (message,) = told(watch, *running(model))
        assert told(watch, model, lambda: model(inputs(), need_weights=False)) == []
    assert "sees no attention in Wrapped: Wrapped is seen inside isentropic.replace_sdpa()" in message
    assert "need_weights=False" in message


@pytest.mark.parametrize("compile_it", [
    lambda model: model.compile(backend="eager"),
    lambda model: model.layers[0].compile(backend="eager"),
    lambda model: setattr(model.layers, "0", torch.compile(model.layers[0], backend="eager")),
], ids=["model", "layer", "wrapped layer"])  # fmt: skip
def test_rows_of_compiled_modules_are_not_collected(compile_it):
    torch._dynamo.reset()
    model = Model(Attention())
    compile_it(model)
    (message,) = told(Watch.collect, *running(model))
    assert "it is compiled, and a compiled graph cannot report rows" in message and "isentropic.Monitor" in message


@pytest.mark.parametrize("warm", [False, True], ids=["compiled inside", "compiled before"])
def test_a_model_that_runs_compiled_around_the_collection_is_pointed_out(warm):
    torch._dynamo.reset()
    model = Model(Attention())
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    if warm:
        compiled(inputs())
    (message,) = told(Watch.collect, model, lambda: compiled(inputs()))
    assert "sees no attention in Model: no forward pass of it was seen" in message and "compiled" in message


@both
def test_a_watch_that_fails_tells_the_failure_alone(watch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError), watch(Model(Attention())):
            1 / 0
        model = Model(nn.Identity())
        model.layers[0].forward = lambda x: 1 / 0
        with pytest.raises(ZeroDivisionError), watch(model):
            model(inputs())


def test_steps_that_are_not_watched_are_not_missed():
    model = Model(Attention())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with isentropic.Monitor(model, every=2) as monitor:
            for _ in range(4):
                model(inputs())
                monitor.step()
    assert list(monitor.history) == [0, 2]
