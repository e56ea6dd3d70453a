"""isentropic train seq2seq: the entropies of encoder, decoder and cross-attention, and the command."""

import json
import math

import pytest

from program import Command, check_resumes

run = Command("train", "seq2seq")
SMALL = {"length": 4, "symbols": 4, "lengths": "4,8", "width": 32, "heads": 2, "layers": 1, "batch": 32,
         "examples": 64, "steps": 20, "seeds": 1, "measurements": 2, "scales": "log_n"}  # fmt: skip
KINDS = ("encoder", "decoder", "cross")


def small(**changes):
    """Options of a short study, with some changed."""
    return [part for name, value in {**SMALL, **changes}.items() for part in ("--" + name.replace("_", "-"), value)]


def curves(folder):
    return json.loads((folder / "results.json").read_text())["curves"]


def mean(layers):
    return sum(map(sum, layers)) / sum(map(len, layers))


# ---- measurements ----


def test_cross_attention_becomes_sharp_and_encoder_attention_stays_spread(tmp_path):
    run("-o", tmp_path / "a", *small(steps=400, seeds=2, scales="inverse_sqrt_d", learning_rate="3e-3"))
    for curve in curves(tmp_path / "a"):
        first, last = (curve["course"][i]["measured"][0] for i in (0, -1))
        assert first["symbols_right"] < 0.5 < 0.95 < last["symbols_right"]
        assert mean(last["cross"]["entropy"]) < 0.5 * mean(first["cross"]["entropy"])
        assert mean(last["encoder"]["entropy"]) > 0.8 * mean(first["encoder"]["entropy"])
        # Counted from the end, the last symbols of a longer source keep their positions: reversing starts with these,
        # and gets 0.38 to 0.53 of 8 symbols right (12 starts). Copying would start with the others: 0.21 to 0.23.
        assert curve["test"][1]["symbols_right"] > 0.33


def test_entropies_are_those_of_equal_weights_where_the_scale_is_0(tmp_path):
    """A row that sees k keys then has H = log k: n + 1 in the encoder, 1 to n + 1 in the causal decoder."""
    run("-o", tmp_path / "a", *small(scales="constant:0"))
    for curve in curves(tmp_path / "a"):
        for measured in curve["test"]:
            keys = measured["n"] + 1
            causal = sum(math.log(k) for k in range(1, keys + 1)) / keys
            for kind, expected in (("encoder", math.log(keys)), ("decoder", causal), ("cross", math.log(keys))):
                assert all(h == pytest.approx(expected, rel=1e-5) for h in measured[kind]["entropy"][0])
            assert all(h == pytest.approx(1, rel=1e-5) for h in measured["cross"]["normalised"][0])


# ---- the command ----


def test_a_study_has_a_curve_for_each_scale_and_seed(tmp_path):
    options = small(seeds=2, layers=2, scales="inverse_sqrt_d,log_n", learnt_scales="log_n")
    result = run("-o", tmp_path / "a", *options)
    found = curves(tmp_path / "a")
    assert [(c["scale"], c["learnt"], c["seed"]) for c in found] == [
        (scale, learnt, seed)
        for scale, learnt in (("inverse_sqrt_d", False), ("log_n", False), ("log_n", True))
        for seed in (1, 2)
    ]
    assert found[0]["course"][0] != found[1]["course"][0]
    for given, learnt in zip(found[2:4], found[4:], strict=True):
        assert given["course"][0] == learnt["course"][0] and given["course"][-1] != learnt["course"][-1]
    for curve in found:
        assert [m["trained"] for m in curve["course"]] == [0, 10, 20]
        assert [t["n"] for t in curve["test"]] == [4, 8]
        assert all(len(t[kind]["entropy"]) == 2 and len(t[kind]["entropy"][0]) == 2 for t in curve["test"] for kind in KINDS)  # fmt: skip
    assert "log_n, learnt cross-attention" in result.stdout and "whole, 8" in result.stdout
    assert "learns to reverse" in (tmp_path / "a" / "page.html").read_text()


def test_networks_of_one_seed_start_alike_and_meet_the_same_sequences(tmp_path):
    """trained_length equals 1 / sqrt d up to its length: training is the same and only longer tests may differ."""
    run("-o", tmp_path / "a", *small(steps=100, scales="inverse_sqrt_d,trained_length:5,log_n"))
    usual, trained_length, log_n = curves(tmp_path / "a")
    assert usual["course"] == trained_length["course"] != log_n["course"]
    assert usual["test"][0] == trained_length["test"][0] and usual["test"][1] != trained_length["test"][1]


def test_places_of_the_source_count_from_either_end(tmp_path):
    for places in ("start", "end"):
        run("-o", tmp_path / places, *small(positions_from=places))
    assert curves(tmp_path / "start") != curves(tmp_path / "end")


def test_an_interrupted_study_goes_on_bit_for_bit(tmp_path):
    options = small(scales="inverse_sqrt_d,log_n", steps=250)
    check_resumes(run, tmp_path, options)


@pytest.mark.parametrize(
    "options, named",
    [
        (["--scales", "log_m"], "log_m"),
        (["--learnt-scales", "inverse_sqrt_d"], "inverse_sqrt_d"),
        (["--width", "30", "--heads", "4"], "width"),
        (["--positions-from", "middle"], "middle"),
        (["--lengths", "0"], "length"),
        (["--steps", "0"], "--steps"),
        (["--scales", "log_n,inverse_sqrt_d,log_n"], "scale is 'log_n' twice; expected each once"),
        (["--learning-rate", "nan"], "--learning-rate: Value nan not in range"),
        (["--minutes", "nan"], "--minutes: Value nan not in range"),
        (["--seed", "-1"], "--seed: Value -1 is negative; see isentropic train seq2seq --help"),
        (["--device", "tpu"], "device"),
        (["--resume", "--overwrite"], "--resume"),
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors_of_one_line(options, named, tmp_path):
    message = run("-o", tmp_path / "x", *options, status=2).stderr.strip()
    assert named in message and "\n" not in message and not (tmp_path / "x").exists()
