"""The Python examples demonstrate what they claim."""

import pathlib
import subprocess
import sys
from xml.etree import ElementTree

import isentropic

ROOT = pathlib.Path(__file__).parents[2]


def printed(name, *arguments):
    package = pathlib.Path(isentropic.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        capture_output=True, text=True, timeout=300, env={"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_the_regulariser_keeps_entropy_up():
    assert "entropy over its largest" in printed("entropy_regulariser.py")


def test_qk_clip_lets_a_model_learn(tmp_path):
    assert "with QK-clip  loss" in printed("qk_clip.py", "--svg", tmp_path / "runs.svg")
    root = ElementTree.parse(tmp_path / "runs.svg").getroot()
    assert len(root.findall("{*}polyline")) == 6
