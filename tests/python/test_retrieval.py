"""isentropic train retrieval: short training, long tests; and FIRST by constructed weights."""

import json
import statistics

import pytest
import torch

import isentropic
from isentropic import Scale
from program import Command, check_resumes

run = Command("train", "retrieval")
SIZES = "--length 16 --width 32 --heads 2 --batch 32 --examples 128".split()
SHORT = [*SIZES, "--factors", "1,8"]


def only(**lists):
    """These lists of variants and no others."""
    names = ("scales", "learnt_scales", "maps", "learnt_maps", "without_key_bias")
    return [part for name in names for part in (f"--{name.replace('_', '-')}", lists.get(name, "none"))]


def curves(folder):
    return json.loads((folder / "results.json").read_text())["curves"]


# ---- what is solvable ----


def first_by_construction(n, scale, inputs=200):
    """The share of inputs whose first symbol decides the sign of one attention row: its key is 1, the others' are 0."""
    symbols = torch.randint(2, (inputs, 1, n, 1), generator=torch.Generator().manual_seed(n)).double() * 2 - 1
    query, key = torch.ones(inputs, 1, 1, 1).double(), torch.zeros(inputs, 1, n, 1).double()
    key[:, :, 0] = 1
    output = isentropic.attention(query, key, symbols, scale=scale)
    return (output[:, 0, 0, 0].sign() == symbols[:, 0, 0, 0]).double().mean().item()


@pytest.mark.parametrize("n", [4, 64, 1024, 16384])
def test_first_is_solved_at_any_length_under_log_n(n):
    """The first key has weight n^2 / (n^2 + n - 1): more than all the others together."""
    assert first_by_construction(n, Scale.log_n(2.0)) == 1


def test_first_is_lost_under_a_scale_that_does_not_grow():
    found = [first_by_construction(n, "inverse_sqrt_d") for n in (4, 64, 1024, 16384)]
    assert found[0] > 0.8 and found[2] < 0.7 and found[3] < 0.65


def test_networks_learn_first_and_a_growing_scale_carries_it_further(tmp_path):
    """Of 18 starts, all answer everything at 32 times the length under log n; three exceed 0.65 under 1 / sqrt d."""
    variants = only(maps="sparsemax", scales="inverse_sqrt_d,log_n:kappa=16", learnt_scales="log_n:kappa=16")
    options = ["--task", "first", *SIZES, "--steps", 300, "--factors", "1,32", "--seeds", 3]
    run("-o", tmp_path / "first", *options, *variants)
    short, far = {}, {}
    for curve in curves(tmp_path / "first"):
        for point, found in zip(curve["points"], (short, far), strict=True):
            found.setdefault((curve["map"], curve["scale"]), []).append(point["accuracy"])
    assert all(min(accuracy) > 0.95 for accuracy in short.values())
    assert len(far["softmax", "log_n:kappa=16"]) == 6  # given and learnt
    for carried in [("softmax", "log_n:kappa=16"), ("sparsemax", "log_n")]:
        assert min(far[carried]) > 0.9, carried
    assert statistics.median(far["softmax", "inverse_sqrt_d"]) < 0.7


# ---- variants ----


def variants(folder, task, *arguments, **lists):
    run("-o", folder, "--task", task, *SIZES, *only(**lists), *arguments)
    return curves(folder)


def test_linear_maps_meet_every_feature_size_and_have_at_most_that_rank(tmp_path):
    found = variants(
        tmp_path / "a", "needle", "--steps", 30, "--factors", "1,8", "--feature-sizes", "2,8",
        maps="linear,linear:feature=exp,sharpen=1,sparsemax",
    )  # fmt: skip
    linear = [c for c in found if c["map"].startswith("linear")]
    # Any scale cancels in normalised weights, so they are trained once.
    assert [(c["map"], c["features"]) for c in linear] == [
        ("linear", 2), ("linear", 8), ("linear:feature=exp,sharpen=1", 2), ("linear:feature=exp,sharpen=1", 8),
    ]  # fmt: skip
    assert all(1 <= p["rank"] <= c["features"] for c in linear for p in c["points"])
    assert [c["scale"] for c in found if c["map"] == "sparsemax"] == ["inverse_sqrt_d", "log_n"]
    assert all(p["rank"] > 8 for c in found if c["map"] == "sparsemax" for p in c["points"])


def test_alpha_is_learnt_for_each_head(tmp_path):
    found = variants(tmp_path / "a", "first", "--steps", 40, "--factors", "1", learnt_maps="entmax:alpha=1.5")
    assert all(c["learnt_map"] and len(c["alpha"]) == 2 for c in found)
    assert all(alpha > 1 and abs(alpha - 1.5) > 1e-5 for c in found for alpha in c["alpha"])


def test_decay_sees_places_and_no_content(tmp_path):
    (decay,) = variants(tmp_path / "a", "needle", "--steps", 20, "--factors", "1,4", maps="decay:gamma=0.9")
    # Over 17 and 65 keys: participation (1 - g^k)^2 (1 - g^2) / ((1 - g)^2 (1 - g^(2k))).
    for point, keys in zip(decay["points"], (17, 65)):
        total, squares = (1 - 0.9**keys) / 0.1, (1 - 0.81**keys) / 0.19
        assert point["participation"] == pytest.approx(total**2 / squares, rel=1e-5)


def test_a_key_bias_is_left_out(tmp_path):
    found = variants(
        tmp_path / "a", "first", "--steps", 10, "--factors", "1",
        maps="relu_squared", without_key_bias="relu_squared,softmax",
    )  # fmt: skip
    assert [(c["map"], c["key_bias"]) for c in found] == [
        (map, bias) for map, bias in [("relu_squared", True), ("relu_squared", False), ("softmax", False)] for _ in (1, 2)
    ]  # fmt: skip
    # The last variant's state does not contain the omitted biases.
    from safetensors.torch import load_file

    names = load_file(tmp_path / "a" / "state.safetensors")
    assert "w.layers0_self.attention.W_Q.bias" in names
    assert not {"w.embed.bias", "w.layers0_self.attention.W_K.bias", "w.layers0_self.norm.bias"} & set(names)


# ---- the command ----


def test_a_study_has_a_curve_for_each_variant(tmp_path):
    lists = ["--maps", "entmax,relu_squared", "--without-key-bias", "none"]
    result = run("-o", tmp_path / "a", "--task", "needle", *lists, "--seeds", 2, *SHORT, "--steps", 20)
    found = curves(tmp_path / "a")
    assert len(found) == 2 * (4 + 1 + 2 * 2 + 2)
    assert {point["n"] for curve in found for point in curve["points"]} == {16, 128}
    assert "softmax inverse_sqrt_d" in result.stdout and "n = 128" in result.stdout
    assert all((p["entropy"] is None) == (c["map"] == "relu_squared") for c in found for p in c["points"])
    assert "participation (128)" in result.stdout and "rank (128)" in result.stdout
    assert "Retrieval beyond the trained length" in (tmp_path / "a" / "page.html").read_text()


@pytest.mark.parametrize("task", ["first", "maximum", "needle", "recall"])
def test_every_task_runs(task, tmp_path):
    run("-o", tmp_path / task, "--task", task, *only(maps="linear", scales="log_n"), *SHORT, "--steps", 3)
    assert all(0 <= p["accuracy"] <= 1 for c in curves(tmp_path / task) for p in c["points"])


def test_an_interrupted_study_goes_on_bit_for_bit(tmp_path):
    lists = only(scales="inverse_sqrt_d", learnt_maps="entmax", without_key_bias="relu_squared")
    options = ["--task", "maximum", *lists, *SHORT, "--steps", 210]
    check_resumes(run, tmp_path, options)


@pytest.mark.parametrize(
    "options, named",
    [
        (["--task", "second"], "task"),
        (["--scales", "log_m"], "log_m"),
        (["--maps", "hardmax"], "hardmax"),
        (["--maps", "linear:sharpen=1"], "sharpen"),
        (["--learnt-maps", "sparsemax"], "sparsemax"),
        (["--feature-sizes", "0"], "feature size"),
        (only(), "variant"),
        (["--width", "30", "--heads", "4"], "width"),
        (["--scales", "log_n,log_n"], "variant is 'softmax log_n' twice"),
        (["--learning-rate", "nan"], "--learning-rate: Value nan not in range"),
        (["--device", "tpu"], "device"),
        (["--resume", "--overwrite"], "--resume"),
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors_of_one_line(options, named, tmp_path):
    message = run("-o", tmp_path / "x", *options, status=2).stderr.strip()
    assert named in message and "\n" not in message


def test_a_network_that_diverges_is_said_in_one_line(tmp_path):
    options = ["--learning-rate", 1e12, "--steps", 40, "--length", 4, "--factors", 1, *only(scales="log_n")]
    *_, error = run("-o", tmp_path / "x", *options, status=1).stderr.splitlines()
    assert error.startswith("isentropic: loss is not finite at step ") and "frame" not in error


def test_another_study_is_not_gone_on_with(tmp_path):
    (tmp_path / "study.json").write_text('{"study": "vib", "options": {}}')
    assert "another study" in run("-o", tmp_path, "--resume", status=1).stderr
