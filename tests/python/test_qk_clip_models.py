"""QK-clip finds the weights behind the scores: in models of this library, PyTorch, transformers and users."""

import pytest
import torch
from clipped import THRESHOLD, by_head, clip_once, hugging_face_model, largest, optimizer_of
from torch import nn
from watched import HEADS, WIDTH, Attention, Model

import isentropic
from isentropic import HeadRows, QKClip, QKWeights

pytestmark = pytest.mark.usefixtures("one_thread")


def test_modules_of_this_library():
    for layer in (
        isentropic.nn.MultiHeadAttention(WIDTH, HEADS, num_kv_heads=1, causal="start", positions="rotary"),
        isentropic.EntropyInvariantAttention(WIDTH, HEADS, learn_kappa=True),
        isentropic.nn.GatedAttentionUnit(WIDTH, d_shared=8),
    ):
        model = nn.ModuleDict({"attention": layer})
        run = lambda x: model["attention"](x)
        before = largest(model, run)["attention"]
        threshold = max(before) / 2
        record = clip_once(model, run=run, threshold=threshold)["attention"]
        expected = [score * scale for score, scale in zip(before, record["scale"])]
        assert largest(model, run)["attention"] == pytest.approx(expected, rel=1e-4)
        assert max(expected) == pytest.approx(threshold, rel=1e-4)


def test_pytorchs_module():
    model = nn.ModuleDict({"a": nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)})
    run = lambda x: model["a"](x, x, x, need_weights=False)
    with pytest.raises(ValueError, match="sees no attention in a: MultiheadAttention is seen inside"):
        QKClip(model, optimizer_of(model))
    with isentropic.replace_sdpa():
        clip_once(model, run=run)
        assert largest(model, run)["a"] == pytest.approx([THRESHOLD] * HEADS, rel=1e-4)


FAMILIES = {
    "LlamaForCausalLM": dict(attention_bias=True),
    "GPT2LMHeadModel": {},
    "GPTNeoXForCausalLM": {},
    "Phi3ForCausalLM": {},
    "BertForMaskedLM": {},
    "ModernBertForMaskedLM": {},
    "PhiForCausalLM": dict(qk_layernorm=True),
    "Qwen3ForCausalLM": {},
    "Gemma2ForCausalLM": dict(attn_logit_softcapping=4.0),
    "Gemma3ForCausalLM": {},
    "Olmo2ForCausalLM": {},
    "CohereForCausalLM": dict(use_qk_norm=True),
    "DeepseekV3ForCausalLM": {},
    "GptOssForCausalLM": {},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_models_of_hugging_face(name):
    """The first layer's input does not change, so its scores shrink by exactly their scale."""
    model = hugging_face_model(name, FAMILIES[name])
    tokens = torch.arange(48).reshape(2, 24) % 31
    run = lambda x: model(tokens)
    first = clip_once(model, run=run, threshold=1e6)
    layer = next(iter(first))
    scores = first[layer]["max_score"]
    threshold = max(scores) / 3
    scales = clip_once(model, run=run, threshold=threshold)[layer]["scale"]
    assert min(scales) == pytest.approx(1 / 3)
    found = clip_once(model, run=run, threshold=1e6)[layer]["max_score"]
    assert found == pytest.approx([score * scale for score, scale in zip(scores, scales)], rel=1e-4)


def test_the_norms_of_gemma_add_one():
    model = hugging_face_model("Gemma3ForCausalLM", {})
    norm = model.model.layers[0].self_attn.q_norm
    before = norm.weight.detach().clone()
    tokens = torch.arange(48).reshape(2, 24) % 31
    record = clip_once(model, run=lambda x: model(tokens), threshold=0.1)
    scale = min(record["model.layers.0.self_attn"]["scale"]) ** 0.5
    torch.testing.assert_close(norm.weight, (1 + before) * scale - 1)


def test_weights_that_a_user_names():
    class Fused(Attention):
        num_heads = HEADS

    model = Model(Fused(), Fused())
    size = WIDTH // HEADS
    layer = model.layers[0].projections
    rows = [[HeadRows(part, HEADS, size, start) for part in (layer.weight, layer.bias)] for start in (0, WIDTH)]
    other = by_head(model.layers[1].projections.weight)
    record = clip_once(model, layers={"layers.0": QKWeights(HEADS, *rows), "layers.1": None})
    assert list(record) == ["layers.0"]
    assert largest(model)["layers.0"] == pytest.approx([THRESHOLD] * HEADS, rel=1e-4)
    assert torch.equal(by_head(model.layers[1].projections.weight), other)
