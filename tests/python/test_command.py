"""python -m isentropic."""

import json
import os
import pathlib
import subprocess
import sys

import torch

import isentropic


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
    wrong = run("scann")
    assert wrong.returncode == 2 and "invalid choice: 'scann'" in wrong.stderr and "info" in wrong.stderr
    nothing = run()
    assert nothing.returncode == 2 and "required: command" in nothing.stderr
    assert "info" in run("--help").stdout and "--json" in run("info", "--help").stdout
