"""python -m isentropic."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

import isentropic
from isentropic.__main__ import main
from isentropic._scan import command, texts


def run(*arguments, **environment):
    package = str(pathlib.Path(isentropic.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "isentropic", *arguments],
        env={**os.environ, "PYTHONPATH": package, **environment}, capture_output=True, text=True,
    )  # fmt: skip


def test_info_says_what_runs_here():
    found = run("info", "--json", OMP_NUM_THREADS="1")
    assert found.returncode == 0, found.stderr
    info = json.loads(found.stdout)
    assert info["version"] == isentropic.__version__ and info["torch"] == torch.__version__
    assert info["kernels"] in info["instruction_sets"] and info["instruction_sets"][-1] == "portable"
    assert info["cuda_kernels"] in ("built", "not built")
    assert info["threads"] == 1 and info["devices"][0] == "cpu"
    assert {"entropy", "sink_mass", "first_mass", "argmax"} <= set(info["statistics"])


def test_info_for_people_has_the_same_lines():
    found = run("info", ISENTROPIC_ISA="portable")
    lines = dict(line.split(maxsplit=1) for line in found.stdout.splitlines())
    assert lines["kernels"] == "portable" and lines["torch"] == torch.__version__
    assert list(lines) == list(json.loads(run("info", "--json").stdout))


def test_mistakes_are_one_line_and_a_status():
    found = run("info", ISENTROPIC_ISA="abacus")
    assert found.returncode == 1 and found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("error: ") and "abacus" in line


@pytest.mark.parametrize("arguments, words", [
    (["scann"], ("invalid choice: 'scann'", "info")),
    ([], ("required: command",)),
])  # fmt: skip
def test_unknown_commands_are_named(arguments, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    said = capsys.readouterr().err
    assert all(word in said for word in words), said


@pytest.mark.parametrize("arguments, words", [(["--help"], "info"), (["info", "--help"], "--json")])
def test_help_lists_what_there_is(arguments, words, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    assert words in capsys.readouterr().out


# ---- scan ----

MODELS = pathlib.Path(__file__).parents[2] / "models"


def test_scan_writes_what_it_is_asked_for(tmp_path):
    text = (MODELS / "northanger.txt").read_text()
    (tmp_path / "texts.jsonl").write_text("\n".join(json.dumps({"text": text[i : i + 3000]}) for i in (0, 3000)))
    names = {"--json": "scan.json", "--tsv": "heads.tsv", "--scores": "scores.json", "-o": "report.html"}
    outputs = [word for option, name in names.items() for word in (option, str(tmp_path / name))]
    found = run("scan", str(MODELS / "books"), "--text", str(tmp_path / "texts.jsonl"), "--length", "128", *outputs)
    assert found.returncode == 0, found.stderr
    assert "MiB of memory" in found.stderr
    assert "48 heads" in found.stdout and len(found.stdout.splitlines()) <= 25
    data = json.loads((tmp_path / "scan.json").read_text())
    assert data["text"]["names"] == ["text 1", "text 2"]
    assert len((tmp_path / "heads.tsv").read_text().splitlines()) == 49
    assert len(json.loads((tmp_path / "scores.json").read_text())) == 48
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["scan", "BOOKS"], "expected one of text, inputs and chat"),
        (["scan", "BOOKS", "--text", "absent.txt"], "absent.txt"),
        (["scan", "./absent-model", "--text", "TEXT"], "model is ./absent-model, which is no folder"),
        (["scan", "BOOKS", "--text", "TEXT", "--length", "4096"], "length is 4096; expected at most 1024"),
        (["scan", "BOOKS", "--text", "TEXT", "--lengths", "a,b"], "--lengths is 'a,b'; expected numbers"),
        (["scan", "BOOKS", "--text", "TEXT", "-o", "absent/report.html"], "folder that cannot be written to"),
        (["scan", "BOOKS", "--ids", "TEXT"], "not a JSON list"),
        (["scan", "BOOKS", "--text", "WRONG.jsonl"], "line 2, has no text"),
        (["scan", "BOOKS", "--text", "SHORT", "--fast"], "tokens long; expected at least 16"),
        (["scan", "BOOKS", "--text", "TEXT", "--json", "TEXT"], "expected a file other than the input"),
        (["scan", "BOOKS", "--text", "TEXT", "--json", "-"], "expected the name of a file"),
        (["scan", "BOOKS", "--text", "TEXT", "--json", "out", "--tsv", "./out"], "two outputs have the same name"),
        (["scan", "BOOKS", "--text", "TEXT", "--heads=-1.0"], "--heads is '-1.0'; expected LAYER.HEAD"),
        (["scan", "BOOKS", "--ids", "HUGE"], "no list of token ids"),
        (["scan", "BOOKS", "--ids", "BOOLS"], "no list of token ids"),
        (["scan", "absent.json", "--text", "TEXT"], "expected none, because no model runs"),
        (["scan", "BYTES.json"], "BYTES.json is not 'isentropic scan'"),
    ],
)
def test_scan_explains_mistakes_in_one_line(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where an output that is not refused would go
    (tmp_path / "WRONG.jsonl").write_text('"a text"\n{"words": 3}\n')
    (tmp_path / "SHORT").write_text("Too short.")
    (tmp_path / "HUGE").write_text(f"[1, {10**30}]")
    (tmp_path / "BOOLS").write_text("[true, 1]")
    (tmp_path / "BYTES.json").write_bytes(b"\xff\xfe")
    shutil.copy(MODELS / "northanger.txt", tmp_path / "TEXT")  # a copy: an output with this name must not replace it
    places = {"BOOKS": MODELS / "books"} | {path.name: path for path in tmp_path.iterdir()}
    assert main([str(places.get(word, word)) for word in arguments]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert message in error[-1] and sum(line.startswith("error:") for line in error) == 1


def test_texts_are_read_as_they_are(tmp_path):
    text = (MODELS / "northanger.txt").read_text()[5000:6000]
    separated = text[:500] + "\u2028\u0085" + text[500:]  # JSON allows both inside a string
    lines = [json.dumps(separated, ensure_ascii=False), json.dumps({"text": text})]
    (tmp_path / "texts.jsonl").write_bytes("\r\n".join([*lines, ""]).encode())
    (tmp_path / "text.txt").write_bytes(text.replace("\n", "\r\n").encode())
    given = argparse.Namespace(text=[str(tmp_path / "texts.jsonl")], ids=None)
    assert command._texts(given) == [separated, text]
    assert texts.read(tmp_path / "text.txt", "text")[1] == text.replace("\n", "\r\n") != text


def test_scan_cuts_ids_into_windows(tmp_path):
    (tmp_path / "ids.json").write_text(json.dumps([7 + (i * i) % 300 for i in range(70)]))
    ids = ["--ids", str(tmp_path / "ids.json"), "--json", str(tmp_path / "found.json"), "--fast"]
    assert main(["scan", str(MODELS / "books"), *ids, "--length", "32", "--lengths", "16,64"]) in (None, 0)
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["text"]["windows"], found["text"]["length"], found["text"]["tokens"]) == (2, 32, 64)
    assert [entry["length"] for entry in found["lengths"]] == [16, 64]


def test_scan_of_an_encoder_decoder(tmp_path):
    transformers = pytest.importorskip("transformers")
    shape = dict(d_model=16, d_kv=4, d_ff=32, num_layers=1, num_heads=2, vocab_size=4096, decoder_start_token_id=0)
    transformers.T5ForConditionalGeneration(transformers.T5Config(**shape)).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(MODELS / "books" / name, tmp_path)
    (tmp_path / "read.txt").write_text("It is a truth universally acknowledged.")
    (tmp_path / "written.txt").write_text("A single man in possession of a good fortune.")
    texts = ["--text", str(tmp_path / "read.txt"), "--target", str(tmp_path / "written.txt")]
    assert main(["scan", str(tmp_path), *texts, "--json", str(tmp_path / "found.json")]) in (None, 0)
    kinds = {layer["kind"] for layer in json.loads((tmp_path / "found.json").read_text())["layers"]}
    assert kinds == {"encoder", "decoder", "cross"}


def test_scan_compares_models_on_windows_of_one_length(tmp_path):
    long = shutil.copytree(MODELS / "books", tmp_path / "long")
    config = json.loads((long / "config.json").read_text())
    short = shutil.copytree(MODELS / "books", tmp_path / "short")
    (short / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 64}))
    tokenizer = json.loads((short / "tokenizer_config.json").read_text())
    (short / "tokenizer_config.json").write_text(json.dumps(tokenizer | {"model_max_length": 64}))
    (tmp_path / "text.txt").write_text((MODELS / "northanger.txt").read_text()[5000:6500])
    for first, second in ((long, short), (short, long)):
        both = [str(first), "--against", str(second), "--text", str(tmp_path / "text.txt"), "--fast"]
        assert main(["scan", *both, "--json", str(tmp_path / "both.json")]) in (None, 0)
        found = json.loads((tmp_path / "both.json").read_text())
        assert [found[name]["text"]["length"] for name in ("first", "second")] == [64, 64]


def test_scan_compares_scans_that_were_written(tmp_path):
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps([7 + (i * i) % 300 for i in range(64)]))
    for name in ("books", "books-log-n"):
        found = run("scan", str(MODELS / name), "--ids", str(ids), "--json", str(tmp_path / f"{name}.json"))
        assert found.returncode == 0, found.stderr
    both = [str(tmp_path / "books.json"), "--against", str(tmp_path / "books-log-n.json")]
    found = run("scan", *both, "--heads", "1.2,3.0", "-o", str(tmp_path / "both.html"))
    assert found.returncode == 0, found.stderr
    assert "books-log-n" in found.stdout and (tmp_path / "both.html").stat().st_size > 1e5
    wrong = run("scan", *both, "--heads", "9.9", "-o", str(tmp_path / "other.html"))
    assert wrong.returncode == 2 and "heads is 9.9" in wrong.stderr and not (tmp_path / "other.html").exists()
