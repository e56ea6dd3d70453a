"""Training and perplexity of the bundled model: the program with its own attention, with PyTorch's, and transformers.

    make peers        (runs this last)

Interleaved, medians of paired ratios. Losses are compared before anything is timed. The program's time for a window of
text is the difference between a run over many windows and a run over one, so that startup and loading do not count;
transformers' is that of its forward pass and loss alone.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = ROOT / "build" / "bin" / "isentropic"
MODEL = ROOT / "models" / "books"
TEXT = ROOT / "models" / "northanger.txt"
# The bundled models' own options, except for batch and steps.
CONFIGURATION = "--length 1024 --window 128 --global-every 2 --learning-rate 2e-3 --weight-decay 0.5".split()


def run(*arguments):
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True)
    return result.stdout, result.stderr


def tokens_per_second(folder, steps, *options):
    tokenizer = ["--tokenizer", MODEL / "tokenizer.json"]
    rest = ["--held-out", 0.1, "--batch", 4, "--steps", steps, "--validate-every", 0, "--save-every", 0, "--overwrite"]
    _, progress = run("train", "lm", TEXT, "-o", folder, *tokenizer, *CONFIGURATION, *rest, *options)
    first = json.loads((folder / "log.jsonl").read_text().splitlines()[0])["loss"]
    return float(re.findall(r"(\d+) tokens/s", progress)[-1]), first


def training(rounds, steps):
    kinds = {
        "ours, with statistics": ["--statistics-every", 1],
        "ours, without": ["--statistics-every", 0],
        "PyTorch's": ["--statistics-every", 0, "--torch-attention"],
    }
    rates = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            losses = []
            for kind, options in kinds.items():
                rate, loss = tokens_per_second(pathlib.Path(folder) / "run", steps, *options)
                rates[kind].append(rate)
                losses.append(loss)
            assert max(losses) - min(losses) < 1e-4, losses
    for kind, values in rates.items():
        print(f"training, {kind}: {statistics.median(values):.0f} tokens/s")
    measured, plain, peer = rates.values()
    print(f"  with statistics over PyTorch's   {median_ratio(measured, peer)}")
    print(f"  with statistics over without     {median_ratio(measured, plain)}")


def median_ratio(above, below):
    ratios = sorted(a / b for a, b in zip(above, below))
    return f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} ... {ratios[-1]:.3f})"


def measure(text, length, windows):
    """The program's total seconds and the loss it reports."""
    start = time.perf_counter()
    out, _ = run("perplexity", MODEL, text, "--lengths", length, "--dtype", "float32", "--json")
    seconds = time.perf_counter() - start
    (found,) = json.loads(out)["lengths"]
    assert found["windows"] == windows, found
    return seconds, found["loss"]


def perplexity(rounds, length, windows=5):
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="sdpa").eval()
    ids = tokenizer(TEXT.read_text())["input_ids"][:length]
    window = torch.tensor([ids])
    whole = tokenizer.decode(ids)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        one, many = pathlib.Path(folder) / "one.txt", pathlib.Path(folder) / "many.txt"
        one.write_text(whole)
        many.write_text(whole * windows + whole[:1000])  # a few tokens may merge where two copies meet
        for _ in range(rounds):
            once, loss = measure(one, length, 1)
            often, _ = measure(many, length, windows)
            ours.append((often - once) / (windows - 1))
            start = time.perf_counter()
            with torch.no_grad():
                expected = model(window, labels=window).loss.item()
            theirs.append(time.perf_counter() - start)
            assert abs(loss - expected) < 1e-4, (loss, expected)
    print(f"perplexity at {length}: ours {statistics.median(ours):.2f} s a window")
    print(f"  speed over transformers with sdpa   {median_ratio(theirs, ours)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--length", type=int, default=8192)
    arguments = parser.parse_args()
    perplexity(arguments.rounds, arguments.length)
    training(arguments.rounds, arguments.steps)


if __name__ == "__main__":
    main()
