"""Rows of a softmax over a vocabulary of which every rank holds a slice."""

from __future__ import annotations

import hashlib
from typing import NamedTuple, Optional

import torch
import torch.distributed as dist
from torch import Tensor

from ..losses._rows import softplus, statistics_type
from . import _records as records_of
from ._checks import agree, gather_numbers, rank_and_size, require_same
from ._operators import check_takes_records, in_type_of_region


class Vocabulary(NamedTuple):
    """Where this rank's slice is in the whole vocabulary; slices are in rank order."""

    first: int
    classes: int  # of all ranks
    group: dist.ProcessGroup


@torch.compiler.disable
def vocabulary_of_ranks(
    rows: Tensor, weight: Tensor, targets: Tensor, group: dist.ProcessGroup, **options: object
) -> Vocabulary:
    """ValueError on all ranks unless their rows have the same shape; in debug mode unless targets and options agree."""
    rank, _ = rank_and_size(group)
    check_takes_records("input", rows)
    agree(group, "linear_cross_entropy", lambda: _description(rows, weight, targets) | options)
    counts, widths, slices = zip(*gather_numbers(group, (*rows.shape, len(weight)), rows.device))
    require_same("the number of rows of input", counts)
    require_same("the width of input and weight", widths)
    return Vocabulary(sum(slices[:rank]), sum(slices), group)


def _description(rows: Tensor, weight: Tensor, targets: Tensor) -> dict[str, object]:
    """Without the rows themselves, which may differ in their last bits."""
    with_gradient = torch.is_grad_enabled()
    return {
        "the type": str(rows.dtype),
        "the device": rows.device.type,
        "the digest of target": hashlib.sha256(targets.cpu().numpy().tobytes()).hexdigest()[:16],
        "whether input requires a gradient": with_gradient and rows.requires_grad,
    }


@torch.compiler.disable
def shared_by_ranks(rows: Tensor, group: dist.ProcessGroup) -> Tensor:
    """``rows``, the same on all ranks: each computes a part of their gradient, and all get the sum."""
    return _Shared.apply(rows, group)


@torch.compiler.disable
def sum_of_parts(part: Tensor, group: dist.ProcessGroup) -> Tensor:
    """The sum over ranks, whose gradient all ranks have."""
    return _SumOfParts.apply(part, group)


@torch.compiler.disable
def vocabulary_rows(
    rows: Tensor,
    weight: Tensor,
    scale: Tensor,
    target: Tensor,
    vocabulary: Vocabulary,
    *,
    bias: Optional[Tensor] = None,
    soft_cap: Optional[float] = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``softmax_rows`` over all slices, the same on all ranks. ``target`` is an index into the whole vocabulary."""
    rows, weight = in_type_of_region(rows), in_type_of_region(weight)
    place = target - vocabulary.first
    is_mine = (place >= 0) & (place < len(weight))
    is_elsewhere = (target >= 0) & (target < vocabulary.classes) & ~is_mine
    place = torch.where(is_mine, place, -1)
    return _VocabularyRows.apply(rows, weight, bias, scale, place, is_elsewhere, soft_cap, vocabulary.group)


class _VocabularyRows(torch.autograd.Function):
    """Two collectives: the maximum of each row over ranks, and the sums relative to it."""

    @staticmethod
    def forward(ctx, rows, weight, bias, scale, place, is_elsewhere, soft_cap, group):
        loss, _, _, own = torch.ops.isentropic.softmax_loss(rows, weight, place, scale, bias, soft_cap, False)
        m = own[:, 0].clone()  # a maximum over ranks may lose a NaN; the sums do not
        dist.all_reduce(m, dist.ReduceOp.MAX, group=group)
        z, u = records_of.rebased(own, m)
        is_mine = place >= 0
        mine = torch.where(is_mine, torch.stack([z, loss.double(), records_of.log_partition(own)]), 0.0)
        parts = torch.cat([mine, torch.stack([torch.where(is_mine, 0.0, z), u, own[:, 5]])])
        dist.all_reduce(parts, group=group)
        z_of_target, loss_of_slice, partition_of_slice, z_of_others, u, k = parts.unbind(0)
        records = records_of.packed(m, z_of_target + z_of_others, u, k)
        # The slice with the target has its own loss; the classes of the others add to it, and nothing cancels.
        whole = loss_of_slice + softplus(m + z_of_others.log() - partition_of_slice)
        loss = torch.where(is_mine | is_elsewhere, whole, 0.0).to(loss.dtype)
        ctx.save_for_backward(rows, weight, bias, scale, place, is_elsewhere, loss, records)
        ctx.soft_cap = soft_cap
        ctx.set_materialize_grads(False)
        return loss, records_of.log_partition(records).to(loss.dtype), records_of.entropy(records).to(loss.dtype)

    @staticmethod
    def backward(ctx, of_loss, of_log_partition, of_entropy):
        rows, weight, bias, scale, place, is_elsewhere, loss, records = ctx.saved_tensors
        if of_loss is not None:
            # Where the target is on another rank the loss is a log-partition here.
            elsewhere = torch.where(is_elsewhere, of_loss, 0.0)
            of_log_partition = elsewhere if of_log_partition is None else of_log_partition + elsewhere
        d_rows, d_weight, _, d_bias = torch.ops.isentropic.softmax_loss_backward(
            rows, weight, place, scale, bias, ctx.soft_cap, False, loss, records, of_loss, of_log_partition, of_entropy
        )
        d_bias = None if bias is None else d_bias.to(bias.dtype)
        return d_rows, d_weight, d_bias, None, None, None, None, None


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, group):
        ctx.group = group
        return rows.view_as(rows)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        total = gradient.to(statistics_type(gradient), copy=True, memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=ctx.group)
        return total.to(gradient.dtype), None


class _SumOfParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, group):
        total = part.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None
