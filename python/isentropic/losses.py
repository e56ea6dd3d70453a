"""Contrastive losses and cross-entropy as one streaming softmax, with the information bounds they imply.

The loss of a row is log-partition minus the score of its positive, and the log-partition comes from the attention
operator: forward and backward never form the matrix of all scores. Everything is in nats.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor

from ._checks import require
from ._problem import Problem
from .maps import ScoreMap
from .scales import Scale


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


def _as_tensor(number: Union[float, Tensor], like: Tensor) -> Tensor:
    """A number in the type of statistics: 1 / 0.07 in 16 bits would be another temperature."""
    if isinstance(number, Tensor):
        return number
    return torch.tensor(float(number), dtype=_statistics_type(like), device=like.device)


def _check_rows(name: str, tensor: Tensor, *shapes: tuple[int, ...]) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is a {type(tensor).__name__}; expected a tensor")
    expected = " or ".join(str(list(shape)) for shape in shapes)
    require(tuple(tensor.shape) in shapes, lambda: f"{name} has shape {list(tensor.shape)}; expected {expected}")


def _reduce(losses: Tensor, weights: Optional[Tensor], reduction: str) -> Tensor:
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


def _softmax_rows(
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


def _check_pair(query: Tensor, key: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}; expected a tensor")
        require(tensor.dim() == 2, lambda: f"{name} has shape {list(tensor.shape)}; expected [N, d]")
    require(
        query.shape[1] == key.shape[1],
        lambda: f"key has shape {list(key.shape)}; expected rows of {query.shape[1]} numbers, as the query",
    )


# ---- InfoNCE ----


def _scores(query: Tensor, positive: Tensor, scale: Tensor) -> Tensor:
    """Of row i with row i."""
    wide = _statistics_type(query)
    return (query.to(wide) * positive.to(wide)).sum(-1) * scale


def _class_means(key: Tensor, query_labels: Tensor, key_labels: Tensor, own_left_out: bool) -> tuple[Tensor, Tensor]:
    """For every query the mean of the keys of its class, [N, d], and how many they are, [N]."""
    key = key.to(_statistics_type(key))
    classes, members = torch.unique(torch.cat([query_labels, key_labels]), return_inverse=True)
    of_query, of_key = members[: len(query_labels)], members[len(query_labels) :]
    sums = torch.zeros(len(classes), key.shape[1], dtype=key.dtype, device=key.device).index_add(0, of_key, key)
    counts = torch.bincount(of_key, minlength=len(classes))[of_query]
    total = sums[of_query]
    if own_left_out:
        total, counts = total - key, counts - 1
    return total / counts.clamp(min=1).unsqueeze(1), counts


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
    normalise: bool = False,
    reduction: str = "mean",
) -> Loss:
    """InfoNCE: cross-entropy of finding the positive among the candidates by ``softmax(q.k / temperature)``.

    Args:
        query: ``[N, d]``.
        key: ``[N, d]``, key i the positive of query i and all keys the candidates; or ``[M, d]`` with ``positives`` or
            ``labels``.
        temperature: a number, or a tensor that is learnt.
        negatives: ``[M, d]`` for all queries or ``[N, M, d]``: then the candidates of query i are key i and these.
        positives: ``[N]``, the index of each query's positive among the keys.
        labels: ``[N]`` classes of the queries (and of the keys, unless ``key_labels`` ``[M]`` is given): every key of
            the same class is a positive and the loss is the mean over them. Queries without one count 0.
        exclude_self: queries are the keys themselves, and a row does not see its own key. Leave it in, and the loss
            of unit vectors cannot fall below log 2.
        symmetric: two towers: the mean of this loss and of the one with query and key exchanged.
        normalise: divide rows by their norms first (cosine scores).
        reduction: "mean", "sum" or "none".

    Returns:
        :class:`Loss`. ``bound``: I(X;Y) >= log N - loss, with N the number of candidates and ``ceiling`` log N; it
        needs negatives drawn from the marginal, independently of the query. None with several positives.
    """
    _check_pair(query, key)
    if normalise:
        query, key = (torch.nn.functional.normalize(x, dim=-1) for x in (query, key))
        negatives = None if negatives is None else torch.nn.functional.normalize(negatives, dim=-1)
    scale = 1.0 / _as_tensor(temperature, query)
    given = [
        name for name, x in (("negatives", negatives), ("positives", positives), ("labels", labels)) if x is not None
    ]
    require(len(given) <= 1, lambda: f"{' and '.join(given)} are given; expected one of them")
    require(key_labels is None or labels is not None, lambda: "key_labels is given without labels; expected both")
    require(scale.numel() == 1, lambda: f"temperature has shape {list(scale.shape)}; expected one number")
    scale = scale.reshape(())
    if symmetric:
        require(
            not given and not exclude_self, lambda: "symmetric is given with other candidates; expected plain pairs"
        )
        return _symmetric(query, key, scale, reduction)
    if negatives is not None:
        return _with_negatives(query, key, negatives, scale, reduction)
    require(
        not exclude_self or query.shape == key.shape,
        lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)} with exclude_self",
    )
    if labels is not None:
        _check_rows("labels", labels, (len(query),))
        _check_rows("key_labels", labels if key_labels is None else key_labels, (len(key),))
        log_partition, entropy, _ = _softmax_rows(query, key, scale, others=exclude_self)
        means, counts = _class_means(key, labels, labels if key_labels is None else key_labels, exclude_self)
        losses = torch.where(counts > 0, log_partition - _scores(query, means, scale), 0.0)
        return Loss(_reduce(losses, (counts > 0).to(losses.dtype), reduction), entropy, None, None)
    if positives is None:
        require(not exclude_self, lambda: "exclude_self is given without positives or labels; expected one of them")
        require(
            query.shape[0] == key.shape[0],
            lambda: f"key has {key.shape[0]} rows; expected {query.shape[0]}, one positive for each query",
        )
        positives = torch.arange(len(query), device=query.device)
    _check_rows("positives", positives, (len(query),))
    _check_positives(positives, len(key), exclude_self)
    positives = torch.where(positives < 0, -2, positives).long()  # -1 would mean none
    log_partition, entropy, positive = _softmax_rows(query, key, scale, positives, others=exclude_self)
    return _with_bound(log_partition - positive, entropy, key.shape[0] - int(exclude_self), reduction)


def _may_look_inside(tensor: Tensor) -> bool:
    """To look at values takes a graph apart and waits for a device: there the operator's own check must do."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def _check_positives(positives: Tensor, keys: int, exclude_self: bool) -> None:
    if not _may_look_inside(positives):
        return
    wrong = positives[(positives < 0) | (positives >= keys)]
    require(len(wrong) == 0, lambda: f"positives has {int(wrong[0])}; expected a key, up to {keys - 1}")
    own = positives == torch.arange(len(positives))
    require(
        not (exclude_self and bool(own.any())),
        lambda: f"positives has row {int(own.nonzero()[0])} itself; expected another key with exclude_self",
    )


def _with_bound(losses: Tensor, entropy: Tensor, candidates: int, reduction: str) -> Loss:
    ceiling = torch.tensor(math.log(max(candidates, 1)), dtype=losses.dtype, device=losses.device)
    return Loss(_reduce(losses, None, reduction), entropy, ceiling - _reduce(losses.detach(), None, "mean"), ceiling)


def _symmetric(query: Tensor, key: Tensor, scale: Tensor, reduction: str) -> Loss:
    require(
        query.shape == key.shape, lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)}"
    )
    pairs = torch.arange(len(query), device=query.device)
    rows, row_entropy, positive = _softmax_rows(query, key, scale, pairs)
    columns, column_entropy, _ = _softmax_rows(key, query, scale)
    return _with_bound((rows + columns) / 2 - positive, (row_entropy + column_entropy) / 2, len(key), reduction)


def _with_negatives(query: Tensor, key: Tensor, negatives: Tensor, scale: Tensor, reduction: str) -> Loss:
    shared = negatives.dim() == 2
    fits = negatives.shape[-1] == query.shape[1] and (shared or (negatives.dim() == 3 and len(negatives) == len(query)))
    require(
        fits, lambda: f"negatives has shape {list(negatives.shape)}; expected [M, {query.shape[1]}] or "
        f"[{len(query)}, M, {query.shape[1]}]"
    )  # fmt: skip
    require(
        query.shape == key.shape, lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)}"
    )
    positive = _scores(query, key, scale)
    if shared:
        others, entropy, _ = _softmax_rows(query, negatives, scale)
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
    total = torch.logaddexp(others, positive)
    # The chain rule of entropy: first positive or not, then which negative.
    log_positive, log_negative = positive - total, others - total
    of_negatives = torch.where(log_negative.isneginf(), 0.0, log_negative.exp() * (log_negative - entropy))
    entropy = -(log_positive.exp() * log_positive + of_negatives)
    return _with_bound(total - positive, entropy, negatives.shape[-2] + 1, reduction)


# ---- NCE ----


def nce(
    query: Tensor,
    key: Tensor,
    noise: Tensor,
    *,
    key_log_noise: Tensor,
    noise_log_noise: Tensor,
    log_z: Union[float, Tensor] = 0.0,
    temperature: Union[float, Tensor] = 1.0,
    noise_ratio: Optional[float] = None,
    reduction: str = "mean",
) -> Loss:
    """Noise-contrastive estimation: is a sample data or noise? Consistent for every k, not only as k grows.

    The log-odds of data are ``delta = q.x / temperature - log_z - log(k p_noise(x))``, and the loss of a query is
    ``softplus(-delta_data) + (k / M) sum_j softplus(delta_j)`` over its M noise samples.

    Args:
        query: ``[N, d]``.
        key: ``[N, d]``, the data.
        noise: ``[M, d]`` for all queries, or ``[N, M, d]``: drawn from the noise law.
        key_log_noise: ``[N]``, log-density of the data under the noise law.
        noise_log_noise: ``[M]`` or ``[N, M]``, that of the noise samples.
        log_z: log of the normaliser; a tensor ``[]`` or ``[N]`` is learnt.
        noise_ratio: k, the noise samples per datum; M when absent.

    Returns:
        :class:`Loss`. ``entropy`` is that of the data-or-noise decision at the datum. ``bound``: the Jensen-Shannon
        divergence of data and noise with weights 1/(1+k) and k/(1+k) is at least h - loss / (1 + k), where
        ``ceiling`` h = log(1+k) - k log(k) / (1+k) is the entropy of these weights.
    """
    _check_pair(query, key)
    require(
        query.shape == key.shape, lambda: f"key has shape {list(key.shape)}; expected the query's {list(query.shape)}"
    )
    shared = noise.dim() == 2
    fits = noise.shape[-1] == query.shape[1] and (shared or (noise.dim() == 3 and len(noise) == len(query)))
    require(
        fits,
        lambda: (
            f"noise has shape {list(noise.shape)}; expected [M, {query.shape[1]}] or [{len(query)}, M, {query.shape[1]}]"
        ),
    )
    samples = noise.shape[-2]
    _check_rows("key_log_noise", key_log_noise, (len(query),))
    _check_rows("noise_log_noise", noise_log_noise, (samples,), (len(query), samples))
    wide = _statistics_type(query)
    query, key, noise, key_log_noise, noise_log_noise = (
        x.to(wide) for x in (query, key, noise, key_log_noise, noise_log_noise)
    )
    k = float(samples if noise_ratio is None else noise_ratio)
    require(k > 0, lambda: f"noise_ratio is {k}; expected a positive number")
    scale = 1.0 / _as_tensor(temperature, query)
    require(scale.numel() == 1, lambda: f"temperature has shape {list(scale.shape)}; expected one number")
    scale = scale.reshape(()).to(wide)
    log_z = _as_tensor(log_z, query).to(wide)
    require(
        log_z.numel() in (1, len(query)), lambda: f"log_z has shape {list(log_z.shape)}; expected [] or [{len(query)}]"
    )
    log_z = log_z.reshape(-1).expand(len(query))
    data_odds = _scores(query, key, scale) - log_z - (math.log(k) + key_log_noise)
    offset = -(math.log(k) + noise_log_noise)
    noise_terms = _SoftplusSum.apply(query * scale, noise, offset, -log_z)
    losses = torch.nn.functional.softplus(-data_odds) + k / samples * noise_terms
    decision = torch.sigmoid(data_odds)
    entropy = torch.nn.functional.softplus(data_odds) - decision * data_odds
    ceiling = torch.tensor(math.log(1 + k) - k / (1 + k) * math.log(k), dtype=losses.dtype, device=losses.device)
    bound = ceiling - _reduce(losses.detach(), None, "mean") / (1 + k)
    return Loss(_reduce(losses, None, reduction), entropy, bound, ceiling)


class _SoftplusSum(torch.autograd.Function):
    """sum_j softplus(q_i.x_j + column_j + row_i), a block of queries at a time: the scores are never held together.

    The gradient needs sigmoid of the same scores, which is formed again.
    """

    SCORES = 1 << 22  # held at a time

    @staticmethod
    def _blocks(query: Tensor, noise: Tensor):
        size = max(1, _SoftplusSum.SCORES // max(1, noise.shape[-2]))
        return [slice(start, min(start + size, len(query))) for start in range(0, len(query), size)]

    @staticmethod
    def _scores(query: Tensor, noise: Tensor, column: Tensor, row: Tensor, block: slice) -> Tensor:
        if noise.dim() == 2:
            products = query[block] @ noise.T
        else:
            products = torch.einsum("id,ijd->ij", query[block], noise[block])
        return products + (column if column.dim() < 2 else column[block]) + row[block, None]

    @staticmethod
    def forward(ctx, query, noise, column, row):
        ctx.save_for_backward(query, noise, column, row)
        softplus = torch.nn.functional.softplus
        parts = [
            softplus(_SoftplusSum._scores(query, noise, column, row, block)).sum(-1)
            for block in _SoftplusSum._blocks(query, noise)
        ]
        return torch.cat(parts) if parts else query.new_zeros(0)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        query, noise, column, row = ctx.saved_tensors
        d_query, d_noise, d_column = (torch.zeros_like(x) for x in (query, noise, column))
        d_row = torch.zeros_like(row)
        for block in _SoftplusSum._blocks(query, noise):
            part = torch.sigmoid(_SoftplusSum._scores(query, noise, column, row, block)) * gradient[block, None]
            if noise.dim() == 2:
                d_query[block] = part @ noise
                d_noise += part.T @ query[block]
            else:
                d_query[block] = torch.einsum("ij,ijd->id", part, noise[block])
                d_noise[block] = part.unsqueeze(-1) * query[block].unsqueeze(1)
            if column.dim() < 2:
                d_column += part.sum(0) if column.dim() else part.sum()
            else:
                d_column[block] = part
            d_row[block] = part.sum(-1)
        return d_query, d_noise, d_column, d_row


# ---- Cross-entropy over a vocabulary ----


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
) -> Loss:
    """``cross_entropy(input @ weight.T + bias, target)`` without the matrix of logits, forward and backward.

    Args:
        input: ``[..., d]``.
        weight: ``[V, d]``, the classifier.
        target: ``[...]`` integers in [0, V), or ``ignore_index``: such rows count for nothing.
        bias: ``[V]``.
        label_smoothing: epsilon: the loss becomes (1 - epsilon) CE + epsilon times its mean over all classes.
        soft_cap: logits become ``cap tanh(logit / cap)``, before the bias.
        z_loss: adds ``z_loss * log_partition^2``.
        example_weight: ``[...]``; the mean is over the sum of weights.
        source_entropy: H(X) of the targets, for the bound; the plug-in estimate from this batch when absent (too low
            for small batches, so the bound errs on the safe side).
        reduction: "mean", "sum" or "none" (``[...]``).

    Returns:
        :class:`Loss`. ``bound``: I(X; input) >= H(X) - CE with ``ceiling`` H(X). (log V - CE is no bound: the
        vocabulary is not drawn from the law of the targets.)
    """
    for name, tensor in (("input", input), ("weight", weight), ("target", target)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}; expected a tensor")
    require(input.dim() >= 1 and weight.dim() == 2, lambda: f"weight has shape {list(weight.shape)}; expected [V, d]")
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
    require(z_loss >= 0.0, lambda: f"z_loss is {z_loss}; expected a number >= 0")
    if example_weight is not None:
        _check_rows("example_weight", example_weight, tuple(target.shape))
    require(0.0 <= label_smoothing <= 1.0, lambda: f"label_smoothing is {label_smoothing}; expected a number in [0, 1]")
    rows, targets = input.reshape(-1, input.shape[-1]), target.reshape(-1).long()
    counted = targets != ignore_index
    if _may_look_inside(targets):
        wrong = targets[counted & ((targets < 0) | (targets >= len(weight)))]
        require(
            len(wrong) == 0,
            lambda: f"target is {int(wrong[0])}; expected [0, {len(weight)}) or ignore_index {ignore_index}",
        )
    wanted = torch.where(counted, torch.where(targets < 0, -2, targets), -1)
    log_partition, entropy, logit = _softmax_rows(
        rows, weight, _as_tensor(1.0, rows), wanted, bias=bias, soft_cap=soft_cap
    )
    cross_entropy = log_partition - logit
    losses = cross_entropy
    if label_smoothing > 0:
        uniform = log_partition - _mean_logits(rows, weight, bias, soft_cap)
        losses = (1 - label_smoothing) * losses + label_smoothing * uniform
    if z_loss > 0:
        losses = losses + z_loss * log_partition.square()
    weights = counted.to(losses.dtype)
    if example_weight is not None:
        weights = weights * example_weight.reshape(-1)
    # 0 times the weight would let an infinite logit of an ignored row through.
    losses = torch.where(counted, losses, torch.zeros_like(losses))
    reduced = _reduce(losses, weights, reduction)
    if source_entropy is None:
        ceiling = _source_entropy(torch.where(counted, targets, 0), counted.to(losses.dtype), len(weight))
    else:
        ceiling = torch.tensor(source_entropy, dtype=losses.dtype, device=losses.device)
    bound = ceiling - _reduce(torch.where(counted, cross_entropy.detach(), 0.0), counted.to(losses.dtype), "mean")
    shape = target.shape
    return Loss(reduced.reshape(shape) if reduction == "none" else reduced, entropy.reshape(shape), bound, ceiling)


def _mean_logits(rows: Tensor, weight: Tensor, bias: Optional[Tensor], soft_cap: Optional[float]) -> Tensor:
    """The mean over all classes. Linear without a cap; with one it is attention with weights s / V and values 1."""
    if soft_cap is None:
        mean = (rows @ weight.mean(0)).to(_statistics_type(rows))
    else:
        ones = torch.ones(1, 1, len(weight), 1, dtype=rows.dtype, device=rows.device)
        problem = Problem(
            rows[None, None], weight[None, None], ones, scale=1.0, soft_cap=soft_cap, map=ScoreMap.identity("visible")
        )
        mean = problem.run_text(problem.text())[0].flatten().to(_statistics_type(rows))
    return mean if bias is None else mean + bias.mean()


def _statistics_type(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _source_entropy(targets: Tensor, counted: Tensor, classes: int) -> Tensor:
    """Plug-in entropy of the targets, weighted."""
    counts = torch.zeros(classes, dtype=counted.dtype, device=targets.device).index_add(0, targets, counted)
    return torch.special.entr(counts / counted.sum().clamp(min=1)).sum()


def causal_lm_loss(hidden: Tensor, weight: Tensor, tokens: Tensor, **options) -> Loss:
    """Next-token prediction: ``hidden[:, t]`` predicts ``tokens[:, t + 1]``.

    hidden ``[batch, n, d]``, tokens ``[batch, n]``; options as of :func:`linear_cross_entropy` (``example_weight`` for
    the predictions, ``[batch, n - 1]``). The sum of these terms
    is the negative log-likelihood of the sequences given their first tokens.
    """
    return linear_cross_entropy(hidden[:, :-1], weight, tokens[:, 1:], **options)


def masked_lm_loss(hidden: Tensor, weight: Tensor, tokens: Tensor, masked: Tensor, **options) -> Loss:
    """Prediction of the masked tokens; ``masked`` ``[batch, n]`` boolean.

    Only masked rows are computed. With several masks in a sequence the sum is a pseudo-likelihood, not the
    likelihood of the sequence.
    """
    masked = masked.bool()
    return linear_cross_entropy(hidden[masked], weight, tokens[masked], **options)
