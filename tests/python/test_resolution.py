"""isentropic train resolution: images with more pixels than in training."""

import json
import math
import struct

import pytest
import torch

from program import Command, check_resumes

run = Command("train", "resolution")
SMALL = {"patch": 2, "factors": "1,2", "width": 32, "heads": 2, "layers": 1, "batch": 32, "examples": 90, "steps": 20,
         "seeds": 1, "measurements": 2, "scales": "log_n", "learnt-scales": "ssmax:0.1"}  # fmt: skip


def small(images, **changes):
    """Options of a short study, with some changed."""
    options = {"data": images, **SMALL, **changes}
    return [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)]


def curves(folder):
    return json.loads((folder / "results.json").read_text())["curves"]


def idx(values):
    return struct.pack(f">HBB{values.dim()}I", 0, 8, values.dim(), *values.shape) + values.numpy().tobytes()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Four kinds of 8 x 8 images, each bright in a different quarter: they differ by position."""
    folder = tmp_path_factory.mktemp("images")
    draw = torch.Generator().manual_seed(1)
    for part, count in (("train", 300), ("t10k", 90)):
        labels = torch.randint(4, (count,), generator=draw).to(torch.uint8)
        pixels = torch.randint(60, (count, 8, 8), generator=draw).to(torch.uint8)
        for image, label in zip(pixels, labels.tolist(), strict=True):
            row, column = 4 * (label // 2), 4 * (label % 2)
            image[row : row + 4, column : column + 4] += 120
        (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(pixels))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    return folder


# ---- measurements ----


def test_places_mean_the_same_at_every_resolution(images, tmp_path):
    """A network that has learnt which quarter is bright still recognises it with four times the patches."""
    run("-o", tmp_path / "a", *small(images, steps=200, seeds=2, scales="inverse_sqrt_d", learning_rate="3e-3"))
    for curve in curves(tmp_path / "a"):
        assert curve["course"][0]["measured"][0]["accuracy"] < 0.6
        assert [t["patches"] for t in curve["test"]] == [16, 64]
        assert all(t["accuracy"] > 0.95 for t in curve["test"])


def test_entropies_are_those_of_equal_weights_where_the_scale_is_0(images, tmp_path):
    run("-o", tmp_path / "a", *small(images, scales="constant:0", factors="1,2,4"))
    for test in curves(tmp_path / "a")[0]["test"]:
        assert all(h == pytest.approx(math.log(test["patches"]), rel=1e-5) for h in test["entropy"][0])
        assert all(h == pytest.approx(1, rel=1e-5) for h in test["normalised"][0])


def test_a_law_that_differs_beyond_its_length_alone_differs_in_larger_images_alone(images, tmp_path):
    run("-o", tmp_path / "a", *small(images, scales="inverse_sqrt_d,trained_length:16"))
    usual, trained_length, _ = curves(tmp_path / "a")
    assert usual["course"] == trained_length["course"] and usual["test"][0] == trained_length["test"][0]
    assert usual["test"][1]["entropy"] != trained_length["test"][1]["entropy"]


# ---- the command ----


def test_a_study_has_a_curve_for_each_scale_and_seed(images, tmp_path):
    run("-o", tmp_path / "a", *small(images, seeds=2, scales="ssmax:0.1"))
    found = curves(tmp_path / "a")
    assert [(c["learnt"], c["seed"]) for c in found] == [(False, 1), (False, 2), (True, 1), (True, 2)]
    assert found[0]["course"][0] != found[1]["course"][0]
    for given, learnt in zip(found[:2], found[2:], strict=True):
        assert given["course"][0] == learnt["course"][0] and given["course"][-1] != learnt["course"][-1]


def test_differences_within_the_spread_are_none(images, tmp_path):
    """The same law twice: no difference."""
    options = small(images, seeds=2, scales="inverse_sqrt_d,trained_length:1000")
    result = run("-o", tmp_path / "a", *options)
    table = result.stdout.split("paired by seed")[1].split("Entropy")[0]
    (line,) = (line for line in table.splitlines() if line.startswith("trained_length"))
    assert line.count("none (+0.000 ± 0.000)") == 2
    assert "Vision transformers at higher resolution than in training" in (tmp_path / "a" / "page.html").read_text()


def test_an_interrupted_study_goes_on_bit_for_bit(images, tmp_path):
    options = small(images, steps=250)
    check_resumes(run, tmp_path, options)


def test_a_study_goes_on_with_its_own_images_only(images, tmp_path):
    options = small(tmp_path / "images")
    (tmp_path / "images").mkdir()
    for file in images.iterdir():
        (tmp_path / "images" / file.name).write_bytes(file.read_bytes())
    run("-o", tmp_path / "a", *options, "--minutes", 0.0001, status=1)
    labels = tmp_path / "images" / "train-labels-idx1-ubyte"
    labels.write_bytes(
        labels.read_bytes()[:-1] + b"\0" if labels.read_bytes()[-1] else labels.read_bytes()[:-1] + b"\1"
    )
    assert "the same files" in run("-o", tmp_path / "a", "--resume", status=1).stderr


def test_mistakes_leave_no_folder(images, tmp_path):
    assert "data" in run("-o", tmp_path / "x", status=2).stderr
    assert "train-images" in run("-o", tmp_path / "x", "--data", tmp_path, status=1).stderr
    message = run("-o", tmp_path / "x", "--data", images, "--patch", 3, status=1).stderr.strip()
    assert "patch" in message and "8 pixels" in message and "\n" not in message
    assert "factor" in run("-o", tmp_path / "x", "--data", images, "--factors", 0, status=2).stderr
    assert not (tmp_path / "x").exists()
