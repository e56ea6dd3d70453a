"""isentropic train lm, perplexity and generate: resuming interrupted runs, and folders that Hugging Face can read."""

import json
import os
import pathlib
import random
import resource
import signal
import threading
import time

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

import isentropic
from program import Command, contents

run = Command()
SMALL = "--layers 2 --heads 2 --width 32 --length 32 --batch 2 --vocabulary 300 --warmup 3 --validate-every 4".split()

isentropic.hf.register()


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Sentences of a few words, including non-ASCII characters."""
    words = "the cat dog saw ran over a hill naïve café and then we all went home".split()
    choose = random.Random(1)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(choose.choices(words, k=8)) + "." for _ in range(400)))
    return path


def train(text, folder, *options, steps=8, status=0):
    return run("train", "lm", text, "-o", folder, "--steps", steps, *with_defaults(options), status=status)


def with_defaults(options):
    """Adds the small sizes that the options do not set."""
    return [*options, *(x for pair in zip(SMALL[::2], SMALL[1::2]) if pair[0] not in options for x in pair)]


def without_run(folder):
    return {name: data for name, data in contents(folder).items() if not name.endswith("run.json")}


def test_an_interrupted_run_goes_on_bit_for_bit(text, tmp_path):
    options = ["--attention-dropout", 0.1, "--save-every", 3, "--learn-scale", "--scale", "log_n"]
    train(text, tmp_path / "whole", *options, steps=400)
    parts = tmp_path / "parts"
    arguments = ["train", "lm", text, "-o", parts, "--steps", 400, *SMALL, *options]
    assert "after step" in run.interrupt(*arguments, when=(parts / "training" / "state.safetensors").exists)
    assert len((parts / "log.jsonl").read_text().splitlines()) < 400
    run("train", "lm", "-o", tmp_path / "parts", "--resume")
    assert without_run(tmp_path / "parts") == without_run(tmp_path / "whole")


def logits_of_program(folder, ids, vocabulary):
    from test_models import run as run_model

    width = json.loads((folder / "config.json").read_text()).get("hidden_size", 32)
    (_, logits), _ = run_model(folder, ids, (len(ids), width), (len(ids), vocabulary), rest=True)
    return logits


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--positions", "none"],
        ["--norm", "layer", "--positions", "learned"],
        ["--window", 5, "--global-every", 2, "--scale", "log_n:kappa=1.5"],
        ["--positions", "none", "--window", 7],
        ["--positions", "none", "--scale", "log_n", "--learn-scale", "--kv-heads", 1],
        ["--scale", "ssmax:s=0.3", "--map", "top_k:keys=5"],
    ],
    ids=lambda options: " ".join(map(str, options)) or "plain",
)
def test_transformers_reads_the_result(text, tmp_path, options):
    train(text, tmp_path / "model", *options)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", attn_implementation="isentropic").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    ids = tokenizer("the naïve cat ran over a hill and then we all went home.")["input_ids"]
    assert tokenizer.decode(ids) == "the naïve cat ran over a hill and then we all went home."
    with torch.no_grad():
        expected = model(torch.tensor([ids])).logits[0]
    found = logits_of_program(tmp_path / "model", ids, expected.shape[1])
    assert (found - expected).norm() / expected.norm() < 1e-5


def test_masked_models_are_bert(text, tmp_path):
    result = train(text, tmp_path / "model", "--objective", "mlm", "--norm", "layer", "--positions", "learned")
    assert "pseudo-likelihood" in result.stdout
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "model", attn_implementation="eager").eval()
    ids = [5, 9, 100, 33, 1, 8]
    with torch.no_grad():
        expected = model(torch.tensor([ids])).logits[0]
    found = logits_of_program(tmp_path / "model", ids, expected.shape[1])
    assert (found - expected).norm() / expected.norm() < 1e-5
    for command in (["perplexity", tmp_path / "model", text], ["generate", tmp_path / "model", "--prompt", "the cat"]):
        error = run(*command, status=1).stderr
        assert error == "isentropic: model is bert; expected one that predicts what comes next\n"


@pytest.mark.parametrize("positions", ["sinusoidal", "alibi", "relative"])
def test_positions_that_no_family_has_are_read_back_here(text, tmp_path, positions):
    train(text, tmp_path / "model", "--positions", positions)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["model_type"] == "isentropic"
    trained = json.loads((tmp_path / "model" / "log.jsonl").read_text().splitlines()[-1])["validation_loss"]
    found = json.loads(run("perplexity", tmp_path / "model", text, "--json").stdout)["lengths"][0]["loss"]
    assert abs(found - trained) < 0.3


def test_the_log_has_every_step(text, tmp_path):
    train(text, tmp_path / "model")
    lines = [json.loads(line) for line in (tmp_path / "model" / "log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == list(range(1, 9))
    assert torch.tensor(steps[0]["entropy"]).shape == torch.tensor(steps[0]["normalised_entropy"]).shape == (2, 2)
    assert all(0.9 < x <= 1 for layer in steps[0]["normalised_entropy"] for x in layer)
    assert [line["step"] for line in lines if "validation_loss" in line] == [4, 8]
    picture = (tmp_path / "model" / "log.svg").read_text()
    assert all(f">{label}</text>" in picture for label in ("training", "validation", "layer 0", "layer 1"))


def test_torch_attention_trains_the_same_model(text, tmp_path):
    """Also with a scale law, and with statistics in some steps."""
    options = ["--window", 5, "--global-every", 2, "--scale", "log_n:kappa=2"]
    train(text, tmp_path / "ours", *options)
    train(text, tmp_path / "torch", *options, "--torch-attention", "--statistics-every", 3)
    logs = [
        [json.loads(line) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        for name in ("ours", "torch")
    ]
    for ours, torchs in zip(*logs):
        assert ours.get("loss", ours.get("validation_loss")) == pytest.approx(
            torchs.get("loss", torchs.get("validation_loss")), rel=1e-4
        )
    assert [line["step"] for line in logs[1] if "entropy" in line] == [3, 6]


def test_regularisers_move_the_entropy(text, tmp_path):
    last = {}
    for direction in ("encourage", "discourage"):
        options = ["--entropy-weight", 5, "--entropy-direction", direction, "--learning-rate", 0.01]
        train(text, tmp_path / direction, *options, steps=40)
        line = [x for x in (tmp_path / direction / "log.jsonl").read_text().splitlines() if "gradient_norm" in x][-1]
        last[direction] = torch.tensor(json.loads(line)["normalised_entropy"]).mean().item()
    assert last["discourage"] < last["encourage"] - 0.05


@pytest.mark.parametrize("size, full", [(200_000, "state.safetensors"), (16, "log.jsonl")])
def test_a_full_disk_leaves_the_last_save(text, tmp_path, size, full):
    """A file size limit stands in for the disk: weights fit into 200 kB, the training state does not."""
    # Few saves, so that the log, written in blocks of a few steps, reaches the limit between two of them.
    options = ["--save-every", 100, "--learn-scale", "--scale", "log_n"]
    train(text, tmp_path / "whole", *options, steps=400)
    folder = tmp_path / "parts"
    arguments = ["train", "lm", text, "-o", folder, "--steps", 400, *with_defaults(options)]
    fail_to_write = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # instead of ending the process
    with run.start(*arguments, preexec_fn=fail_to_write) as process:
        while not (folder / "config.json").exists():  # the last file written by a save
            time.sleep(0.01)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        error = process.stderr.read().splitlines()[-1]
    assert process.returncode == 1
    assert error.startswith("isentropic: ") and full in error and "expected" in error
    assert not [path for path in folder.rglob("*") if ".part" in path.name]
    AutoTokenizer.from_pretrained(folder)
    assert AutoModelForCausalLM.from_pretrained(folder)(torch.tensor([[1, 2, 3]])).logits.isfinite().all()
    run("train", "lm", "-o", folder, "--resume")
    assert without_run(folder) == without_run(tmp_path / "whole")


def test_a_text_may_be_a_pipe(text, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(pathlib.Path(text).read_bytes()))
    writer.start()
    train(pipe, tmp_path / "model")
    writer.join()
    train(text, tmp_path / "other")
    assert (tmp_path / "model" / "log.jsonl").read_text() == (tmp_path / "other" / "log.jsonl").read_text()


def test_generation_is_reproducible(text, tmp_path):
    train(text, tmp_path / "model")
    arguments = ["generate", tmp_path / "model", "--prompt", "the cat", "--max-new-tokens", 12]
    first, again, other = (run(*arguments, "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again != other and first.startswith("the cat")
    assert run(*arguments, "--greedy").stdout == run(*arguments, "--top-p", 0).stdout


@pytest.mark.parametrize(
    "options, status, message",
    [
        (["--scale", "log_m"], 2, "scale is 'log_m'; expected inverse_sqrt_d"),
        (["--scale", "log_n:kappa"], 2, "expected NAME or NAME:PARAMETER=VALUE"),
        (["--map", "hardest"], 2, "'hardest'; expected softmax"),
        (["--map", "top_k:k=5"], 2, "parameter of the map top_k is 'k'; expected keys"),
        (["--norm", "batch"], 2, "norm is 'batch'; expected rms or layer"),
        (["--window", 8, "--positions", "alibi"], 2, "window is 8; expected none (windows need"),
        (["--global-every", 2], 2, "global-every is 2; expected none without a window"),
        (["--positions", "polar"], 2, "positions is 'polar'; expected none, rotary"),
        (["--width", 33], 2, "width is 33; expected a multiple of the heads, 2"),
        (["--device", "cuda:9"], 2, "device is 'cuda:9'; expected cpu"),
        (["--dtype", "int8"], 2, "dtype is 'int8'; expected float32, bfloat16 or float16"),
        (["--length", 100000], 1, "tokens long; expected more than the length, 100000"),
        (["--learning-rate", 1e9], 1, "is not finite at step"),
        (["--learning-rate", "nan"], 2, "--learning-rate: Value nan not in range"),
        (["--held-out", "nan"], 2, "--held-out: Value nan not in range"),
        (["--save-every", -5], 2, "--save-every: Value -5 not in range"),
        (["--validate-every", -5], 2, "--validate-every: Value -5 not in range"),
        (["--seed", -1], 2, "--seed: Value -1 is negative"),
    ],
)
def test_mistakes_are_said_in_one_line(text, tmp_path, options, status, message):
    error = train(text, tmp_path / "model", *options, status=status).stderr.splitlines()[-1]
    assert error.startswith("isentropic: ") and message in error


def test_bad_texts_and_folders(text, tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("")
    binary.write_bytes(b"ab\xff\xfe")
    assert "empty" in train(empty, tmp_path / "a", status=1).stderr
    assert "not UTF-8 at byte 2" in train(binary, tmp_path / "a", status=1).stderr
    assert "not readable" in train(tmp_path / "none.txt", tmp_path / "a", status=1).stderr
    assert not (tmp_path / "a").exists()
    train(text, tmp_path / "model")
    assert "is there already" in train(text, tmp_path / "model", status=1).stderr
    train(text, tmp_path / "model", "--overwrite")
    assert "holds no run to continue" in run("train", "lm", "-o", tmp_path / "b", "--resume", status=1).stderr
    changed = pathlib.Path(text)
    original = changed.read_text()
    changed.write_text(original + "x")
    assert "not what it was" in run("train", "lm", "-o", tmp_path / "model", "--resume", status=1).stderr
    changed.write_text(original)
