"""Exact attention that also returns information statistics of every row."""

from __future__ import annotations

from typing import Iterable, Optional, Sequence, Union

from torch import Tensor

from . import _routing
from ._aux import Aux
from ._checks import integer
from ._problem import Problem
from .maps import ScoreMap
from .scales import Scale


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Union[None, float, str, Tensor, Scale] = None,
    enable_gqa: bool = False,
    *,
    causal: Union[None, bool, str] = None,
    window: Union[None, int, tuple[int, int]] = None,
    prefix: Optional[int] = None,
    strided: Optional[tuple[int, int]] = None,
    block_sparse: Optional[tuple[Tensor, int, int]] = None,
    key_lengths: Union[None, Tensor, Sequence[int]] = None,
    documents: Union[None, Tensor, Sequence[int], tuple[Tensor, Tensor]] = None,
    segments: Optional[int] = None,
    exclude_self: bool = False,
    map: Union[None, str, ScoreMap] = None,
    bias: Optional[Tensor] = None,
    alibi_slopes: Optional[Tensor] = None,
    relative_bias: Optional[Tensor] = None,
    soft_cap: Optional[float] = None,
    sink: Optional[Tensor] = None,
    statistics: Union[None, str, Iterable[str]] = None,
    groups: Optional[tuple[int, int]] = None,
    seed: Union[int, Tensor, None] = None,
    return_aux: bool = False,
    backend: str = "auto",
    group=None,
):
    """Computes attention as :func:`torch.nn.functional.scaled_dot_product_attention`, with statistics of every row.

    Memory is linear in the sequence length: neither the forward nor the backward pass forms an ``[n_q, n_k]`` matrix.
    Tensors are float32, bfloat16, float16 or float64; statistics are float32 (float64 for float64). A row that sees no
    key gives 0, not NaN.

    Args:
        query: ``[..., heads, n_q, d]``.
        key: ``[..., kv_heads, n_k, d]``.
        value: ``[..., kv_heads, n_k, d_v]``.
        attn_mask: boolean (True: visible) or additive, broadcastable to ``[..., heads, n_q, n_k]``. An additive mask
            that requires a gradient receives one.
        dropout_p: dropout probability of the weights, in [0, 1). Statistics describe the weights before dropout.
        is_causal: query i sees keys up to i, counted from the start of the sequence (as in PyTorch).
        scale: None (1 / sqrt d), a number, the name of a scale law, a tensor (a constant, which may be learnable) or a
            :class:`Scale`.
        enable_gqa: allows fewer key and value heads than query heads.
        causal: True or "start": as ``is_causal``; "end": the last query is aligned with the last key (decoding with a
            cache).
        window: w, short for (w, 0), or (left, right): a query at position p sees keys ``p - left < j <= p + right``.
        prefix: number of leading keys that every row sees, regardless of ``causal`` and ``window``.
        strided: (stride, local): only keys closer than ``local`` or at a distance divisible by ``stride`` are visible.
        block_sparse: (layout, block_q, block_k) with a boolean layout ``[batch or 1, heads or 1, q blocks, k blocks]``.
        key_lengths: number of valid keys of each batch entry, ``[batch]``.
        documents: offsets of packed documents, ``[documents + 1]`` or ``[batch, documents + 1]``, or a pair of them for
            queries and keys.
        segments: segment length in positions; attention stays within a segment.
        exclude_self: hides the query's own key.
        map: name of a score map, or a :class:`ScoreMap` with its options; softmax by default.
        bias: added to the scores, ``[batch or 1, heads or 1, n_q or 1, n_k or 1]``; receives a gradient.
        alibi_slopes: ``[heads]``; adds ``-slope |p - j|`` to the scores; receives a gradient.
        relative_bias: table ``[heads or 1, 2 r + 1]``, indexed by the distance ``p - j`` clamped to -r ... r and added
            to the scores; receives a gradient.
        soft_cap: scores become ``cap tanh(score / cap)`` before the bias is added.
        sink: sink logits ``[heads]``, which join the normaliser and take probability; receive a gradient.
        statistics: names of the statistics to compute, or "all" (the default with ``return_aux``).
        groups: (first, recent), numbers of keys: also computes the statistics of the first keys and of the most recent
            ones. A key that is both counts as one of the first.
        seed: seed of dropout and Gumbel noise, a number or a tensor with one int64; drawn from PyTorch's generator by
            default.
        return_aux: whether to return ``(output, aux)`` with an :class:`Aux`.
        backend: "auto" passes problems that PyTorch's kernel computes equally well on to it, since it is faster there:
            CUDA tensors, nothing measured, no mask other than a causal one, no other score terms and no dropout.
            "isentropic" never does.
        group: ranks that share the sequence: a process group or a mesh (contiguous shards in rank order), or an
            :class:`isentropic.distributed.ContextParallel`; by default that of
            :func:`isentropic.distributed.context_parallel`, if any. Query, key and value are this rank's shard; masks,
            lengths, documents and positions refer to the whole sequence, and dense terms are
            ``[..., n_q here, n_k in all]``.

    Returns:
        The output ``[..., heads, n_q, d_v]``; with ``return_aux`` the pair of the output and an :class:`Aux`.
    """
    if backend not in _routing.BACKENDS:
        raise ValueError(f"backend is {backend!r}; expected 'auto' or 'isentropic'")
    if statistics is None and return_aux:
        statistics = "all"
    # Passed by position: keywords would cost as much as a small problem.
    problem = Problem(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, causal, window, prefix, strided,
        block_sparse, key_lengths, documents, segments, exclude_self, map, bias, alibi_slopes, relative_bias, soft_cap,
        sink, statistics, groups, seed, group,
    )  # fmt: skip
    if backend == "auto" and not return_aux and _routing.goes_to_pytorch(problem):
        return _routing.run(problem)
    output, aux = problem.run()
    return (output, aux) if return_aux else output


def attention_statistics(
    query: Tensor, key: Tensor, *, statistics: Union[str, Iterable[str]] = "all", **options
) -> Aux:
    """Computes only the statistics: no value is read and no output is formed. Options as for :func:`attention`."""
    return Problem(query, key, None, statistics=statistics, **options).run()[1]


def attention_weights(query: Tensor, key: Tensor, rows: Sequence[int], **options) -> Tensor:
    """Returns the exact weights of the given rows, ``[..., heads, len(rows), n_k]``, before dropout; without gradient.

    Options as for :func:`attention`.
    """
    return Problem(query, key, None, **options).weights(rows)


def key_mass(query: Tensor, key: Tensor, **options) -> Tensor:
    """Returns the total weight that each key receives, summed over queries, ``[..., heads, n_k]``; without gradient.

    Options as for :func:`attention`.
    """
    return Problem(query, key, None, **options).key_mass()


def hierarchical_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block: int,
    *,
    block_score: str = "log_partition",
    block_scale: Optional[float] = None,
    return_aux: bool = False,
    **options,
):
    """Computes attention in two levels: within blocks of ``block`` keys, then over the blocks.

    Args:
        block: number of keys in a block; the last block may be shorter.
        block_score: "log_partition" makes the two levels equal to flat attention; "mean_key" scores a block by
            ``block_scale * q.mean(keys of the block)`` without looking inside.
        block_scale: scale of the block scores for "mean_key"; 1 / sqrt d by default.
        options: masks, scale, bias and soft cap as for :func:`attention`, as numbers or detached tensors: they receive
            no gradient here. "mean_key" takes neither bias nor soft cap.

    Returns:
        The output ``[..., heads, n_q, d_v]``; with ``return_aux`` also an :class:`Aux` with ``entropy`` =
        ``block_entropy`` + ``within_entropy``, without gradient.
    """
    if block_score not in ("log_partition", "mean_key"):
        raise ValueError(f"block_score is '{block_score}'; expected 'log_partition' or 'mean_key'")
    problem = Problem(query, key, value, **options)
    output, aux = problem.run_hierarchical(integer("block", block), block_score == "log_partition", block_scale)
    return (output, aux) if return_aux else output
