"""The studies that the repository keeps: every page can be made of its log, and its results are those of that log."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

PROGRAM = os.environ.get("ISENTROPIC_PROGRAM", "")
STUDIES = pathlib.Path(__file__).parents[2] / "studies"
FOLDERS = sorted(path.parent for path in STUDIES.rglob("study.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(STUDIES)))
def test_a_page_is_made_of_the_log(folder, tmp_path):
    copy = tmp_path / "study"
    shutil.copytree(folder, copy)
    name = json.loads((folder / "study.json").read_text())["study"]
    command = [PROGRAM, *(["plane"] if name == "plane" else ["train", name]), "-o", copy, "--resume"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=STUDIES.parent)
    assert result.returncode == 0, result.stderr
    assert "<html" in (copy / "page.html").read_text() and result.stdout
    assert (copy / "results.json").read_text() == (folder / "results.json").read_text()
    assert (copy / "log.jsonl").read_text() == (folder / "log.jsonl").read_text()


def test_they_are_small():
    assert FOLDERS and sum(path.stat().st_size for path in STUDIES.rglob("*") if path.is_file()) < 5e6
