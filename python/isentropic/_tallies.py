"""From the statistics of rows to one number per head: sums and maxima over calls, and their evaluation."""

from __future__ import annotations

import math
from typing import Iterable, NamedTuple, Optional

import torch
from torch import Tensor

#: statistic -> one number per head
LayerRecord = dict[str, list[float]]

MEANS = ("entropy", "normalised_entropy", "effective_keys", "peak", "sink_mass", "first_mass")
MAXIMA = ("max_score", "max_uncapped_score", "least_normalised_entropy")  # the least is kept as its negative
COLUMNS = (*MEANS, *MAXIMA)

_COUNTS = ("calls", "rows", "long_rows")
_LARGEST_RATIO = 1 - 2**-24  # of a score to its cap, in float32


class Fields(NamedTuple):
    """What a tally holds, in the order of its rows."""

    sums: tuple[str, ...]
    maxima: tuple[str, ...]


def fields(measured: Iterable[str], columns: tuple[str, ...], is_capped: bool) -> Fields:
    """The fields of a call that has the statistics ``measured``, where ``columns`` are wanted.

    ``is_capped``: the scores went through a soft cap that can be undone.
    """
    means = tuple(name for name in columns if name in MEANS and name in measured)
    maxima = []
    for name in columns:
        wants_uncapped = name == "max_uncapped_score" and is_capped and "max_score" in measured
        wants_least = name == "least_normalised_entropy" and "normalised_entropy" in measured
        if (name == "max_score" and name in measured) or wants_uncapped or wants_least:
            maxima.append(name)
    return Fields((*_COUNTS, *means) if means else (), tuple(maxima))


def measure(
    statistics: dict[str, Tensor], wanted: Fields, fewest_keys: int, soft_cap: Optional[float]
) -> tuple[Optional[Tensor], Optional[Tensor]]:
    """The sums and maxima of one call, each ``[fields, heads]`` in float64 on the call's device."""
    sums = maxima = long_rows = None
    if "visible" in statistics:
        long_rows = statistics["visible"] >= fewest_keys
    if wanted.sums:
        sums = torch.stack(_sums(statistics, wanted.sums, long_rows))
    if wanted.maxima:
        maxima = torch.stack([_maximum(statistics, name, long_rows, soft_cap) for name in wanted.maxima])
    return sums, maxima


def _sums(statistics: dict[str, Tensor], names: tuple[str, ...], long_rows: Tensor) -> list[Tensor]:
    rows = statistics["visible"] > 0
    counts = [_by_head(counted).sum((0, 2), dtype=torch.float64) for counted in (rows, long_rows)]
    sums = [torch.ones_like(counts[0]), *counts]
    for name in names[len(_COUNTS) :]:
        kept = torch.where(long_rows if name == "normalised_entropy" else rows, statistics[name], 0.0)
        sums.append(_by_head(kept).sum((0, 2), dtype=torch.float64))
    return sums


def _maximum(statistics: dict[str, Tensor], name: str, long_rows: Optional[Tensor], cap: Optional[float]) -> Tensor:
    if name == "least_normalised_entropy":
        values = statistics["normalised_entropy"]
        return _by_head(torch.where(long_rows, -values, -torch.inf)).amax((0, 2)).double()
    largest = _by_head(statistics["max_score"]).amax((0, 2)).double()
    return uncapped(largest, cap) if name == "max_uncapped_score" else largest


def uncapped(score: Tensor, cap: float) -> Tensor:
    """The s of ``score = cap tanh(s / cap)``, at most about 8.7 cap: beyond, float32 has no number below the cap."""
    ratio = (score / cap).clamp(-_LARGEST_RATIO, _LARGEST_RATIO)
    return torch.where(score.isfinite(), cap * ratio.atanh(), score)


def _by_head(rows: Tensor) -> Tensor:
    """``[..., heads, n]`` as ``[everything else, heads, n]``."""
    rows = rows.unsqueeze(0) if rows.dim() == 1 else rows
    return rows.flatten(0, -3) if rows.dim() > 2 else rows.unsqueeze(0)


class Tally:
    """The sums and maxima of one layer since it was cleared, at one address for as long as it lives.

    They are not buffers of the module: DistributedDataParallel would overwrite those with the first rank's in every
    forward pass, and a change of the model's type would round them.
    """

    def __init__(self, held: Fields, heads: int, device: torch.device):
        self.fields, self.heads = held, heads
        with torch.inference_mode(False):  # tensors made inside it cannot be added to outside
            self.sums = torch.zeros(len(held.sums), heads, dtype=torch.float64, device=device)
            self.maxima = torch.full((len(held.maxima), heads), -torch.inf, dtype=torch.float64, device=device)

    def add(self, sums: Optional[Tensor], maxima: Optional[Tensor]) -> None:
        if sums is not None:
            self.sums.add_(sums)
        if maxima is not None:
            self.maxima.copy_(torch.maximum(self.maxima, maxima))

    def by_name(self) -> dict[str, Tensor]:
        """A copy of each, ``[heads]``."""
        return dict(zip((*self.fields.sums, *self.fields.maxima), (*self.sums.clone(), *self.maxima.clone())))


def clear(tallies: Iterable[Tally]) -> None:
    """Resets the tallies in place."""
    tallies = list(tallies)
    if tallies:
        torch._foreach_zero_([tally.sums for tally in tallies])
        torch._foreach_zero_([tally.maxima for tally in tallies])
        torch._foreach_sub_([tally.maxima for tally in tallies], math.inf)


# ---- evaluation ----
#
# A layer has several parts where its calls differ in their fields.


def totals(parts: list[LayerRecord]) -> LayerRecord:
    """The parts added up."""
    found: LayerRecord = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        together = _largest if name in MAXIMA else sum
        found[name] = [together(values) for values in zip(*(part[name] for part in parts if name in part))]
    return found


def means(parts: list[LayerRecord]) -> LayerRecord:
    """The means, maxima and minima of a layer's heads; NaN where no row counts."""
    record = {}
    for name in COLUMNS:
        having = totals([part for part in parts if name in part])
        if name in having:
            record[name] = [_said(name, *numbers) for numbers in zip(having[name], _counts(name, having))]
    return record


def _counts(name: str, sums: LayerRecord) -> list[float]:
    if name not in MEANS:
        return [1.0] * len(sums[name])
    return sums["long_rows" if name == "normalised_entropy" else "rows"]


def _said(name: str, total: float, count: float) -> float:
    if name == "least_normalised_entropy":
        return math.nan if total == -math.inf else -total
    return total / count if count else math.nan


def _largest(values: tuple[float, ...]) -> float:
    return math.nan if any(map(math.isnan, values)) else max(values)
