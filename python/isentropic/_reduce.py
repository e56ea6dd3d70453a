"""Tallies of all layers as two vectors, which are read from the device and exchanged between ranks.

With a group they are reduced over its ranks by two collectives, one SUM and one MAX. All ranks must pack in the same
order, so they agree on a layout first; a rank that has met a layer outside of it says so in the MAX, and all of them
agree again.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch
import torch.distributed as dist
from torch import Tensor

from ._tallies import Fields, LayerRecord, Tally


class Entry(NamedTuple):
    """One tally of a layer, by the names that it has on every rank."""

    layer: str
    fields: Fields
    heads: int


Tallies = dict[Entry, list[Tally]]  # several: on several devices


class Reduction:
    """Reads tallies, over all ranks of a group if there is one."""

    def __init__(self, group: Optional[dist.ProcessGroup]):
        self._group = group
        self._layout: Optional[list[Entry]] = None

    def read(self, tallies: Tallies) -> dict[str, list[LayerRecord]]:
        """``{layer: one record of sums for each of its entries}``. With a group every rank has to call it."""
        if self._group is None:
            return self._unpacked(list(tallies), self._numbers(list(tallies), tallies))
        if self._layout is None:
            self._agree(tallies)
        numbers = self._numbers(self._layout, tallies)
        if numbers[0] > 0:  # somewhere a layer is new
            self._agree(tallies)
            numbers = self._numbers(self._layout, tallies)
        return self._unpacked(self._layout, numbers)

    def _agree(self, tallies: Tallies) -> None:
        """Agrees on all layers that any rank has met, in rank order."""
        everywhere: list = [None] * dist.get_world_size(self._group)
        own = [(entry.layer, *entry.fields, entry.heads) for entry in tallies]
        dist.all_gather_object(everywhere, own, group=self._group)
        met = (entry for of_rank in everywhere for entry in of_rank)
        self._layout = list(
            dict.fromkeys(Entry(layer, Fields(sums, maxima), heads) for layer, sums, maxima, heads in met)
        )

    def _numbers(self, layout: list[Entry], tallies: Tallies) -> list[float]:
        """Whether a layer is new, then all maxima, then all sums. Everything is read from the device at once."""
        is_new = float(any(entry not in layout for entry in tallies))
        device = group_device(self._group, next((of[0].sums.device for of in tallies.values()), torch.device("cpu")))
        maxima = [torch.tensor([is_new], dtype=torch.float64, device=device)]
        sums = []
        for entry in layout:
            here = tallies.get(entry) or [Tally(entry.fields, entry.heads, device)]
            maxima.append(_together([tally.maxima for tally in here], torch.maximum, device))
            sums.append(_together([tally.sums for tally in here], torch.add, device))
        packed_maxima, packed_sums = (torch.cat(parts or [maxima[0][:0]]) for parts in (maxima, sums))
        if self._group is not None:
            largest_of_all(packed_maxima, self._group)
            dist.all_reduce(packed_sums, dist.ReduceOp.SUM, group=self._group)
        return torch.cat([packed_maxima, packed_sums]).tolist()

    @staticmethod
    def _unpacked(layout: list[Entry], numbers: list[float]) -> dict[str, list[LayerRecord]]:
        found: dict[str, list[LayerRecord]] = {}
        maximum = 1
        total = 1 + sum(len(entry.fields.maxima) * entry.heads for entry in layout)
        for entry in layout:
            record: LayerRecord = {}
            for name in entry.fields.sums:
                record[name] = numbers[total : total + entry.heads]
                total += entry.heads
            for name in entry.fields.maxima:
                record[name] = numbers[maximum : maximum + entry.heads]
                maximum += entry.heads
            if _is_met(record):
                found.setdefault(entry.layer, []).append(record)
        return found


def largest_of_all(values: Tensor, group: dist.ProcessGroup) -> None:
    """The maximum over the ranks, in place. A NaN counts as infinity, since backends disagree on the larger of two."""
    values.nan_to_num_(nan=math.inf, posinf=math.inf, neginf=-math.inf)
    dist.all_reduce(values, dist.ReduceOp.MAX, group=group)


def group_device(group: Optional[dist.ProcessGroup], usual: torch.device) -> torch.device:
    """The device of the group's collectives."""
    backend = None if group is None else dist.get_backend(group)
    if backend == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu") if backend == "gloo" else usual


def checked_group(group) -> Optional[dist.ProcessGroup]:
    """The process group; for a device mesh of one axis, the one that it has."""
    if group is not None and hasattr(group, "get_group"):
        if group.ndim != 1:
            raise ValueError(f"group is a mesh of {group.ndim} axes; expected one axis, e.g. mesh['dp']")
        group = group.get_group()
    if group is None or (dist.is_available() and isinstance(group, dist.ProcessGroup)):
        return group
    raise TypeError(f"group is a {type(group).__name__}; expected a process group of torch.distributed, or None")


def _together(parts: list[Tensor], combine, device: torch.device) -> Tensor:
    whole = parts[0].to(device, non_blocking=True)
    for part in parts[1:]:
        whole = combine(whole, part.to(device, non_blocking=True))
    return whole.flatten()


def _is_met(record: LayerRecord) -> bool:
    """Whether any call added to it."""
    if "calls" in record:
        return any(record["calls"])
    return any(value > -math.inf for values in record.values() for value in values)
