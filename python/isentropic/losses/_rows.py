"""What the losses share: rows of a streaming softmax, reductions, checks."""

from __future__ import annotations

import math
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
    exclude_self: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss (log-partition minus the target's score), log-partition and entropy of the rows of
    softmax(scale query key^T), each ``[N]``. The loss is 0 where there is no target, -1."""
    if target is None:
        target = torch.full((len(query),), -1, device=query.device)
    return torch.ops.isentropic.softmax_loss(query, key, target, scale, bias, soft_cap, exclude_self)[:3]


def softplus(x: Tensor) -> Tensor:
    """log(1 + e^x), to the last digits on both sides: torch's own is x from 20 on."""
    return torch.logaddexp(x, torch.zeros_like(x))


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
    # A weight of 0 leaves the row out, whatever its loss is.
    weighted = losses if weights is None else torch.where(weights == 0, 0.0, losses) * weights
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
    check_same_kind("key", key, "query", query)
    require(
        query.shape[1] == key.shape[1],
        lambda: f"key has shape {list(key.shape)}; expected rows of {query.shape[1]} numbers, as the query",
    )
    require(query.shape[1] > 0, lambda: f"query has shape {list(query.shape)}; expected rows of at least one number")
    require(len(key) > 0 or len(query) == 0, lambda: f"key has shape {list(key.shape)}; expected at least one key")


def check_same_kind(name: str, tensor: Tensor, like_name: str, like: Tensor) -> None:
    """One floating type and one device; autocast brings types together itself."""
    for which, x in ((name, tensor), (like_name, like)):
        if not x.is_floating_point():
            raise TypeError(f"{which} has type {x.dtype}; expected a floating type")
    require(
        tensor.device == like.device,
        lambda: f"{name} is on {tensor.device}; expected {like.device}, as the {like_name}",
    )
    if tensor.dtype != like.dtype and not torch.is_autocast_enabled(tensor.device.type):
        raise TypeError(f"{name} has type {tensor.dtype}; expected {like.dtype}, as the {like_name}")


def check_same_shape(query: Tensor, key: Tensor) -> None:
    require(
        query.shape == key.shape, lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)}"
    )


def check_candidates(name: str, tensor: Tensor, query: Tensor) -> bool:
    """Whether ``tensor`` is shared, ``[M, d]``, rather than one set for each query, ``[N, M, d]``."""
    n, d = query.shape
    shared = tensor.dim() == 2
    fits = tensor.shape[-1] == d and (shared or (tensor.dim() == 3 and len(tensor) == n))
    check_same_kind(name, tensor, "query", query)
    require(fits, lambda: f"{name} has shape {list(tensor.shape)}; expected [M, {d}] or [{n}, M, {d}]")
    return shared


def inverse(temperature: Union[float, Tensor], like: Tensor) -> Tensor:
    """1 / temperature, ``[]``."""
    if isinstance(temperature, Tensor):
        shape = list(temperature.shape)
        require(temperature.numel() == 1, lambda: f"temperature has shape {shape}; expected one number")
    if not isinstance(temperature, Tensor) or may_look_inside(temperature):
        value = float(temperature.detach() if isinstance(temperature, Tensor) else temperature)
        require(
            0.0 < value < math.inf and math.isfinite(1.0 / value),
            lambda: f"temperature is {value}; expected a positive number",
        )
    return (1.0 / as_tensor(temperature, like)).reshape(())


def check_rows(name: str, tensor: Tensor, *shapes: tuple[int, ...]) -> None:
    require_tensor(name, tensor)
    expected = " or ".join(str(list(shape)) for shape in shapes)
    require(tuple(tensor.shape) in shapes, lambda: f"{name} has shape {list(tensor.shape)}; expected {expected}")


def may_look_inside(tensor: Tensor) -> bool:
    """To look at values takes a graph apart and waits for a device: there the operator's own check must do."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()
