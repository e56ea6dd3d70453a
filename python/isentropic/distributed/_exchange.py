"""Tensors that travel between the ranks of a group, by collectives of torch.distributed."""

from __future__ import annotations

from typing import Optional, Sequence

import torch
import torch.distributed as dist
from torch import Tensor


def all_to_all(pieces: Sequence[Tensor], shapes: Sequence[torch.Size], group) -> list[Tensor]:
    """Sends ``pieces[r]`` to rank r; what every rank sent here, of these shapes."""
    received, work = start_all_to_all(pieces, shapes, group)
    work.wait()
    return received


def start_all_to_all(pieces: Sequence[Tensor], shapes: Sequence[torch.Size], group):
    """As :func:`all_to_all`; what is received is there once ``work.wait()`` returns."""
    sent = torch.cat([piece.reshape(-1) for piece in pieces])
    sizes = [shape.numel() for shape in shapes]
    buffer = sent.new_empty(sum(sizes))
    work = dist.all_to_all_single(buffer, sent, sizes, [piece.numel() for piece in pieces], group=group, async_op=True)
    return [flat.view(shape) for flat, shape in zip(buffer.split(sizes), shapes)], _Held(work, sent)


class _Held:
    """A transfer with the memory it reads from."""

    def __init__(self, work, sent: Tensor):
        self._work, self._sent = work, sent

    def wait(self) -> None:
        self._work.wait()
        self._sent = None


def start_rotation(tensor: Tensor, shape: torch.Size, group) -> tuple[Tensor, _Held]:
    """Sends ``tensor`` to the next rank of a ring; what the rank before sent, of this shape.

    An exchange of all with all, empty but for the neighbours: sends that wait for each other could not all begin.
    """
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    nothing = tensor.new_empty(0)
    pieces, shapes = [nothing] * size, [nothing.shape] * size
    pieces[(rank + 1) % size], shapes[(rank - 1) % size] = tensor, shape
    received, work = start_all_to_all(pieces, shapes, group)
    return received[(rank - 1) % size], work


def all_gather(tensor: Tensor, lengths: Sequence[int], dim: int, group) -> list[Tensor]:
    """What every rank has: as ``tensor``, but for their length along ``dim``."""
    longest = max(lengths)
    padding = longest - tensor.shape[dim]
    if padding:
        shape = list(tensor.shape)
        shape[dim] = padding
        tensor = torch.cat([tensor, tensor.new_zeros(shape)], dim)
    buffer = tensor.new_empty(len(lengths), *tensor.shape)
    dist.all_gather_into_tensor(buffer.flatten(0, 1), tensor.contiguous(), group=group)
    return [part.narrow(dim, 0, length) for part, length in zip(buffer.unbind(0), lengths)]


def sum_in_order(shares: Sequence[Tensor]) -> Tensor:
    """In the order of ranks: the same bits whatever arrives first."""
    total: Optional[Tensor] = None
    for share in shares:
        total = share if total is None else total + share
    return total
