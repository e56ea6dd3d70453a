"""isentropic scan with another scale, map or mask, against the same Hugging Face model with attention written out."""

import json
import math

import pytest
import torch
from transformers import AttentionInterface, AttentionMaskInterface, AutoModelForCausalLM, masking_utils

from test_models import DECODERS, build, random_ids
from test_scan_program import MODELS, scan

IDS = random_ids(60)
COMPARED = 16  # the last tokens, half of the shorter length
LENGTHS = (32, 60)


class Plain:
    """Attention with its matrix: ``scale(keys, d, own)``, keys that pass ``mask(i, j)``, the ``top_k`` largest of them."""

    def __init__(self, scale=None, mask=None, top_k=None):
        self.scale, self.mask, self.top_k = scale or (lambda keys, d, own: own), mask, top_k
        self.weights, self.outputs, self.values = [], [], []

    def __call__(self, module, query, key, value, attention_mask, scaling=None, softcap=None, **_):
        query, key, value = (x[0].double() for x in (query, key, value))
        group = query.shape[0] // key.shape[0]
        key, value = key.repeat_interleave(group, 0), value.repeat_interleave(group, 0)
        n, d = query.shape[1:]
        visible = attention_mask[0, 0] >= 0
        rows = torch.arange(n)
        if self.mask is not None:
            visible = visible & self.mask(rows[:, None], rows[None, :])
        own = scaling if scaling is not None else d**-0.5
        scores = query @ key.mT * self.scale(visible.sum(-1, keepdim=True).double(), d, own)
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        scores = scores.masked_fill(~visible, -math.inf)
        if self.top_k is not None and self.top_k < n:
            scores = scores.masked_fill(scores < scores.topk(self.top_k, -1).values[..., -1:], -math.inf)
        weights = scores.softmax(-1)
        self.weights.append(weights)
        self.values.append(value)
        self.outputs.append(weights @ value)
        return self.outputs[-1].transpose(0, 1)[None].to(torch.float32), None

    def run(self, model, ids):
        """Loss of every token, and entropies ``[layer, head, row]``."""
        self.weights, self.outputs, self.values = [], [], []
        AttentionInterface.register("plain", self)
        AttentionMaskInterface.register("plain", masking_utils.eager_mask)
        model.set_attn_implementation("plain")
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0]
        losses = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="none")
        return losses.double(), torch.special.entr(torch.stack(self.weights)).sum(-1)


def near(keys):
    return lambda i, j: (i - j).abs() < keys


CHANGES = {
    "--scale log_n:kappa=2.5": Plain(scale=lambda keys, d, own: 2.5 * keys.log() / d),
    "--scale log_n:2.5": Plain(scale=lambda keys, d, own: 2.5 * keys.log() / d),
    "--scale constant:value=0.4": Plain(scale=lambda keys, d, own: 0.4),
    "--scale inverse_sqrt_d": Plain(scale=lambda keys, d, own: d**-0.5),
    "--map top_k:keys=5": Plain(top_k=5),
    "--mask window:9": Plain(mask=near(9)),
    "--mask prefix:4+window:8": Plain(mask=lambda i, j: near(8)(i, j) | (j < 4)),
    "--mask strided:stride=6,local=3": Plain(mask=lambda i, j: near(3)(i, j) | ((i - j) % 6 == 0)),
    "--mask segments:length=16": Plain(mask=lambda i, j: i // 16 == j // 16),
    "--mask window:20+segments:25": Plain(mask=lambda i, j: near(20)(i, j) & (i // 25 == j // 25)),
}


def alternatives(folder, path, changes, *options):
    path.write_text(str(IDS))
    asked = [word for change in changes for word in change.split(" ")]
    found = scan(
        folder, "--ids", path, "--length", len(IDS), "--lengths", ",".join(map(str, LENGTHS)), *options, *asked
    )
    return found, found["alternatives"]


def mean_entropies(entropies, weights):
    """Means over the rows that see at least two keys, ``[layer, head]``; visible keys have a weight, however small."""
    seen = (torch.stack(weights) > 0).sum(-1) >= 2
    return (entropies * seen).sum(-1) / seen.sum(-1)


def numbers(alternative, name, shape):
    return torch.tensor([head[name] for head in alternative["heads"]], dtype=torch.float64).view(shape)


@pytest.mark.parametrize("case", ["llama", "gemma2", "mistral", "gpt2 by layer"])
def test_alternatives_are_those_of_attention_written_out(case, tmp_path):
    model = build(AutoModelForCausalLM, *DECODERS[case])
    model.save_pretrained(tmp_path)
    windowed = case in ("gemma2", "mistral")
    changes = {text: plain for text, plain in CHANGES.items() if not (windowed and "prefix" in text)}
    _, found = alternatives(tmp_path, tmp_path / "ids.json", changes)
    for (text, plain), alternative in zip(changes.items(), found, strict=True):
        losses, entropies = plain.run(model, IDS)
        assert alternative["loss"] == pytest.approx(losses.mean().item(), rel=1e-4), text
        shape = entropies.shape[:2]
        if "top_k" not in text:  # which counts rows that see two keys, not those that keep two
            expected = mean_entropies(entropies, plain.weights)
            torch.testing.assert_close(numbers(alternative, "entropy", shape), expected, rtol=1e-3, atol=1e-4, msg=text)
        for i, length in enumerate(LENGTHS):
            losses, entropies = plain.run(model, IDS[-length:])
            assert alternative["length_losses"][i] == pytest.approx(losses[-COMPARED:].mean().item(), rel=1e-4), text
            at_length = torch.tensor(
                [head["length_entropies"][i] for head in alternative["heads"]], dtype=torch.float64
            )
            expected = entropies[..., -COMPARED:].mean(-1)
            torch.testing.assert_close(at_length.view(shape), expected, rtol=1e-3, atol=1e-4, msg=text)


@pytest.mark.parametrize("case", ["llama", "gemma2"])
def test_what_is_left_out_is_the_weight_of_the_other_keys(case, tmp_path):
    model = build(AutoModelForCausalLM, *DECODERS[case])
    model.save_pretrained(tmp_path)
    own = Plain()
    own.run(model, IDS)
    i, j = torch.arange(len(IDS))[:, None], torch.arange(len(IDS))[None, :]
    changes = {text: plain for text, plain in CHANGES.items() if "--scale" not in text}
    if case == "gemma2":
        changes.pop("--mask prefix:4+window:8")
    _, found = alternatives(tmp_path, tmp_path / "ids.json", changes)
    for (text, plain), alternative in zip(changes.items(), found, strict=True):
        shape = (len(own.weights), own.weights[0].shape[0])
        missing, errors, bounds = torch.zeros(shape).double(), torch.zeros(shape).double(), torch.zeros(shape).double()
        for layer, (weights, value, output) in enumerate(zip(own.weights, own.values, own.outputs)):
            kept = weights >= weights.topk(5, -1).values[..., -1:] if plain.mask is None else plain.mask(i, j)
            part = weights * kept
            size = output.norm(dim=-1).mean(-1)
            missing[layer] = (weights * ~kept).sum(-1).mean(-1)
            errors[layer] = (output - part / part.sum(-1, keepdim=True) @ value).norm(dim=-1).mean(-1) / size
            furthest = (value - value.mean(1, keepdim=True)).norm(dim=-1).amax(-1)
            bounds[layer] = 2 * missing[layer] * furthest / size
        torch.testing.assert_close(numbers(alternative, "missing_mass", shape), missing, rtol=1e-3, atol=1e-5, msg=text)
        torch.testing.assert_close(numbers(alternative, "error", shape), errors, rtol=1e-3, atol=1e-5, msg=text)
        torch.testing.assert_close(numbers(alternative, "error_bound", shape), bounds, rtol=1e-3, atol=1e-5, msg=text)
        assert (errors <= bounds + 1e-9).all() and missing.max() > 0.05


def test_a_law_of_n_keeps_its_scale_where_keys_are_left_out(tmp_path):
    """The missing mass is that of the model's own weights, though the law would see fewer keys with the mask."""
    model = build(AutoModelForCausalLM, *DECODERS["llama"])
    model.config.isentropic = {"scale": {"law": "log_n", "kappa": 3.0}, "scale_values": [[3.0, 2.0, 1.0, 4.0]] * 3}
    model.save_pretrained(tmp_path)
    kappa = torch.tensor([3.0, 2.0, 1.0, 4.0]).double()[:, None, None]
    own = Plain(scale=lambda keys, d, _: kappa * keys.log() / d)
    losses, _ = own.run(model, IDS)
    rows = torch.arange(len(IDS))
    outside = ~near(9)(rows[:, None], rows[None, :])
    expected = torch.stack([(weights * outside).sum(-1).mean(-1) for weights in own.weights])
    found, (alternative,) = alternatives(tmp_path, tmp_path / "ids.json", ["--mask window:9"])
    assert found["loss"]["mean"] == pytest.approx(losses.mean().item(), rel=1e-4)
    torch.testing.assert_close(numbers(alternative, "missing_mass", expected.shape), expected, rtol=1e-3, atol=1e-5)


def test_the_models_own_scale_changes_nothing(tmp_path):
    model = build(AutoModelForCausalLM, *DECODERS["llama"])
    model.save_pretrained(tmp_path)
    found, (same, wide) = alternatives(tmp_path, tmp_path / "ids.json", ["--scale inverse_sqrt_d", "--mask window:60"])
    for alternative in (same, wide):
        assert alternative["loss"] == found["loss"]["mean"]
        assert alternative["length_losses"] == [length["loss"] for length in found["lengths"]]
        for head, own in zip(alternative["heads"], found["heads"]):
            assert head["length_entropies"] == own["length_entropies"]
            assert head["entropy"] == pytest.approx(own["statistics"]["entropy"]["mean"], rel=1e-5)
    assert all(head["missing_mass"] < 1e-6 for head in wide["heads"])


@pytest.mark.parametrize("law", ["log_n", "constant"])
@pytest.mark.parametrize("case", ["llama", "qwen2 sliding"])
def test_solved_scales_bring_the_entropies_back(case, law, tmp_path):
    family, options = DECODERS[case]
    model = build(AutoModelForCausalLM, family, options | {"max_position_embeddings": LENGTHS[0]})
    model.save_pretrained(tmp_path)
    written = tmp_path / "kappa.json"
    solving = ("--solve-kappa", law, "--write-kappa", written, "--allow-beyond")
    found, (solved,) = alternatives(tmp_path, tmp_path / "ids.json", [], *solving)
    _, before = Plain().run(model, IDS[-LENGTHS[0] :])
    shape = before.shape[:2]
    target = before[..., -COMPARED:].mean(-1)
    values = numbers(solved, "parameter", shape)
    layers = iter(values)  # the plain attention is called layer by layer

    def scale(keys, d, own):
        value = next(layers)[:, None, None]
        return value * keys.log() / d if law == "log_n" else value

    losses, entropies = Plain(scale=scale).run(model, IDS)
    torch.testing.assert_close(entropies[..., -COMPARED:].mean(-1), target, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(numbers(solved, "target", shape), target, rtol=1e-4, atol=1e-5)
    assert solved["solved"] == {"parameter": "kappa" if law == "log_n" else "value", "length": LENGTHS[0]}
    assert solved["loss"] == pytest.approx(losses.mean().item(), rel=1e-4)
    unchanged = torch.tensor([head["length_entropies"][1] for head in found["heads"]]).view(shape)
    assert (unchanged - target).abs().max() > 0.1, "there was something to solve"

    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | json.loads(written.read_text())))
    again, _ = alternatives(tmp_path, tmp_path / "ids.json", ["--map softmax"], "--allow-beyond")
    assert again["loss"]["mean"] == pytest.approx(solved["loss"], rel=1e-5)
    assert again["lengths"][1]["loss"] == pytest.approx(solved["length_losses"][1], rel=1e-5)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--scale", "logn"], "--scale logn: scale is 'logn'; expected inverse_sqrt_d, log_n"),
        (["--scale", "log_n:kapa=1"], "parameter of the scale log_n is 'kapa'; expected kappa"),
        (["--scale", "log_n:1,2"], "--scale log_n:1,2: scale log_n is given '2'; expected 1 values at most"),
        (["--scale", "inverse_sqrt_d:1"], "expected nothing: it has no parameters"),
        (["--scale", "log_n:=1"], "expected NAME or NAME:PARAMETER=VALUE,..."),
        (["--scale", "per_row"], "expected a law that needs no tensor"),
        (["--map", "top_k"], "--map top_k: parameter keys of the map top_k is absent"),
        (["--map", "linear:recurrent=true"], "--map linear:recurrent=true: "),
        (["--mask", "windw:3"], "mask is 'windw'; expected window, prefix, strided or segments"),
        (["--mask", "window:0"], "size of the mask window is 0; expected an integer from 1 to"),
        (["--mask", "window:big"], "mask is 'window:big'; expected NAME or NAME:PARAMETER=VALUE,..."),
        (["--mask", "window:size=big"], "size of the mask window is big; expected an integer"),
        (["--mask", "window"], "size of the mask window is absent"),
        (["--mask", "window:4+window:5"], "mask window is given twice"),
        (["--mask", "window:4,right=2"], "mask window is given other parameters"),
        (["--mask", "prefix:4"], "expected a window beside the prefix"),
        (["--solve-kappa"], "--solve-kappa: --lengths is absent; expected two or more"),
        (["--solve-kappa", "hybrid", "--lengths", "64,128"], "law is 'hybrid'; expected log_n, log_n_sqrt_d"),
        (["--write-kappa", "absent.json"], "--write-kappa is given alone; expected --solve-kappa with it"),
        (
            ["--against", "saved.json", "--solve-kappa", "--lengths", "64,128", "--write-kappa", "absent.json"],
            "--write-kappa is given with the saved scan",
        ),
        (["--mask", ""], "expected a part, as window:256"),
    ],
)
def test_mistakes_are_one_line(options, message):
    error = scan(MODELS / "books", "--text", MODELS / "northanger.txt", *options, status=2)
    assert message in error and len(error.strip().splitlines()) == 1
