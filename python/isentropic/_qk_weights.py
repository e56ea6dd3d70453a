"""The parameters that produce the queries and keys of each head, and that QK-clip scales."""

from __future__ import annotations

import dataclasses
from typing import Iterator, Optional, Sequence, Union

import torch
from torch import Tensor, nn


@dataclasses.dataclass(frozen=True)
class HeadRows:
    """The entries of a parameter that belong to each head.

    Head h has ``size`` entries along ``axis``, from ``start + h * stride`` on; ``stride`` is ``size`` by default. A
    vector that all heads share has ``heads=1``. ``offset`` is what the model adds to the parameter before multiplying
    with it: 1 for the norms of Gemma.
    """

    parameter: Tensor
    heads: int
    size: int
    start: int = 0
    stride: Optional[int] = None
    axis: int = 0
    offset: float = 0.0


Source = Union[nn.Module, HeadRows, Sequence[Union[nn.Module, HeadRows]]]


@dataclasses.dataclass(frozen=True)
class QKWeights:
    """The parameters that produce the queries and keys of a layer.

    ``query`` and ``key`` are layers with a ``weight`` and optionally a ``bias``: projections, heads one after the
    other, or norms that come after them; or :class:`HeadRows`. ``query_alone`` are parts of the queries whose keys are
    shared by all heads, so that they take the whole factor (the rotated part in multi-head latent attention).
    """

    heads: int
    query: Source
    key: Source
    query_alone: Source = ()

    def rows(self) -> dict[str, list[HeadRows]]:
        """By power: "query", "key" and "query_alone"."""
        return {name: list(self._rows(name)) for name in ("query", "key", "query_alone")}

    def _rows(self, name: str) -> Iterator[HeadRows]:
        given = getattr(self, name)
        size = None
        for source in given if isinstance(given, (tuple, list)) else (given,):
            if isinstance(source, HeadRows):
                yield source
            elif isinstance(source, nn.Module):
                size = size or self._head_size()
                yield from rows_of(source, size)
            else:
                kinds = "a module with a weight, or HeadRows"
                raise TypeError(f"{name} of QKWeights is a {type(source).__name__}; expected {kinds}")

    def _head_size(self) -> Optional[int]:
        """d, from the projection of the queries, where there is one."""
        for source in self.query if isinstance(self.query, (tuple, list)) else (self.query,):
            weight = getattr(source, "weight", None)
            if weight is not None and weight.dim() == 2 and not _is_norm(source):
                return weight.shape[_axis(source)] // self.heads
        return None


def rows_of(layer: nn.Module, head_size: Optional[int]) -> Iterator[HeadRows]:
    """The rows of a projection or a norm: weight and bias."""
    names = {name for name, _ in layer.named_parameters()}
    if not names or not names <= {"weight", "bias"} or "weight" not in names:
        raise ValueError(
            f"{type(layer).__name__} has the parameters {sorted(names) or 'none'}; expected weight, and bias or not, "
            "to be all that it computes with"
        )
    if not layer.weight.is_floating_point():
        raise ValueError(f"the weight of {type(layer).__name__} is {layer.weight.dtype}; expected floating numbers")
    if not _is_norm(layer) and layer.weight.dim() != 2:
        shape = list(layer.weight.shape)
        raise ValueError(
            f"a weight has shape {shape}; expected two axes (FSDP1 flattens its parameters, FSDP2 does not)"
        )
    offset = _offset_of(layer) if _is_norm(layer) else 0.0
    axis = 0 if layer.weight.dim() == 1 else _axis(layer)
    size = 1 if _is_norm(layer) and layer.weight.dim() == 2 else head_size or layer.weight.shape[axis]
    heads = layer.weight.shape[axis] // size
    if heads * size != layer.weight.shape[axis]:
        raise ValueError(f"a weight has {layer.weight.shape[axis]} rows; expected a multiple of {size}, a head's size")
    yield HeadRows(layer.weight, heads, size, axis=axis, offset=offset)
    if getattr(layer, "bias", None) is not None:
        yield HeadRows(layer.bias, heads, size)


def _is_norm(layer: nn.Module) -> bool:
    return "norm" in type(layer).__name__.lower()


def _axis(layer: nn.Module) -> int:
    return 1 if type(layer).__name__ == "Conv1D" else 0  # transformers' keeps its weight transposed


def _offset_of(norm: nn.Module) -> float:
    """The c of ``norm(x) = (c + weight) * normalised x``, found by evaluating it."""
    shape = norm.weight.shape
    x = torch.arange(1.0, shape.numel() + 1).reshape(1, *shape)
    zero, one = (_normed(norm, x, value) for value in (0.0, 1.0))
    two = _normed(norm, x, 2.0)
    unit = one - zero
    if not torch.allclose(two - one, unit, atol=1e-5) or not unit.abs().max() > 0:
        raise ValueError(f"{type(norm).__name__} is not linear in its weight; expected a norm that is")
    offset = (zero * unit).sum() / unit.square().sum()
    return float(offset.round())


def _normed(norm: nn.Module, x: Tensor, value: float) -> Tensor:
    """The norm of x with all weights ``value``; its own weights may be sharded over ranks."""
    values = {name: torch.zeros(p.shape) for name, p in norm.named_parameters()} | {
        "weight": torch.full(norm.weight.shape, value)
    }
    with torch.no_grad():
        return torch.func.functional_call(norm, values, (x,)).float()
