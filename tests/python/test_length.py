"""isentropic train length: language models trained on short texts under many scale laws and evaluated on long ones."""

import fcntl
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from program import Command

run = Command("train", "length")
SIZES = (
    "--vocabulary 300 --layers 2 --heads 2 --width 32 --length 32 --scored 16 --factors 0.5,1,2,4 --batch 8 --steps 40 "
    "--learning-rates 0.01 --documents 4 --positions none --laws inverse_sqrt_d,log_n --seeds 2 --best 0 --attention-dropout-sweep 0 --weight-decay-sweep 0.1"
).split()  # the last two: no third stage


def small(*changes, without=()):
    """Options of a small study: those above, with some changed or omitted."""
    pairs = zip(SIZES[::2], SIZES[1::2])
    return [*(x for pair in pairs if pair[0] not in (*changes, *without) for x in pair), *changes]


SMALL = small()
LAWS = (
    "inverse_sqrt_d log_n log_n_solved log_n_learnt log_n_sqrt_d sqrt_log_n frozen ssmax hybrid target_entropy cosine "
    "scale_invariant trained_length info_scale adaptive yarn window info_cosine"
).split()


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Documents of sentences; each has a few words of its own, which keep recurring."""
    folder = tmp_path_factory.mktemp("texts")
    words = "the cat dog saw ran over a hill and then we all went home under old trees".split()
    choose = random.Random(1)
    for number in range(16):
        own = ["".join(choose.choices("abcdefgh", k=4)) for _ in range(3)]
        lines = (" ".join(choose.choices(words + 2 * own, k=8)) for _ in range(60))
        (folder / f"{number}.txt").write_text(".\n".join(lines))
    return folder


def results(folder):
    return json.loads((folder / "results.json").read_text())["results"]


def without_times(results):
    return [{name: value for name, value in result.items() if name != "seconds"} for result in results]


def start(folder):
    return run.start("-o", folder, "--resume", stdout=subprocess.PIPE)


def wait_until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise TimeoutError


def locked(folder):
    return len(list((folder / "runs").glob("*.lock")))


def logged(folder):
    return len((folder / "log.jsonl").read_text().splitlines())


def start_and_halt(folder):
    """A working process, suspended so that none of its networks is finished however long a test takes."""
    process = start(folder)
    wait_until(lambda: locked(folder) or logged(folder))
    process.send_signal(signal.SIGSTOP)
    return process


def end(process):
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def whole(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("length") / "whole"
    return folder, run(texts, "-o", folder, *SMALL)


def test_networks_of_both_stages_learn(whole):
    folder, printed = whole
    found = results(folder)
    assert [(r["run"]["stage"], r["run"]["law"], r["run"]["seed"]) for r in found] == [
        ("screen", "inverse_sqrt_d", 1), ("screen", "log_n", 1), ("confirm", "inverse_sqrt_d", 2), ("confirm", "log_n", 2),
    ]  # fmt: skip
    for result in found:
        assert result["curve"][-1][1] < result["curve"][0][1] - 0.5 and result["curve"][-1][0] == 40
        assert result["validation"] < 4.5  # log 300 is 5.7
        assert (result["device"], result["bfloat16"]) == ("cpu", False)
        points = {point["n"]: point for point in result["tests"][0]["points"]}
        assert set(points) == {16, 32, 64, 128}
        assert all(0 < point["entropy"] < 4.86 for point in points.values())  # log 128
    assert "vs 1/√d" in printed.stdout and "beyond the trained length" in printed.stdout.lower()
    assert "Which scale carries" in (folder / "page.html").read_text()
    assert (folder / "length.svg").read_text().startswith("<svg")


def test_every_law_runs_with_both_positions(texts, tmp_path):
    changes = "--positions none,rotary --seeds 1 --steps 20 --factors 0.5,1,2 --documents 2".split()
    printed = run(texts, "-o", tmp_path / "all", *small(*changes, without=["--laws"])).stdout
    networks = [r for r in results(tmp_path / "all") if r["learnt"] and r["run"]["positions"] == "rotary"]
    numbers = {r["run"]["law"]: r["learnt"][0] for r in networks}
    table = printed.split("Learnt parameters, mean over heads and seeds, rotary positions")[1].split("Beyond")[0]
    rows = (line.split() for line in table.splitlines() if line.startswith(tuple(numbers)))
    assert {law: float(number) for law, number, *_ in rows} == pytest.approx(numbers, abs=5e-5)
    assert set(numbers) == {"log_n_learnt", "ssmax"}
    found = {(t["law"], r["run"]["positions"]): t["points"] for r in results(tmp_path / "all") for t in r["tests"]}
    assert {law for law, _ in found} == set(LAWS)
    assert ("yarn", "none") not in found and ("yarn", "rotary") in found
    for positions in ("none", "rotary"):
        usual = {point["n"]: point for point in found["inverse_sqrt_d", positions]}
        # Up to the trained length a window hides nothing, and max(1, log n / log n_train) is 1.
        for same in ("window", "trained_length"):
            for point in found[same, positions]:
                if point["n"] <= 32:
                    assert point["loss"] == pytest.approx(usual[point["n"]]["loss"], abs=1e-5)
        # Beyond it the window sees fewer keys, and the other law is sharper: both give less entropy.
        for sharper in ("window", "trained_length"):
            assert found[sharper, positions][-1]["entropy"] < usual[64]["entropy"] - 0.01
    # Rows that see 17 keys or more can have an entropy of 2. Without positions equal tokens are equal keys, which no
    # scale can distinguish: there it may stay above.
    for point in found["target_entropy", "rotary"]:
        if point["n"] >= 32:
            assert point["entropy"] == pytest.approx(2, abs=1e-3)


def test_an_interrupted_study_goes_on_bit_for_bit_with_or_without_its_state(texts, whole, tmp_path):
    folder, parts = whole[0], tmp_path / "parts"
    second = lambda: list(parts.glob("runs/screen-log_n-*.lock"))
    run.interrupt(texts, "-o", parts, *SMALL, when=second)
    assert len(list(parts.glob("runs/*.safetensors"))) == 1
    shutil.copytree(parts, tmp_path / "carried")
    shutil.rmtree(tmp_path / "carried" / "runs")
    # What remains of a process killed after logging its network, or while saving one.
    for ending in ("lock", "safetensors", "safetensors.part-7"):
        (parts / "runs" / f"screen-inverse_sqrt_d-none-0.01-1-0-0.1.{ending}").touch()
    half = '{"run": {"law"'  # left by a full disk or a killed process
    with (tmp_path / "carried" / "log.jsonl").open("a") as log:
        log.write(half)
    for copy in (parts, tmp_path / "carried"):
        run("-o", copy, "--resume")
        assert without_times(results(copy)) == without_times(results(folder))
        assert not (copy / "runs").exists()
    lines = (tmp_path / "carried" / "log.jsonl").read_text().splitlines()
    assert lines.count(half) == 1  # later results start on new lines


def test_processes_share_a_folder_and_one_that_is_killed_leaves_its_network_to_the_others(texts, whole, tmp_path):
    folder = tmp_path / "shared"
    run(texts, "-o", folder, *SMALL, "--prepare-only")
    killed = start_and_halt(folder)
    others = [start(folder)]
    wait_until(lambda: logged(folder))  # trained by the other process while the first one is suspended
    end(killed)
    others.append(start(folder))
    for process in others:
        _, message = process.communicate(timeout=120)
        assert process.returncode == 0, message
    key = json.dumps
    assert sorted(map(key, without_times(results(folder)))) == sorted(map(key, without_times(results(whole[0]))))
    assert logged(folder) == 4 and not (folder / "runs").exists()


def test_a_folder_is_not_overwritten_while_a_process_trains_in_it(texts, tmp_path):
    folder = tmp_path / "shared"
    run(texts, "-o", folder, *SMALL, "--prepare-only")
    (folder / "runs").mkdir()
    (folder / "runs" / "left-by-one-that-was-killed.lock").touch()
    with (folder / "runs" / "screen.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        message = run(texts, "-o", folder, *SMALL, "--prepare-only", "--overwrite", status=1).stderr
        assert "in which a process trains" in message and locked(folder) == 2
    run(texts, "-o", folder, *SMALL, "--prepare-only", "--overwrite")
    assert not (folder / "runs").exists()


def test_a_network_that_diverges_is_left_out_and_named(texts, tmp_path):
    changes = ["--learning-rates", "0.01,1e9", "--seeds", "1", "--laws", "inverse_sqrt_d,target_entropy"]
    printed = run(texts, "-o", tmp_path / "x", *small(*changes))
    assert "Diverged: inverse_sqrt_d (learning rate 1e+09, seed 1)" in printed.stdout
    assert "diverged in" in printed.stderr and "not finite at step" in printed.stderr
    finite = [r["run"]["learning_rate"] for r in results(tmp_path / "x") if not r.get("diverged")]
    assert finite == [0.01, 0.01]
    assert {"inverse_sqrt_d", "target_entropy"} <= set(re.findall(r"^(\w+) +0\.01 ", printed.stdout, re.MULTILINE))
    assert "Diverged" in (tmp_path / "x" / "page.html").read_text()


def test_documents_are_prepared_apart_and_a_limit_of_minutes_stops(texts, tmp_path):
    run(texts, "-o", tmp_path / "a", *SMALL, "--prepare-only")
    assert not (tmp_path / "a" / "results.json").exists()
    message = run("-o", tmp_path / "a", "--resume", "--minutes", 0.001, status=1).stderr
    assert "stopped after" in message and "--resume" in message
    # The suggested command repeats options that the folder does not store.
    again = ["--resume", "--bfloat16", "--minutes", "0.001", "--device", "cpu"]
    assert " ".join(again) in run("-o", tmp_path / "a", *again, status=1).stderr


def test_what_is_prepared_for_one_device_is_trained_on_another(texts, whole, tmp_path):
    run(texts, "-o", tmp_path / "a", *SMALL, "--prepare-only")
    about = (tmp_path / "a" / "study.json").read_text()
    (tmp_path / "a" / "study.json").write_text(about.replace('"cpu"', '"cuda:77"'))
    assert "cuda:77" in run("-o", tmp_path / "a", "--resume", status=1).stderr
    run("-o", tmp_path / "a", "--resume", "--device", "cpu")
    assert without_times(results(tmp_path / "a")) == without_times(results(whole[0]))
    # Results trained elsewhere are not comparable with later ones.
    log = (tmp_path / "a" / "log.jsonl").read_text().splitlines()
    (tmp_path / "a" / "log.jsonl").write_text(log[0].replace('"cpu"', '"cuda"') + "\n")
    mixed = run("-o", tmp_path / "a", "--resume", "--device", "cpu")
    assert "trained on cuda in float32, from now on cpu in float32" in mixed.stderr
    assert "trained in different precisions: 3 on cpu in float32, 1 on cuda in float32." in mixed.stdout


@pytest.mark.parametrize(
    "options, status, named",
    [
        (["--laws", "log_m"], 2, "law is 'log_m'"),
        (["--positions", "learned"], 2, "positions"),
        (["--width", 30, "--heads", 4], 2, "width"),
        (["--scored", 64], 2, "scored"),
        (["--resume"], 2, "texts"),
        (["--documents", 40], 1, "documents of 129 tokens or more"),
        (["--steps", 4000], 1, "epochs"),
        (["--steps", 4000, "--max-epochs", "nan"], 2, "max epochs is nan; expected more than 0"),
        (["--attention-dropout-sweep", "0,1.5"], 2, "attention dropout is 1.5"),
        (["--weight-decay-sweep=-1"], 2, "weight decay is -1"),
        (["--factors", "0.5,1"], 2, "factors"),
        (["--width", 30, "--positions", "none,rotary"], 2, "rotary"),
        (["--training-tokens", 20], 2, "training tokens is 20; expected more than the length, 32"),
    ],
)
def test_mistakes_are_said_in_one_line(texts, tmp_path, options, status, named):
    message = run(texts, "-o", tmp_path / "x", *small(*options), status=status).stderr.strip().splitlines()[-1]
    assert named in message and message.startswith("isentropic")
    assert not (tmp_path / "x").exists()  # a second attempt is not blocked


def test_the_best_are_trained_with_other_regularisation(texts, tmp_path):
    printed = run(
        texts,
        "-o",
        tmp_path / "x",
        *small("--attention-dropout-sweep", "0,0.5", "--weight-decay-sweep", "0.1", "--seeds", 1),
    )
    runs = [(r["run"]["stage"], r["run"]["law"], r["run"]["attention_dropout"]) for r in results(tmp_path / "x")]
    assert runs[:2] == [("screen", "inverse_sqrt_d", 0), ("screen", "log_n", 0)]
    assert sorted(runs[2:]) == [("regularise", "inverse_sqrt_d", 0.5), ("regularise", "log_n", 0.5)]
    usual, other = (next(r for r in results(tmp_path / "x") if r["run"]["attention_dropout"] == x) for x in (0, 0.5))
    assert usual["validation"] != other["validation"]
    assert re.search(r"Other regularisation.*\n.*dropout.*decay", printed.stdout)


def test_texts_that_are_missing_and_damaged_documents(texts, tmp_path):
    assert "missing" in run(pathlib.Path("missing"), "-o", tmp_path / "x", *SMALL, status=1).stderr
    damaged = tmp_path / "damaged"
    run(texts, "-o", damaged, *SMALL, "--prepare-only")
    tokens = (damaged / "documents.safetensors").read_bytes()
    (damaged / "documents.safetensors").write_bytes(tokens[: len(tokens) // 2])
    assert "documents.safetensors" in run("-o", damaged, "--resume", status=1).stderr


def test_texts_that_are_missing_leave_the_study_that_they_were_to_replace(whole, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(whole[0], folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run(pathlib.Path("missing"), "-o", folder, *SMALL, "--overwrite", status=1)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_empty_folder_stays_empty_where_texts_are_too_short(texts, tmp_path):
    run(texts, "-o", tmp_path, *small("--documents", "40"), status=1)
    assert not list(tmp_path.iterdir())


def test_documents_of_another_study_are_refused(texts, tmp_path):
    folder = tmp_path / "x"
    run(texts, "-o", folder, *SMALL, "--prepare-only")
    about = json.loads((folder / "study.json").read_text())
    for change in ({"factors": [1, 8]}, {"documents": 5}):
        (folder / "study.json").write_text(json.dumps({**about, "options": {**about["options"], **change}}))
        assert "documents.safetensors is with " in run("-o", folder, "--resume", status=1).stderr
