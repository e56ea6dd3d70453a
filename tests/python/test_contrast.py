"""isentropic train contrast: bounds below their ceiling, embeddings by temperature, resumed runs, mistakes."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from program import Command, contents

run = Command("train", "contrast")
SMALL = "--critic two-tower --batch 16 --information 2,4 --dimension 4 --steps 40 --temperatures 0.2 --view-steps 20"


def in_small(folder, *options):
    """The arguments of a small study with these options."""
    given = [str(x) for x in options]
    defaults = SMALL.split()
    rest = [x for pair in zip(defaults[::2], defaults[1::2]) if pair[0] not in given for x in pair]
    return ["-o", folder, *given, *rest]


def study(folder, *options, status=0):
    return run(*in_small(folder, *options), status=status)


def lines(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def results(folder):
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def staircase(tmp_path_factory):
    """All critics, two batch sizes, from no information to more than the smaller one can detect."""
    folder = tmp_path_factory.mktemp("contrast") / "staircase"
    options = ["--critic", "shared,two-tower,cosine", "--batch", "8,64", "--information", "0,2,6", "--steps", 750]
    return folder, study(folder, *options).stdout


def test_no_step_passes_the_ceiling(staircase):
    log = lines(staircase[0])
    assert sum(line["steps"] for line in log) == log[-1]["step"] == 6 * 750 + 20
    for before, line in zip([{"step": 0}, *log], log):
        assert line["step"] == before["step"] + line["steps"]
        candidates = line["batch"] if line["part"] == "information" else 32
        assert line["ceiling"] == pytest.approx(math.log(candidates), rel=1e-6)
        assert line["bound"] <= line["highest_bound"] + 1e-6
        assert line["highest_bound"] <= line["ceiling"]
        assert line["bound"] == pytest.approx(line["ceiling"] - line["loss"], abs=1e-6)


def test_bounds_stay_below_the_truth_and_larger_batches_go_on(staircase):
    found = {(x["critic"], x["batch"], x["information"]): x for x in results(staircase[0])["information"]}
    assert len(found) == 18
    for (_, batch, information), stair in found.items():
        assert stair["bound"] <= information + 4 * stair["error"] + 0.02
        assert stair["bound"] < math.log(batch)
    for critic in ("shared", "two-tower", "cosine"):
        assert abs(found[critic, 64, 0]["bound"]) < 0.1
        assert 1.0 < found[critic, 64, 2]["bound"] < found[critic, 64, 6]["bound"]
        assert found[critic, 64, 6]["bound"] > math.log(8)  # unattainable with the small batch


def test_the_numbers_of_a_stair_are_means_of_the_log(staircase):
    second = results(staircase[0])["information"][4]  # shared, batch 64, I = 2
    steps = [
        x for x in lines(staircase[0]) if (x["part"], x.get("critic"), x.get("batch")) == ("information", "shared", 64)
    ]
    blocks = [x["bound"] for x in steps if x["information"] == 2]
    assert len(blocks) == 40
    bounds = torch.tensor(blocks[20:], dtype=torch.float64)
    assert (second["critic"], second["batch"], second["information"]) == ("shared", 64, 2)
    assert second["bound"] == pytest.approx(bounds.mean().item())
    assert second["error"] == pytest.approx(bounds.std().item() / math.sqrt(20))


def test_the_output(staircase):
    folder, text = staircase
    assert "critic      batch   log N   I = 0   I = 2   I = 6" in text and "nearest cosine" in text
    bound = results(folder)["information"][-1]["bound"]
    assert f"{bound:.2f}" in text
    assert "Contrastive learning: information and embeddings" in (folder / "page.html").read_text()
    assert (folder / "push_pull.svg").read_text().count(">positive</text>") == 1  # a single temperature


def normals(seed, stream, step, *sizes):
    """A step's random numbers, following src/lab/random_streams.hpp."""
    mix = 0x9E3779B97F4A7C15
    state = ((seed * mix + stream) * mix + step * 0xD1B54A32D192ED03) % 2**64
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(state))


def test_the_geometry_is_that_of_the_last_embeddings(tmp_path):
    study(tmp_path / "study", "--view-steps", 300, "--seed", 3)
    state = load_file(tmp_path / "study" / "state.safetensors")
    points = normals(3, 4, 0, 32, 16)

    def embed(stream):
        x = points + 0.1 * normals(3, stream, 300, 32, 16)
        for layer in (0, 2, 4):
            x = x @ state[f"tower.{layer}.weight"].T + state[f"tower.{layer}.bias"]
            x = x.relu() if layer < 4 else torch.nn.functional.normalize(x, dim=1)
        return x.double()

    x, y = embed(5), embed(6)
    pairs = torch.pdist(x).square()
    cosines = (x @ x.T).fill_diagonal_(-torch.inf)
    share = torch.linalg.svdvals(x) / torch.linalg.svdvals(x).sum()
    expected = {
        "alignment": (x - y).square().sum(1).mean(),
        "uniformity": (-2 * pairs).exp().mean().log(),
        "effective_rank": torch.special.entr(share).sum().exp(),
        "mean_cosine": 1 - pairs.mean() / 2,
        "nearest_cosine": cosines.amax(1).mean(),
        "hardest_share": (cosines / 0.2).softmax(1).amax(1).mean(),
    }
    found = results(tmp_path / "study")["views"][0]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value.item(), abs=1e-4), name


def test_high_temperatures_bring_neighbours_nearer_and_collapse_nothing(tmp_path):
    study(tmp_path / "study", "--temperatures", "0.1,1,5", "--view-steps", 1500)
    low, middle, high = results(tmp_path / "study")["views"]
    assert all(view["effective_rank"] > 7 for view in (low, middle, high))
    assert low["nearest_cosine"] < middle["nearest_cosine"] < high["nearest_cosine"]
    assert low["hardest_share"] > middle["hardest_share"] > high["hardest_share"]
    assert all(abs(view["mean_cosine"] + 1 / 31) < 0.01 for view in (low, middle, high))


@pytest.mark.parametrize("after", [50, 170], ids=["in a staircase", "in the views"])
def test_an_interrupted_study_goes_on_bit_for_bit(tmp_path, after):
    options = ["--critic", "cosine,shared", "--steps", 1000, "--view-steps", 1500]
    study(tmp_path / "whole", *options)
    folder = tmp_path / "parts"
    log = folder / "log.jsonl"
    run.interrupt(*in_small(folder, *options), when=lambda: log.exists() and log.read_bytes().count(b"\n") >= after)
    assert after <= len(lines(folder)) < 200
    assert not (folder / "results.json").exists()
    run("-o", folder, "--resume")
    assert contents(folder) == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    "options, message",
    [
        (["--critic", "best"], "critic is 'best'; expected shared, two-tower or cosine"),
        (["--batch", "1"], "--batch"),
        (["--temperatures", "0"], "--temperatures"),
        (["--information", "-1"], "--information"),
        (["--information", "nan"], "--information: Value nan not in range"),
        (["--temperatures", "1,nan"], "--temperatures: Value nan not in range"),
        (["--steps", 3], "steps is 3; expected at least 2 for each of 2 stairs"),
        (["--device", "cuda:9"], "device is 'cuda:9'; expected cpu"),
        (["--resume", "--overwrite"], "expected one of them"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path, options, message):
    error = study(tmp_path / "study", *options, status=2).stderr.splitlines()[-1]
    assert message in error
    assert not (tmp_path / "study").exists()


def test_a_folder_that_holds_nothing(tmp_path):
    assert "holds no study to continue" in run("-o", tmp_path / "none", "--resume", status=1).stderr
