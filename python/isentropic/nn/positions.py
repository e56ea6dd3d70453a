"""Position encodings: in the inputs, in the heads, or in the scores."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    """No encoding; subclasses override one of the methods. ``places`` are positions, ``[n]`` or ``[batch, n]``."""

    def of_inputs(self, x: Tensor, places: Tensor) -> Tensor:
        """Encodes positions in the inputs of the query and key projections, ``[batch, n, features]``."""
        return x

    def of_heads(self, x: Tensor, places: Tensor) -> Tensor:
        """Encodes positions in projected queries or keys, ``[batch, heads, n, d]``."""
        return x

    def score_terms(self) -> dict[str, Tensor]:
        """Arguments of :func:`isentropic.attention` that add to the scores."""
        return {}


class SinusoidalPositions(Positions):
    """Adds ``[sin(p w_0) .. sin(p w_h), cos(p w_0) .. cos(p w_h)]`` to the inputs of queries and keys only."""

    def __init__(self, base: float):
        super().__init__()
        self.base = base

    def of_inputs(self, x: Tensor, places: Tensor) -> Tensor:
        angles = _angles(places, (x.shape[-1] + 1) // 2, self.base)
        code = torch.cat((angles.sin(), angles.cos()), dim=-1)[..., : x.shape[-1]]
        return x + code.to(x.dtype)

    def extra_repr(self) -> str:
        return f"base={self.base}"


class RotaryPositions(Positions):
    """Rotates the pair ``(x_i, x_{i + d/2})`` by the angle ``p w_i``, so that q.k depends only on the distance."""

    def __init__(self, d: int, base: float):
        super().__init__()
        if d % 2:
            raise ValueError(f"d_model / num_heads is {d}; expected an even number for rotary positions")
        self.base = base

    def of_heads(self, x: Tensor, places: Tensor) -> Tensor:
        angles = _angles(places.unsqueeze(-2), x.shape[-1] // 2, self.base)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    def extra_repr(self) -> str:
        return f"base={self.base}"


class RelativePositions(Positions):
    """Adds a learnt number for the distance p - j, clamped to ``max_distance``, to every score; initially 0."""

    def __init__(self, num_heads: int, max_distance: int, device=None, dtype=None):
        super().__init__()
        if max_distance < 1:
            raise ValueError(f"max_distance is {max_distance}; expected at least 1")
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1, device=device, dtype=dtype))

    def score_terms(self) -> dict[str, Tensor]:
        return {"relative_bias": self.table}

    def extra_repr(self) -> str:
        return f"max_distance={self.table.shape[1] // 2}"


def named_positions(
    name: Optional[str], num_heads: int, d: int, base: float, max_distance: int, device=None, dtype=None
) -> Positions:
    if name is None:
        return Positions()
    if name == "rotary":
        return RotaryPositions(d, base)
    if name == "sinusoidal":
        return SinusoidalPositions(base)
    if name == "relative":
        return RelativePositions(num_heads, max_distance, device, dtype)
    raise ValueError(f"positions is {name!r}; expected None, 'rotary', 'sinusoidal' or 'relative'")


def _angles(places: Tensor, count: int, base: float) -> Tensor:
    """``p w_i`` with ``w_i = base^{-i / count}``, ``[..., n, count]``; float64, as far angles are large."""
    steps = torch.arange(count, device=places.device, dtype=torch.float64)
    return places.to(torch.float64).unsqueeze(-1) * base ** (-steps / count)
