"""What the losses share: rows of a streaming softmax, reductions, checks."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor

from .._checks import require, require_tensor


class Loss(NamedTuple):
    """A loss with what it says about information.

    Attributes:
        loss: scalar, or ``[N]`` with ``reduction="none"``.
        entropy: of every row's distribution over the candidates, ``[N]``; with gradient.
        bound: lower bound on the information named by the function; None where the loss implies none. A single batch
            is a sample of it: the bound holds for the expectation.
        ceiling: what ``bound`` can never exceed, however good the model.
    """

    loss: Tensor
    entropy: Tensor
    bound: Optional[Tensor]
    ceiling: Optional[Tensor]


def statistics_type(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def softmax_rows(
    query: Tensor,
    key: Tensor,
    scale: Tensor,
    target: Optional[Tensor] = None,
    *,
    bias: Optional[Tensor] = None,
    soft_cap: Optional[float] = None,
    others: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Log-partition, entropy and the target's score of the rows of softmax(scale query key^T), each ``[N]``."""
    if target is None:
        target = torch.full((len(query),), -1, device=query.device)
    return torch.ops.isentropic.softmax_loss(query, key, target, scale, bias, soft_cap, others)[:3]


def scores(query: Tensor, positive: Tensor, scale: Tensor) -> Tensor:
    """Of row i with row i."""
    wide = statistics_type(query)
    return (query.to(wide) * positive.to(wide)).sum(-1) * scale


def as_tensor(number: Union[float, Tensor], like: Tensor) -> Tensor:
    """A number in the type of statistics: 1 / 0.07 in 16 bits would be another temperature."""
    if isinstance(number, Tensor):
        return number
    return torch.tensor(float(number), dtype=statistics_type(like), device=like.device)


def reduce(losses: Tensor, weights: Optional[Tensor], reduction: str) -> Tensor:
    """Weights default to ones; the mean is over the sum of weights, and 0 when that is 0."""
    require(
        reduction in ("none", "mean", "sum"), lambda: f"reduction is '{reduction}'; expected 'none', 'mean' or 'sum'"
    )
    weighted = losses if weights is None else losses * weights
    if reduction == "none":
        return weighted
    total = weighted.sum()
    if reduction == "sum":
        return total
    count = torch.tensor(float(losses.numel())) if weights is None else weights.sum()
    return total / torch.where(count == 0, torch.ones_like(count), count)


def check_pair(query: Tensor, key: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key)):
        require_tensor(name, tensor)
        require(tensor.dim() == 2, lambda: f"{name} has shape {list(tensor.shape)}; expected [N, d]")
    require(
        query.shape[1] == key.shape[1],
        lambda: f"key has shape {list(key.shape)}; expected rows of {query.shape[1]} numbers, as the query",
    )


def check_same_shape(query: Tensor, key: Tensor) -> None:
    require(
        query.shape == key.shape, lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)}"
    )


def check_candidates(name: str, tensor: Tensor, query: Tensor) -> bool:
    """Whether ``tensor`` is shared, ``[M, d]``, rather than one set for each query, ``[N, M, d]``."""
    n, d = query.shape
    shared = tensor.dim() == 2
    fits = tensor.shape[-1] == d and (shared or (tensor.dim() == 3 and len(tensor) == n))
    require(fits, lambda: f"{name} has shape {list(tensor.shape)}; expected [M, {d}] or [{n}, M, {d}]")
    return shared


def inverse(temperature: Union[float, Tensor], like: Tensor) -> Tensor:
    """1 / temperature, ``[]``."""
    scale = 1.0 / as_tensor(temperature, like)
    require(scale.numel() == 1, lambda: f"temperature has shape {list(scale.shape)}; expected one number")
    return scale.reshape(())


def check_rows(name: str, tensor: Tensor, *shapes: tuple[int, ...]) -> None:
    require_tensor(name, tensor)
    expected = " or ".join(str(list(shape)) for shape in shapes)
    require(tuple(tensor.shape) in shapes, lambda: f"{name} has shape {list(tensor.shape)}; expected {expected}")


def may_look_inside(tensor: Tensor) -> bool:
    """To look at values takes a graph apart and waits for a device: there the operator's own check must do."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()
