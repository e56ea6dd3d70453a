"""QK-clip: weights of heads whose scores grow too large are scaled by the rule, whatever they belong to."""

import math
import warnings

import pytest
import torch
from clipped import THRESHOLD, OwnAttention, by_head, clip_once, hugging_face_model, largest, optimizer_of
from torch import nn
from watched import HEADS, WIDTH, Attention, Model, inputs

import isentropic
from isentropic import HeadRows, QKClip, QKWeights

pytestmark = pytest.mark.usefixtures("one_thread")

# ---- the rule ----


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("kv_heads", [HEADS, 1])
def test_queries_and_keys_share_the_factor(alpha, kv_heads):
    model = Model(OwnAttention(kv_heads))
    layer = model.layers[0]
    before = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    scores = largest(model)["layers.0"]
    (record,) = clip_once(model, alpha=alpha).values()
    shared = scores if kv_heads == HEADS else [max(scores)] * HEADS
    scales = [THRESHOLD / max(score, THRESHOLD) for score in shared]
    assert record["max_score"] == scores and record["scale"] == pytest.approx(scales)
    assert min(scales) < 0.5
    eta = torch.tensor(scales).repeat_interleave(WIDTH // HEADS)
    for name, factor in (("q_proj", eta**alpha), ("k_proj", eta[: kv_heads * WIDTH // HEADS] ** (1 - alpha))):
        torch.testing.assert_close(getattr(layer, name).weight, before[f"{name}.weight"] * factor[:, None])
        torch.testing.assert_close(getattr(layer, name).bias, before[f"{name}.bias"] * factor)
    assert torch.equal(layer.v_proj.weight, before["v_proj.weight"])
    expected = [score * scale for score, scale in zip(scores, scales)]
    assert largest(model)["layers.0"] == pytest.approx(expected, rel=1e-5)


def test_heads_below_the_threshold_keep_their_bits():
    model = Model(OwnAttention())
    scores = largest(model)["layers.0"]
    before = by_head(model.layers[0].q_proj.weight)
    clip_once(model, threshold=sorted(scores)[-2])
    after = by_head(model.layers[0].q_proj.weight)
    highest = scores.index(max(scores))
    assert [torch.equal(*pair) for pair in zip(before, after)] == [head != highest for head in range(HEADS)]


def test_negative_scores_are_harmless():
    model = Model(OwnAttention(bias=torch.full((1, 1, 1, 1), -50.0)))
    before = by_head(model.layers[0].q_proj.weight)
    (record,) = clip_once(model).values()
    assert max(record["max_score"]) < 0 and record["scale"] == [1.0] * HEADS
    assert torch.equal(by_head(model.layers[0].q_proj.weight), before)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_heads_without_a_finite_score_are_left_alone(value):
    model = Model(OwnAttention())
    with torch.no_grad():
        model.layers[0].q_proj.weight[0] = value
    before = by_head(model.layers[0].k_proj.weight)
    (record,) = clip_once(model).values()
    assert record["scale"][0] == 1.0 and max(record["scale"][1:]) < 1
    assert torch.equal(by_head(model.layers[0].k_proj.weight)[0], before[0])


def test_the_score_before_the_cap_counts():
    plain, capped = Model(OwnAttention()), Model(OwnAttention(soft_cap=0.5))
    capped.load_state_dict(plain.state_dict())
    one, other = (clip_once(model)["layers.0"] for model in (plain, capped))
    assert other["max_score"] == pytest.approx(one["max_score"], rel=1e-3)
    assert max(other["max_score"]) > 1
    hidden = Model(OwnAttention(soft_cap=0.5, bias=torch.zeros(1, 1, 1, 1)))
    with pytest.raises(ValueError, match="soft_cap is 0.5 with a bias after it; expected one of them"):
        clip_once(hidden)


# ---- steps ----


def test_accumulated_micro_batches_count_together():
    model = Model(OwnAttention())
    expected = [
        max(pair) for pair in zip(*(largest(model, lambda x, s=s: model(inputs(s)))["layers.0"] for s in (1, 2)))
    ]
    optimizer = optimizer_of(model)
    with QKClip(model, optimizer, threshold=THRESHOLD) as clip:
        for seed in (1, 2):
            model(inputs(seed))
        optimizer.step()
        assert clip.last["layers.0"]["max_score"] == expected
        model(inputs(1))
        optimizer.step()
        assert max(clip.last["layers.0"]["max_score"]) < 2 * THRESHOLD
    before = by_head(model.layers[0].q_proj.weight * 1e3)
    with torch.no_grad():
        model.layers[0].q_proj.weight *= 1e3
    model(inputs())
    optimizer.step()
    assert torch.equal(by_head(model.layers[0].q_proj.weight), before)


def test_every_place_of_a_shared_layer_counts():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = OwnAttention()

        def forward(self, x):
            return self.layer(10 * self.layer(x))

    model = Twice()
    scores = largest(model)
    assert clip_once(model)["layer"]["max_score"] == [max(pair) for pair in zip(*scores.values())]


def test_in_a_compiled_graph_beside_a_monitor():
    torch._dynamo.reset()
    model = Model(OwnAttention(), OwnAttention())
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    scores = largest(model)
    with isentropic.Monitor(model) as monitor, warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*isentropic")
        record = clip_once(model, run=compiled)
    assert {layer: of["max_score"] for layer, of in record.items()} == scores
    assert {layer: of["max_score"] for layer, of in monitor.last.items()} == scores
    assert largest(model)["layers.0"] == pytest.approx([THRESHOLD] * HEADS, rel=1e-4)


def test_layers_of_one_class_may_differ_in_heads():
    torch._dynamo.reset()
    one = isentropic.nn.MultiHeadAttention(WIDTH, 3)
    model = nn.ModuleList([one, isentropic.nn.MultiHeadAttention(WIDTH, 2)])
    for layer in model:
        layer.compile(backend="eager")
    record = clip_once(model, run=lambda x: [layer(x) for layer in model])
    assert [len(of["scale"]) for of in record.values()] == [3, 2]


def test_copies_in_higher_precision_are_scaled_along():
    model = Model(OwnAttention()).bfloat16()
    masters = {parameter: parameter.detach().float() for parameter in model.parameters()}
    optimizer = optimizer_of(model)
    for parameter, master in masters.items():
        optimizer.state[parameter]["master_param"] = master.clone()
    clip_once(model, inputs().bfloat16(), optimizer)
    weight = model.layers[0].q_proj.weight
    found = optimizer.state[weight]["master_param"]
    assert not torch.equal(found, masters[weight])
    torch.testing.assert_close(found.bfloat16(), weight)
    given = {parameter: parameter.detach().float() for parameter in model.parameters()}
    clip_once(model, inputs().bfloat16(), threshold=THRESHOLD / 20, masters=given.get)
    assert not torch.equal(given[weight], found)
    torch.testing.assert_close(given[weight].bfloat16(), weight)


# ---- refusals ----


class SilentAttention(OwnAttention):
    def forward(self, x):
        return self.q_proj(x)


def test_what_is_not_seen_is_refused_by_name():
    model = hugging_face_model("LlamaForCausalLM", {}, "eager")
    with pytest.raises(ValueError, match='model.layers.0.self_attn: .* runs with attn_implementation="eager"'):
        QKClip(model, optimizer_of(model))
    model = nn.ModuleDict({"two": isentropic.nn.HierarchicalAttention(WIDTH, HEADS, block=4)})
    with pytest.raises(ValueError, match="two is attention in two levels, which does not report"):
        QKClip(model, optimizer_of(model))
    model = Model(SilentAttention())
    with pytest.raises(RuntimeError, match="saw no attention in layers.0; expected calls of isentropic.attention"):
        with pytest.warns(UserWarning, match="SilentAttention does not call isentropic.attention"):
            clip_once(model)


class NormWithout(nn.Module):
    def forward(self, x):
        return x


def test_what_cannot_be_scaled_is_refused_by_name():
    model = Model(OwnAttention())
    layer = model.layers[0]
    layer.q_norm = NormWithout()
    with pytest.raises(ValueError, match=r"the norms of layers.0 \(NormWithout\) have no weight; expected one"):
        QKClip(model, optimizer_of(model))
    del layer.q_norm
    layer.qk_norm = nn.RMSNorm(4)
    with pytest.raises(ValueError, match="layers.0 has qk_norm; expected no norms"):
        QKClip(model, optimizer_of(model))
    del layer.qk_norm
    layer.q_proj.register_parameter("lora", nn.Parameter(torch.zeros(2)))
    with pytest.raises(
        ValueError, match=r"layers.0 cannot be scaled: Linear has the parameters \['bias', 'lora', 'weight'\]"
    ):
        QKClip(model, optimizer_of(model))
    model = Model(OwnAttention())
    model.layers[0].q_proj.weight = nn.Parameter(torch.zeros(7))  # a piece of a flat parameter
    with pytest.raises(ValueError, match=r"layers.0 cannot be scaled: a weight has shape \[7\]; expected two axes"):
        QKClip(model, optimizer_of(model))
    model.layers[0].q_proj = nn.Linear(WIDTH, 2 * WIDTH)  # with a gate, for example
    model.layers[0].head_dim = WIDTH // HEADS
    with pytest.raises(ValueError, match="q_proj of layers.0 makes 6 heads of 4 numbers; expected 3"):
        QKClip(model, optimizer_of(model))


def test_more_refusals():
    own = Model(OwnAttention())
    optimizer = optimizer_of(own)
    fused = Model(Attention())
    for options, error, words in (
        (dict(threshold=0), ValueError, "threshold is 0.0; expected a positive number"),
        (dict(threshold="high"), TypeError, "threshold is 'high'; expected a number"),
        (dict(alpha=1.5), ValueError, "alpha is 1.5; expected a share of the queries, from 0 to 1"),
        (dict(optimizer=own), TypeError, "optimizer is a Model; expected one of torch.optim"),
        (dict(group="world"), TypeError, "group is a str; expected a process group"),
        (dict(model=fused), ValueError, "projections of layers.0, a Attention, are not known; expected layers="),
        (dict(model=nn.Linear(2, 2)), ValueError, "Linear has no attention whose weights are known"),
        (dict(layers={"layers.9": None}), ValueError, "layers has 'layers.9'; expected names of modules"),
        (dict(layers={"layers.0": own}), TypeError, r"layers\['layers.0'\] is a Model; expected QKWeights, or None"),
        (dict(layers={"layers.0": QKWeights(3, 1, 2)}), TypeError, "query of QKWeights is a int; expected a module"),
        (dict(layers={"layers.0": QKWeights(3, HeadRows(own.layers[0].q_proj.weight, 3, 5), ())}), ValueError,
         r"HeadRows of a parameter \[12, 12\] reach entry 15 of axis 0; expected at most 12"),
    ):  # fmt: skip
        given = {"model": own, "optimizer": optimizer, **options}
        with pytest.raises(error, match=words):
            QKClip(given.pop("model"), given.pop("optimizer"), **given)
    assert not optimizer._optimizer_step_post_hooks and isentropic._traced._books == {}


def test_weights_in_two_places_are_refused():
    model = Model(OwnAttention(), OwnAttention())
    model.layers[1].q_proj.weight = model.layers[0].q_proj.weight
    with pytest.raises(ValueError, match=r"rows of a parameter \[12, 12\] belong to two heads, layers or sides"):
        QKClip(model, optimizer_of(model))


def test_heads_that_differ_from_the_weights_are_refused():
    model = Model(OwnAttention())
    rows = [HeadRows(getattr(model.layers[0], name).weight, 1, WIDTH) for name in ("q_proj", "k_proj")]
    with pytest.raises(ValueError, match="layers.0 reports 3 heads; expected 1, as its weights have"):
        clip_once(model, layers={"layers.0": QKWeights(1, *rows)})
