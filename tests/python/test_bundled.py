"""The models of models/: transformers can read them and gives the same loss and text."""

import json
import pathlib

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import isentropic
from program import Command

run = Command()
MODELS = pathlib.Path(__file__).parents[2] / "models"
LENGTH = 1024

isentropic.hf.register()


@pytest.fixture(scope="module", params=["books", "books-log-n"])
def folder(request):
    return MODELS / request.param


@pytest.fixture(scope="module")
def reference(folder):
    """In float32, with the scale law given in config.json, or PyTorch's own attention if there is none."""
    plain = "isentropic" not in json.loads((folder / "config.json").read_text())
    attention = "sdpa" if plain else "isentropic"
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation=attention).eval()


def test_the_loss_is_the_same_in_transformers(folder, reference, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer((MODELS / "northanger.txt").read_text())["input_ids"][: 2 * LENGTH]
    text = tmp_path / "text.txt"
    text.write_text(tokenizer.decode(ids))
    found = json.loads(run("perplexity", folder, text, "--dtype", "float32", "--json").stdout)["lengths"][0]
    windows = torch.tensor(ids).view(2, LENGTH)
    with torch.no_grad():
        expected = reference(windows, labels=windows).loss.item()
    assert found["length"] == LENGTH and found["windows"] == 2
    assert found["loss"] == pytest.approx(expected, rel=1e-5)


def test_the_loss_is_that_of_a_trained_model(folder):
    """The card says 4.04 and 4.04 for these chapters; an untrained model has log 4096 = 8.3."""
    found = json.loads(run("perplexity", folder, MODELS / "northanger.txt", "--json").stdout)["lengths"][0]
    assert found["loss"] < 4.1


def test_greedy_text_is_that_of_transformers(folder, reference):
    prompt = "And the king said unto"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    out = reference.generate(ids, max_new_tokens=40, do_sample=False, eos_token_id=None)
    found = run("generate", folder, "--prompt", prompt, "--max-new-tokens", 40, "--greedy", "--dtype", "float32").stdout
    assert found.rstrip("\n") == tokenizer.decode(out[0]).rstrip("\n")


def test_they_stay_small(folder):
    assert (folder / "model.safetensors").stat().st_size <= 12e6
