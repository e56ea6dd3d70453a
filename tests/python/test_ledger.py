"""isentropic verify where networks are trained: who checks what, in which tier, with and without libtorch."""

import json
import os
import shutil
import subprocess

import pytest

PROGRAM = os.environ.get("ISENTROPIC_PROGRAM", "")


def verify(*arguments, program=PROGRAM):
    result = subprocess.run([program, "verify", *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def claims(*arguments, program=PROGRAM):
    return {claim["id"]: claim for claim in json.loads(verify(*arguments, "--json", "-", program=program))["claims"]}


def test_the_quick_tier_trains_nothing():
    found = claims("001-s19", "000-10.4.7-txt2")
    assert [found[name]["standing"] for name in found] == ["stored"] * 2
    assert [found[name]["passed"] for name in found] == [None] * 2
    assert found["000-10.4.7-txt2"]["study"]["seeds"] == 10


@pytest.fixture(scope="module")
def dynamics():
    return claims("001-s19", "--thorough", "--seed", "3")["001-s19"]


def test_transformers_are_trained_in_the_thorough_tier(dynamics):
    assert dynamics["standing"] == "passed"
    measured = dynamics["measured"]
    assert measured["H/log n at the first step"]["value"] > 0.95
    assert measured["its fall in training"]["judged"]
    # Below what guessing costs, log 16, and above what the rule leaves open.
    assert 0.55 < measured["loss on new text at its least"]["value"] < 2.7


def test_a_seed_repeats(dynamics):
    assert claims("001-s19", "--thorough", "--seed", "3")["001-s19"] == dynamics


def test_without_libtorch_a_claim_says_what_is_missing(tmp_path):
    alone = shutil.copy(PROGRAM, tmp_path / "isentropic")
    assert "a build with PyTorch" in verify("001-s19", "--thorough", program=alone)
    assert claims("001-s19", "--thorough", program=alone)["001-s19"]["passed"] is None


def test_mistakes_are_named_by_either_program():
    for arguments in (["005"], ["001-s19", "005", "--thorough"], ["--thorough", "--seed", "x"]):
        result = subprocess.run([PROGRAM, "verify", *arguments], capture_output=True, text=True)
        assert result.returncode == 2
        assert len(result.stderr.strip().splitlines()) == 1
