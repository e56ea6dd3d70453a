"""Which entries of which parameters are scaled by what: the rule of QK-clip as an index into a table of factors."""

from __future__ import annotations

from typing import ItemsView, Mapping

import torch
from torch import Tensor

from ._qk_weights import HeadRows, QKWeights

POWERS = ("query", "key", "query_alone")  # of eta, in the order of the table; they are followed by 1


class Scaled:
    """A parameter, and for each entry of one axis the entry of the table that it is multiplied by."""

    def __init__(self, axis: int, offset: float, size: int, usual: int):
        self.axis, self.offset = axis, offset
        self.index = torch.full((size,), usual)

    def apply(self, parameter: Tensor, table: Tensor) -> None:
        self.index = self.index.to(table.device)
        shape = [1] * parameter.dim()
        shape[self.axis] = -1
        factor = table[self.index].to(device=parameter.device, dtype=torch.float32).reshape(shape)
        if hasattr(parameter, "device_mesh"):
            factor = _everywhere(factor, parameter.device_mesh)
        if self.offset:
            parameter.add_(self.offset).mul_(factor).sub_(self.offset)
        else:
            parameter.mul_(factor)


def _everywhere(factor: Tensor, mesh) -> Tensor:
    """The same on every rank of the mesh; each applies the part of its shard."""
    from torch.distributed.tensor import DTensor, Replicate

    return DTensor.from_local(factor, mesh, [Replicate()] * mesh.ndim, run_check=False)


class Plan:
    """Heads that must be scaled alike are a unit: those that share keys, or all of a layer where they share a norm."""

    def __init__(self, weights: Mapping[str, QKWeights]):
        units, self._units = 0, []
        parts: list[tuple[HeadRows, str, int, int]] = []  # rows, power, first unit of the layer, their number
        for name, of_layer in weights.items():
            rows = of_layer.rows()
            count = min((one.heads for of_power in rows.values() for one in of_power), default=of_layer.heads)
            for heads in (of_layer.heads, *(one.heads for of_power in rows.values() for one in of_power)):
                if heads < 1 or heads % count:
                    raise ValueError(f"{name} has weights of {heads} and of {count} heads; expected multiples")
            self._units += [units + head * count // of_layer.heads for head in range(of_layer.heads)]
            parts += [(one, power, units, count) for power, of_power in rows.items() for one in of_power]
            units += count
        self._count = units
        self._scaled: dict[Tensor, Scaled] = {}
        for rows, power, first, count in parts:
            self._enter(rows, POWERS.index(power) * units + first, count)
        self._index = torch.tensor(self._units)

    def parameters(self) -> ItemsView[Tensor, Scaled]:
        return self._scaled.items()

    def largest_of_units(self, scores: Tensor) -> Tensor:
        self._index = self._index.to(scores.device)
        found = torch.full((self._count,), -torch.inf, dtype=scores.dtype, device=scores.device)
        return found.scatter_reduce(0, self._index, scores, "amax")

    def by_head(self, units: Tensor) -> Tensor:
        return units[self._index]

    def _enter(self, rows: HeadRows, first: int, count: int) -> None:
        """``first``: the first of the ``count`` table entries of the rows' heads."""
        shape, usual = list(rows.parameter.shape), 3 * self._count
        stride = rows.size if rows.stride is None else rows.stride
        end = rows.start + (rows.heads - 1) * stride + rows.size
        if end > shape[rows.axis]:
            expected = f"expected at most {shape[rows.axis]}"
            raise ValueError(f"HeadRows of a parameter {shape} reach entry {end} of axis {rows.axis}; {expected}")
        scaled = self._scaled.setdefault(rows.parameter, Scaled(rows.axis, rows.offset, shape[rows.axis], usual))
        for head in range(rows.heads):
            own = scaled.index[rows.start + head * stride :][: rows.size]
            if (own != usual).any():
                raise ValueError(
                    f"rows of a parameter {shape} belong to two heads, layers or sides; expected one of each"
                )
            own.fill_(first + head * count // rows.heads)
