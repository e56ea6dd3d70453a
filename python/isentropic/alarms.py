"""Alarms: heads that collapse, disperse or have a statistic that is NaN."""

from __future__ import annotations

import dataclasses
import math
from typing import Iterator, Optional

from ._tallies import COLUMNS, LayerRecord


@dataclasses.dataclass(frozen=True)
class Alarm:
    """A head whose normalised entropy fell below a threshold (``kind`` "collapse") or rose above one ("dispersion"),
    or which has a statistic that is NaN ("nan")."""

    kind: str
    layer: str
    head: int
    value: float
    step: int
    statistic: str = "normalised_entropy"

    def __str__(self) -> str:
        statistic = self.statistic.replace("_", " ")
        return f"{self.kind}: {self.layer} head {self.head} has {statistic} {self.value:.4f} at step {self.step}"


class Thresholds:
    """Turns the records of steps into alarms, one when a head crosses a threshold and the next after it has come back.

    Only a head that was focused can disperse: before training every head attends everywhere. A head is focused when it
    is more than twice as far below uniform as the threshold, or below half of the threshold.
    """

    def __init__(self, collapse: Optional[float], dispersion: Optional[float]):
        for name, limit in (("collapse", collapse), ("dispersion", dispersion)):
            if limit is not None and not 0 <= limit <= 1:
                raise ValueError(f"{name} is {limit}; expected a normalised entropy, from 0 to 1, or None")
        self._collapse = collapse
        self._dispersion = dispersion
        self._broken: set[tuple] = set()  # kind, layer and head of alarms whose head has not come back
        self._focused: set[tuple] = set()

    def alarms(self, step: int, layer: str, record: LayerRecord, sums: LayerRecord) -> Iterator[Alarm]:
        """``sums``: the totals behind the means of ``record``; a mean over no rows is NaN as well, and no alarm."""
        heads = max(map(len, sums.values()))
        for head in range(heads):
            odd = next((name for name in COLUMNS if name in sums and math.isnan(sums[name][head])), None)
            if self._breaks(odd is not None, "nan", layer, head):
                yield Alarm("nan", layer, head, math.nan, step, odd)
        for head, value in enumerate(record.get("normalised_entropy", ())):
            if self._breaks(self._collapse is not None and value < self._collapse, "collapse", layer, head):
                yield Alarm("collapse", layer, head, value, step)
            if self._dispersion is not None and self._disperses(value, (layer, head)):
                yield Alarm("dispersion", layer, head, value, step)

    def _breaks(self, passed: bool, *where) -> bool:
        is_new = passed and where not in self._broken
        (self._broken.add if passed else self._broken.discard)(where)
        return is_new

    def _disperses(self, value: float, where: tuple) -> bool:
        if value < max(2 * self._dispersion - 1, self._dispersion / 2):
            self._focused.add(where)
        if value > self._dispersion and where in self._focused:
            self._focused.discard(where)
            return True
        return False
