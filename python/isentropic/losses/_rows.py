"""Shared by the losses: rows of a streaming softmax, reductions, checks."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor

from .._checks import number, require, require_tensor


class Loss(NamedTuple):
    """A loss and what it implies about information.

    Attributes:
        loss: scalar, or ``[N]`` with ``reduction="none"``.
        entropy: entropy of every row's distribution over the candidates, ``[N]``; with gradient.
        bound: lower bound on the information named by the function; None where the loss implies none. A single batch
            is a sample of it: the bound holds in expectation.
        ceiling: value that ``bound`` can never exceed, however good the model.
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


class Total(NamedTuple):
    """A weighted sum over rows, and the rows."""

    total: Tensor
    loss: Tensor
    log_partition: Tensor
    entropy: Tensor


def softmax_total(
    query: Tensor,
    key: Tensor,
    scale: Tensor,
    target: Tensor,
    weights: Tensor,
    *,
    bias: Optional[Tensor] = None,
    soft_cap: Optional[float] = None,
    exclude_self: bool = False,
    loss_factor: float = 1.0,
    partition_factor: float = 0.0,
    square_factor: float = 0.0,
) -> Total:
    """``sum_i weight_i (loss_factor loss_i + partition_factor L_i + square_factor L_i^2)`` of the rows of
    :func:`softmax_rows`; rows of weight 0 do not count, and weights receive no gradient. On a GPU the gradients are
    formed in the same pass."""
    inputs = (query, key, scale) if bias is None else (query, key, scale, bias)
    # float16 is left out: its gradients would underflow before an upstream gradient scales them up.
    form_gradients = (
        query.device.type == "cuda"
        and query.dtype in (torch.bfloat16, torch.float32)
        and torch.is_grad_enabled()
        and any(x.requires_grad for x in inputs)
    )
    found = torch.ops.isentropic.softmax_loss_total(
        query, key, target, scale, bias, weights.to(statistics_type(query)), soft_cap, exclude_self, loss_factor,
        partition_factor, square_factor, form_gradients,
    )  # fmt: skip
    return Total(*found[:4])


def softplus(x: Tensor) -> Tensor:
    """log(1 + e^x), accurate to the last digits on both sides: torch's own is x from 20 on."""
    return torch.logaddexp(x, torch.zeros_like(x))


def scores(query: Tensor, positive: Tensor, scale: Tensor) -> Tensor:
    """The scores of row i with row i, ``[N]``."""
    wide = statistics_type(query)
    return (query.to(wide) * positive.to(wide)).sum(-1) * scale


def as_tensor(number: Union[float, Tensor], like: Tensor) -> Tensor:
    """A number in the type of statistics: 1 / 0.07 in 16 bits would be another temperature."""
    if isinstance(number, Tensor):
        return number
    return constant(float(number), like)


def constant(number: float, like: Tensor) -> Tensor:
    """A scalar that is filled in on the device: a copy from the host would wait for it."""
    return torch.full((), number, dtype=statistics_type(like), device=like.device)


def reduce(losses: Tensor, weights: Optional[Tensor], reduction: str) -> Tensor:
    """Weights default to ones; the mean divides by the sum of weights, and is 0 when that is 0."""
    check_reduction(reduction)
    # A weight of 0 leaves the row out, whatever its loss is.
    weighted = losses if weights is None else torch.where(weights == 0, 0.0, losses) * weights
    if reduction == "none":
        return weighted
    total = weighted.sum()
    if reduction == "sum":
        return total
    if weights is None:
        return total / max(losses.numel(), 1)
    return total / _divisor(weights)


def weights_of_total(weights: Tensor, reduction: str) -> Tensor:
    """The weights whose plain sum over rows equals the "mean" or "sum"."""
    return weights / _divisor(weights) if reduction == "mean" else weights


def _divisor(weights: Tensor) -> Tensor:
    count = weights.sum()
    return torch.where(count == 0, torch.ones_like(count), count)


def check_reduction(reduction: str) -> None:
    require(
        reduction in ("none", "mean", "sum"), lambda: f"reduction is '{reduction}'; expected 'none', 'mean' or 'sum'"
    )


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
    """Requires one floating type and one device; under autocast types may differ."""
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
    require_tensor(name, tensor)
    check_same_kind(name, tensor, "query", query)
    n, d = query.shape
    shared = tensor.dim() == 2
    fits = tensor.dim() > 0 and tensor.shape[-1] == d and (shared or (tensor.dim() == 3 and len(tensor) == n))
    require(fits, lambda: f"{name} has shape {list(tensor.shape)}; expected [M, {d}] or [{n}, M, {d}]")
    return shared


def inverse(temperature: Union[float, Tensor], like: Tensor) -> Tensor:
    """1 / temperature, ``[]``."""
    if isinstance(temperature, Tensor):
        shape = list(temperature.shape)
        require(temperature.numel() == 1, lambda: f"temperature has shape {shape}; expected one number")
    if not isinstance(temperature, Tensor) or may_look_inside(temperature):
        value = number("temperature", temperature.detach() if isinstance(temperature, Tensor) else temperature, True)
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
    """Whether values can be read without breaking a graph or waiting for a device; else the operator itself checks."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()
