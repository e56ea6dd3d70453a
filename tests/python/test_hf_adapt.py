"""Adapted transformers models against attention written out with that scale and map."""

import copy
import json
import math

import pytest
import torch

transformers = pytest.importorskip("transformers")

import isentropic  # noqa: E402
from test_models import DECODERS, build  # noqa: E402
from test_scan_alternatives import IDS, Plain  # noqa: E402

transformers.logging.set_verbosity_error()
pytestmark = pytest.mark.usefixtures("one_thread")

CHANGES = {
    "a law": (dict(scale=isentropic.Scale.log_n(2.5)), dict(scale=lambda keys, d, own: 2.5 * keys.log() / d)),
    "a text": (dict(scale="log_n:kappa=2.5"), dict(scale=lambda keys, d, own: 2.5 * keys.log() / d)),
    "a value in its place": (dict(scale="log_n:2.5"), dict(scale=lambda keys, d, own: 2.5 * keys.log() / d)),
    "a name": (dict(scale="sqrt_log_n"), dict(scale=lambda keys, d, own: (keys.log() / d).sqrt())),
    "a dict": (
        dict(scale={"law": "log_n", "kappa": [1.0, 2.0, 3.0, 4.0]}),
        dict(scale=lambda keys, d, own: torch.arange(1.0, 5)[:, None, None].double() * keys.log() / d),
    ),
    "a number": (dict(scale=0.7), dict(scale=lambda keys, d, own: 0.7)),
    "a map": (dict(map=isentropic.ScoreMap.top_k(5)), dict(top_k=5)),
    "a map as text": (dict(map="top_k:5", scale="constant:0.7"), dict(top_k=5, scale=lambda keys, d, own: 0.7)),
}


def logits(model, ids=IDS):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double()


def losses(model):
    return torch.nn.functional.cross_entropy(logits(model)[:-1], torch.tensor(IDS[1:]), reduction="none")


def expected_losses(model, **plain):
    return Plain(**plain).run(copy.deepcopy(model), IDS)[0]


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("case", ["llama", "gemma2", "granite", "gpt2", "mistral"])
def test_adapted_models_are_those_of_attention_written_out(case, change):
    model = build(transformers.AutoModelForCausalLM, *DECODERS[case])
    options, plain = CHANGES[change]
    expected, own = expected_losses(model, **plain), losses(model)
    assert isentropic.hf.adapt(model, **options) is model
    assert model.config._attn_implementation == "isentropic"
    close(losses(model), expected)
    assert (expected - own).abs().max() > 1e-2, "the change is seen"
    isentropic.hf.restore(model)
    assert model.config._attn_implementation == "eager"
    close(losses(model), own)


def by_layer(*scales):
    """A scale for each call of the plain attention; layers are called in order."""
    rest = iter(scales)
    return dict(scale=lambda keys, d, own: next(rest)(keys, d, own))


def log_n(kappa):
    return lambda keys, d, own: kappa * keys.log() / d


@pytest.mark.parametrize("per_layer", [
    {1: {"scale": "log_n:4"}, "model.layers.2.self_attn": None},
    [{}, {"scale": "log_n:4"}, None],
    lambda number, name: {0: {}, 1: {"scale": isentropic.Scale.log_n(4)}}.get(number),
], ids=["dict", "list", "function"])  # fmt: skip
def test_layers_differ(per_layer):
    model = build(transformers.AutoModelForCausalLM, *DECODERS["gemma2"])
    expected = expected_losses(model, **by_layer(log_n(2.5), log_n(4), lambda keys, d, own: own))
    close(losses(isentropic.hf.adapt(model, scale="log_n:2.5", per_layer=per_layer)), expected)


def test_what_a_scan_solved_is_taken_as_it_is_written():
    model = build(transformers.AutoModelForCausalLM, *DECODERS["llama"])
    values = torch.rand(3, 4).double() * 4
    written = json.dumps({"isentropic": {"scale": {"law": "log_n", "kappa": 1.0}, "scale_values": values.tolist()}})
    expected = expected_losses(model, **by_layer(*(log_n(value[:, None, None]) for value in values)))
    close(losses(isentropic.hf.adapt(model, **json.loads(written)["isentropic"])), expected)


def test_a_target_entropy_is_reached():
    model = build(transformers.AutoModelForCausalLM, *DECODERS["llama"])
    isentropic.hf.adapt(model, scale="target_entropy:target=1.5")
    with isentropic.collect(model) as layers:
        logits(model)
    assert len(layers) == 3
    for layer in layers.values():
        assert (layer.entropy[..., 8:] - 1.5).abs().max() < 1e-3


def test_adapting_again_replaces_and_restoring_goes_back_to_the_beginning():
    model = build(transformers.AutoModelForCausalLM, *DECODERS["llama"])
    own, expected = losses(model), expected_losses(model, scale=log_n(2.5))
    isentropic.hf.adapt(model, map="top_k:5")
    isentropic.hf.adapt(model, scale="log_n:2.5")
    close(losses(model), expected)
    with isentropic.hf.adapted(model, map="top_k:5") as inside:
        assert inside is model
        close(losses(model), expected_losses(isentropic.hf.restore(copy.deepcopy(model)), top_k=5))
    close(losses(model), expected)
    isentropic.hf.restore(model)
    isentropic.hf.restore(model)  # nothing is left to restore
    close(losses(model), own)
    with pytest.raises(RuntimeError, match="within"), isentropic.hf.adapted(model, scale=0.1):
        raise RuntimeError("within")
    assert model.config._attn_implementation == "eager"
    close(losses(model), own)


def test_copies_are_restored_by_themselves():
    model = build(transformers.AutoModelForCausalLM, *DECODERS["llama"])
    own, expected = losses(model), expected_losses(model, scale=log_n(2.5))
    twin = copy.deepcopy(isentropic.hf.adapt(model, scale="log_n:2.5"))
    close(losses(isentropic.hf.restore(twin)), own)
    close(losses(model), expected)


def test_a_config_of_our_own_gives_way():
    model = build(transformers.AutoModelForCausalLM, *DECODERS["llama"])
    model.config.isentropic = {"scale": {"law": "log_n", "kappa": 9.0}, "map": {"name": "top_k", "keys": 3}}
    expected = expected_losses(model, scale=log_n(2.5), top_k=3)
    close(losses(isentropic.hf.adapt(model, scale="log_n:2.5")), expected)


def test_encoders():
    family, options = "bert", dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4)  # fmt: skip
    model = build(transformers.AutoModelForMaskedLM, family, options)
    isentropic.hf.adapt(model, scale="log_n:2.5")
    with isentropic.collect(model) as layers:
        found = logits(model)
    assert len(layers) == 2
    plain = copy.deepcopy(isentropic.hf.restore(model))
    for layer in plain.bert.encoder.layer:  # every row sees all keys
        layer.attention.self.scaling = 2.5 * math.log(len(IDS)) / 12
    close(found, logits(plain))


_COMMON = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)


@pytest.mark.parametrize("family, options", [
    ("bloom", dict(vocab_size=64, hidden_size=32, n_layer=2, n_head=4)),
    ("mpt", dict(vocab_size=64, d_model=32, n_layers=2, n_heads=4)),
    ("falcon", _COMMON),
    ("deberta", _COMMON | dict(intermediate_size=48)),
])  # fmt: skip
def test_models_without_the_interface_are_refused(family, options):
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(family, **options))
    before = model.config._attn_implementation
    with pytest.raises(ValueError, match=f"model is a {type(model).__name__}; expected one that uses transformers'"):
        isentropic.hf.adapt(model, scale="log_n")
    assert model.config._attn_implementation == before


@pytest.mark.parametrize("options, message", [
    (dict(scale="logn"), "scale is 'logn'; expected one of inverse_sqrt_d, log_n"),
    (dict(scale="log_n:kapa=1"), "parameter of the scale log_n is 'kapa'; expected kappa"),
    (dict(scale="log_n:1,2"), "scale is 'log_n:1,2'; expected 1 values at most"),
    (dict(scale="target_entropy"), "expected values for target"),
    (dict(scale={"law": "per_row"}), "scale is 'per_row'; expected one of"),
    (dict(map="top"), "map is 'top'; expected one of softmax, top_k"),
    (dict(scale="log_n", per_layer={7: None}), "per_layer has the layer 7; expected a number below 3"),
    (dict(scale="log_n", per_layer=[None]), "per_layer has 1 entries; expected 3"),
    (dict(per_layer={0: {"law": "log_n"}}), "for layer 0; expected None, or a dict of scale and map"),
    (dict(scale_values=[[1.0] * 4] * 3), "scale_values is given without a scale"),
    (dict(scale="log_n", scale_values=[[1.0] * 4]), "scale_values has 1 entries; expected 3"),
    (dict(scale="inverse_sqrt_d", scale_values=[[1.0] * 4] * 3), "expected a law with a learnable parameter"),
])  # fmt: skip
def test_mistakes_leave_the_model_alone(options, message):
    model = build(transformers.AutoModelForCausalLM, *DECODERS["llama"])
    with pytest.raises(ValueError) as caught:
        isentropic.hf.adapt(model, **options)
    assert message in str(caught.value)
    assert model.config._attn_implementation == "eager"


@pytest.mark.parametrize(
    "section, message",
    [
        ({"scale": {"law": "lgo_n"}}, "scale is 'lgo_n'; expected one of"),
        ({"scale": {"law": "log_n", "kapa": 2}}, "parameter of the scale log_n is 'kapa'; expected kappa"),
        ({"scale": {"law": "log_n"}, "scale_values": [[1.0]]}, "scale_values of the config has 1 entries"),
        ({"map": {"name": "top_k"}}, "map is top_k"),
    ],
)
def test_mistakes_in_the_section_of_a_config(section, message):
    shape = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, vocab_size=40)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape))
    isentropic.hf.adapt(model)
    model.config.isentropic = section
    with pytest.raises(ValueError, match=message):
        model(torch.arange(8)[None])


def test_other_modules_are_refused():
    with pytest.raises(TypeError, match="model is a str; expected a transformers model"):
        isentropic.hf.adapt("gpt2", scale="log_n")
    layer = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2), 1)
    with pytest.raises(TypeError, match="model is a TransformerEncoder; expected a transformers model"):
        isentropic.hf.adapt(layer, scale="log_n")
