"""InfoNCE."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Optional, Union

import torch
from torch import Tensor

from .._checks import require
from .._problem import Problem
from ..distributed._info_nce import info_nce_over_ranks
from ..scales import Scale
from ._rows import (
    Loss,
    check_candidates,
    check_pair,
    check_reduction,
    check_rows,
    check_same_shape,
    constant,
    inverse,
    may_look_inside,
    reduce,
    scores,
    softmax_rows,
    softmax_total,
    softplus,
    statistics_type,
)

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def info_nce(
    query: Tensor,
    key: Tensor,
    *,
    temperature: Union[float, Tensor] = 0.07,
    negatives: Optional[Tensor] = None,
    positives: Optional[Tensor] = None,
    labels: Optional[Tensor] = None,
    key_labels: Optional[Tensor] = None,
    exclude_self: bool = False,
    symmetric: bool = False,
    normalise: bool = True,
    reduction: str = "mean",
    group: Optional[ProcessGroup] = None,
) -> Loss:
    """InfoNCE loss: cross-entropy of finding the positive among the candidates by ``softmax(q.k / temperature)``.

    Args:
        query: ``[N, d]``.
        key: ``[N, d]``: key i is the positive of query i, and all keys are candidates; or ``[M, d]`` with ``positives``
            or ``labels``.
        temperature: a number, or a tensor with one number, which may be learnable.
        negatives: ``[M, d]`` for all queries, or ``[N, M, d]``: the candidates of query i are then key i and these.
        positives: ``[N]``, the index of each query's positive among the keys.
        labels: ``[N]`` classes of the queries (and of the keys, unless ``key_labels`` ``[M]`` is given): every key of
            the same class is a positive, and the loss is the mean over them. Queries without one do not count; their
            loss is 0.
        exclude_self: the queries are the keys themselves, and a row does not see its own key; needs ``positives`` or
            ``labels``. If a row sees its own key, the loss of unit vectors cannot fall below log 2.
        symmetric: for two towers: the mean of this loss and of the loss with query and key exchanged.
        normalise: divides rows by their norms first, so that scores are cosines; the default temperature is for these.
            False uses the vectors as they are.
        reduction: "mean", "sum" or "none".
        group: makes the keys of all ranks of this process group candidates. Every rank passes its own queries and keys,
            as many as it has, with its positives among its own keys (``positives`` are indices of these). Keys travel
            around a ring, so that no rank holds all of them, and their gradients return to their own rank. All ranks
            must call this together, and run the backward pass together. Not with ``negatives`` or ``labels``.

            "mean" and "sum" are over the rows of all ranks and are the same number on each of them; entropies, and
            losses that are not reduced, are those of the rank's rows. Gradients of query and key are those of a single
            process with the whole batch. Gradients of tensors that the ranks share, such as ``temperature`` and the
            parameters of an encoder, are the rank's share: their sum over ranks is the gradient of a single process.
            DistributedDataParallel averages over ranks instead: there, multiply the loss by the number of ranks before
            ``backward()``.

    Returns:
        :class:`Loss`. ``bound``: I(X;Y) >= log N - loss, with N the number of candidates (on all ranks) and ``ceiling``
        log N; it requires negatives drawn from the marginal, independently of the query. None with several positives.
    """
    check_pair(query, key)
    if negatives is not None:
        check_candidates("negatives", negatives, query)
    if normalise:
        query, key = _normalised(query), _normalised(key)
        negatives = None if negatives is None else _normalised(negatives)
    scale = inverse(temperature, query)
    given = [
        name for name, x in (("negatives", negatives), ("positives", positives), ("labels", labels)) if x is not None
    ]
    require(len(given) <= 1, lambda: f"{' and '.join(given)} are given; expected one of them")
    require(key_labels is None or labels is not None, lambda: "key_labels is given without labels; expected both")
    check_reduction(reduction)
    if group is not None:
        alone = [name for name in given if name != "positives"]
        require(not alone, lambda: f"{alone[0]} is given with group; expected the keys of the ranks as candidates")
    if symmetric:
        require(
            not given and not exclude_self, lambda: "symmetric is given with other candidates; expected plain pairs"
        )
        check_same_shape(query, key)
        if group is None:
            return _symmetric(query, key, scale, reduction)
    if negatives is not None:
        require(not exclude_self, lambda: "exclude_self is given with negatives; expected positives or labels")
        return _with_negatives(query, key, negatives, scale, reduction)
    require(
        not exclude_self or query.shape == key.shape,
        lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)} with exclude_self",
    )
    if labels is not None:
        check_rows("labels", labels, (len(query),))
        check_rows("key_labels", labels if key_labels is None else key_labels, (len(key),))
        _, log_partition, entropy = softmax_rows(query, key, scale, exclude_self=exclude_self)
        means, counts = _class_means(key, labels, labels if key_labels is None else key_labels, exclude_self)
        losses = torch.where(counts > 0, log_partition - scores(query, means, scale), 0.0)
        return Loss(reduce(losses, (counts > 0).to(losses.dtype), reduction), entropy, None, None)
    if positives is None:
        require(not exclude_self, lambda: "exclude_self is given without positives or labels; expected one of them")
        require(
            query.shape[0] == key.shape[0],
            lambda: f"key has {key.shape[0]} rows; expected {query.shape[0]}, one positive for each query",
        )
        positives = torch.arange(len(query), device=query.device)
    check_rows("positives", positives, (len(query),))
    if positives.is_floating_point() or positives.dtype == torch.bool:
        raise TypeError(f"positives has type {positives.dtype}; expected integers, the positive's row among the keys")
    _check_positives(positives, len(key), exclude_self)
    positives = torch.where(positives < 0, -2, positives).long()  # -1 would mean none
    if group is not None:
        return info_nce_over_ranks(
            query, key, scale, positives, exclude_self=exclude_self, symmetric=symmetric, reduction=reduction,
            group=group,
        )  # fmt: skip
    reduced, losses, entropy = _reduced_rows(query, key, scale, positives, reduction, exclude_self)
    return Loss(reduced, entropy, *_bound(losses, key.shape[0] - int(exclude_self)))


def _normalised(x: Tensor) -> Tensor:
    """Divides rows by their norms; a row of zeros stays zero, with a gradient of 0."""
    return _Normalised.apply(x)


_WIDENED = 1 << 24  # numbers at a time


def _directions(x: Tensor, norm: Tensor) -> Tensor:
    return torch.where(norm > 0, x.to(norm.dtype) / torch.where(norm > 0, norm, 1.0), 0.0)


class _Normalised(torch.autograd.Function):
    """Saves the rows in their own type, not in the wider one that the norms need."""

    @staticmethod
    def forward(ctx, x):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=statistics_type(x))
        ctx.save_for_backward(x, norm)
        return _directions(x, norm).to(x.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        x, norm = ctx.saved_tensors
        out = torch.empty_like(x)
        step = max(1, _WIDENED // max(1, x[:1].numel()))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            y, g = _directions(x[part], norm[part]), gradient[part].to(norm.dtype)
            across = (g - y * (y * g).sum(-1, keepdim=True)) / torch.where(norm[part] > 0, norm[part], 1.0)
            out[part] = torch.where(norm[part] > 0, across, 0.0).to(x.dtype)
        return out


def _class_means(key: Tensor, query_labels: Tensor, key_labels: Tensor, own_left_out: bool) -> tuple[Tensor, Tensor]:
    """For every query the mean of the keys of its class, [N, d], and how many they are, [N]."""
    key = key.to(statistics_type(key))
    classes, members = torch.unique(torch.cat([query_labels, key_labels]), return_inverse=True)
    of_query, of_key = members[: len(query_labels)], members[len(query_labels) :]
    sums = torch.zeros(len(classes), key.shape[1], dtype=key.dtype, device=key.device).index_add(0, of_key, key)
    counts = torch.bincount(of_key, minlength=len(classes))[of_query]
    total = sums[of_query]
    if own_left_out:
        total, counts = total - key, counts - 1
    return total / counts.clamp(min=1).unsqueeze(1), counts


def _check_positives(positives: Tensor, keys: int, exclude_self: bool) -> None:
    if not may_look_inside(positives):
        return
    wrong = positives[(positives < 0) | (positives >= keys)]
    require(len(wrong) == 0, lambda: f"positives has {int(wrong[0])}; expected a key, up to {keys - 1}")
    own = positives == torch.arange(len(positives))
    require(
        not (exclude_self and bool(own.any())),
        lambda: f"positives has row {int(own.nonzero()[0])} itself; expected another key with exclude_self",
    )


def _bound(losses: Tensor, candidates: int) -> tuple[Tensor, Tensor]:
    """The bound and its ceiling."""
    ceiling = constant(math.log(max(candidates, 1)), losses)
    return ceiling - reduce(losses.detach(), None, "mean"), ceiling


def _reduced_rows(
    query: Tensor, key: Tensor, scale: Tensor, positives: Tensor, reduction: str, exclude_self: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The reduced loss, and loss and entropy of every row."""
    check_reduction(reduction)
    if reduction == "none":
        losses, _, entropy = softmax_rows(query, key, scale, positives, exclude_self=exclude_self)
        return losses, losses, entropy
    weight = 1.0 / max(len(query), 1) if reduction == "mean" else 1.0
    weights = torch.full((len(query),), weight, dtype=statistics_type(query), device=query.device)
    found = softmax_total(query, key, scale, positives, weights, exclude_self=exclude_self)
    return found.total, found.loss, found.entropy


def _symmetric(query: Tensor, key: Tensor, scale: Tensor, reduction: str) -> Loss:
    pairs = torch.arange(len(query), device=query.device)
    rows, row_losses, row_entropy = _reduced_rows(query, key, scale, pairs, reduction)
    columns, column_losses, column_entropy = _reduced_rows(key, query, scale, pairs, reduction)
    bound = _bound((row_losses + column_losses) / 2, len(key))
    return Loss((rows + columns) / 2, (row_entropy + column_entropy) / 2, *bound)


def _with_negatives(query: Tensor, key: Tensor, negatives: Tensor, scale: Tensor, reduction: str) -> Loss:
    check_same_shape(query, key)
    positive = scores(query, key, scale)
    if negatives.dim() == 2:  # shared by all queries
        _, others, entropy = softmax_rows(query, negatives, scale)
    else:  # every query is a batch entry with keys of its own
        problem = Problem(
            query[:, None, None],
            negatives[:, None],
            None,
            scale=Scale.constant(scale),
            statistics=("log_partition", "entropy"),
        )
        aux = problem.run()[1]
        others, entropy = aux.log_partition.flatten(), aux.entropy.flatten()
    losses = softplus(others - positive)
    # The chain rule of entropy: first positive or not, then which negative.
    log_positive, log_negative = -losses, -softplus(positive - others)
    of_negatives = torch.where(log_negative.isneginf(), 0.0, log_negative.exp() * (log_negative - entropy))
    entropy = -(log_positive.exp() * log_positive + of_negatives)
    return Loss(reduce(losses, None, reduction), entropy, *_bound(losses, negatives.shape[-2] + 1))
