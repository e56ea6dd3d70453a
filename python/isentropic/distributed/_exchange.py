"""Exchanges tensors between the ranks of a group, by collectives of torch.distributed."""

from __future__ import annotations

from typing import Optional, Sequence

import torch
import torch.distributed as dist
from torch import Tensor


def all_to_all(pieces: Sequence[Tensor], shapes: Sequence[torch.Size], group) -> list[Tensor]:
    """Sends ``pieces[r]`` to rank r; returns what every rank sent here, with these shapes."""
    sent = torch.cat([piece.reshape(-1) for piece in pieces])
    sizes = [shape.numel() for shape in shapes]
    received = sent.new_empty(sum(sizes))
    dist.all_to_all_single(received, sent, sizes, [piece.numel() for piece in pieces], group=group)
    return [flat.view(shape) for flat, shape in zip(received.split(sizes), shapes)]


def all_gather(tensor: Tensor, lengths: Sequence[int], dim: int, group) -> list[Tensor]:
    """The tensors of all ranks, shaped like ``tensor`` except for their length along ``dim``."""
    longest = max(lengths)
    padding = longest - tensor.shape[dim]
    if padding:
        shape = list(tensor.shape)
        shape[dim] = padding
        tensor = torch.cat([tensor, tensor.new_zeros(shape)], dim)
    tensor = tensor.contiguous()
    found = [torch.empty_like(tensor) for _ in lengths]
    dist.all_gather(found, tensor, group=group)
    return [part.narrow(dim, 0, length) for part, length in zip(found, lengths)]


def sum_in_order(shares: Sequence[Tensor]) -> Tensor:
    """Sums in rank order: the same bits whatever arrives first."""
    total: Optional[Tensor] = None
    for share in shares:
        total = share if total is None else total + share
    return total
