"""isentropic.scan against the program's scan and the attention matrices, for models of many kinds."""

import copy
import functools
import json
import math
import pathlib
import pickle

import pytest
import torch
from torch import nn

transformers = pytest.importorskip("transformers")

import isentropic  # noqa: E402
from small_models import lively  # noqa: E402
from test_models import DECODERS, ENCODERS, SIZES, build, random_ids  # noqa: E402
from test_scan_program import close, scan_ids  # noqa: E402

transformers.logging.set_verbosity_error()
pytestmark = pytest.mark.usefixtures("one_thread")

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "models"
MODELS = pathlib.Path(__file__).parents[2] / "models"
MATRICES = {
    "entropy": lambda p: torch.special.entr(p).sum(-1),
    "peak": lambda p: p.amax(-1),
    "collision": lambda p: p.square().sum(-1),
    "first_mass": lambda p: p[..., 0],
}


def scan_of(model, ids, **options):
    return isentropic.scan(model, inputs={"input_ids": torch.tensor([ids])}, per_row=True, **options)


# ---- against the program and the references ----


@pytest.mark.parametrize("case", DECODERS | ENCODERS)
def test_both_doors_agree(case, tmp_path):
    family, options = (DECODERS | ENCODERS)[case]
    make = transformers.AutoModelForMaskedLM if case in ENCODERS else transformers.AutoModelForCausalLM
    model = build(make, family, options)
    model.save_pretrained(tmp_path)
    ids = random_ids(100)
    theirs = scan_ids(tmp_path, ids, tmp_path / "ids.json", "--per-row")
    found = scan_of(model, ids)
    ours = found.data
    assert found.other_layers == [], "modules around an attention are no layers of their own"
    for statistic, rows in theirs["rows"].items():
        close(ours["rows"][statistic], rows, 1e-4)
    for one, other in zip(ours["heads"], theirs["heads"], strict=True):
        assert one["statistics"].keys() == other["statistics"].keys()
        for name, value in one["statistics"].items():
            assert value["mean"] == pytest.approx(other["statistics"][name]["mean"], rel=1e-4, abs=1e-4), name
        assert [label["name"] for label in one["labels"]] == [label["name"] for label in other["labels"]]
        close(one["tile"]["weights"], other["tile"]["weights"], 1e-4)
        assert [row["position"] for row in one["exact_rows"]] == [row["position"] for row in other["exact_rows"]]
        close([row["rest"] for row in one["exact_rows"]], [row["rest"] for row in other["exact_rows"]], 1e-4)
        assert [one["nearest"][key] for key in ("layer", "head")] == [
            other["nearest"][key] for key in ("layer", "head")
        ]
    for one, other in zip(ours["layers"], theirs["layers"], strict=True):
        assert (one["kind"], one["window"]) == (other["kind"], other["window"])
        assert one["residual_ratio"] == pytest.approx(other["residual_ratio"], abs=1e-4)
        assert one["redundancy"] == pytest.approx(other["redundancy"], abs=1e-4)
        close(one["similarities"], other["similarities"], 1e-4)
    if case in DECODERS:
        assert ours["loss"]["mean"] == pytest.approx(theirs["loss"]["mean"], rel=1e-4)
    else:
        assert ours["loss"] is theirs["loss"] is None


@pytest.mark.parametrize(
    "name", ["hf-random-gpt2", "hf-random-llama", "hf-random-bert", "hf-random-mistral", "stories260K"]
)
def test_reference_models(name):
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is absent")
    reference = json.loads((SHARED / name / "reference.json").read_text())
    found = scan_of(SHARED / name, reference["ids"], dtype=torch.float32)
    columns = [("entropy", "entropy"), ("peak", "max_prob"), ("collision", "sum_sq"), ("first_mass", "first_mass")]
    for ours, theirs in columns:
        close(found.rows[ours], reference[theirs], 2e-4)


# ---- architectures that only Python supports ----

_TEXT = SIZES | dict(head_dim=16)
_SMALL = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4)
_SMALL |= dict(encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=97, pad_token_id=0, bos_token_id=1, eos_token_id=2)
_IMAGE = dict(
    hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=24, patch_size=4
)

TOKENS = {
    "gpt_oss": lambda: transformers.GptOssForCausalLM(
        transformers.GptOssConfig(
            **_TEXT, sliding_window=6, num_local_experts=2, num_experts_per_tok=1,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        )
    ),
    "mixtral": lambda: transformers.MixtralForCausalLM(transformers.MixtralConfig(**SIZES, num_local_experts=2)),
    "phi": lambda: transformers.PhiForCausalLM(transformers.PhiConfig(**SIZES | dict(num_key_value_heads=4))),
    "opt": lambda: transformers.OPTForCausalLM(
        transformers.OPTConfig(
            vocab_size=97, hidden_size=48, ffn_dim=80, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=128, word_embed_proj_dim=48, pad_token_id=0,
        )
    ),
    "cohere": lambda: transformers.CohereForCausalLM(transformers.CohereConfig(**SIZES, logit_scale=0.3)),
    "modernbert": lambda: transformers.ModernBertModel(
        transformers.ModernBertConfig(
            vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=4, num_attention_heads=4,
            local_attention=8, max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            cls_token_id=1, sep_token_id=2,
        )
    ),
}  # fmt: skip


def eager_copy(model):
    other = copy.deepcopy(model)
    other.set_attn_implementation("eager")
    return other


def check_rows(found, attentions, tolerance=2e-4):
    """Compares rows of consecutive layers with matrices [1, heads, n, keys]."""
    weights = [p[0].double() for p in attentions]
    for name, of in MATRICES.items():
        for layer, p in enumerate(weights):
            close(found.rows[name][layer], of(p), tolerance)


@pytest.mark.parametrize("case", TOKENS)
def test_models_that_read_tokens(case):
    model = lively(TOKENS[case]())
    ids = random_ids(40)
    with torch.no_grad():
        out = eager_copy(model)(torch.tensor([ids]), output_attentions=True)
    found = scan_of(model, ids)
    assert found.other_layers == []
    # gpt-oss's are without the sinks' column; statistics are over the keys alone.
    check_rows(found, [p / p.sum(-1, keepdim=True) for p in out.attentions])
    if hasattr(out, "logits"):
        expected = nn.functional.cross_entropy(out.logits[0, :-1].float(), torch.tensor(ids[1:]))
        assert found.data["loss"]["mean"] == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_encoder_decoders_have_three_kinds_of_attention(family):
    if family == "bart":
        model = transformers.BartForConditionalGeneration(transformers.BartConfig(**_SMALL, max_position_embeddings=64))
    else:
        config = transformers.T5Config(
            vocab_size=97, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0
        )
        model = transformers.T5ForConditionalGeneration(config)
    lively(model)
    read, written = torch.tensor([random_ids(30)]), torch.tensor([random_ids(20)])
    with torch.no_grad():
        out = eager_copy(model)(input_ids=read, labels=written, output_attentions=True)
    found = isentropic.scan(model, inputs={"input_ids": read}, target=written, per_row=True)
    assert [layer["kind"] for layer in found.data["layers"]] == ["encoder"] * 2 + ["decoder", "cross"] * 2
    sizes = [(layer["rows"], layer["keys"]) for layer in found.data["layers"]]
    assert sizes == [(30, 30)] * 2 + [(20, 20), (20, 30)] * 2
    order = [*out.encoder_attentions]
    for own, across in zip(out.decoder_attentions, out.cross_attentions):
        order += [own, across]
    check_rows(found, order)
    assert found.data["loss"]["mean"] == pytest.approx(out.loss.item(), rel=1e-4)
    assert found.other_layers == [], "a feed-forward is part of a layer"


def test_images():
    model = lively(transformers.ViTModel(transformers.ViTConfig(**_IMAGE)))
    pixels = torch.rand(2, 3, 24, 24)
    with torch.no_grad():
        out = eager_copy(model)(pixels, output_attentions=True)
    found = isentropic.scan(model, inputs={"pixel_values": pixels}, per_row=True)
    assert {layer["kind"] for layer in found.data["layers"]} == {"encoder"}
    assert found.data["text"]["length"] == 37 and found.data["text"]["windows"] == 2
    assert found.data["text"]["tokens"] == 2 * 37
    assert "read 74 patches in 2 windows of 37" in found.summary
    check_rows(found, out.attentions)
    assert found.data["picture"]["rows"] == found.data["picture"]["columns"] == 6
    received = out.attentions[0][0, 2].mean(0)[1:]  # what each patch receives from the rows
    close(found.data["heads"][2]["patch_weights"], received, 1e-5)
    both = torch.stack([torch.special.entr(p.double()).sum(-1).mean((0, 2)) for p in out.attentions]).flatten()
    close([head["statistics"]["entropy"]["mean"] for head in found.data["heads"]], both, 1e-4)


class Plain(nn.Module):
    """A model without transformers: PyTorch's attention call."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = (part.view(1, -1, 2, 8).transpose(1, 2) for part in self.project(x).chunk(3, -1))
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def test_plain_pytorch_models():
    model = nn.Sequential(Plain())
    x = torch.randn(1, 50, 16)
    found = isentropic.scan(model, inputs={"input": x}, per_row=True)
    q, k, _ = (part.view(1, -1, 2, 8).transpose(1, 2) for part in model[0].project(x).chunk(3, -1))
    scores = (q @ k.transpose(-1, -2) / math.sqrt(8)).masked_fill(torch.ones(50, 50).triu(1).bool(), -math.inf)
    check_rows(found, [scores.softmax(-1).detach()])
    assert found.columns["module"] == ["0", "0"] and found.columns["kind"] == ["decoder", "decoder"]


class EightBits(nn.Module):
    """A linear layer with integer weights and one scale per row."""

    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.detach().abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (linear.weight.detach() / scale).round().to(torch.int8))

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.scale)


def test_quantised_weights():
    model = lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)))
    ids = random_ids(40)
    quantised = copy.deepcopy(model)
    for layer in quantised.model.layers:
        for part in (layer.self_attn, layer.mlp):
            for name, linear in list(part.named_children()):
                if isinstance(linear, nn.Linear):
                    setattr(part, name, EightBits(linear))
    with torch.no_grad():
        out = eager_copy(quantised)(torch.tensor([ids]), output_attentions=True)
    quantised.num_parameters = model.num_parameters  # transformers counts weights that share a byte
    found = scan_of(quantised, ids)
    check_rows(found, out.attentions)
    assert found.data["model"]["parameters"] == model.num_parameters()


def offload(model):
    """Like accelerate with device_map={"": "disk"}: a module has its weights only while it runs."""
    for module in model.modules():
        weights = dict(module._parameters)
        absent = {name: nn.Parameter(x.to("meta")) for name, x in weights.items() if x is not None}

        @functools.wraps(module.forward)
        def forward(*args, module=module, run=module.forward, weights=weights, absent=absent, **kwargs):
            module._parameters.update(weights)
            try:
                return run(*args, **kwargs)
            finally:
                module._parameters.update(absent)

        module._parameters.update(absent)
        module.forward = forward
    return model


def test_weights_that_are_only_there_while_they_are_needed():
    model = lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)))
    expected = scan_of(model, random_ids(40))
    offload(model)
    forwards = [vars(module)["forward"] for module in model.modules()]
    found = scan_of(model, random_ids(40))
    assert found.rows == expected.rows and found.data["loss"] == expected.data["loss"]
    assert found.data["model"]["parameters"] == expected.data["model"]["parameters"]
    assert [vars(module)["forward"] for module in model.modules()] == forwards


# ---- gates, and layers that are not attention ----


def qwen3_next():
    config = transformers.Qwen3NextConfig(
        **SIZES | dict(num_hidden_layers=4), head_dim=16, layer_types=["linear_attention", "full_attention"] * 2,
        linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8, linear_value_head_dim=8,
        num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, shared_expert_intermediate_size=16,
        decoder_sparse_step=1,
    )  # fmt: skip
    return lively(transformers.Qwen3NextForCausalLM(config))


def test_gates_are_reported_and_other_layers_are_listed():
    model = qwen3_next()
    attention = model.model.layers[1].self_attn
    with torch.no_grad():  # sigmoid(0)
        weight = attention.q_proj.weight.view(4, 2, 16, -1)
        weight[:, 1] = 0.0
        attention.q_proj.weight.copy_(weight.view_as(attention.q_proj.weight))
    found = scan_of(model, random_ids(40))
    gates = [head["statistics"]["output_gate"]["mean"] for head in found.data["heads"] if head["layer"] == 0]
    assert gates == pytest.approx([0.5] * 4, abs=1e-3)
    assert [head["statistics"]["output_gate"]["mean"] for head in found.data["heads"]][4:] != pytest.approx([0.5] * 4)
    assert [layer["module"] for layer in found.data["layers"]] == [f"model.layers.{i}.self_attn" for i in (1, 3)]
    assert [other.partition(":")[0] for other in found.other_layers] == ["model.layers.0", "model.layers.2"]
    assert "DeltaNet" in found.other_layers[0]


def test_models_without_a_gate_have_none():
    model = lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)))
    assert "output_gate" not in scan_of(model, random_ids(40)).columns


# ---- the loss ----


@pytest.mark.parametrize("case, is_plain", [("mixtral", True), ("cohere", False), ("phi", True)])
def test_the_loss_without_logits_is_that_of_the_logits(case, is_plain):
    """phi has a bias there, cohere scales its logits by a factor."""
    from isentropic._scan.model import ScannedModel

    model = lively(TOKENS[case]())
    if case == "phi":
        nn.init.normal_(model.lm_head.bias)
    ids = torch.tensor([random_ids(60)])
    scanned = ScannedModel(model, None, "x")
    with scanned.ready():
        hidden = scanned.run({"input_ids": ids})[:, :-1]
        found = scanned.loss(hidden, ids[:, 1:])
        assert scanned._has_plain_head == is_plain
        scanned._has_plain_head = False
        expected = scanned.loss(hidden, ids[:, 1:])
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    assert found.item() == pytest.approx(model(ids, labels=ids).loss.item(), rel=1e-5)


def test_a_scan_forms_no_logits_where_they_are_a_plain_product(monkeypatch):
    from isentropic._scan import model as scanned_model

    calls = []
    fused = scanned_model.linear_cross_entropy
    monkeypatch.setattr(scanned_model, "linear_cross_entropy", lambda *x, **y: calls.append(1) or fused(*x, **y))
    scan_of(lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))), random_ids(40))
    assert calls


def test_scans_can_be_copied_and_pickled():
    model = lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)))
    found = scan_of(model, random_ids(40))
    assert pickle.loads(pickle.dumps(found)).to_json() == copy.deepcopy(found).to_json() == found.to_json()
