"""Noise-contrastive estimation."""

from __future__ import annotations

import math
from typing import Optional, Union

import torch
from torch import Tensor

from .._checks import require
from ._rows import (
    Loss,
    as_tensor,
    check_candidates,
    check_pair,
    check_rows,
    check_same_shape,
    constant,
    inverse,
    reduce,
    scores,
    softplus,
    statistics_type,
)


def nce(
    query: Tensor,
    key: Tensor,
    noise: Tensor,
    *,
    key_log_noise: Tensor,
    noise_log_noise: Tensor,
    log_z: Union[float, Tensor] = 0.0,
    temperature: Union[float, Tensor] = 1.0,
    noise_ratio: Optional[float] = None,
    reduction: str = "mean",
) -> Loss:
    """Noise-contrastive estimation: is a sample data or noise? Consistent for every k, not only as k grows.

    The log-odds of data are ``delta = q.x / temperature - log_z - log(k p_noise(x))``, and the loss of a query is
    ``softplus(-delta_data) + (k / M) sum_j softplus(delta_j)`` over its M noise samples.

    Args:
        query: ``[N, d]``.
        key: ``[N, d]``, the data.
        noise: ``[M, d]`` for all queries, or ``[N, M, d]``: drawn from the noise law.
        key_log_noise: ``[N]``, log-density of the data under the noise law.
        noise_log_noise: ``[M]`` or ``[N, M]``, that of the noise samples.
        log_z: log of the normaliser; a tensor ``[]`` or ``[N]`` is learnt.
        noise_ratio: k, the noise samples per datum; M when absent.

    Returns:
        :class:`Loss`. ``entropy`` is that of the data-or-noise decision at the datum. ``bound``: the Jensen-Shannon
        divergence of data and noise with weights 1/(1+k) and k/(1+k) is at least h - loss / (1 + k), where
        ``ceiling`` h = log(1+k) - k log(k) / (1+k) is the entropy of these weights.
    """
    check_pair(query, key)
    check_same_shape(query, key)
    check_candidates("noise", noise, query)
    samples = noise.shape[-2]
    check_rows("key_log_noise", key_log_noise, (len(query),))
    check_rows("noise_log_noise", noise_log_noise, (samples,), (len(query), samples))
    wide = statistics_type(query)
    query, key, noise, key_log_noise, noise_log_noise = (
        x.to(wide) for x in (query, key, noise, key_log_noise, noise_log_noise)
    )
    k = float(samples if noise_ratio is None else noise_ratio)
    require(0.0 < k < math.inf, lambda: f"noise_ratio is {k}; expected a positive number")
    scale = inverse(temperature, query).to(wide)
    log_z = as_tensor(log_z, query).to(wide)
    require(
        log_z.numel() in (1, len(query)), lambda: f"log_z has shape {list(log_z.shape)}; expected [] or [{len(query)}]"
    )
    log_z = log_z.reshape(-1).expand(len(query))
    data_odds = scores(query, key, scale) - log_z - (math.log(k) + key_log_noise)
    offset = -(math.log(k) + noise_log_noise)
    losses = softplus(-data_odds) + _SoftplusSum.apply(query * scale, noise, offset, -log_z, math.log(k / samples))
    # Seen from the likelier side, where nothing cancels.
    certain = data_odds.abs()
    entropy = softplus(-certain) + certain * torch.sigmoid(-certain)
    ceiling = constant(math.log1p(1 / k) + math.log(k) / (1 + k), losses)
    bound = ceiling - reduce(losses.detach(), None, "mean") / (1 + k)
    return Loss(reduce(losses, None, reduction), entropy, bound, ceiling)


def _log_softplus(x: Tensor) -> Tensor:
    """log log(1 + e^x), which is x where e^x is below the rounding of 1."""
    return torch.where(x < -40.0, x, softplus(x.clamp(min=-40.0)).log())


class _SoftplusSum(torch.autograd.Function):
    """factor sum_j softplus(q_i.x_j + column_j + row_i), a block of queries at a time: the scores are never held together.

    A large noise ratio makes the factor large and the terms small, each past what a float holds: they meet as
    logarithms. The gradient needs sigmoid of the same scores, which is formed again.
    """

    SCORES = 1 << 22  # held at a time; a GPU is busy with more

    @staticmethod
    def _blocks(query: Tensor, noise: Tensor):
        held = _SoftplusSum.SCORES * (8 if query.device.type == "cuda" else 1)
        size = max(1, held // max(1, noise.shape[-2]))
        return [slice(start, min(start + size, len(query))) for start in range(0, len(query), size)]

    @staticmethod
    def _scores(query: Tensor, noise: Tensor, column: Tensor, row: Tensor, block: slice) -> Tensor:
        if noise.dim() == 2:
            products = query[block] @ noise.T
        else:
            products = torch.einsum("id,ijd->ij", query[block], noise[block])
        return products + (column if column.dim() == 1 else column[block]) + row[block, None]

    @staticmethod
    def forward(ctx, query, noise, column, row, log_factor):
        ctx.save_for_backward(query, noise, column, row)
        ctx.log_factor = log_factor
        parts = [
            (_log_softplus(_SoftplusSum._scores(query, noise, column, row, block)) + log_factor).exp().sum(-1)
            for block in _SoftplusSum._blocks(query, noise)
        ]
        return torch.cat(parts) if parts else query.new_zeros(0)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        query, noise, column, row = ctx.saved_tensors
        d_query, d_noise, d_column = (torch.zeros_like(x) for x in (query, noise, column))
        d_row = torch.zeros_like(row)
        for block in _SoftplusSum._blocks(query, noise):
            odds = _SoftplusSum._scores(query, noise, column, row, block)
            part = (torch.nn.functional.logsigmoid(odds) + ctx.log_factor).exp() * gradient[block, None]
            if noise.dim() == 2:
                d_query[block] = part @ noise
                d_noise += part.T @ query[block]
            else:
                d_query[block] = torch.einsum("ij,ijd->id", part, noise[block])
                d_noise[block] = part.unsqueeze(-1) * query[block].unsqueeze(1)
            if column.dim() == 1:
                d_column += part.sum(0)
            else:
                d_column[block] = part
            d_row[block] = part.sum(-1)
        return d_query, d_noise, d_column, d_row, None
