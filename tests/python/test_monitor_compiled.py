"""The monitor inside compiled graphs: the same numbers as in eager mode, with each forward pass counted once."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from functorch.compile import make_boxed_func
from torch._dynamo.testing import CompileCounterWithBackend
from torch._functorch.aot_autograd import aot_module_simplified
from watched import BATCH, HEADS, LENGTH, WIDTH, Attention, Model, inputs, rows_of

import isentropic

pytestmark = pytest.mark.usefixtures("one_thread", "forgotten_graphs")


@pytest.fixture
def forgotten_graphs():
    torch._dynamo.reset()


def watched(model, run, **options):
    """A monitor's results for two steps, and each layer's rows in the last one."""
    with warnings.catch_warnings(), isentropic.Monitor(model, **options) as monitor:
        warnings.filterwarnings("error", message=".*isentropic")
        for step in range(2):
            run(inputs(step)).sum().backward()
            rows = {layer: tally["rows"].tolist() for layer, tally in monitor._tallies.items()}
            monitor.step()
    return monitor, rows


def assert_same(one, other):
    assert list(one.history) == list(other.history)
    for step, layers in one.history.items():
        assert list(layers) == list(other.history[step])
        for layer, record in layers.items():
            assert record.keys() == other.history[step][layer].keys()
            for name, values in record.items():
                assert other.history[step][layer][name] == pytest.approx(values, rel=1e-5, abs=1e-6), (layer, name)


def whole(model, counter):
    return torch.compile(model, backend=counter, fullgraph=True)


def by_layer(model, counter):
    for layer in model.layers:
        layer.compile(backend=counter, fullgraph=True)
    return model


@pytest.mark.parametrize("checkpointed", [None, False], ids=["plain", "checkpointed"])
@pytest.mark.parametrize("compile_it", [whole, by_layer])
def test_graphs_say_what_eager_mode_says(compile_it, checkpointed):
    layers = (Attention(soft_cap=2.0), Attention(soft_cap=2.0), Attention(calls=2))
    model = Model(*layers, checkpointed=checkpointed)
    eager, rows = watched(model, model)
    assert rows["layers.2#2"] == [BATCH * LENGTH] * HEADS
    counter = CompileCounterWithBackend("aot_eager")
    compiled = compile_it(model, counter)
    compiled(inputs()).sum().backward()
    before = counter.frame_count
    found, rows_of_graphs = watched(model, compiled)
    assert_same(eager, found)
    assert rows_of_graphs == rows
    compiled_once = counter.frame_count
    assert compiled_once == 2 * before  # each graph compiled once more
    compiled(inputs()).sum().backward()
    assert_same(eager, watched(model, compiled)[0])
    assert counter.frame_count == compiled_once  # both kinds stay cached


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        return self.attention(x)


def test_layers_of_one_class_share_their_graph():
    model = Model(*(Block() for _ in range(10)))
    counter = CompileCounterWithBackend("eager")
    found, _ = watched(model, by_layer(model, counter))
    assert len(found.last) == 10
    assert counter.frame_count == 2  # inputs with and without a gradient


def test_classes_of_layers_may_be_many():
    """Dynamo limits how often the same code is compiled, including that of hooks."""
    layers = []
    for _ in range(torch._dynamo.config.recompile_limit + 2):
        own = {}
        exec("def forward(self, x):\n    return isentropic.attention(*self.project(x)).flatten(2)", globals(), own)
        layers.append(type("Own", (Attention,), own)())
    model = nn.ModuleList(layer.compile(backend="eager", fullgraph=True) or layer for layer in layers)
    with isentropic.Monitor(model) as monitor:
        for layer in model:
            layer(inputs())
    assert len(monitor.last) == len(layers)


def test_one_graph_for_all_lengths():
    model = Model(Attention())
    compiled = torch.compile(model, backend="eager", fullgraph=True, dynamic=True)
    lengths = (LENGTH, LENGTH - 7, LENGTH - 11)
    found, eager = (isentropic.Monitor(model) for _ in range(2))
    for monitor, run in ((found, compiled), (eager, model)):
        with monitor:
            for length in lengths:
                run(inputs()[:, :length])
    assert_same(eager, found)


def test_a_step_may_be_compiled_around_the_model():
    model = Model(Attention(), nn.Sequential(Attention()))
    step = torch.compile(lambda x: model(x).square(), backend="eager", fullgraph=True)
    assert_same(watched(model, model)[0], watched(model, step)[0])


def test_graphs_that_break_are_seen():
    class Broken(Attention):
        def forward(self, x):
            x = super().forward(x)
            torch._dynamo.graph_break()
            return super().forward(x)

    model = Model(Broken(), Attention())
    assert_same(watched(model, model)[0], watched(model, torch.compile(model, backend="eager"))[0])


def test_steps_that_are_not_watched_run_the_plain_graph():
    model = Model(Attention())
    counter = CompileCounterWithBackend("eager")
    compiled = whole(model, counter)
    with isentropic.Monitor(model, every=3) as monitor:
        for _ in range(7):
            compiled(inputs())
            monitor.step()
    assert list(monitor.history) == [0, 3, 6]
    assert counter.frame_count == 2


def test_compiled_modules_have_their_own_names():
    model = Model(Attention())
    model.layers[0] = torch.compile(model.layers[0], backend="eager")
    assert list(watched(model, model)[0].last) == ["layers.0"]
    compiled = torch.compile(Model(Attention()), backend="eager")
    assert list(watched(compiled, compiled)[0].last) == ["layers.0"]


def test_two_who_watch_do_not_disturb_each_other():
    model = Model(Attention(), Attention())
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with isentropic.Monitor(model) as one, isentropic.Monitor(model.layers[1], first_mass=True) as other:
        compiled(inputs())
        other.step()
        compiled(inputs())
    assert list(one.last) == ["layers.0", "layers.1"] and list(other.history) == [0, 1]
    assert "first_mass" in other.last["Attention"] and "first_mass" not in one.last["layers.1"]
    assert one.last["layers.1"]["entropy"] == pytest.approx(other.last["Attention"]["entropy"], rel=1e-6)


def test_stopping_leaves_the_model_as_it_was():
    model = Model(Attention())
    model.compile(backend="eager")
    call, before = model._compiled_call_impl, [dict(vars(module)) for module in model.modules()]
    watched(model, model)
    assert model._compiled_call_impl is call
    assert [vars(module).keys() for module in model.modules()] == [own.keys() for own in before]
    assert isentropic._traced.recipes == () and isentropic._traced._stack == []


def test_graphs_without_the_librarys_attention_are_pointed_out():
    class PlainAttention(Attention):
        def forward(self, x):
            return x + F.scaled_dot_product_attention(*self.project(x), is_causal=True).transpose(1, 2).flatten(2)

    model = Model(Attention(), PlainAttention())
    model.compile(backend="eager")
    with pytest.warns(UserWarning, match="sees no attention in layers.1: PlainAttention does not call"):
        with isentropic.Monitor(model):
            model(inputs())
    model = Model(PlainAttention())
    compiled = torch.compile(model, backend="eager")
    with pytest.warns(UserWarning, match="sees no attention in Model: no forward pass of it was seen"):
        with isentropic.Monitor(model):
            compiled(inputs())
    with isentropic.replace_sdpa():
        assert list(watched(model, compiled)[0].last) == ["layers.0"]


def test_the_inductor_adds_up_the_same():
    model = Model(Attention(), checkpointed=False)
    compiled = torch.compile(model, fullgraph=True)
    eager, rows = watched(model, model)
    found, rows_of_graphs = watched(model, compiled)
    assert_same(eager, found)
    assert rows_of_graphs == rows


def test_hugging_face_models():
    transformers = pytest.importorskip("transformers")
    isentropic.hf.register()
    config = transformers.LlamaConfig(
        vocab_size=31, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, attn_implementation="isentropic",
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).train()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    compiled = torch.compile(model, backend="aot_eager")
    tokens = torch.arange(24).reshape(2, 12) % 31
    run = lambda model: lambda x: model(tokens, labels=tokens, use_cache=False).loss
    eager, rows = watched(model, run(model))
    found, rows_of_graphs = watched(model, run(compiled))
    assert_same(eager, found)
    assert rows_of_graphs == rows == {f"model.layers.{i}.self_attn": [24.0] * 4 for i in range(2)}


def test_graphs_add_to_fixed_addresses():
    """A requirement of CUDA graphs for inputs that they modify."""
    found = []

    def forward(graph, _):
        metadata = torch._guards.TracingContext.get().fw_metadata
        found.append((metadata.mutated_inp_runtime_indices, metadata.static_input_indices))
        return make_boxed_func(graph)

    model = Model(Attention(), Attention())
    backend = lambda graph, examples: aot_module_simplified(graph, examples, fw_compiler=forward)
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    with isentropic.Monitor(model) as monitor, torch.no_grad():
        compiled(inputs())
        addresses = [tally.sums.data_ptr() for _, tally in monitor._heads.of_modules()]
        monitor.step()
        compiled(inputs())
        assert addresses == [tally.sums.data_ptr() for _, tally in monitor._heads.of_modules()]
    ((mutated, static),) = found
    assert len(mutated) == 4 and set(mutated) <= set(static)


# ---- scores before a soft cap ----


@pytest.mark.parametrize("largest", [0.3, 4.0, 12.0, 1000.0])
def test_the_largest_score_before_the_cap(largest):
    model = Model(Attention(soft_cap=2.0))
    with torch.no_grad():
        query, key, _ = model.layers[0].project(inputs())
        scores = (query @ key.mT / 2).masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -torch.inf)
        model.layers[0].projections.weight[:WIDTH] *= largest / scores.max()
        model.layers[0].projections.bias[:WIDTH] *= largest / scores.max()
        scores = (scores * largest / scores.max()).amax((0, 2, 3)).tolist()
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    record = monitor.last["layers.0"]
    assert record["max_score"] == rows_of(model.layers[0], inputs(), soft_cap=2.0).max_score.amax((0, 2)).tolist()
    for found, score in zip(record["max_uncapped_score"], scores):
        # Near the cap 0.7 of a unit in the last place remains, and beyond 8.7 times the cap nothing.
        assert found == pytest.approx(score, rel=1e-5 if score < 4 else 0.02) if score < 13 else 16 < found < 17.5


def test_a_bias_after_the_cap_hides_what_was_before():
    model = Model(Attention(soft_cap=2.0, bias=torch.zeros(1, 1, 1, LENGTH)))
    with isentropic.Monitor(model) as monitor:
        model(inputs())
    assert "max_uncapped_score" not in monitor.last["layers.0"]


def test_the_least_normalised_entropy():
    model = Model(Attention())
    with isentropic.Monitor(model, fewest_keys=5) as monitor:
        model(inputs())
    rows = rows_of(model.layers[0], inputs()).normalised_entropy[..., 4:]
    assert monitor.last["layers.0"]["least_normalised_entropy"] == rows.amin((0, 2)).tolist()
