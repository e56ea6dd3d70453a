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
