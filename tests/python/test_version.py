"""A single file states the version: the package, the program, the headers and the changelog agree with it."""

import pathlib
import re
import subprocess

import pytest

import isentropic

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(isentropic.__file__).parents[2]
VERSION = (ROOT / "VERSION").read_text().strip()


def test_it_is_three_numbers():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_the_package_has_it():
    assert isentropic.__version__ == VERSION


def test_the_headers_have_it():
    header = (BUILD / "include" / "isentropic" / "version.hpp").read_text()
    assert f'#define ISENTROPIC_VERSION "{VERSION}"' in header
    parts = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    assert ".".join(parts) == VERSION


def test_the_program_has_it():
    program = BUILD / "bin" / "isentropic"
    if not program.exists():
        pytest.skip("the program was not built")
    assert subprocess.check_output([program, "--version"], text=True) == f"isentropic {VERSION}\n"


def test_no_other_file_says_it():
    for name in ("CMakeLists.txt", "pyproject.toml", "setup.py", "python/isentropic/__init__.py"):
        assert VERSION not in (ROOT / name).read_text(), name


def test_the_changelog_starts_with_it_or_with_what_is_unreleased():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first and first[1] in ("Unreleased", VERSION)
