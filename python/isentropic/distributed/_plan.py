"""How a sequence is distributed over the ranks of a group, and the plan in force in this process."""

from __future__ import annotations

import functools
from typing import Optional, Sequence, Union

import torch
from torch import Tensor

from .._reduce import checked_group
from . import _layout
from ._checks import rank_and_size
from ._exchange import all_gather
from ._layout import Layout

METHODS = ("allgather", "ring", "ulysses", "decode")
BALANCES = ("none", "head_tail", "per_document")


class ContextParallel:
    """A group of ranks that share one sequence, for ``isentropic.attention(..., group=...)``.

    Args:
        group: a process group, or a one-dimensional device mesh.
        method: how queries reach all keys. "allgather": keys and values of all ranks are gathered on each. "ring": they
            are passed around, so that a rank holds at most two shards of them. "ulysses": every rank computes some of
            the heads over the whole sequence (the number of heads must be a multiple of the number of ranks). "decode":
            all ranks have the same few queries, and each a shard of the keys; without gradient.
        balance: which positions each rank holds. "none": contiguous shards in rank order. "head_tail": every rank has
            one piece of the head and one of the tail, so that all have equal work under a causal mask. "per_document":
            a head and a tail piece of every packed document.
        lengths: number of positions of each rank, for contiguous shards of different lengths.
        documents: offsets of packed documents over the whole sequence, from 0 to its length: the mask of every call
            that passes none itself.
    """

    def __init__(
        self,
        group,
        *,
        method: str = "allgather",
        balance: str = "none",
        lengths: Optional[Sequence[int]] = None,
        documents: Union[None, Tensor, Sequence[int]] = None,
    ):
        self.group = checked_group(group)
        if method not in METHODS:
            raise ValueError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
        if balance not in BALANCES:
            raise ValueError(f"balance is {balance!r}; expected one of {', '.join(BALANCES)}")
        self.method, self.balance = method, balance
        self.calls = 0  # of attention, so far
        self.rank, self.size = rank_and_size(self.group)
        self.documents = None if documents is None else tuple(int(offset) for offset in documents)
        self._lengths = None if lengths is None else tuple(int(length) for length in lengths)
        if self._lengths is not None:
            if balance != "none":
                raise ValueError(f"lengths is given with balance {balance!r}; expected balance='none'")
            if len(self._lengths) != self.size or min(self._lengths) < 0:
                raise ValueError(f"lengths is {list(self._lengths)}; expected {self.size} lengths, one for each rank")

    def layout(self, here: int) -> Layout:
        """The layout, as seen from a rank that holds ``here`` positions."""
        if self._lengths is not None:
            if here != self._lengths[self.rank]:
                raise ValueError(f"the shard has {here} positions; expected {self._lengths[self.rank]}, as in lengths")
            return _layout.contiguous(self._lengths)
        return self.layout_of_whole(here * self.size)

    def layout_of_whole(self, total: int) -> Layout:
        if self._lengths is not None:
            if sum(self._lengths) != total:
                raise ValueError(f"lengths add up to {sum(self._lengths)}; expected {total}, the sequence")
            return _layout.contiguous(self._lengths)
        return _cached_layout(total, self.size, self.balance, self.documents)

    def gathered(self, shard: Tensor, dim: int) -> Tensor:
        """The whole tensor, in order of position, from the shards of all ranks."""
        layout = self.layout(shard.shape[dim])
        numbers = shard.to(torch.uint8) if shard.dtype == torch.bool else shard
        return layout.join(all_gather(numbers, layout.lengths, dim, self.group), dim).to(shard.dtype)

    def __repr__(self) -> str:
        return f"ContextParallel(rank {self.rank} of {self.size}, method={self.method!r}, balance={self.balance!r})"


@functools.lru_cache(maxsize=256)
def _cached_layout(total: int, ranks: int, balance: str, offsets) -> Layout:
    return _layout.of_whole(total, ranks, balance, offsets)


# ---- the plan in force ----

# Per process, not per thread: backward passes repeat checkpointed forward passes in threads of their own.
_active: list[ContextParallel] = []
_was_used = False


def enter(plan: ContextParallel) -> None:
    global _was_used
    if _active:
        raise RuntimeError("context_parallel is entered inside of another; expected one at a time")
    _active.append(plan)
    _was_used = True


def leave() -> None:
    _active.clear()


def in_force() -> Optional[ContextParallel]:
    """The plan for a call without a group."""
    if _active:
        return _active[0]
    if _was_used and _repeats_a_forward():
        raise RuntimeError(
            "a checkpointed forward is repeated outside of context_parallel, where it would attend within this rank's "
            "shard alone; expected the backward pass inside of the context"
        )
    return None


def _repeats_a_forward() -> bool:
    return not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1


def plan_of(group) -> ContextParallel:
    return group if isinstance(group, ContextParallel) else ContextParallel(group)
