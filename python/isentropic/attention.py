"""Exact attention that returns, with the output, the information of every row."""

from __future__ import annotations

from typing import Iterable, Optional, Sequence, Union

from torch import Tensor

from . import _routing
from ._aux import Aux
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
    """Attention as :func:`torch.nn.functional.scaled_dot_product_attention`, with statistics of every row.

    Memory is linear in the length: no ``[n_q, n_k]`` matrix is formed, forward or backward. float32, bfloat16, float16
    and float64; statistics are float32 (float64 for float64). A row that sees no key gives 0, not NaN.

    Args:
        query: ``[..., heads, n_q, d]``.
        key: ``[..., kv_heads, n_k, d]``.
        value: ``[..., kv_heads, n_k, d_v]``.
        attn_mask: boolean (True: may look) or additive, broadcast to ``[..., heads, n_q, n_k]``. An additive mask that
            requires a gradient gets one.
        dropout_p: probability with which a weight is dropped. Statistics describe the weights before dropout.
        is_causal: query i sees the keys up to i, counted from the start (as in PyTorch).
        scale: None (1 / sqrt d), a number, the name of a law, a tensor (constant, learnable) or a :class:`Scale`.
        enable_gqa: allows fewer key and value heads than query heads.
        causal: True or "start" as ``is_causal``; "end": the last query sits at the last key (decoding with a cache).
        window: w or (left, right): keys ``p - left < j <= p + right`` of the query's position p.
        prefix: the first keys, which every row sees whatever ``causal`` and ``window`` say.
        strided: (stride, local): keys nearer than ``local``, and every ``stride``-th.
        block_sparse: (layout, block_q, block_k), layout boolean ``[batch or 1, heads or 1, q blocks, k blocks]``.
        key_lengths: valid keys of each batch entry, ``[batch]``.
        documents: offsets of packed documents ``[documents + 1]`` (or ``[batch, documents + 1]``), or a pair of them
            for queries and keys.
        segments: attention inside segments of that many positions.
        exclude_self: every key but the query's own.
        map: softmax, or another :class:`ScoreMap`, by name or with its options.
        bias: added to the scores, ``[batch or 1, heads or 1, n_q or 1, n_k]``; gets a gradient.
        alibi_slopes: ``[heads]``; adds ``-slope |p - j|``; gets a gradient.
        relative_bias: table ``[heads or 1, 2 r + 1]`` of the distance ``p - j`` clamped to r; gets a gradient.
        soft_cap: scores become ``cap tanh(score / cap)`` before the bias.
        sink: ``[heads]`` logits that join the normaliser and take probability; get a gradient.
        statistics: names, or "all" (the default with ``return_aux``).
        groups: (first, recent): also the statistics of the first and the last keys.
        seed: of dropout and Gumbel noise, a number or one int64 in a tensor; drawn from PyTorch's generator when absent.
        return_aux: return ``(output, aux)`` with an :class:`Aux`.
        backend: "auto" leaves to PyTorch's kernel, which is faster, what that computes as well: problems of CUDA tensors
            of which nothing is measured, without masks but a causal one, other score terms or dropout. "isentropic"
            never does.
        group: ranks that hold the sequence together, a process group or a mesh (contiguous shards in the order of
            ranks) or an :class:`isentropic.distributed.ContextParallel`; that of
            :func:`isentropic.distributed.context_parallel` when absent. Query, key and value are this rank's shard;
            masks, lengths, documents and positions are those of the whole, dense terms ``[..., n_q here, n_k in all]``.

    Returns:
        ``[..., heads, n_q, d_v]``, or a pair of it and an :class:`Aux`.
    """
    if backend not in _routing.BACKENDS:
        raise ValueError(f"backend is {backend!r}; expected 'auto' or 'isentropic'")
    if statistics is None and return_aux:
        statistics = "all"
    # By position: keywords would cost as much as a small problem.
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
    """The statistics alone: no value is read and no output formed. Options as of :func:`attention`."""
    return Problem(query, key, None, statistics=statistics, **options).run()[1]


def attention_weights(query: Tensor, key: Tensor, rows: Sequence[int], **options) -> Tensor:
    """The exact weights of some rows, ``[..., heads, len(rows), n_k]``, before dropout; without gradient.

    Options as of :func:`attention`.
    """
    return Problem(query, key, None, **options).weights(rows)


def key_mass(query: Tensor, key: Tensor, **options) -> Tensor:
    """What every key receives in all, ``[..., heads, n_k]``: the weights summed over queries; without gradient.

    Options as of :func:`attention`.
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
    """Attention in two levels: inside blocks of ``block`` keys, then over the blocks.

    Args:
        block_score: "log_partition" makes the two levels equal to flat attention; "mean_key" chooses blocks by
            ``block_scale * q.mean(keys of the block)`` without looking inside.
        block_scale: for "mean_key"; 1 / sqrt d when absent.
        options: masks, scale, bias and soft cap as of :func:`attention`; numbers and detached tensors: they get no
            gradient here.

    Returns:
        ``[..., heads, n_q, d_v]``, and with ``return_aux`` an :class:`Aux` with ``entropy`` = ``block_entropy`` +
        ``within_entropy``, without gradient.
    """
    if block_score not in ("log_partition", "mean_key"):
        raise ValueError(f"block_score is '{block_score}'; expected 'log_partition' or 'mean_key'")
    problem = Problem(query, key, value, **options)
    output, aux = problem.run_hierarchical(int(block), block_score == "log_partition", block_scale)
    return (output, aux) if return_aux else output
