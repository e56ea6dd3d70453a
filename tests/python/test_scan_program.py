"""isentropic scan against Hugging Face's attention matrices, on checkpoints of several families."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from test_models import DECODERS, ENCODERS, build, random_ids

PROGRAM = os.environ.get("ISENTROPIC_PROGRAM", "")
SHARED = pathlib.Path(__file__).parents[3] / "shared" / "models"
MODELS = pathlib.Path(__file__).parents[2] / "models"


def scan(folder, *options, status=0):
    command = [PROGRAM, "scan", str(folder), "--json", *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout) if status == 0 else result.stderr


def scan_ids(folder, ids, path, *options):
    path.write_text(json.dumps(ids))
    return scan(folder, "--ids", path, "--length", len(ids), *options)


def close(found, expected, tolerance):
    found, expected = torch.tensor(found), torch.as_tensor(expected)
    assert found.shape == expected.shape
    assert (found - expected).abs().max() < tolerance


@pytest.mark.parametrize("case", ["gpt2", "llama", "gemma2", "mistral", "bert"])
def test_every_row_is_that_of_the_attention_matrices(case, tmp_path):
    family, options = (DECODERS | ENCODERS)[case]
    make = AutoModelForMaskedLM if case in ENCODERS else AutoModelForCausalLM
    model = build(make, family, options)
    model.save_pretrained(tmp_path)
    ids = random_ids(60)
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_attentions=True)
    weights = torch.stack([p[0].double() for p in out.attentions])
    found = scan_ids(tmp_path, ids, tmp_path / "ids.json", "--per-row")
    close(found["rows"]["entropy"], torch.special.entr(weights).sum(-1), 2e-4)
    close(found["rows"]["peak"], weights.amax(-1), 2e-4)
    close(found["rows"]["collision"], weights.square().sum(-1), 2e-4)
    close(found["rows"]["first_mass"], weights[..., 0], 2e-4)
    for layer, head in ((h["layer"], h["head"]) for h in found["heads"]):
        shown = found["heads"][layer * weights.shape[1] + head]
        close(shown["tile"]["weights"], weights[layer, head, -48:, -48:], 2e-4)
        assert (shown["tile"]["first_row"], shown["tile"]["first_key"]) == (12, 12)
        assert len(shown["exact_rows"]) == 8
        for row in shown["exact_rows"]:
            expected = weights[layer, head, row["position"]]
            keys, values = zip(*row["keys"])
            close(list(values), expected[list(keys)], 2e-4)
            close(list(values), expected.sort(descending=True).values[: len(keys)], 2e-4)
            assert row["rest"] == pytest.approx(expected.sum().item() - sum(values), abs=2e-3)
    for layer in found["layers"]:
        assert len(layer["similarities"]) == layer["heads"]
    if case in DECODERS:
        losses = torch.nn.functional.cross_entropy(out.logits[0, :-1], torch.tensor(ids[1:]))
        assert found["loss"]["mean"] == pytest.approx(losses.item(), rel=1e-4)


@pytest.mark.parametrize(
    "name", ["hf-random-gpt2", "hf-random-llama", "hf-random-bert", "hf-random-mistral", "stories260K"]
)
def test_reference_models(name, tmp_path):
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is absent")
    reference = json.loads((SHARED / name / "reference.json").read_text())
    found = scan_ids(SHARED / name, reference["ids"], tmp_path / "ids.json", "--per-row")["rows"]
    for ours, theirs in [
        ("entropy", "entropy"),
        ("peak", "max_prob"),
        ("collision", "sum_sq"),
        ("first_mass", "first_mass"),
    ]:
        close(found[ours], reference[theirs], 2e-4)


def test_texts_of_a_jsonl_file(tmp_path):
    text, path = (MODELS / "northanger.txt").read_text(), tmp_path / "texts.jsonl"
    path.write_text(json.dumps(text[:4000]) + "\n" + json.dumps({"text": text[4000:8000]}) + "\n")
    found = scan(MODELS / "books", "--text", path, "--length", 128, "--fast")
    assert found["text"]["names"] == [f"{path}, line 1", f"{path}, line 2"]


def test_special_tokens_of_a_text_that_begins_with_empty_lines(tmp_path):
    if not (SHARED / "hf-random-bert").exists():
        pytest.skip(f"{SHARED / 'hf-random-bert'} is absent")
    text = (MODELS / "northanger.txt").read_text()[5000:7000]
    tokens = []
    for beginning in ("", "\n \n"):
        (tmp_path / "text.txt").write_text(beginning + text.strip())
        tokens.append(scan(SHARED / "hf-random-bert", "--text", tmp_path / "text.txt", "--fast")["tokens"])
    assert tokens[0] == tokens[1]


def test_a_length_that_is_given_twice_is_measured_once():
    options = ["--text", MODELS / "northanger.txt", "--length", 64, "--fast", "--lengths", "64,32,64"]
    assert [entry["length"] for entry in scan(MODELS / "books", *options)["lengths"]] == [32, 64]


def test_arrays_for_numpy(tmp_path):
    options = ["--text", MODELS / "northanger.txt", "--length", 512, "--fast", "--npz", tmp_path / "arrays.npz"]
    found = scan(MODELS / "books", *options, "--lengths", "128,256")
    with np.load(tmp_path / "arrays.npz") as arrays:
        assert arrays["layer"].tolist() == [head["layer"] for head in found["heads"]]
        close(arrays["peak"], [head["statistics"]["peak"]["mean"] for head in found["heads"]], 1e-6)
        assert arrays["lengths"].tolist() == [128, 256] and arrays["entropy_by_length"].shape == (48, 2)
        assert arrays["entropy_curve"].shape == (48, 128)


def test_the_bundled_model_beyond_its_length():
    found = scan(
        MODELS / "books", "--text", MODELS / "northanger.txt", "--lengths", "512,2048", "--allow-beyond", "--fast"
    )
    assert found["text"]["windows"] == 18 and found["text"]["length"] == 1024
    assert len(found["heads"]) == 48 and len(found["tokens"]) == 1024
    short, long = zip(*(head["length_entropies"] for head in found["heads"]))
    by_layer = (torch.tensor(long) - torch.tensor(short)).view(6, 8).mean(1)
    assert by_layer[[0, 2, 4]].abs().max() < 0.1, "windows bound what these layers see"
    assert by_layer[[1, 3, 5]].min() > 1, "the others see four times as many keys: log 4 = 1.39"
    assert all(0.9 < length["loss"] / found["loss"]["mean"] < 1.1 for length in found["lengths"])


def draw(*arguments, status=0):
    result = subprocess.run([PROGRAM, "scan", *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    return result.stdout if status == 0 else result.stderr


def test_two_models_are_compared_and_their_json_is_drawn_again(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text((MODELS / "northanger.txt").read_text()[:8000])
    options = ("--text", text, "--length", 256, "--fast")
    both, page = tmp_path / "both.json", tmp_path / "report.html"
    models = (MODELS / "books", "--against", MODELS / "books-log-n")
    shown = draw(*models, *options, "--json", both, "-o", page)
    assert shown.startswith(f"first: {MODELS / 'books'}\nsecond: {MODELS / 'books-log-n'}\n")
    assert len(shown.splitlines()) <= 25
    found = json.loads(both.read_text())
    assert len(found["heads"]) == 48
    # Each matches a separate scan, and so do the differences.
    for name, model in (("first", "books"), ("second", "books-log-n")):
        assert found[name] == scan(MODELS / model, *options)
        (tmp_path / f"{name}.json").write_text(json.dumps(found[name]))
    for change, first, second in zip(found["heads"], found["first"]["heads"], found["second"]["heads"]):
        expected = second["statistics"]["entropy"]["mean"] - first["statistics"]["entropy"]["mean"]
        assert change["differences"]["entropy"] == pytest.approx(expected, abs=1e-4)
    again = tmp_path / "again.html"
    draw(tmp_path / "first.json", "--against", tmp_path / "second.json", "-o", again)
    draw(both, "-o", tmp_path / "third.html")
    assert again.read_text() == (tmp_path / "third.html").read_text()
    assert abs(len(again.read_text()) - len(page.read_text())) < 2000  # numbers in the file are rounded
    draw(tmp_path / "first.json", "--heads", "5.7", "-o", tmp_path / "one.html")
    assert "what its heads do" in (tmp_path / "one.html").read_text()


def test_a_scan_is_compared_with_a_model_that_runs(tmp_path):
    before = tmp_path / "before.json"
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps(random_ids(64)))
    draw(MODELS / "books", "--ids", ids, "--length", 64, "--json", before)
    found = scan(before, "--against", MODELS / "books", "--ids", ids, "--length", 64)
    assert found["changed"] == []
    assert all(abs(x) < 1e-4 for head in found["heads"] for x in head["differences"].values())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["OLD", "--text", "OLD"], "--text is given; expected none, because no model runs"),
        (
            ["OLD", "--against", "OTHER"],
            "the second scan, other, is of 1 layer of 1 heads; expected the 2 layers of 2 heads",
        ),
        (["OLD", "--heads", "2.0"], "--heads is 2.0; expected LAYER.HEAD, both from 0, of 2 layers of 2 heads"),
        (["OLD", "--heads", "first"], "--heads is 'first'; expected LAYER.HEAD"),
        (["BROKEN"], "not a scan; expected a file that isentropic scan --json wrote"),
        (["absent.json"], "absent.json"),
        (["OLD", "-o", "OLD"], "expected a file other than the input"),
        (["BOTH", "--against", "OLD"], "one is a comparison"),
    ],
)
def test_mistakes_with_old_scans_are_one_line(arguments, message, tmp_path):
    layer = {"module": "", "kind": "decoder", "head_width": 8, "window": None, "residual_ratio": 1, "redundancy": None}
    empty = dict.fromkeys(
        ("entropy_curve", "distance_profile", "key_strip", "heavy_keys", "blocks", "length_entropies"), []
    )

    def result(name, layers, heads):
        model = {"name": name, "family": "", "parameters": 0, "scale": "", "map": "softmax", "trained_length": 0}
        every = [(at, h) for at in range(layers) for h in range(heads)]
        return {
            "format": "isentropic scan",
            "version": 1,
            "model": model,
            "text": {"names": [], "tokens": 0, "windows": 0, "length": 0},
            "loss": None,
            "layers": [layer | {"heads": heads}] * layers,
            "heads": [{"layer": at, "head": h, "labels": [], "statistics": {}} | empty for at, h in every],
            "lengths": [],
            "shuffled_keys": [],
            "tokens": [],
        }

    both = {"format": "isentropic scan comparison", "version": 1} | dict.fromkeys(
        ("first", "second"), result("a", 1, 1)
    )
    written = {"OLD": result("old", 2, 2), "OTHER": result("other", 1, 1), "BROKEN": {"format": 1}, "BOTH": both}
    for name, content in written.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    places = {name: tmp_path / f"{name}.json" for name in written}
    error = draw(*(places.get(argument, argument) for argument in arguments), status=2)
    assert message in error and len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "--text is none; expected a text, or --ids"),
        (["--text", "TEXT", "--length", 2048], "--length is 2048; expected at most 1024, the model's positions"),
        (["--text", "TEXT", "--lengths", "256,4096"], "--lengths is 4096; expected at most 1024"),
        (["--text", "SHORT", "--length", 512], "tokens long; expected at least 512, the length of a window"),
        (["--text", "SHORT"], "tokens long; expected at least 16, the shortest window"),
        (["--text", "EMPTY"], "EMPTY"),
        (["--text", "LATIN"], "LATIN"),
        (["--text", "absent.txt"], "absent.txt"),
        (["--ids", "IDS"], "with 5000; expected integers from 0 to 4095"),
        (["--ids", "TEXT"], "not a JSON list"),
        (["--ids", "NONE"], "NONE is without tokens; expected some"),
        (["--text", "LINES.jsonl"], "line 2 is without a text; expected a JSON string"),
    ],
)
def test_mistakes_are_one_line(options, message, tmp_path):
    names = {name: tmp_path / name for name in ("SHORT", "EMPTY", "LATIN", "IDS", "NONE", "LINES.jsonl")} | {
        "TEXT": MODELS / "northanger.txt"
    }
    names["SHORT"].write_text("And it came to pass.")
    names["EMPTY"].write_text("")
    names["LATIN"].write_bytes("café".encode("latin-1"))
    names["IDS"].write_text("[1, 2, 5000]")
    names["NONE"].write_text("[]")
    names["LINES.jsonl"].write_text('"a text"\n{"words": 3}\n')
    error = scan(MODELS / "books", *(names.get(option, option) for option in options), status=2)
    assert message in error and len(error.strip().splitlines()) == 1
