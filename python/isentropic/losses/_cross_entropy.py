"""Cross-entropy over a vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import torch
from torch import Tensor

from .._checks import integer, require, require_tensor
from .._problem import Problem
from ..distributed._vocabulary import Vocabulary, shared_by_ranks, sum_of_parts, vocabulary_of_ranks, vocabulary_rows
from ..maps import ScoreMap
from ._rows import (
    Loss,
    check_reduction,
    check_rows,
    check_same_kind,
    constant,
    may_look_inside,
    reduce,
    softmax_rows,
    softmax_total,
    statistics_type,
    weights_of_total,
)

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def linear_cross_entropy(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    bias: Optional[Tensor] = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    soft_cap: Optional[float] = None,
    z_loss: float = 0.0,
    example_weight: Optional[Tensor] = None,
    source_entropy: Optional[float] = None,
    reduction: str = "mean",
    group: Optional[ProcessGroup] = None,
) -> Loss:
    """``cross_entropy(input @ weight.T + bias, target)`` without the matrix of logits, forward and backward.

    Args:
        input: ``[..., d]``.
        weight: ``[V, d]``, the classifier.
        target: ``[...]`` integers in [0, V), or ``ignore_index`` for rows that do not count.
        bias: ``[V]``.
        label_smoothing: epsilon: the loss becomes (1 - epsilon) CE + epsilon times the mean of CE over all classes.
        soft_cap: logits become ``cap tanh(logit / cap)``, before the bias.
        z_loss: adds ``z_loss * log_partition^2``.
        example_weight: ``[...]``; the mean divides by the sum of weights.
        source_entropy: H(X) of the targets, for the bound; by default the plug-in estimate from this batch (too low for
            small batches, so the bound errs on the safe side).
        reduction: "mean", "sum" or "none" (``[...]``).
        group: splits the vocabulary over the ranks of this process group. Every rank passes the same ``input``,
            ``target`` and options, and its own slice of ``weight`` and ``bias``, ``[V_r, d]`` and ``[V_r]``: slices are
            in rank order, and may differ in size; targets are indices into the whole vocabulary. Weights are not
            communicated: only one maximum and six sums per row are and, in the backward pass, the gradient of
            ``input``.

            Everything returned is the same on all ranks, and is what a single process with the whole vocabulary
            returns; so are the gradients. The gradient of ``input`` is summed over ranks here, as behind a
            column-parallel layer, and must not be summed again; those of ``weight`` and ``bias`` are the slice's. All
            ranks must run the backward pass, with the same upstream gradient.

    Returns:
        :class:`Loss`. ``bound``: I(X; input) >= H(X) - CE with ``ceiling`` H(X). (log V - CE is not a bound: the
        vocabulary is not drawn from the distribution of the targets.)
    """
    for name, tensor in (("input", input), ("weight", weight), ("target", target)):
        require_tensor(name, tensor)
    require(input.dim() >= 1, lambda: "input has shape []; expected [..., d]")
    require(
        weight.dim() == 2 and (len(weight) > 0 or group is not None),
        lambda: f"weight has shape {list(weight.shape)}; expected [V, d] with at least one class",
    )
    check_same_kind("weight", weight, "input", input)
    require(
        input.shape[-1] == weight.shape[1],
        lambda: f"weight has shape {list(weight.shape)}; expected rows of {input.shape[-1]} numbers, as the input",
    )
    require(
        target.shape == input.shape[:-1],
        lambda: f"target has shape {list(target.shape)}; expected {list(input.shape[:-1])}",
    )
    if target.is_floating_point() or target.dtype == torch.bool:
        raise TypeError(f"target has type {target.dtype}; expected integers")
    if bias is not None:
        check_rows("bias", bias, (len(weight),))
    require(
        soft_cap is None or 0.0 < soft_cap < torch.finfo(statistics_type(input)).max,
        lambda: f"soft_cap is {soft_cap}; expected a positive number",
    )
    require(z_loss >= 0.0, lambda: f"z_loss is {z_loss}; expected a number >= 0")
    if example_weight is not None:
        check_rows("example_weight", example_weight, tuple(target.shape))
    require(0.0 <= label_smoothing <= 1.0, lambda: f"label_smoothing is {label_smoothing}; expected a number in [0, 1]")
    check_reduction(reduction)
    ignore_index = integer("ignore_index", ignore_index)
    rows, targets = input.reshape(-1, input.shape[-1]), target.reshape(-1).long()
    vocabulary, classes = None, len(weight)
    if group is not None:
        vocabulary = vocabulary_of_ranks(
            rows, weight, targets, group, bias=bias is not None, ignore_index=ignore_index,
            label_smoothing=label_smoothing, soft_cap=soft_cap, z_loss=z_loss, reduction=reduction,
        )  # fmt: skip
        rows, classes = shared_by_ranks(rows, group), vocabulary.classes
    counted = targets != ignore_index
    if may_look_inside(targets):
        wrong = targets[counted & ((targets < 0) | (targets >= classes))]
        require(
            len(wrong) == 0,
            lambda: f"target is {int(wrong[0])}; expected [0, {classes}) or ignore_index {ignore_index}",
        )
    wanted = torch.where(counted, torch.where(targets < 0, -2, targets), -1)
    weights = counted.to(statistics_type(rows))
    if example_weight is not None:
        weights = weights * example_weight.reshape(-1)
    # A row that does not count may contain anything: it must not enter any product, forward or backward.
    alive = weights != 0
    options = dict(bias=bias, soft_cap=soft_cap)
    one = constant(1.0, rows)
    if label_smoothing > 0:
        mean_logits = _mean_logits(torch.where(alive.unsqueeze(1), rows, 0.0), weight, bias, soft_cap, vocabulary)
    if reduction == "none" or weights.requires_grad or vocabulary is not None:
        if vocabulary is None:
            cross_entropy, log_partition, entropy = softmax_rows(rows, weight, one, wanted, **options)
        else:
            cross_entropy, log_partition, entropy = vocabulary_rows(rows, weight, one, wanted, vocabulary, **options)
        losses = cross_entropy = torch.where(alive, cross_entropy, 0.0)
        log_partition = torch.where(alive, log_partition, 0.0)
        if label_smoothing > 0:
            losses = (1 - label_smoothing) * losses + label_smoothing * (log_partition - mean_logits)
        if z_loss > 0:
            losses = losses + z_loss * log_partition.square()
        reduced = reduce(losses, weights, reduction)
    else:
        each = weights_of_total(weights, reduction)
        reduced, cross_entropy, _, entropy = softmax_total(
            rows, weight, one, wanted, each, **options,
            loss_factor=1 - label_smoothing, partition_factor=label_smoothing, square_factor=z_loss,
        )  # fmt: skip
        cross_entropy = torch.where(alive, cross_entropy, 0.0)
        if label_smoothing > 0:
            reduced = reduced - label_smoothing * torch.where(alive, each * mean_logits, 0.0).sum()
    if source_entropy is None:
        known = alive & (targets >= 0) & (targets < classes)  # targets on a GPU were not checked above
        ceiling = _source_entropy(torch.where(known, targets, 0), known.to(weights.dtype), classes)
    else:
        ceiling = constant(source_entropy, rows)
    bound = ceiling - reduce(cross_entropy.detach(), alive.to(weights.dtype), "mean")
    shape = target.shape
    return Loss(reduced.reshape(shape) if reduction == "none" else reduced, entropy.reshape(shape), bound, ceiling)


def _mean_logits(
    rows: Tensor,
    weight: Tensor,
    bias: Optional[Tensor],
    soft_cap: Optional[float],
    vocabulary: Optional[Vocabulary] = None,
) -> Tensor:
    """The mean over all classes. Linear without a cap; with one it is attention with weights s / V and values 1."""
    if vocabulary is not None:
        part = torch.zeros(len(rows), dtype=statistics_type(rows), device=rows.device)
        if len(weight) > 0:
            part = _mean_logits(rows, weight, bias, soft_cap) * (len(weight) / vocabulary.classes)
        return sum_of_parts(part, vocabulary.group)
    if soft_cap is None:
        mean = (rows @ weight.mean(0)).to(statistics_type(rows))
    else:
        ones = torch.ones(1, 1, len(weight), 1, dtype=rows.dtype, device=rows.device)
        problem = Problem(
            rows[None, None], weight[None, None], ones, scale=1.0, soft_cap=soft_cap, map=ScoreMap.identity("visible")
        )
        mean = problem.run_text(problem.text())[0].flatten().to(statistics_type(rows))
    return mean if bias is None else mean + bias.mean()


def _source_entropy(targets: Tensor, counted: Tensor, classes: int) -> Tensor:
    """Plug-in entropy of the targets, weighted."""
    counts = torch.zeros(classes, dtype=counted.dtype, device=targets.device).index_add(0, targets, counted)
    return torch.special.entr(counts / counted.sum().clamp(min=1)).sum()


def causal_lm_loss(hidden: Tensor, weight: Tensor, tokens: Tensor, **options) -> Loss:
    """Next-token prediction: ``hidden[:, t]`` predicts ``tokens[:, t + 1]``.

    hidden ``[batch, n, d]``, tokens ``[batch, n]``; options as for :func:`linear_cross_entropy` (``example_weight`` for
    the predictions, ``[batch, n - 1]``). The sum of these terms is the negative log-likelihood of the sequences given
    their first tokens.
    """
    _check_sequences(hidden, tokens)
    require(hidden.dim() == 3, lambda: f"hidden has shape {list(hidden.shape)}; expected [batch, n, d]")
    return linear_cross_entropy(hidden[:, :-1], weight, tokens[:, 1:], **options)


def masked_lm_loss(hidden: Tensor, weight: Tensor, tokens: Tensor, masked: Tensor, **options) -> Loss:
    """Prediction of the masked tokens; ``masked`` ``[batch, n]`` boolean.

    Only masked rows are computed. With several masks in a sequence the sum is a pseudo-likelihood, not the
    likelihood of the sequence.
    """
    _check_sequences(hidden, tokens)
    check_rows("masked", masked, tuple(tokens.shape))
    masked = masked.bool()
    return linear_cross_entropy(hidden[masked], weight, tokens[masked], **options)


def _check_sequences(hidden: Tensor, tokens: Tensor) -> None:
    """Before they are cut: errors of slices and indices do not name what is wrong."""
    for name, tensor in (("hidden", hidden), ("tokens", tokens)):
        require_tensor(name, tensor)
    require(
        tokens.shape == hidden.shape[:-1],
        lambda: f"tokens has shape {list(tokens.shape)}; expected {list(hidden.shape[:-1])}, as hidden",
    )
