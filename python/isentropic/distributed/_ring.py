"""A ring of ranks: every rank sees every block, and holds its own and at most two others at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch.distributed as dist
from torch import Tensor

from ._checks import rank_and_size


class Ring:
    """The ranks of a group in a ring, each of which starts with a block and passes on what it holds.

    After s steps rank r holds the block that rank r - s started with, its ``source``. A block is a list of tensors,
    each with the block's ``length`` as its first axis; further axes and types are the same on all ranks. A step is one
    ``all_to_all_single`` for each tensor, to one neighbour and from the other: ranks cannot deadlock, as they would by
    sending first and receiving afterwards.
    """

    def __init__(self, group: dist.ProcessGroup, lengths: Sequence[int]):
        self.group, self.lengths = group, list(lengths)
        self.rank, self.size = rank_and_size(group)

    def source(self, step: int) -> int:
        """The rank whose block is here after ``step`` steps."""
        return (self.rank - step) % self.size

    def hand_on(self, block: Sequence[Tensor], step: int) -> Arrival:
        """Sends the block that is here after ``step`` steps to the next rank; that of the previous rank arrives."""
        sent, received = self.lengths[self.source(step)], self.lengths[self.source(step + 1)]
        to_next, from_previous = [0] * self.size, [0] * self.size
        to_next[(self.rank + 1) % self.size] = sent
        from_previous[(self.rank - 1) % self.size] = received
        arrival = Arrival()
        for tensor in block:
            tensor, arriving = tensor.contiguous(), tensor.new_empty((received, *tensor.shape[1:]))
            work = dist.all_to_all_single(arriving, tensor, from_previous, to_next, group=self.group, async_op=True)
            arrival.expect(work, tensor, arriving)
        return arrival

    def rotate(self, block: Sequence[Tensor]) -> Iterator[tuple[int, list[Tensor]]]:
        """``(step, block)`` for every rank's block, this rank's own first; the next travels while one is in use.

        The list is the same object at every step, with other tensors: a caller that keeps none of them holds at most
        two blocks.
        """
        block = list(block)
        for step in range(self.size):
            arrival = self.hand_on(block, step) if step + 1 < self.size else None
            yield step, block
            if arrival is not None:
                block[:] = arrival.wait()


class Arrival:
    """A block in flight."""

    def __init__(self) -> None:
        self._travelling: list[tuple[dist.Work, Tensor, Tensor]] = []

    def expect(self, work: dist.Work, sent: Tensor, arriving: Tensor) -> None:
        self._travelling.append((work, sent, arriving))  # what is being sent must not be freed before it has arrived

    def wait(self) -> list[Tensor]:
        for work, _, _ in self._travelling:
            work.wait()
        arrived = [arriving for _, _, arriving in self._travelling]
        self._travelling.clear()
        return arrived
