"""The examples in Python show what they say."""

import pathlib
import subprocess
import sys

import isentropic

ROOT = pathlib.Path(__file__).parents[2]


def test_the_regulariser_keeps_entropy_up():
    package = pathlib.Path(isentropic.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, ROOT / "examples" / "entropy_regulariser.py"],
        capture_output=True, text=True, timeout=300, env={"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "entropy over its largest" in run.stdout
