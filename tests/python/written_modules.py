"""Attention modules written out in plain PyTorch, with every n x n matrix."""

import math

import torch
from isentropic.nn import EntropyInvariantAttention
from torch import nn

D_MODEL, HEADS, D = 16, 4, 4
EVERYTHING = torch.ones(1, dtype=torch.bool)


def inputs(batch=2, n=6, features=D_MODEL, dtype=torch.float32):
    return torch.randn(batch, n, features, dtype=dtype)


def split(x, heads=HEADS):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def projected(module, Q, K=None, V=None):
    """Queries, keys and values in heads, with keys repeated for every query head."""
    K = Q if K is None else K
    V = K if V is None else V
    repeats = module.num_heads // module.num_kv_heads
    query = split(module.W_Q(Q), module.num_heads)
    key, value = (split(x, module.num_kv_heads).repeat_interleave(repeats, 1) for x in (module.W_K(K), module.W_V(V)))
    return query, key, value


def softmax_of_visible(scores, visible):
    weights = torch.softmax(scores.masked_fill(~visible, -math.inf), -1)
    return torch.where(visible.any(-1, keepdim=True), weights, torch.zeros_like(weights))


def entropy_of(weights):
    return -torch.xlogy(weights, weights).sum(-1)


def naive(module, row_scale, Q, K=None, V=None, visible=EVERYTHING, to_weights=softmax_of_visible):
    """Output and weights [batch, heads, n_q, n_k]; row_scale broadcasts to [heads, n_q, 1]."""
    query, key, value = projected(module, Q, K, V)
    raw = query @ key.transpose(-1, -2)
    weights = to_weights(raw * row_scale, visible.expand_as(raw))
    return module.W_O(merge(weights @ value)), weights


def causal(n_q, n_k=None, from_end=False):
    n_k = n_q if n_k is None else n_k
    places = torch.arange(n_q)[:, None] + (n_k - n_q if from_end else 0)
    return torch.arange(n_k) <= places


def close(found, expected, tolerance=1e-6):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def random_mask(*shape):
    mask = torch.rand(shape) < 0.6
    mask[..., 0] = True
    return mask


def distances(n):
    return torch.arange(n)[:, None] - torch.arange(n)


def with_positions(name, **options):
    module = EntropyInvariantAttention(D_MODEL, HEADS, positions=name, max_distance=3, **options)
    if name == "relative":
        nn.init.normal_(module.positions.table)
    return module
