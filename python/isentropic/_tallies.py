"""From the statistics of rows to one number for each head: sums that calls add up, and their means."""

from __future__ import annotations

import math

import torch
from torch import Tensor

#: statistic -> one number for each head
LayerRecord = dict[str, list[float]]

MEANS = ("entropy", "normalised_entropy", "effective_keys", "peak", "sink_mass", "first_mass")
COLUMNS = (*MEANS, "max_score")


def tally(statistics: dict[str, Tensor], fewest_keys: int) -> dict[str, Tensor]:
    """What one call adds to its step, each ``[heads]`` on the call's device: sums, row counts, the largest score."""
    visible = _by_head(statistics["visible"])
    counted = {"rows": visible > 0, "long_rows": visible >= fewest_keys}
    tally = {name: rows.sum(1, dtype=torch.float64) for name, rows in counted.items()}
    for name, values in statistics.items():
        if name in MEANS:
            kept = torch.where(counted[_rows_of(name)], _by_head(values), 0.0)
            tally[name] = kept.sum(1, dtype=torch.float64)
        elif name == "max_score":
            tally[name] = _by_head(values).amax(1).to(torch.float64)
    return tally


def _rows_of(name: str) -> str:
    return "long_rows" if name == "normalised_entropy" else "rows"


def _by_head(rows: Tensor) -> Tensor:
    """``[..., heads, n]`` as ``[heads, everything else]``."""
    rows = rows.unsqueeze(0) if rows.dim() == 1 else rows
    return rows.movedim(-2, 0).flatten(1)


def merge(one: dict[str, Tensor], other: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: torch.maximum(value, other[name]) if name == "max_score" else value + other[name]
        for name, value in one.items()
    }


def numbers_of(tallies: dict[str, dict[str, Tensor]]) -> dict[str, LayerRecord]:
    """The tallies as numbers. Everything crosses from the device in one transfer."""
    places = [(layer, name, value) for layer, tally in tallies.items() for name, value in tally.items()]
    device = places[0][2].device
    numbers = torch.cat([value.to(device, non_blocking=True) for _, _, value in places]).tolist()
    sums: dict[str, LayerRecord] = {layer: {} for layer in tallies}
    at = 0
    for layer, name, value in places:
        sums[layer][name] = numbers[at : at + value.numel()]
        at += value.numel()
    return sums


def means(sums: LayerRecord) -> LayerRecord:
    """What a layer's numbers say of its heads; NaN where no row counts."""
    record = {name: sums[name] for name in COLUMNS if name in sums}
    for name in record:
        if name in MEANS:
            counts = sums[_rows_of(name)]
            record[name] = [total / rows if rows else math.nan for total, rows in zip(record[name], counts)]
    return record
