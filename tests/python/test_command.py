"""python -m isentropic."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch

import isentropic
from isentropic.__main__ import main


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
    ],
)
def test_scan_explains_mistakes_in_one_line(arguments, message, tmp_path, capsys):
    (tmp_path / "WRONG.jsonl").write_text('"a text"\n{"words": 3}\n')
    places = {"BOOKS": MODELS / "books", "TEXT": MODELS / "northanger.txt", "WRONG.jsonl": tmp_path / "WRONG.jsonl"}
    assert main([str(places.get(word, word)) for word in arguments]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert message in error[-1] and sum(line.startswith("error:") for line in error) == 1


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
