"""Joint computations of several processes against a single one: the checks of distributed/, in worlds of 2 and 4."""

import datetime
import functools
import importlib
import pathlib
import time

import pytest
import torch
import torch.distributed as dist
import worlds

import isentropic

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


def _attend(group):
    q = torch.ones(1, 2, 4, 8)
    isentropic.attention(q, q, q, group=isentropic.distributed.ContextParallel(group, method="ring"))


def _one_fails():
    if dist.get_rank() == 0:
        raise RuntimeError("something else went wrong")
    _attend(dist.group.WORLD)


def _one_lags():
    group = dist.new_group(timeout=datetime.timedelta(seconds=2))
    if dist.get_rank() == 0:
        time.sleep(5)
    _attend(group)


@pytest.mark.parametrize("fault", [_one_fails, _one_lags])
def test_a_rank_that_fails_or_lags_is_an_error_everywhere(fault):
    began = time.monotonic()
    said = worlds.run(2, {"fault": fault})["fault"]
    assert "rank 0: Traceback" in said and "rank 1: Traceback" in said, said
    assert time.monotonic() - began < worlds.TIMEOUT.total_seconds()  # no process waited for the timeout
