"""Which positions of a sequence each rank holds: runs of consecutive positions, in ascending order."""

from __future__ import annotations

import dataclasses
import functools
from typing import Optional, Sequence

import torch
from torch import Tensor

Run = tuple[int, int]  # offset and length


@dataclasses.dataclass(frozen=True)
class Layout:
    """A sequence of ``total`` positions cut into runs, of which every rank holds some."""

    runs: tuple[tuple[Run, ...], ...]  # by rank
    total: int

    @functools.cached_property
    def lengths(self) -> tuple[int, ...]:
        """Positions that each rank holds."""
        return tuple(sum(length for _, length in runs) for runs in self.runs)

    def shard(self, whole: Tensor, rank: int, dim: int) -> Tensor:
        """The shard of a tensor that a rank holds."""
        pieces = [whole.narrow(dim, offset, length) for offset, length in self.runs[rank]]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim)

    def join(self, shards: Sequence[Tensor], dim: int) -> Tensor:
        """The whole tensor, in order of position, from the shards of all ranks."""
        pieces = [shards[rank].narrow(dim, begin, length) for rank, begin, length in self._in_order]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim)

    @functools.cached_property
    def _in_order(self) -> tuple[tuple[int, int, int], ...]:
        """Rank, place in its shard and length of every run, by position."""
        found = []
        for rank, runs in enumerate(self.runs):
            begin = 0
            for offset, length in runs:
                found.append((offset, rank, begin, length))
                begin += length
        return tuple((rank, begin, length) for _, rank, begin, length in sorted(found))


def contiguous(lengths: Sequence[int]) -> Layout:
    """Contiguous shards in rank order."""
    offsets = [sum(lengths[:rank]) for rank in range(len(lengths))]
    return Layout(tuple(((offset, length),) for offset, length in zip(offsets, lengths)), sum(lengths))


def head_tail(total: int, ranks: int) -> Layout:
    """Two of 2 x ranks pieces for each, one from the head and one from the tail: equal work under a causal mask."""
    return per_document((0, total), ranks)


def per_document(offsets: Sequence[int], ranks: int) -> Layout:
    """A head and a tail piece of every packed document for each rank."""
    runs: list[list[Run]] = [[] for _ in range(ranks)]
    for begin, end in zip(offsets, offsets[1:]):
        if (end - begin) % (2 * ranks):
            padded = -(-(end - begin) // (2 * ranks)) * 2 * ranks
            what = "the sequence" if len(offsets) == 2 else f"the document from {begin} on"
            raise ValueError(
                f"{what} has {end - begin} positions; expected a multiple of {2 * ranks} to balance {ranks} ranks: pad "
                f"it to {padded} and leave the padding out by key_lengths or as a document of its own, or choose "
                'balance="none"'
            )
        piece = (end - begin) // (2 * ranks)
        for rank in range(ranks):
            for place in (rank, 2 * ranks - 1 - rank):
                runs[rank].append((begin + place * piece, piece))
    return Layout(tuple(_joined(own) for own in runs), offsets[-1])


def _joined(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Merges adjacent runs and drops empty ones."""
    out: list[Run] = []
    for offset, length in runs:
        if length and out and sum(out[-1]) == offset:
            out[-1] = (out[-1][0], out[-1][1] + length)
        elif length:
            out.append((offset, length))
    return tuple(out) or ((0, 0),)


def of_whole(total: int, ranks: int, balance: str, offsets: Optional[Sequence[int]]) -> Layout:
    """The layout by name."""
    if balance == "head_tail":
        return head_tail(total, ranks)
    if balance == "per_document":
        if offsets is None:
            raise ValueError('balance is "per_document"; expected documents, the offsets of packed documents, with it')
        if offsets[-1] != total:
            raise ValueError(f"documents end at {offsets[-1]}; expected {total}, the length of the sequence")
        return per_document(offsets, ranks)
    if total % ranks:
        raise ValueError(
            f"the sequence has {total} positions; expected a multiple of {ranks}, the ranks: pad it to "
            f"{-(-total // ranks) * ranks}, or give the lengths of uneven shards"
        )
    return contiguous([total // ranks] * ranks)
