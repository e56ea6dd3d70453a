"""isentropic train grounding: cross-modal attention against the number of patches that match."""

import json
import math

import pytest

from program import Command, check_resumes

run = Command("train", "grounding")
SMALL = {"side": 4, "max-matching": 4, "matching": "1,4,8", "sides": "4,8", "matching-of-sides": 2, "width": 32,
         "heads": 2, "batch": 32, "examples": 64, "steps": 20, "seeds": 1, "measurements": 2, "scales": "log_n"}  # fmt: skip


def small(**changes):
    """Options of a short study, with some changed."""
    return [part for name, value in {**SMALL, **changes}.items() for part in ("--" + name.replace("_", "-"), value)]


def curves(folder):
    return json.loads((folder / "results.json").read_text())["curves"]


def heads(measured):
    """(weight of matching patches, H) of each head."""
    return [
        pair
        for layer in zip(measured["weight_of_matching"], measured["entropy"], strict=True)
        for pair in zip(*layer, strict=True)
    ]


def part(s):
    return -s * math.log(s) if s > 0 else 0.0


def most_entropy(s, m, n):
    """The largest entropy of weights that give m of n patches a share s: H of (s, 1 - s), equal within both parts."""
    inside = s * math.log(m) + ((1 - s) * math.log(n - m) if n > m else 0)
    return part(s) + part(1 - s) + inside


# ---- measurements ----


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grounding") / "learnt"
    run("-o", folder, *small(steps=500, scales="inverse_sqrt_d,log_n_sqrt_d", learning_rate="3e-3", measurements=5))
    return curves(folder)


def test_a_text_finds_the_patches_that_match(learnt):
    for curve in learnt:
        for before, after in zip(curve["course"][0]["measured"], curve["course"][-1]["measured"], strict=True):
            assert before["accuracy"] < 0.4 < 0.9 < after["accuracy"]
            chance = after["matching"] / after["patches"]
            assert before["best_weight"] < chance + 0.25 * (1 - chance)
            assert after["best_weight"] > chance + 0.6 * (1 - chance)
            assert after["best_weight"] >= max(s for s, _ in heads(after))


def test_entropy_follows_the_number_of_matching_patches(learnt):
    """The ideal reader's H grows by log 4 from m = 1 to m = 4."""
    for curve in learnt:
        found = {m["matching"]: m["best_entropy"] for m in curve["course"][-1]["measured"]}
        assert 0.4 * math.log(4) < found[4] - found[1] < 1.2 * math.log(4)


def test_entropy_is_at_most_what_the_weight_of_matching_patches_allows(learnt):
    """The bound is concave in the weight, so it also holds for means."""
    for curve in learnt:
        for measured in [*curve["test"], *(x for moment in curve["course"] for x in moment["measured"])]:
            for s, entropy in [*heads(measured), (measured["best_weight"], measured["best_entropy"])]:
                assert 0 <= entropy <= most_entropy(s, measured["matching"], measured["patches"]) + 1e-4


def test_equal_weights_give_matching_patches_their_share(tmp_path):
    run("-o", tmp_path / "a", *small(scales="constant:0"))
    (curve,) = curves(tmp_path / "a")
    assert [(t["patches"], t["matching"]) for t in curve["test"]] == [(16, 1), (16, 4), (16, 8), (16, 2), (64, 2)]
    for measured in curve["test"]:
        for s, entropy in heads(measured):
            assert s == pytest.approx(measured["matching"] / measured["patches"], rel=1e-5)
            assert entropy == pytest.approx(math.log(measured["patches"]), rel=1e-5)


# ---- the command ----


def test_a_study_has_a_curve_for_each_scale_and_seed(tmp_path):
    result = run("-o", tmp_path / "a", *small(seeds=2, layers=2, learnt_scales="log_n"))
    found = curves(tmp_path / "a")
    assert [(c["learnt"], c["seed"]) for c in found] == [(False, 1), (False, 2), (True, 1), (True, 2)]
    assert found[0]["course"][0] != found[1]["course"][0]
    for given, learnt in zip(found[:2], found[2:], strict=True):
        assert given["course"][0] == learnt["course"][0] and given["course"][-1] != learnt["course"][-1]
    assert all(len(heads(t)) == 4 for c in found for t in c["test"])
    assert "ideal reader" in result.stdout and "log_n, learnt, H" in result.stdout
    assert "Cross-modal attention from text to image" in (tmp_path / "a" / "page.html").read_text()


def test_an_interrupted_study_goes_on_bit_for_bit(tmp_path):
    options = small(scales="inverse_sqrt_d,log_n", steps=250)
    check_resumes(run, tmp_path, options)


@pytest.mark.parametrize(
    "options, named",
    [
        (["--scales", "log_m"], "log_m"),
        (["--matching", "65"], "65"),
        (["--sides", "1"], "matching-of-sides"),
        (["--max-matching", "100"], "max-matching"),
        (["--device", "tpu"], "device"),
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors_of_one_line(options, named, tmp_path):
    message = run("-o", tmp_path / "x", *options, status=2).stderr.strip()
    assert named in message and "\n" not in message and not (tmp_path / "x").exists()
