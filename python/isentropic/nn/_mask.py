"""Converts the masks that modules take to those of :func:`isentropic.attention`."""

from __future__ import annotations

import torch
from torch import Tensor


def over_scores(mask: Tensor, batch: int, heads: int, n_q: int, n_k: int) -> Tensor:
    """A boolean mask, True where a key is visible, that broadcasts to ``[batch, heads, n_q, n_k]``.

    ``mask`` is boolean or integer, 0 hides a key: ``[batch, n_k]``, ``[n_q, n_k]``, ``[batch, n_q, n_k]`` or
    ``[batch, heads, n_q, n_k]``. All axes but the last may be 1.
    """
    if mask.is_floating_point() or mask.is_complex():
        raise TypeError(
            f"mask has type {mask.dtype}; expected bool or integers, 0 where a key is hidden "
            "(an additive mask goes to isentropic.attention)"
        )
    visible = mask if mask.dtype == torch.bool else mask != 0
    return _with_four_axes(visible, (batch, heads, n_q, n_k))


def _with_four_axes(mask: Tensor, scores: tuple[int, int, int, int]) -> Tensor:
    batch, heads, n_q, n_k = scores
    if mask.dim() == 2:
        of_keys, of_pairs = _fits(mask, (batch, n_k)), _fits(mask, (n_q, n_k))
        if of_keys and of_pairs and mask.shape[0] > 1:
            raise ValueError(
                f"mask has shape {list(mask.shape)}, which is [batch, n_k] and [n_q, n_k] alike; "
                "expected mask[:, None] or mask[None]"
            )
        if of_keys:
            return mask[:, None, None]
        if of_pairs:
            return mask[None, None]
    if mask.dim() == 3 and _fits(mask, (batch, n_q, n_k)):
        return mask[:, None]
    if mask.dim() == 4 and _fits(mask, scores):
        return mask
    raise ValueError(
        f"mask has shape {list(mask.shape)}; expected [batch, n_k], [n_q, n_k], [batch, n_q, n_k] or "
        f"[batch, heads, n_q, n_k] with batch {batch}, heads {heads}, n_q {n_q}, n_k {n_k}"
    )


def _fits(mask: Tensor, shape: tuple[int, ...]) -> bool:
    return mask.shape[-1] == shape[-1] and all(here in (1, there) for here, there in zip(mask.shape, shape))
