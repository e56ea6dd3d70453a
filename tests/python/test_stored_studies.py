"""The stored studies: each page can be rebuilt from its log, the results match the log, and documents quote them."""

import functools
import json
import os
import pathlib
import shutil
import subprocess

import pytest

PROGRAM = os.environ.get("ISENTROPIC_PROGRAM", "")
ROOT = pathlib.Path(__file__).parents[2]
STUDIES = ROOT / "studies"
FOLDERS = sorted(path.parent for path in STUDIES.rglob("study.json"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Shows a stored study in a copy of its folder, once per study."""

    @functools.cache
    def show(folder):
        copy = tmp_path_factory.mktemp("study") / "copy"
        shutil.copytree(folder, copy)
        name = json.loads((folder / "study.json").read_text())["study"]
        command = [PROGRAM, *(["plane"] if name == "plane" else ["train", name]), "-o", copy, "--resume"]
        return copy, subprocess.run(command, capture_output=True, text=True, cwd=ROOT)

    return show


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(STUDIES)))
def test_a_page_is_made_of_the_log(folder, shown):
    copy, result = shown(folder)
    assert result.returncode == 0, result.stderr
    assert "<html" in (copy / "page.html").read_text() and result.stdout
    assert (copy / "results.json").read_text() == (folder / "results.json").read_text()
    assert (copy / "log.jsonl").read_text() == (folder / "log.jsonl").read_text()


def quoted_output(page):
    """The lines of code blocks without a language, which quote programs' output."""
    lines, language = [], None
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if line.startswith("```"):
            language = line[3:] if language is None else None
        elif language == "":
            lines.append(line)
    return lines


@pytest.mark.parametrize("page", ["dynamics.md", "length.md", "studies.md"])
def test_documents_quote_what_the_logs_show(page, shown):
    printed = {line.rstrip() for folder in FOLDERS for line in shown(folder)[1].stdout.splitlines()}
    quoted = quoted_output(page)
    assert len(quoted) > 10 and [line for line in quoted if line.rstrip() not in printed] == []


def test_they_are_small():
    assert FOLDERS and sum(path.stat().st_size for path in STUDIES.rglob("*") if path.is_file()) < 5e6
