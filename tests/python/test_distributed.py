"""What several processes compute together, against one: the checks of distributed/, each in worlds of 2 and 4."""

import functools
import importlib
import pathlib

import pytest
import worlds

FOLDER = pathlib.Path(__file__).parent / "distributed"


def _checks():
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(f"distributed.{path.stem}")
        names = [name for name in vars(module) if name.startswith("check_")]
        found |= {f"{path.stem}.{name.removeprefix('check_')}": getattr(module, name) for name in names}
    return found


@functools.cache
def _said(size):
    return worlds.run(size, _checks())


@pytest.mark.parametrize("name", _checks())
@pytest.mark.parametrize("size", [2, 4])
def test_world(size, name):
    said = _said(size)[name]
    assert not said, said
