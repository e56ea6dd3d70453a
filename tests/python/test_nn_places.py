"""Visibility and token positions: masks, patterns and positional encodings of the modules."""

import math

import pytest
import torch
from isentropic import nn as attention_nn
from isentropic.nn import EntropyInvariantAttention
from isentropic.nn.positions import RotaryPositions
from torch import nn
from written_modules import (
    D,
    D_MODEL,
    HEADS,
    causal,
    close,
    distances,
    inputs,
    merge,
    naive,
    projected,
    random_mask,
    with_positions,
)

# ---- Masks and patterns ----


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((2, 6), (slice(None), None, None)),
        ((5, 6), (None, None)),
        ((2, 5, 6), (slice(None), None)),
        ((2, 1, 5, 6), ()),
        ((2, HEADS, 5, 6), ()),
        ((1, 6), (None, None)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.uint8])
def test_shapes_of_a_mask(shape, axes, dtype):
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    Q, K, mask = inputs(n=5), inputs(n=6), random_mask(*shape)
    visible = (mask[axes] if axes else mask).expand(2, HEADS, 5, 6)
    row_scale = visible.sum(-1, keepdim=True).log() / D
    close(module(Q, K, mask=mask.to(dtype))[0], naive(module, row_scale, Q, K, visible=visible)[0])


def test_wrong_masks():
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    x = inputs()
    with pytest.raises(TypeError, match="mask has type torch.float32; expected bool or integers"):
        module(x, mask=torch.ones(6, 6))
    with pytest.raises(ValueError, match=r"mask has shape \[2, 5\]; expected \[batch, n_k\]"):
        module(x, mask=torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"mask has shape \[3, 4, 6, 6\]"):
        module(x, mask=torch.ones(3, 4, 6, 6, dtype=torch.bool))
    square = inputs(batch=6)
    with pytest.raises(ValueError, match=r"is \[batch, n_k\] and \[n_q, n_k\] alike; expected mask\[:, None\]"):
        module(square, mask=torch.ones(6, 6, dtype=torch.bool))


def test_wrong_inputs():
    module = EntropyInvariantAttention(D_MODEL, HEADS, kdim=10)
    with pytest.raises(ValueError, match=r"K has shape \[2, 6, 16\]; expected \[batch, n_k, 10\]"):
        module(inputs())
    with pytest.raises(ValueError, match=r"Q has shape \[6, 16\]; expected \[batch, n_q, 16\]"):
        module(inputs()[0])
    with pytest.raises(ValueError, match="V has 5 rows; expected 6, as K"):
        module(inputs(), inputs(features=10), inputs(n=5))
    with pytest.raises(ValueError, match=r"x has shape \[2, 6, 8\]; expected \[batch, n, 16\]"):
        attention_nn.GatedAttentionUnit(D_MODEL)(inputs(features=8))


LAYOUT = torch.tensor([[True, False, False], [True, True, False], [False, True, True], [True, False, True]])
PATTERNS = {
    "window": ({"window": 3, "causal": "start"}, (distances(8) >= 0) & (distances(8) < 3)),
    "two-sided window": ({"window": (2, 3)}, (distances(8) > -4) & (distances(8) < 2)),
    "strided": ({"strided": (3, 2), "causal": "start"}, causal(8) & ((distances(8) < 2) | (distances(8) % 3 == 0))),
    "block_sparse": ({"block_sparse": (LAYOUT, 2, 3)}, LAYOUT.repeat_interleave(2, 0).repeat_interleave(3, 1)[:, :8]),
    "segments": ({"segments": 3}, torch.arange(8)[:, None] // 3 == torch.arange(8) // 3),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name):
    options, visible = PATTERNS[name]
    module = EntropyInvariantAttention(D_MODEL, HEADS, **options)
    x = 2 * inputs(n=8)
    row_scale = visible.sum(-1, keepdim=True).log() / D
    output, aux = module(x)
    close(output, naive(module, row_scale, x, visible=visible)[0])
    assert torch.equal(aux.visible[0, 0], visible.sum(-1))


def test_segmented_attention():
    module = attention_nn.SegmentedAttention(D_MODEL, HEADS, 3)
    x = inputs(n=8)
    close(module(x)[0], naive(module, D**-0.5, x, visible=PATTERNS["segments"][1])[0])


def test_grouped_heads():
    module = EntropyInvariantAttention(D_MODEL, HEADS, num_kv_heads=2)
    assert module.W_K.out_features == module.W_V.out_features == 2 * D
    x = inputs()
    close(module(x)[0], naive(module, math.log(6) / D, x)[0])


def test_key_lengths_hide_padding():
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    x = inputs()
    output, _ = module(x, key_lengths=[6, 4])
    close(output[1:], module(x[1:], x[1:, :4])[0])
    close(output[:1], module(x[:1])[0])


@pytest.mark.parametrize("positions", [None, "rotary", "relative"])
def test_packed_documents(positions):
    module = EntropyInvariantAttention(D_MODEL, HEADS, causal="start", positions=positions)
    if positions == "relative":
        nn.init.normal_(module.positions.table)
    x = inputs(n=9)
    apart = torch.cat([module(part)[0] for part in x.split([4, 5], 1)], 1)
    close(module(x, documents=[0, 4, 9])[0], apart)
    with pytest.raises(ValueError, match="documents and key_lengths are both given"):
        module(x, documents=[0, 4, 9], key_lengths=[9, 9])


def test_sinusoidal_positions_know_no_documents():
    module = EntropyInvariantAttention(D_MODEL, HEADS, positions="sinusoidal")
    with pytest.raises(ValueError, match="documents are given with sinusoidal positions"):
        module(inputs(), documents=[0, 6])


# ---- Positions ----


def test_rotary_scores_depend_on_distance_alone():
    rotary = RotaryPositions(8, base=100.0)
    q, k = torch.randn(1, 1, 5, 8).double(), torch.randn(1, 1, 5, 8).double()

    def scores(shift):
        places = torch.arange(5) + shift
        return rotary.of_heads(q, places) @ rotary.of_heads(k, places).transpose(-1, -2)

    close(scores(0), scores(100_000), 1e-10)
    assert (scores(0) - q @ k.transpose(-1, -2)).abs().max() > 0.1


def test_rotary_module():
    module = with_positions("rotary").double()
    x = inputs(dtype=torch.float64)
    query, key, value = projected(module, x)

    def turned(heads):
        waves = 10000.0 ** (-torch.arange(D // 2).double() / (D // 2))
        turns = torch.polar(torch.ones(6, D // 2).double(), torch.arange(6)[:, None] * waves)
        pairs = torch.complex(heads[..., : D // 2], heads[..., D // 2 :]) * turns
        return torch.cat((pairs.real, pairs.imag), -1)

    weights = torch.softmax(turned(query) @ turned(key).transpose(-1, -2) * math.log(6) / D, -1)
    close(module(x)[0], module.W_O(merge(weights @ value)), 1e-10)


@pytest.mark.parametrize("d_model", [16, 15])
def test_sinusoidal_module(d_model):
    module = EntropyInvariantAttention(d_model, 1, positions="sinusoidal").double()
    x = inputs(features=d_model, dtype=torch.float64)
    half = (d_model + 1) // 2
    code = torch.zeros(6, 2 * half).double()
    for place in range(6):
        for wave in range(half):
            angle = place * 10000.0 ** (-wave / half)
            code[place, wave], code[place, half + wave] = math.sin(angle), math.cos(angle)
    marked = x + code[:, :d_model]
    close(module(x)[0], naive(module, math.log(6) / d_model, marked, marked, x)[0], 1e-10)


def test_relative_module():
    module = with_positions("relative")
    x = inputs()
    query, key, value = projected(module, x)
    bias = module.positions.table[:, distances(6).clamp(-3, 3) + 3]
    weights = torch.softmax(query @ key.transpose(-1, -2) * math.log(6) / D + bias, -1)
    close(module(x)[0], module.W_O(merge(weights @ value)))


def test_relative_positions_start_as_none():
    module = EntropyInvariantAttention(D_MODEL, HEADS, positions="relative", max_distance=5)
    assert torch.equal(module.positions.table, torch.zeros(HEADS, 11))


@pytest.mark.parametrize("name", [None, "rotary", "sinusoidal", "relative"])
def test_decoding_continues_the_sequence(name):
    module, decoder = with_positions(name, causal="start"), with_positions(name, causal="end")
    decoder.load_state_dict(module.state_dict())
    x = inputs(n=8)
    close(decoder(x[:, 6:], x)[0], module(x)[0][:, 6:])


@pytest.mark.parametrize("name", ["rotary", "sinusoidal", "relative"])
def test_decoding_with_caches_of_different_lengths(name):
    decoder = with_positions(name, causal="end")
    Q, K = inputs(n=2), inputs(n=8)
    output, _ = decoder(Q, K, key_lengths=torch.tensor([8, 5]))
    close(output[1:], decoder(Q[1:], K[1:, :5])[0])
    close(output[:1], decoder(Q[:1], K[:1])[0])
