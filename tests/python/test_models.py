"""The C++ transformer against Hugging Face's, for each family, on small random checkpoints."""

import json
import math
import os
import pathlib
import subprocess

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

RUN = os.environ.get("ISENTROPIC_RUN_MODEL", "")
SHARED = pathlib.Path(__file__).parents[3] / "shared" / "models"

SIZES = dict(
    vocab_size=97,
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=0,
)
GPT2 = dict(vocab_size=97, n_embd=48, n_layer=3, n_head=4, n_positions=128, bos_token_id=1, eos_token_id=2)
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=10000.0,
    factor=4.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=32)

DECODERS = {
    "gpt2": ("gpt2", GPT2),
    "gpt2 by layer": (
        "gpt2",
        GPT2 | dict(scale_attn_by_inverse_layer_idx=True, n_inner=64, activation_function="relu"),
    ),
    "gpt2 unscaled": ("gpt2", GPT2 | dict(scale_attn_weights=False, tie_word_embeddings=False)),
    "gpt_neox": ("gpt_neox", SIZES | dict(hidden_size=64)),
    "gpt_neox in sequence": (
        "gpt_neox",
        SIZES | dict(hidden_size=64, use_parallel_residual=False, attention_bias=False),
    ),
    "llama": ("llama", SIZES | dict(attention_bias=True, mlp_bias=True)),
    "llama tied, wide heads": ("llama", SIZES | dict(tie_word_embeddings=True, head_dim=20)),
    "llama linear": ("llama", SIZES | dict(rope_parameters=dict(rope_type="linear", factor=3.0, rope_theta=500.0))),
    "llama 3": ("llama", SIZES | dict(rope_parameters=LLAMA3)),
    "llama yarn": ("llama", SIZES | dict(rope_parameters=YARN)),
    "llama yarn mscale": ("llama", SIZES | dict(rope_parameters=YARN | dict(mscale=0.7, mscale_all_dim=1.1))),
    "mistral": ("mistral", SIZES | dict(sliding_window=7)),
    "mistral full": ("mistral", SIZES | dict(sliding_window=None)),
    "qwen2": ("qwen2", SIZES),
    "qwen2 sliding": ("qwen2", SIZES | dict(use_sliding_window=True, sliding_window=5, max_window_layers=1)),
    "qwen3": ("qwen3", SIZES | dict(head_dim=16)),
    "gemma2": ("gemma2", SIZES | dict(head_dim=16, sliding_window=6, query_pre_attn_scalar=24)),
    "gemma3_text": ("gemma3_text", SIZES | dict(head_dim=16, sliding_window=6, num_hidden_layers=7)),
    "olmo2": ("olmo2", SIZES),
    "smollm3": ("smollm3", SIZES | dict(num_hidden_layers=5)),
    "smollm3 without positions": ("smollm3", SIZES | dict(no_rope_layers=[0, 0, 0])),
    "granite": (
        "granite",
        SIZES | dict(embedding_multiplier=12.0, residual_multiplier=0.3, attention_multiplier=0.1, logits_scaling=8.0),
    ),
}
ENCODERS = {
    "bert": ("bert", SIZES),
    "roberta": ("roberta", SIZES | dict(pad_token_id=1, type_vocab_size=1)),
    "distilbert": (
        "distilbert",
        dict(vocab_size=97, dim=48, hidden_dim=80, n_layers=3, n_heads=4, max_position_embeddings=128),
    ),
}


def build(make, family, options, seed=0):
    """A random model whose norms and biases have non-trivial values."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(family, **options)
    model = make.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            else:
                parameter.normal_(0.0, 0.15)
    return model


def run(folder, ids, *shapes, tokens=0, rest=False):
    """The output of run_model.cpp, split into tensors of these shapes and generated ids; ``rest``: more may follow."""
    command = [RUN, str(folder), str(tokens)]
    result = subprocess.run(command, input=" ".join(map(str, ids)).encode(), capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
    numbers = torch.from_numpy(np.frombuffer(result.stdout, np.float32).copy())
    sizes = [math.prod(shape) for shape in shapes]
    if rest:
        numbers = numbers[: sum(sizes)]
    parts = numbers.split([*sizes, tokens])
    return [part.reshape(shape) for part, shape in zip(parts, shapes)], parts[-1].long().tolist()


def random_ids(n, vocabulary=97):
    return torch.randint(3, vocabulary, (n,), generator=torch.Generator().manual_seed(n)).tolist()


def relative_error(found, expected):
    return ((found - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("case", DECODERS)
def test_decoders_give_the_same_logits_and_text(case, tmp_path):
    family, options = DECODERS[case]
    model = build(AutoModelForCausalLM, family, options)
    model.save_pretrained(tmp_path)
    ids = random_ids(60)
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_attentions=True)
        greedy = model.generate(torch.tensor([ids[:9]]), max_new_tokens=25, do_sample=False, eos_token_id=None)
    entropy = torch.stack([torch.special.entr(p[0].double()).sum(-1) for p in out.attentions]).float()
    shapes = [(60, model.config.hidden_size), (60, 97), (59,), entropy.shape]
    (_, logits, losses, entropies), text = run(tmp_path, ids, *shapes, tokens=25)
    assert relative_error(logits, out.logits[0]) < 2e-5
    expected = torch.nn.functional.cross_entropy(out.logits[0, :-1], torch.tensor(ids[1:]), reduction="none")
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(entropies, entropy, rtol=1e-3, atol=1e-4)
    assert text == greedy[0, 9:].tolist()


@pytest.mark.parametrize("case", ENCODERS)
def test_encoders_give_the_same_logits(case, tmp_path):
    family, options = ENCODERS[case]
    model = build(AutoModelForMaskedLM, family, options)
    model.save_pretrained(tmp_path)
    ids = random_ids(40)
    with torch.no_grad():
        expected = model(torch.tensor([ids])).logits[0]
    (_, logits, _, _), _ = run(tmp_path, ids, (40, 48), expected.shape, (39,), (3, 4, 40))
    assert relative_error(logits, expected) < 2e-5


@pytest.mark.parametrize(
    "name", ["hf-random-gpt2", "hf-random-llama", "hf-random-bert", "hf-random-mistral", "stories260K"]
)
def test_reference_models(name):
    folder = SHARED / name
    if not folder.exists():
        pytest.skip(f"{folder} is absent")
    reference = json.loads((folder / "reference.json").read_text())
    ids, last = reference["ids"], torch.tensor(reference["last"])
    config = json.loads((folder / "config.json").read_text())
    n, width, entropy = len(ids), config.get("hidden_size", config.get("n_embd")), torch.tensor(reference["entropy"])
    if name.endswith("bert"):
        (found, entropies), _ = run(folder, ids, (n, width), entropy.shape)
    else:
        (_, found, _, entropies), _ = run(folder, ids, (n, width), (n, last.shape[1]), (n - 1,), entropy.shape)
    assert relative_error(found[-2:], last) < 2e-3
    assert (entropies - entropy).abs().max() < 1e-4


def changed_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def complaint(folder):
    result = subprocess.run([RUN, str(folder)], input=b"1 2 3", capture_output=True)
    assert result.returncode == 2, result
    (line,) = result.stderr.decode().splitlines()
    return line


@pytest.fixture
def llama(tmp_path):
    build(AutoModelForCausalLM, "llama", SIZES).save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(model_type="mamba"), "model_type is 'mamba'; expected gpt2, gpt_neox, llama"),
        (dict(model_type="mamba"), "the Python package takes any Hugging Face model"),
        (dict(hidden_size=64), "model.embed_tokens.weight is of shape [97, 48]; expected [97, 64], which follows from"),
        (dict(num_hidden_layers=4), "model.layers.3.input_layernorm.weight"),
        (dict(num_hidden_layers=0), "num_hidden_layers is 0; expected an integer >= 1"),
        (dict(num_attention_heads=7), "num_key_value_heads is 2; expected a divisor of the number of heads, 7"),
        (dict(vocab_size="many"), 'vocab_size is "many"; expected an integer'),
        (dict(hidden_act="mish"), "hidden_act is 'mish'; expected gelu, "),
        (dict(rope_parameters=dict(rope_type="longrope")), "rope_type is 'longrope'; expected default, linear, llama3"),
        (dict(rope_parameters=dict(rope_type="llama3")), "low_freq_factor"),
        (dict(isentropic=dict(scale=dict(law="log_m"))), "'log_m'; expected inverse_sqrt_d"),
        (dict(isentropic=dict(scale=dict(law="log_n"), scale_values=[[1, 2]])), "scale_values is of another shape"),
    ],
)
def test_a_config_that_does_not_fit_is_one_line(llama, changes, message):
    changed_config(llama, **changes)
    assert message in complaint(llama)


def test_missing_files_are_named(llama):
    (llama / "model.safetensors").rename(llama / "other.safetensors")
    assert "model.safetensors" in complaint(llama)
    (llama / "config.json").unlink()
    assert "config.json" in complaint(llama)


def test_old_names_of_norms_and_trunks_without_a_head(tmp_path):
    from safetensors.torch import load_file, save_file

    model = build(AutoModelForMaskedLM, "bert", SIZES)
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    trunk = {
        name.removeprefix("bert.")
        .replace("LayerNorm.weight", "LayerNorm.gamma")
        .replace("LayerNorm.bias", "LayerNorm.beta"): x
        for name, x in tensors.items()
        if name.startswith("bert.")
    }
    save_file(trunk, tmp_path / "model.safetensors")
    ids = random_ids(20)
    with torch.no_grad():
        expected = model.bert(torch.tensor([ids])).last_hidden_state[0]
    (hidden, _), _ = run(tmp_path, ids, expected.shape, (3, 4, 20))
    assert relative_error(hidden, expected) < 2e-5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits_and_shards(dtype, tmp_path):
    """Rounding to 16 bits costs no more than it costs Hugging Face: both against the same weights in double."""
    model = build(AutoModelForCausalLM, "llama", SIZES).to(dtype)
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    ids = random_ids(100)
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0].double()
        exact = model.double()(torch.tensor([ids])).logits[0]
    (_, logits), _ = run(tmp_path, ids, (100, 48), (100, 97), rest=True)
    # Ours is 0.9 to 1 times theirs over several seeds; the margin allows for a different summation order.
    assert 0 < relative_error(logits.double(), exact) < 1.5 * relative_error(theirs, exact)
