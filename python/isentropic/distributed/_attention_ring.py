"""Keys and values passed around a ring: every rank holds its own and those in flight, and merges records."""

from __future__ import annotations

from typing import Iterator

import torch
from torch import Tensor

from . import _attention_gather

_operators = torch.ops.isentropic


def forward(call, query, key, value, terms):
    if value is None:
        return _attention_gather.forward(call, query, key, value, terms)
    part = None
    for step, block in _blocks(call, torch.cat([key, value], -1)):
        for text, (keys, values), of_block, _ in _pieces(call, call.ring.source(step), block, key.shape[-1], terms):
            found = _operators.attention_partial(text, query, keys, values, of_block)
            part = found if part is None else _operators.attention_merge(*part, *found)
        del block, keys, values  # or it would still be in memory while the one after the next arrives
    runs, place = next(_runs(call, call.rank, key.device))  # any keys will do: the rows are known
    text, of_keys = call.shard_text(call.own_runs, runs), _of_keys(call, terms, runs)
    found = _operators.attention_finish(text, query, key.narrow(2, *place), value.narrow(2, *place), of_keys, *part)
    output, _, _, _, rows, row_counts, _ = found
    return found[:6], (query, key, value, output, rows, row_counts)


def backward(call, kept, terms, output_gradient, statistics_gradient, places):
    if len(kept) == 7:  # only statistics
        return _attention_gather.backward(call, kept, terms, output_gradient, statistics_gradient, places)
    query, key, value, output, rows, row_counts = kept
    real = rows.dtype
    own, shares, sums = torch.zeros_like(query, dtype=real), _Shares(call, terms), _TravellingSums(call)
    nothing = query.new_empty(0, dtype=torch.long)
    for step, block in _blocks(call, torch.cat([key, value], -1)):
        source = call.ring.source(step)
        found = torch.zeros_like(block, dtype=real)
        for text, (keys, values), of_block, place in _pieces(call, source, block, key.shape[-1], terms):
            of_query, of_keys, of_values, *rest = _operators.attention_backward(
                text, query, keys, values, of_block, output, rows, row_counts, nothing, output_gradient,
                statistics_gradient, call.needs_bias,
            )  # fmt: skip
            own += of_query
            found.narrow(2, *place).copy_(torch.cat([of_keys, of_values], -1))
            shares.add(source, place, rest)
        del block, keys, values
        sums.add(step, found)
    of_key, of_value = sums.at_home().split([key.shape[-1], value.shape[-1]], -1)
    of_terms = call.term_gradients(terms, *shares.totals, places)
    return own.to(query.dtype), of_key.to(key.dtype), of_value.to(value.dtype), of_terms


def key_mass(call, query, key, terms) -> Tensor:
    part, sums = None, _TravellingSums(call)
    for step, block in _blocks(call, key):
        for text, (keys, _), of_block, _ in _pieces(call, call.ring.source(step), block, key.shape[-1], terms):
            *_, rows, row_counts, _ = _operators.attention(text, query, keys, None, of_block)
            found = (query.new_empty(*query.shape[:3], 0, dtype=rows.dtype), rows, row_counts, query.new_empty(0))
            part = found if part is None else _operators.attention_merge(*part, *found)
        del block, keys
    _, rows, row_counts, nothing = part
    for step, block in _blocks(call, key):
        mass = [
            _operators.attention_key_mass(text, query, keys, of_block, rows, row_counts, nothing.long())
            for text, (keys, _), of_block, _ in _pieces(call, call.ring.source(step), block, key.shape[-1], terms)
        ]
        del block
        sums.add(step, torch.cat(mass, -1))
    return sums.at_home()


def _blocks(call, own: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Step and shard of every rank, ``[batch, heads, n, ...]`` like this rank's own, which comes first."""
    for step, block in call.ring.rotate([own.movedim(2, 0)]):  # blocks are sent with their length as the first axis
        yield step, block[0].movedim(0, 2)


class _TravellingSums:
    """Sums that follow their keys around the ring while the next block is processed, back to the rank of the keys."""

    def __init__(self, call):
        self._call, self._arrival = call, None

    def add(self, step: int, found: Tensor) -> None:
        """Adds what was found for the keys that are here after ``step`` steps, ``[batch, heads, n, ...]``."""
        found = found.movedim(2, 0)
        if self._arrival is not None:
            found = self._arrival.wait()[0].add_(found)
        self._arrival = self._call.ring.hand_on([found], step)

    def at_home(self) -> Tensor:
        return self._arrival.wait()[0].movedim(0, 2)


def _runs(call, source: int, device: torch.device):
    """The runs of a shard that one call takes, with their place in it: all of them on the CPU, one on a GPU."""
    runs = call.layout.runs[source]
    if device.type == "cpu":
        yield runs, (0, call.layout.lengths[source])
        return
    begin = 0
    for run in runs:
        yield (run,), (begin, run[1])
        begin += run[1]


def _pieces(call, source: int, block: Tensor, width: int, terms):
    """(text, (keys, values), terms, place in the shard) of every call."""
    for runs, place in _runs(call, source, block.device):
        here = block.narrow(2, *place)
        keys, values = here.split([width, block.shape[-1] - width], -1)
        yield call.shard_text(call.own_runs, runs), (keys, values), _of_keys(call, terms, runs), place


def _of_keys(call, terms, runs) -> list[Tensor]:
    """Terms with an entry for each key, cut to the keys of these runs."""
    return [
        torch.cat([term.narrow(-1, *run) for run in runs], -1) if call.has_keys(place, term) else term
        for place, term in enumerate(terms)
    ]


class _Shares:
    """Gradients of bias, sink, scale and map, added up over the blocks of keys."""

    def __init__(self, call, terms):
        self._call = call
        place = next((i for i, name in enumerate(call.names) if name == "bias"), None)
        self._dense = None
        if place is not None and call.needs_bias and call.has_keys(place, terms[place]):
            self._dense = terms[place]
        self.totals: list[Tensor] = []

    def add(self, source: int, place, found: list[Tensor]) -> None:
        bias, sink, scale, map = found
        if self._dense is not None:
            bias = self._among_all_keys(source, place, bias)
        if not self.totals:
            self.totals = [bias, sink, scale, map]
            return
        # A sink belongs to the row, not to some of its keys: every call computes its whole gradient.
        for index, share in ((0, bias), (2, scale)):
            self.totals[index] = self.totals[index] + share

    def _among_all_keys(self, source: int, place, bias: Tensor) -> Tensor:
        whole, begin = bias.new_zeros(self._dense.shape), 0
        runs = next(runs for runs, at in _runs(self._call, source, bias.device) if at == place)
        for offset, length in runs:
            whole.narrow(-1, offset, length).copy_(bias.narrow(-1, begin, length))
            begin += length
        return whole
