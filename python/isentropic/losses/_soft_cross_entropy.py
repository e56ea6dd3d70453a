"""Cross-entropy against distributions over the classes: distillation."""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor

from .._checks import require, require_tensor
from ._rows import (
    Loss,
    check_reduction,
    check_rows,
    check_same_kind,
    constant,
    reduce,
    softmax_rows,
    softmax_total,
    statistics_type,
    weights_of_total,
)


def soft_cross_entropy(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    ids: Optional[Tensor] = None,
    logits: bool = False,
    temperature: float = 1.0,
    bias: Optional[Tensor] = None,
    soft_cap: Optional[float] = None,
    example_weight: Optional[Tensor] = None,
    reduction: str = "mean",
) -> Loss:
    """``cross_entropy((input @ weight.T + bias) / temperature, target)`` for targets that are distributions.

    The loss of a row is ``-sum t log p = m L - sum t s`` with the log-partition L of a streaming softmax, the mass
    ``m = sum t`` and the scores s: nothing of size ``[..., V]`` is formed beside the targets, forward or backward.
    ``loss - H(t)`` is the divergence KL(t || p).

    Args:
        input: ``[..., d]``.
        weight: ``[V, d]``, the classifier.
        target: ``[..., V]``, or ``[..., k]`` with ``ids``; constants, without a gradient. Probabilities of the top k
            that do not sum to 1 are used as they are; negative ones raise an error on the CPU, and are not checked for
            on a GPU.
        ids: ``[..., k]`` integers, the classes of the target's entries.
        logits: whether the target holds a teacher's logits; its distribution is their softmax (over the k, with
            ``ids``).
        temperature: divides the logits, and the teacher's if those are given. Gradients shrink with its square:
            multiply the loss by that square, as Hinton et al. (2015) do, to keep their size.
        bias: ``[V]``.
        soft_cap: logits become ``cap tanh(logit / cap)``, before the bias and the temperature.
        example_weight: ``[...]``; rows of weight 0 do not count, and the mean divides by the sum of weights.
        reduction: "mean", "sum" or "none" (``[...]``).

    Returns:
        :class:`Loss`. ``bound``: I(X; input) >= H(X) - loss, where X is drawn from the targets and H(X) is the entropy
        of their mean over this batch. The loss is at least the mean of H(t): ``ceiling`` is H(X) minus that mean. Both
        normalise targets to distributions, ``t / m``, and weight rows in proportion to m.
    """
    for name, tensor in (("input", input), ("weight", weight), ("target", target)):
        require_tensor(name, tensor)
    check_same_kind("weight", weight, "input", input)
    shape = tuple(input.shape[:-1])
    require(
        input.dim() >= 1 and target.dim() == input.dim() and tuple(target.shape[:-1]) == shape,
        lambda: f"target has shape {list(target.shape)}; expected a distribution for each row of {list(input.shape)}",
    )
    require(0.0 < temperature < math.inf, lambda: f"temperature is {temperature}; expected a positive number")
    if ids is not None:
        check_rows("ids", ids, tuple(target.shape))
        ids = ids.reshape(-1, ids.shape[-1])
    if bias is not None:
        check_rows("bias", bias, (len(weight),))
    if example_weight is not None:
        check_rows("example_weight", example_weight, shape)
    check_reduction(reduction)
    rows, targets = input.reshape(-1, input.shape[-1]), target.reshape(-1, target.shape[-1])
    weights = torch.ones(len(rows), dtype=statistics_type(rows), device=rows.device)
    if example_weight is not None:
        weights = weights * example_weight.reshape(-1)
    alive = weights != 0
    score, mass, target_entropy, marginal = torch.ops.isentropic.target_score(
        rows, weight, targets, ids, bias, alive, soft_cap, temperature, logits
    )
    scale = constant(1.0 / temperature, rows)
    options = dict(
        bias=None if bias is None else bias / temperature,
        soft_cap=None if soft_cap is None else soft_cap / temperature,
    )
    if reduction == "none" or weights.requires_grad:
        _, log_partition, entropy = softmax_rows(rows, weight, scale, **options)
        losses = torch.where(alive, mass * log_partition - score, 0.0)
        reduced = reduce(losses, weights, reduction)
    else:
        each = weights_of_total(weights, reduction)
        none = torch.full((len(rows),), -1, device=rows.device)
        reduced, _, log_partition, entropy = softmax_total(
            rows, weight, scale, none, each * mass, **options, loss_factor=0.0, partition_factor=1.0
        )
        reduced = reduced - (each * score).sum()
        losses = torch.where(alive, mass * log_partition - score, 0.0)
    total = mass.sum().clamp(min=1e-30)
    source = torch.special.entr(marginal / total).sum()
    given = (target_entropy + torch.special.xlogy(mass, mass)).sum() / total  # H(t / m), weighted by m
    bound, ceiling = source - losses.detach().sum() / total, source - given
    return Loss(reduced.reshape(shape) if reduction == "none" else reduced, entropy.reshape(shape), bound, ceiling)
