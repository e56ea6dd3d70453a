"""isentropic train dynamics: entropy while models learn, regularised and held."""

import json
import math
import random
import statistics

import pytest

from program import Command, check_resumes

run = Command("train", "dynamics")
LAYERS, HEADS, LENGTH, STEPS, TARGET_STEPS = 2, 2, 16, 60, 10
SIZES = f"--layers {LAYERS} --heads {HEADS} --width 16 --length {LENGTH} --batch 4 --vocabulary 270".split()
SMALL = [*SIZES, "--seeds", "2", "--points", "6", "--validation-tokens", "128"]


def results(folder):
    return json.loads((folder / "results.json").read_text())


def lines(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def runs(folder, **setting):
    """Runs with these settings, in order of their seeds; unspecified settings are those of a plain model."""
    usual = {"objective": "autoregressive", "text": 0, "steps": STEPS, "length": LENGTH, "gain": 1,
             "entropy_weight": 0, "label_smoothing": 0, "target_entropy": 0}  # fmt: skip
    wanted = {**usual, **setting}
    return [run for run in results(folder)["runs"] if all(run[name] == value for name, value in wanted.items())]


def mean(folder, number, **setting):
    return statistics.mean(run[number] for run in runs(folder, **setting))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Sentences with a learnable order."""
    draw = random.Random(1)
    nouns, verbs = "cat dog king queen ship tree road wind".split(), "sees finds leaves follows".split()
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(
        " ".join(f"the {draw.choice(nouns)} {draw.choice(verbs)} the {draw.choice(nouns)}." for _ in range(600))
    )
    return path


@pytest.fixture(scope="module")
def moved(text, tmp_path_factory):
    """Entropy changed by every means: initial weights, loss terms, targets."""
    folder = tmp_path_factory.mktemp("dynamics") / "moved"
    parts = ["--parts", "spread,regulariser,target", "--steps", STEPS, "--target-steps", TARGET_STEPS]
    options = ["--gains", "8,30", "--entropy-weights", 1, "--label-smoothing", 0.9]
    result = run(text, text, "-o", folder, *SMALL, *parts, *options, "--targets", "1,2", "--other-lengths", 32)
    return folder, result.stdout


# ---- measurements ----


def test_a_wider_spread_of_scores_starts_with_less_entropy(moved):
    first = [mean(moved[0], "first_entropy", gain=gain) for gain in (1, 8, 30)]
    assert first[0] > 0.999 and first[0] > first[1] + 0.01 > first[2] + 0.02


def test_terms_of_the_loss_move_entropy_their_way(moved):
    high, free, low = (mean(moved[0], "last_entropy", entropy_weight=weight) for weight in (1, 0, -1))
    assert high > free > low and high > low + 0.05


def test_settings_of_a_seed_start_alike(moved):
    """The first loss does not include the terms, and all models of a seed see the same first windows."""
    at_start = {}
    count = len(results(moved[0])["runs"])
    for line in lines(moved[0]):
        run = results(moved[0])["runs"][line["run"]]
        if line["at"] == 1 and run["length"] == LENGTH and run["objective"] == "autoregressive" and run["gain"] == 1:
            at_start.setdefault((run["seed"], run["text"], run["target_entropy"]), set()).add(line["loss"])
    assert count == 2 * (1 + 2 + 3 + 4 * 3) and {seed for seed, *_ in at_start} == {1, 2}
    assert all(len(losses) == 1 for losses in at_start.values())
    assert len({min(losses) for (_, _, target), losses in at_start.items() if target == 0}) == 2


@pytest.mark.parametrize("target", [1, 2])
@pytest.mark.parametrize("objective, length", [("autoregressive", 16), ("autoregressive", 32), ("masked", 16)])
def test_a_target_entropy_is_met_where_keys_allow_it(moved, target, objective, length):
    """Rows that see k < e^H* keys stop at log k; rows with one key do not count."""
    visible = range(2, length + 1) if objective == "autoregressive" else [length]
    expected = statistics.mean(min(target, math.log(k)) for k in visible)
    found = runs(moved[0], objective=objective, length=length, target_entropy=target, steps=TARGET_STEPS)
    assert [run["last_nats"] for run in found] == pytest.approx([expected] * 2, abs=1e-3)


def test_label_smoothing_trains_a_flatter_prediction(moved):
    """The logged loss excludes it, so smoothed models have a higher one."""
    assert mean(moved[0], "training_loss", label_smoothing=0.9) > mean(moved[0], "training_loss") + 0.3


def test_noise_costs_and_is_the_same_for_the_same_model(moved):
    assert all(run["token_noise"] > 0 for run in runs(moved[0]))
    first, second = (runs(moved[0], text=text, steps=TARGET_STEPS) for text in (0, 1))
    assert [run["token_noise"] for run in first] == [run["token_noise"] for run in second]


def test_differences_are_paired_by_seed(moved):
    numbers = results(moved[0])["regulariser"]["numbers"]
    term = next(term for term in numbers if term["term"] == "discourage 1")
    pairs = zip(runs(moved[0], entropy_weight=-1), runs(moved[0]), strict=True)
    differences = [a["best_loss"] - b["best_loss"] for a, b in pairs]
    found = term["best_loss"]["less_plain"]
    assert found["mean"] == pytest.approx(statistics.mean(differences), abs=1e-9)
    assert found["error"] == pytest.approx(statistics.stdev(differences) / math.sqrt(2), abs=1e-9)
    assert found["beyond_spread"] == (abs(found["mean"]) > 12.7062 * found["error"])


def test_texts_say_which_differences_are_none(moved):
    out = moved[1]
    assert "Spread of the initial scores" in out and "Attention held at a target entropy" in out and "none (" in out
    for name in ("spread.svg", "regulariser.svg", "target.svg", "page.html"):
        assert (moved[0] / name).stat().st_size > 1000


def test_one_seed_calls_nothing_none(text, tmp_path):
    sizes = [*SIZES, "--seeds", 1, "--points", 2, "--validation-tokens", 128, "--steps", 4, "--target-steps", 4]
    parts = ["--parts", "regulariser,target", "--targets", "1,2", "--other-lengths", 32]
    out = run(text, "-o", tmp_path / "x", *sizes, *parts).stdout
    assert "(one seed)" in out and "none" not in out and "sweep is as good" not in out


def test_a_single_step_has_no_change_and_no_minimum(text, tmp_path):
    sizes = [*SIZES, "--seeds", 1, "--validation-tokens", 128, "--steps", 1]
    out = run(text, "-o", tmp_path / "x", *sizes, "--parts", "entropy").stdout
    assert "in the last\n" in out and "nan%" not in out


def test_a_validation_loss_that_only_rises_is_not_said_to_fall(tmp_path):
    """Trained on words, validated on digits."""
    draw, text = random.Random(1), tmp_path / "text.txt"
    text.write_text("the cat sees the dog. " * 200 + "".join(draw.choices("0123456789", k=1000)))
    sizes = [*SIZES, "--seeds", 1, "--points", 2, "--validation-tokens", 128, "--steps", 20, "--held-out", 0.4]
    out = run(text, "-o", tmp_path / "x", *sizes, "--parts", "entropy", "--learning-rate", 0.03).stdout
    first, *between, last = [line["validation_loss"] for line in lines(tmp_path / "x") if line["run"] == 0]
    assert all(first < loss for loss in (*between, last))
    assert "autoregressive: the validation loss is lowest at the start or the end\n" in out


# ---- entropy by layer, head and step ----


def test_entropies_of_every_head_are_logged_at_every_point(text, tmp_path):
    out = run(text, "-o", tmp_path / "a", "--parts", "entropy", *SMALL, "--steps", 24).stdout
    log = lines(tmp_path / "a")
    assert [line["at"] for line in log if line["run"] == 0] == [1, 4, 8, 12, 16, 20, 24]
    heads = [h for line in log for layer in line["entropy"] for h in layer]
    assert len(heads) == len(log) * LAYERS * HEADS and all(0 <= h <= 1 for h in heads)
    assert {run["objective"] for run in results(tmp_path / "a")["runs"]} == {"autoregressive", "masked"}
    assert "in the first quarter of training" in out and "with depth" in out


def test_a_text_learnt_by_heart_turns_the_validation_loss(tmp_path):
    """Random letters: what is memorised does not help on others."""
    draw = random.Random(2)
    (tmp_path / "noise.txt").write_text("".join(draw.choice("abcdefgh ") for _ in range(400)))
    sizes = f"--layers 2 --heads 2 --width 32 --length {LENGTH} --batch 8 --vocabulary 262 --held-out 0.3".split()
    run(tmp_path / "noise.txt", "-o", tmp_path / "a", *sizes, "--parts", "entropy", "--steps", 150, "--seeds", 1,
        "--learning-rate", 0.01, "--points", 6, "--validation-tokens", 128)  # fmt: skip
    found = results(tmp_path / "a")
    assert found["entropy"]["numbers"]["autoregressive"]["turn"]["turned"] == 1
    assert found["runs"][0]["last_loss"] > found["runs"][0]["best_loss"] + 0.05
    assert found["runs"][0]["training_loss"] < found["runs"][0]["best_loss"] - 0.2


# ---- the command ----


def test_an_interrupted_study_goes_on_bit_for_bit(text, tmp_path):
    # The first save is at step 200, between two points.
    options = [text, "--parts", "entropy", *SIZES, "--seeds", 1, "--points", 6, "--steps", 230]
    check_resumes(run, tmp_path, options)


def test_a_text_that_changed_is_noticed(tmp_path):
    (tmp_path / "text.txt").write_text("one two three four " * 100)
    options = ["--parts", "entropy", *SMALL, "--steps", "100000"]
    folder = tmp_path / "a"
    run.interrupt(tmp_path / "text.txt", "-o", folder, *options, when=(folder / "state.safetensors").exists)
    (tmp_path / "text.txt").write_text("one two three five " * 100)
    assert "not what it was" in run("-o", folder, "--resume", status=1).stderr


@pytest.mark.parametrize(
    "options, named",
    [
        (["--parts", "entropy,depth"], "depth"),
        (["--width", "30", "--heads", "4"], "width"),
        (["--gains", "1"], "gain"),
        (["--targets", "0"], "target"),
        (["--other-lengths", "64"], "other length"),
        (["--token-noise", "2"], "token noise"),
        (["--held-out", "nan"], "--held-out: Value nan not in range"),
        (["--device", "tpu"], "device"),
        (["--resume"], "texts"),
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors_of_one_line(text, options, named, tmp_path):
    message = run(text, "-o", tmp_path / "x", *options, status=2).stderr.strip()
    assert named in message and "\n" not in message


def test_no_text_or_a_short_one_is_named(tmp_path):
    assert "texts" in run("-o", tmp_path / "x", status=2).stderr
    (tmp_path / "short.txt").write_text("a few words")
    assert "tokens long" in run(tmp_path / "short.txt", "-o", tmp_path / "x", status=1).stderr
    assert not (tmp_path / "x").exists()
