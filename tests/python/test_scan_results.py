"""isentropic.scan: texts and chats, restoring the model, tables, files, pages, comparisons, mistakes."""

import pathlib

import numpy as np
import pytest
import torch
from torch import nn

transformers = pytest.importorskip("transformers")

import isentropic  # noqa: E402
from small_models import lively  # noqa: E402
from test_models import SIZES, random_ids  # noqa: E402
from test_scan import MODELS, scan_of  # noqa: E402
from test_scan_program import close  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

# ---- texts ----


def test_windows_lengths_and_several_texts():
    text = (MODELS / "northanger.txt").read_text()
    found = isentropic.scan(
        MODELS / "books",
        [text[:30000], text[30000:60000]],
        length=256,
        lengths=[128, 512],
        fast=True,
        dtype=torch.float32,
    )
    data = found.data
    assert data["text"]["names"] == ["text 1", "text 2"] and data["text"]["length"] == 256
    assert [entry["length"] for entry in data["lengths"]] == [128, 512]
    assert all(len(head["length_entropies"]) == 2 for head in data["heads"])
    assert len(data["tokens"]) == 256 and "".join(data["tokens"][1:]).strip() in text
    assert "sink_weight" not in found.columns


def test_a_chat_goes_through_the_template():
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODELS / "books")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
    chat = [{"role": "user", "content": "She was fond of books and balls. " * 8}]
    found = isentropic.scan(MODELS / "books", chat=chat, tokenizer=tokenizer)
    assert "".join(found.data["tokens"]).startswith("user: She was fond")


# ---- the model is left unchanged ----


def test_nothing_of_the_model_changes():
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).train()
    model.set_attn_implementation("sdpa")
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    scan_of(model, random_ids(30))
    assert model.training and model.config._attn_implementation == "sdpa"
    assert "forward" not in vars(model.model) and not model.model.layers[0]._forward_pre_hooks
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())


# ---- output ----


@pytest.fixture(scope="module")
def result():
    return scan_of(
        lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))), random_ids(100), name="a <b>"
    )


def test_tables_and_files(result, tmp_path):
    columns = result.columns
    assert list(columns)[:6] == ["module", "layer", "head", "kind", "window", "diagnosis"]
    assert {len(column) for column in columns.values()} == {12}
    for name in ("page.html", "scan.json", "heads.tsv", "arrays.npz"):
        result.save(tmp_path / name)
    arrays = np.load(tmp_path / "arrays.npz")
    assert arrays["entropy"].tolist() == columns["entropy"] and arrays["head"].tolist() == columns["head"]
    assert arrays["rows_peak"].shape == (12, 100)
    close(arrays["rows_peak"].reshape(3, 4, 100), torch.tensor(result.rows["peak"], dtype=torch.float64), 1e-12)
    assert isentropic.Scan.load(tmp_path / "scan.json").data == result.data
    assert len((tmp_path / "heads.tsv").read_text().splitlines()) == 13
    with pytest.raises(ValueError, match=r"ends in \.html, \.json, \.tsv, \.npz"):
        result.save(tmp_path / "page.pdf")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="other.json is not 'isentropic scan'"):
        isentropic.Scan.load(tmp_path / "other.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "arrays.npz",
        "heads.tsv",
        "other.json",
        "page.html",
        "scan.json",
    ]


def test_notebooks_get_a_frame_below_a_megabyte(result):
    frame = result._repr_html_()
    assert frame.startswith("<iframe") and len(frame) < 1e6
    assert "a <b>" not in frame.partition('style="')[0], "the page stands in an attribute"


def test_loggers(result):
    class Writer:
        def __init__(self):
            self.scalars = {}

        def add_scalar(self, name, value, step):
            self.scalars[name, step] = value

    class Run:
        def log(self, values, step):
            self.values, self.step = values, step

    writer, run = Writer(), Run()
    result.log(writer, 7)
    result.log(run, 7)
    entropy = result.data["heads"][5]["statistics"]["entropy"]["mean"]
    assert writer.scalars["scan/model.layers.1.self_attn/head1/entropy", 7] == entropy
    assert run.values["scan/loss"] == result.data["loss"]["mean"] and run.step == 7
    with pytest.raises(TypeError, match="expected add_scalar"):
        result.log(object())


# ---- mistakes ----


class Unseen(nn.Module):
    class SlowAttention(nn.Module):
        def forward(self, x):
            return (x @ x.transpose(-1, -2)).softmax(-1) @ x

    def __init__(self):
        super().__init__()
        self.attention = self.SlowAttention()

    def forward(self, x):
        return self.attention(x)


def test_models_whose_attention_is_not_seen_are_refused():
    with pytest.raises(ValueError, match="Unseen shows no attention, not in attention: SlowAttention does not call"):
        isentropic.scan(Unseen(), inputs={"x": torch.randn(1, 20, 8)})
    with pytest.raises(ValueError, match=r"Linear has no attention: none of its modules is one \(Linear\)"):
        isentropic.scan(nn.Linear(4, 4), inputs={"input": torch.randn(1, 20, 4)})


def test_an_argument_that_would_be_ignored():
    model = lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)))
    with pytest.raises(TypeError, match="lenght is given with a model that is loaded"):
        isentropic.scan(model, inputs={"input_ids": torch.tensor([random_ids(20)])}, lenght=16)


def test_the_scale_of_an_adapted_model_is_named():
    model = lively(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)))
    inputs = {"input_ids": torch.tensor([random_ids(20)])}

    def named(**change):
        with isentropic.hf.adapted(model, **change):
            about = isentropic.scan(model, inputs=inputs, fast=True).data["model"]
        return about["scale"], about["map"]

    heads = model.config.num_attention_heads
    assert named() == ("inverse_sqrt_d", "softmax")
    assert named(scale=0.1, map="top_k:keys=4") == ("constant:value=0.1", "top_k:keys=4")
    assert named(scale=isentropic.Scale.log_n(torch.ones(heads)))[0] == "log_n:kappa by head"
    assert named(scale="log_n:0.9", per_layer={0: None})[0] == "log_n:kappa=0.9 and inverse_sqrt_d, by layer"


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "expected one of text, inputs and chat"),
        ({"inputs": {"input_ids": torch.ones(1, 20).long()}, "length": 16}, "length is given; expected none"),
        ({"text": "a", "inputs": {}}, "expected one of text, inputs and chat"),
        ({"text": ""}, "text is empty"),
        ({"text": []}, "text is an empty list"),
        ({"text": "Too short."}, r"text is \d tokens long; expected at least 16"),
        ({"text": pathlib.Path("absent.txt")}, "absent.txt"),
        ({"text": str(MODELS / "northanger.txt")}, "is the name of a file"),
        ({"text": MODELS / "northanger.txt", "length": 4096}, "length is 4096; expected at most 1024"),
        ({"text": MODELS / "northanger.txt", "lengths": [4096]}, "lengths is 4096; expected at most 1024"),
        ({"text": MODELS / "northanger.txt", "length": 3}, "length is 3; expected at least 16"),
        ({"inputs": {"input_ids": [[1, 2]]}}, "input_ids is a list; expected a tensor"),
        ({"inputs": {"input_ids": torch.ones(20).long()}}, r"input_ids is torch.int64 \(20,\); expected integers"),
        ({"inputs": {"input_ids": torch.ones(1, 0).long()}}, r"\(1, 0\); expected integers"),
        ({"inputs": {"input_ids": torch.ones(1, 20)}}, "input_ids is torch.float32"),
        ({"inputs": [3]}, "expected what the model is called with"),
        ({"inputs": {"input_ids": torch.ones(1, 4).long(), "attention_mask": torch.tensor([[0, 1, 1, 1]])}}, "padding"),
        ({"inputs": {"input_ids": torch.ones(1, 20).long()}, "lengths": [16]}, "lengths are given"),
        ({"inputs": {"input_ids": torch.ones(1, 20).long()}, "target": torch.ones(1, 4).long()}, "no encoder-decoder"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises((ValueError, TypeError, OSError), match=message):
        isentropic.scan(MODELS / "books", **options)


def test_missing_tensors_are_named(tmp_path):
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))
    state = {name: x for name, x in model.state_dict().items() if name != "model.layers.1.self_attn.k_proj.weight"}
    model.save_pretrained(tmp_path, state_dict=state)
    with pytest.raises(ValueError, match=r"has no model\.layers\.1\.self_attn\.k_proj\.weight"):
        scan_of(tmp_path, random_ids(20))


def test_ids_beyond_the_vocabulary():
    with pytest.raises(ValueError, match="input_ids has 97; expected integers from 0 to 96"):
        scan_of(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)), [3, 97, 5])


# ---- two scans ----


def test_comparisons(result, tmp_path):
    config = transformers.LlamaConfig(**SIZES)
    other = scan_of(lively(transformers.LlamaForCausalLM(config), seed=2), random_ids(100), name="other")
    found = result.compare(other)
    heads = zip(result.data["heads"], other.data["heads"], found.data["heads"], strict=True)
    for one, two, both in heads:
        change = two["statistics"]["entropy"]["mean"] - one["statistics"]["entropy"]["mean"]
        assert both["differences"]["entropy"] == pytest.approx(change, abs=1e-5)
    labels = [{label["name"] for label in head["labels"]} for scan in (result, other) for head in scan.data["heads"]]
    expected = sum(one != two for one, two in zip(labels[:12], labels[12:]))
    assert len(found.changed) == expected
    assert "other" in found.summary and len(found.summary.splitlines()) <= 25
    for name in ("page.html", "both.json", "heads.tsv"):
        found.save(tmp_path / name)
    assert isentropic.Comparison.load(tmp_path / "both.json").data == found.data
    with pytest.raises(ValueError, match="both.json is not 'isentropic scan'"):
        isentropic.Scan.load(tmp_path / "both.json")
    same = result.compare(result)
    assert same.changed == [] and len(same._repr_html_()) < 1e6
    smaller = scan_of(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES | {"num_hidden_layers": 2})), [5] * 40
    )
    with pytest.raises(ValueError, match="3 layers of 4 heads"):
        result.compare(smaller)
    with pytest.raises(TypeError, match="other is a int; expected a Scan"):
        result.compare(3)
