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

SCORES_HELD = 0  # at a time; 0: as many as suit the device


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
    """Noise-contrastive estimation: tells data from noise. Consistent for every k, not only as k grows.

    The log-odds of data are ``delta = q.x / temperature - log_z - log(k p_noise(x))``, and the loss of a query is
    ``softplus(-delta_data) + (k / M) sum_j softplus(delta_j)`` over its M noise samples.

    Args:
        query: ``[N, d]``.
        key: ``[N, d]``, the data.
        noise: ``[M, d]`` for all queries, or ``[N, M, d]``, samples of the noise distribution.
        key_log_noise: ``[N]``, log-density of the data under the noise distribution.
        noise_log_noise: ``[M]`` or ``[N, M]``, that of the noise samples.
        log_z: log of the normaliser; a tensor ``[]`` or ``[N]`` can be learnt.
        temperature: a number, or a tensor with one number, which may be learnable.
        noise_ratio: k, the number of noise samples per datum; M by default.
        reduction: "mean", "sum" or "none".

    Returns:
        :class:`Loss`. ``entropy`` is that of the data-or-noise decision at the datum. ``bound``: the Jensen-Shannon
        divergence of data and noise with weights 1/(1+k) and k/(1+k) is at least h - loss / (1 + k), where
        ``ceiling`` h = log(1+k) - k log(k) / (1+k) is the entropy of these weights.
    """
    check_pair(query, key)
    check_same_shape(query, key)
    check_candidates("noise", noise, query)
    samples = noise.shape[-2]
    require(samples > 0, lambda: f"noise has shape {list(noise.shape)}; expected at least one sample")
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
    of_noise = torch.ops.isentropic.softplus_sum(
        query * scale, noise, offset, -log_z, math.log(k / samples), SCORES_HELD
    )
    losses = softplus(-data_odds) + of_noise
    # Computed from the likelier side, where nothing cancels; beyond 1e3 it is 0, also at infinite odds.
    certain = data_odds.abs().clamp(max=1e3)
    entropy = softplus(-certain) + certain * torch.sigmoid(-certain)
    ceiling = constant(math.log1p(1 / k) + math.log(k) / (1 + k), losses)
    bound = ceiling - reduce(losses.detach(), None, "mean") / (1 + k)
    return Loss(reduce(losses, None, reduction), entropy, bound, ceiling)
