"""isentropic verify where networks are trained: which build checks what, in which tier, with and without libtorch."""

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


# Claims with a stored study. Each of the last two trains nine transformers for half a minute: `make seeds` does so.
TRAINED = ["000-10.4.6-txt1", "000-10.4.7-txt2", "001-s19", "003-s30-Q1"]
STUDIED = [*TRAINED, "001-s20", "003-s30-Q4"]


def test_the_quick_tier_trains_nothing():
    found = claims(*STUDIED)
    for name in STUDIED:
        assert (found[name]["standing"], found[name]["passed"]) == ("stored", None)
        assert found[name]["study"]["figures"] and found[name]["measured"] == {}
    assert found["000-10.4.7-txt2"]["study"]["seeds"] == 10


@pytest.fixture(scope="module")
def thorough():
    return claims(*TRAINED, "--thorough", "--seed", "3")


def judged(claim):
    return {name: number["value"] for name, number in claim["measured"].items() if number.get("judged")}


def test_networks_are_trained_in_the_thorough_tier(thorough):
    assert [claim["standing"] for claim in thorough.values()] == ["passed"] * len(TRAINED)


def test_what_tanh_keeps_exactly_bins_see_compress(thorough):
    found = judged(thorough["000-10.4.7-txt2"])
    assert found["tanh: what is lost of I(X;T), exactly"] == 0
    assert found["tanh: largest drop of any network, 30 bins"] > 1


def test_linear_networks_keep_the_label_and_do_not_fit_it(thorough):
    found = judged(thorough["000-10.4.6-txt1"])
    assert found["tanh: least I(X;T) of any layer, of 12 bits, exactly"] == pytest.approx(12)
    assert found["linear: I(T;Y) of the last layer in bits, exactly"] > 0.99
    assert found["linear: training accuracy"] < 0.6 < 0.8 < found["tanh: test accuracy"]


def test_language_models_learn_and_their_entropy_falls(thorough):
    measured = thorough["001-s19"]["measured"]
    assert measured["H/log n at the first step"]["value"] > 0.95
    assert measured["its fall in training"]["judged"]
    # Below the loss of guessing, log 16, and above what the rule leaves undetermined.
    assert 0.55 < measured["loss on new text at its least"]["value"] < 2.7


def test_entropy_rises_less_beyond_the_trained_length_with_log_n(thorough):
    measured = {name: number["value"] for name, number in thorough["003-s30-Q1"]["measured"].items()}
    for scale in ("1/sqrt d", "kappa log n/d"):
        assert 0.55 < measured[f"{scale}: loss on new text at 32"] < 1 < measured[f"{scale}: at 512"]
    # 16 times the keys: log 16 = 2.77 if all weights are equal.
    assert 1.5 < measured["1/sqrt d: rise of H from 32 to 512 keys"] < 2.77
    assert judged(thorough["003-s30-Q1"])["rise of H with log n less that without"] < -1


def test_a_seed_repeats_whatever_else_is_checked(thorough):
    assert claims("001-s19", "--thorough", "--seed", "3")["001-s19"] == thorough["001-s19"]


def test_without_libtorch_a_claim_says_what_is_missing(tmp_path):
    alone = shutil.copy(PROGRAM, tmp_path / "isentropic")
    assert "a build with PyTorch" in verify("001-s19", "--thorough", program=alone)
    assert claims("001-s19", "--thorough", program=alone)["001-s19"]["passed"] is None


def test_mistakes_are_named_by_either_program():
    for arguments in (["005"], ["001-s19", "005", "--thorough"], ["--thorough", "--seed", "x"]):
        result = subprocess.run([PROGRAM, "verify", *arguments], capture_output=True, text=True)
        assert result.returncode == 2
        assert len(result.stderr.strip().splitlines()) == 1
