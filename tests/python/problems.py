"""Attention problems, and their solution with the explicit matrix."""

import math

import torch


def tensors(*shape_q, kv_heads=None, n_k=None, d_v=None, dtype=torch.float32, seed=0, grad=False):
    *leading, heads, n_q, d = shape_q
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)
    kv_heads, n_k, d_v = kv_heads or heads, n_k or n_q, d_v or d
    return draw(*leading, heads, n_q, d), draw(*leading, kv_heads, n_k, d), draw(*leading, kv_heads, n_k, d_v)


def naive(q, k, v, scale=None, visible=None, bias=None, soft_cap=None, sink=None):
    """Attention and its statistics from the explicit matrix."""
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    s = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if soft_cap is not None:
        s = soft_cap * torch.tanh(s / soft_cap)
    if bias is not None:
        s = s + bias
    if visible is not None:
        s = s.masked_fill(~visible, -math.inf)
    keys = torch.logsumexp(s, -1)
    total = keys if sink is None else torch.logaddexp(keys, sink[:, None].expand(keys.shape))
    log_p = s - keys[..., None]
    p = log_p.exp()
    term = torch.where(p > 0, p * log_p, 0.0)
    s_seen = torch.where(p > 0, s, 0.0)
    mean = (p * s_seen).sum(-1)
    k_seen = (s > -math.inf).sum(-1)
    count = k_seen.to(s.dtype)
    collision = p.square().sum(-1)
    found = {
        "log_partition": total,
        "entropy": -term.sum(-1),
        "mean_score": mean,
        "score_variance": (p * (s_seen - mean[..., None]).square()).sum(-1),
        "max_score": s.max(-1).values,
        "peak": p.max(-1).values,
        "collision": collision,
        "visible": k_seen,
        "argmax": s.argmax(-1),
        "participation": 1 / collision,
        "sparsity": 1 / (count * collision).sqrt(),
        "effective_keys": (-term.sum(-1)).exp(),
        "normalised_entropy": torch.where(k_seen > 1, -term.sum(-1) / count.clamp(min=2).log(), 0.0),
    }
    if sink is not None:
        found["sink_mass"] = (sink[:, None] - total).exp()
    return (s - total[..., None]).exp() @ v, found
