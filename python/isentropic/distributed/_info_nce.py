"""InfoNCE with keys on all ranks: they travel around a ring, and their gradients return to their own rank."""

from __future__ import annotations

import math

import torch
import torch.distributed as dist
from torch import Tensor

from ..losses._rows import Loss, constant, softplus, statistics_type
from . import _records as records_of
from ._checks import agree, gather_numbers, rank_and_size, require_same
from ._operators import check_takes_records, in_type_of_region
from ._ring import Ring


@torch.compiler.disable
def info_nce_over_ranks(
    query: Tensor,
    key: Tensor,
    scale: Tensor,
    positives: Tensor,
    *,
    exclude_self: bool,
    symmetric: bool,
    reduction: str,
    group: dist.ProcessGroup,
) -> Loss:
    """``info_nce`` for checked arguments; ``positives`` are indices of this rank's own keys."""
    rank_and_size(group)
    query, key = in_type_of_region(query), in_type_of_region(key)
    check_takes_records("query", query)
    agree(group, "info_nce", lambda: _description(query, key, scale, exclude_self, symmetric, reduction))
    queries, keys, widths = zip(*gather_numbers(group, (len(query), len(key), query.shape[1]), query.device))
    require_same("the width of query and key", widths)
    losses, entropy = _RingRows.apply(query, key, scale, positives, exclude_self, Ring(group, keys))
    if symmetric:
        of_keys = _RingRows.apply(key, query, scale, positives, False, Ring(group, queries))
        losses, entropy = (losses + of_keys[0]) / 2, (entropy + of_keys[1]) / 2
    total = _SumOverRanks.apply(losses.sum(), group)
    mean = total / max(sum(queries), 1)
    ceiling = constant(math.log(max(sum(keys) - int(exclude_self), 1)), query)
    reduced = {"none": losses, "sum": total, "mean": mean}[reduction]
    return Loss(reduced, entropy, ceiling - mean.detach(), ceiling)


def _description(
    query: Tensor, key: Tensor, scale: Tensor, exclude_self: bool, symmetric: bool, reduction: str
) -> dict[str, object]:
    with_gradient = torch.is_grad_enabled()
    return {
        "the type": str(query.dtype),
        "the device": query.device.type,
        "the temperature's inverse": float(scale.detach()),
        "exclude_self": exclude_self,
        "symmetric": symmetric,
        "reduction": reduction,
        "whether query requires a gradient": with_gradient and query.requires_grad,
        "whether key requires a gradient": with_gradient and key.requires_grad,
        "whether temperature requires a gradient": with_gradient and scale.requires_grad,
    }


class _RingRows(torch.autograd.Function):
    """Loss and entropy of this rank's rows over all ranks' keys.

    Blocks are merged in the order in which the ring brings them, own, rank - 1, rank - 2, ...: an order of ranks, not of
    arrival, so that bits do not depend on timing.
    """

    @staticmethod
    def forward(ctx, query, key, scale, target, exclude_self, ring):
        nowhere = torch.full_like(target, -1)
        others = None
        for step, block in ring.rotate([key]):
            if step == 0:
                loss, _, _, own = torch.ops.isentropic.softmax_loss(
                    query, block[0], target, scale, None, None, exclude_self
                )
                continue
            found = torch.ops.isentropic.softmax_loss(query, block[0], nowhere, scale, None, None, False)[3]
            others = found if others is None else records_of.merge(others, found)
        records = own
        if others is not None:
            records = records_of.merge(own, others)
            # log(e^loss + e^{L_others - s_t}) with s_t = L_own - loss: both terms are >= 0, and nothing cancels.
            further = softplus(records_of.log_partition(others) - records_of.log_partition(own))
            loss = loss + further.to(loss.dtype)
        ctx.save_for_backward(query, key, scale, target, nowhere, loss, records)
        ctx.exclude_self, ctx.ring = exclude_self, ring
        ctx.set_materialize_grads(False)
        return loss, records_of.entropy(records).to(loss.dtype)

    @staticmethod
    def backward(ctx, of_loss, of_entropy):
        query, key, scale, target, nowhere, loss, records = ctx.saved_tensors
        ring, wide = ctx.ring, statistics_type(query)
        d_query, d_scale, d_key, arrival = torch.zeros_like(query, dtype=wide), 0.0, None, None
        for step, block in ring.rotate([key]):
            is_own = step == 0
            # For keys that are not positives a loss is a log-partition.
            upstream = (of_loss, None, of_entropy) if is_own else (None, of_loss, of_entropy)
            part = torch.ops.isentropic.softmax_loss_backward(
                query, block[0], target if is_own else nowhere, scale, None, None, ctx.exclude_self and is_own,
                loss, records, *upstream,
            )  # fmt: skip
            d_query += part[0]
            d_scale = d_scale + part[2]
            if not ctx.needs_input_grad[1]:
                continue
            d_block = part[1].to(wide)
            if is_own:
                d_key = d_block
                continue
            # The sums of earlier ranks follow the block one step behind, and end at the rank where it started.
            if arrival is not None:
                d_block += arrival.wait()[0]
            arrival = ring.hand_on([d_block], step)
        if arrival is not None:
            d_key += arrival.wait()[0]
        d_key = None if d_key is None else d_key.to(key.dtype)
        return d_query.to(query.dtype), d_key, d_scale.to(scale), None, None, None


class _SumOverRanks(torch.autograd.Function):
    """The sum of one number over ranks, with the gradient of this rank's own.

    Every rank runs its backward pass, so the sum counts once over all of them. Each rank adds up the numbers of all
    ranks in the same way: the bits are the same everywhere.
    """

    @staticmethod
    def forward(ctx, own, group):
        number = own.double().reshape(1)
        found = [torch.empty_like(number) for _ in range(dist.get_world_size(group))]
        dist.all_gather(found, number, group=group)
        return torch.cat(found).sum().to(own.dtype)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None
