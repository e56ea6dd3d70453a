"""Watches the attention of a model while it trains or answers."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import math
import os
import warnings
from typing import Callable, Optional, Union

import torch
from torch import Tensor, nn

from . import _observe
from ._layers import RunningLayer
from .attention import Aux

#: statistic -> one number for each head
LayerRecord = dict[str, list[float]]

_MEANS = ("entropy", "normalised_entropy", "effective_keys", "peak", "sink_mass", "first_mass")
_COLUMNS = (*_MEANS, "max_score")


@dataclasses.dataclass(frozen=True)
class Alarm:
    """A head whose normalised entropy went below (collapse) or above (dispersion) a threshold."""

    kind: str
    layer: str
    head: int
    value: float
    step: int

    def __str__(self) -> str:
        return f"{self.kind}: {self.layer} head {self.head} has normalised entropy {self.value:.4f} at step {self.step}"


class Monitor:
    """Entropy, peak, largest score and more of every attention head of a model, step by step.

        with isentropic.Monitor(model, optimizer=optimizer) as monitor:
            train()
        monitor.last["layers.3.attention"]["entropy"][2]     # head 2, nats

    Whatever calls :func:`isentropic.attention` inside the model is watched, in the same pass that computes it; around
    models that call PyTorch's attention put :func:`isentropic.replace_sdpa`. A layer is the module that made the call;
    further calls in the same forward get ``#2``, ``#3``, ... behind its name.

    Of every head there are the means over batch and rows of ``entropy`` (nats), ``effective_keys``, ``peak``, where
    the layer has sink logits ``sink_mass``, and ``first_mass`` on demand; of ``normalised_entropy`` the mean over the
    rows that see at least ``fewest_keys`` keys; of ``max_score`` the maximum (what QK-clip looks at). Rows that see no
    key count nowhere; where no row counts the value is NaN. Under data parallelism each process watches its own batch.

    A step ends when ``optimizer`` has stepped, or without one when :meth:`step` is called: all forwards in between
    count together, those of accumulated micro-batches and of validation too. The device is waited for once, there.
    Forwards that activation checkpointing repeats in the backward pass are not counted again.

    What runs under ``torch.compile`` is not seen: a compiled graph cannot report. Watch the model before compiling it.

    Args:
        model: any module.
        optimizer: ends a step whenever it has stepped.
        every: watch one step of so many; in the others no statistics are computed.
        collapse: alarm when a head's normalised entropy falls below; None: never.
        dispersion: alarm when it rises above; None: never.
        fewest_keys: rows that see fewer keys do not count for normalised entropy.
        first_mass: also the mass on the first key, which takes longer to compute.
        keep: steps kept in :attr:`history`; None: all.
        on_alarm: called with every new :class:`Alarm`.

    Attributes:
        history: ``{step: {layer: {statistic: [value of head 0, value of head 1, ...]}}}``, oldest step first.
        alarms: the alarms so far. A head gives one when it passes a threshold, and another only after it came back.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        optimizer: Optional[torch.optim.Optimizer] = None,
        every: int = 1,
        collapse: Optional[float] = 0.05,
        dispersion: Optional[float] = 0.99,
        fewest_keys: int = 8,
        first_mass: bool = False,
        keep: Optional[int] = 1000,
        on_alarm: Optional[Callable[[Alarm], None]] = None,
    ):
        for name, number, least in (("every", every, 1), ("fewest_keys", fewest_keys, 2), ("keep", keep, 1)):
            if number is not None and number < least:
                raise ValueError(f"{name} is {number}; expected at least {least}")
        self.history: dict[int, dict[str, LayerRecord]] = {}
        self.alarms: list[Alarm] = []
        self.statistics = ("visible", *(name for name in _COLUMNS if first_mass or name != "first_mass"))
        self._model = model
        self._optimizer = optimizer
        self._every = every
        self._limits = {"collapse": collapse, "dispersion": dispersion}
        self._fewest_keys = fewest_keys
        self._keep = keep
        self._on_alarm = on_alarm
        self._layer = RunningLayer(model)
        self._step = 0
        self._tallies: dict[str, dict[str, Tensor]] = {}
        self._alarming: set[tuple[str, str, int]] = set()
        self._optimizer_hook = None
        self._started = False

    # ---- watching ----

    def start(self) -> Monitor:
        if self._started:
            raise RuntimeError("the monitor is watching already; expected stop() before start()")
        _warn_if_compiled(self._model)
        self._started = True
        self._layer.start()
        if self._optimizer is not None:
            self._optimizer_hook = self._optimizer.register_step_post_hook(lambda *_: self.step())
        self._watch_if_due()
        return self

    def stop(self) -> None:
        """Ends watching, and the step if anything happened in it."""
        if not self._started:
            return
        if self._tallies:
            self.step()
        self._started = False
        _observe.unwatch(self)
        self._layer.stop()
        if self._optimizer_hook is not None:
            self._optimizer_hook.remove()

    def __enter__(self) -> Monitor:
        return self.start()

    def __exit__(self, *_) -> None:
        self.stop()

    def step(self) -> None:
        """Ends a step."""
        if self._tallies:
            layers = _means(self._tallies)
            self._tallies = {}
            self.history[self._step] = layers
            while self._keep is not None and len(self.history) > self._keep:
                del self.history[next(iter(self.history))]
            self._raise_alarms(layers)
        self._step += 1
        self._watch_if_due()

    def report(self, aux: Aux) -> None:
        """Called by :func:`isentropic.attention`."""
        layer = self._layer.next_call()
        if layer is not None:
            tally = _tally(aux.as_dict(), self._fewest_keys)
            so_far = self._tallies.get(layer)
            self._tallies[layer] = tally if so_far is None else _merge(so_far, tally)

    def _watch_if_due(self) -> None:
        if self._started and self._step % self._every == 0:
            _observe.watch(self)
        else:
            _observe.unwatch(self)

    # ---- results ----

    @property
    def last(self) -> dict[str, LayerRecord]:
        """The newest step of :attr:`history`; empty before there is one."""
        return self.history[next(reversed(self.history))] if self.history else {}

    def scalars(self) -> dict[str, float]:
        """The newest step for a logger: ``{"attention/<layer>/head<h>/entropy": value, ...}``."""
        return {
            f"attention/{layer}/head{head}/{statistic}": value
            for layer, record in self.last.items()
            for statistic, values in record.items()
            for head, value in enumerate(values)
        }

    def to_csv(self, path: Union[str, os.PathLike]) -> None:
        """Writes :attr:`history`, one line for each step, layer and head. The file appears when it is complete."""
        unfinished = f"{os.fspath(path)}.unfinished"
        with open(unfinished, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("step", "layer", "head", *_COLUMNS))
            for step, layers in self.history.items():
                for layer, record in layers.items():
                    values = [record.get(name, ()) for name in _COLUMNS]
                    for head, of_head in enumerate(itertools.zip_longest(*values, fillvalue="")):
                        writer.writerow((step, layer, head, *of_head))
        os.replace(unfinished, path)

    def _raise_alarms(self, layers: dict[str, LayerRecord]) -> None:
        for layer, record in layers.items():
            for head, value in enumerate(record.get("normalised_entropy", ())):
                for kind, limit in self._limits.items():
                    passed = limit is not None and (value < limit if kind == "collapse" else value > limit)
                    self._set_alarm(passed, Alarm(kind, layer, head, value, self._step))

    def _set_alarm(self, passed: bool, alarm: Alarm) -> None:
        where = (alarm.kind, alarm.layer, alarm.head)
        if passed and where not in self._alarming:
            self._alarming.add(where)
            self.alarms.append(alarm)
            if self._on_alarm is not None:
                self._on_alarm(alarm)
        elif not passed:
            self._alarming.discard(where)


def _warn_if_compiled(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if "_orig_mod" in module._modules or module._compiled_call_impl is not None:
            warnings.warn(
                f"'{name or type(module).__name__}' is compiled: the monitor does not see the attention in it",
                stacklevel=4,
            )


# ---- from rows to heads ----


def _tally(statistics: dict[str, Tensor], fewest_keys: int) -> dict[str, Tensor]:
    """What one call adds to its step, each ``[heads]`` on the call's device: sums, row counts, the largest score."""
    visible = _by_head(statistics["visible"])
    counted = {"rows": visible > 0, "long_rows": visible >= fewest_keys}
    tally = {name: rows.sum(1, dtype=torch.float64) for name, rows in counted.items()}
    for name, values in statistics.items():
        if name in _MEANS:
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


def _merge(one: dict[str, Tensor], other: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: torch.maximum(value, other[name]) if name == "max_score" else value + other[name]
        for name, value in one.items()
    }


def _means(tallies: dict[str, dict[str, Tensor]]) -> dict[str, LayerRecord]:
    """The tallies as numbers. Everything crosses from the device in one transfer."""
    places = [(layer, name, value) for layer, tally in tallies.items() for name, value in tally.items()]
    device = places[0][2].device
    numbers = torch.cat([value.to(device, non_blocking=True) for _, _, value in places]).tolist()
    sums: dict[str, LayerRecord] = {layer: {} for layer in tallies}
    at = 0
    for layer, name, value in places:
        sums[layer][name] = numbers[at : at + value.numel()]
        at += value.numel()
    return {layer: _record(of_layer) for layer, of_layer in sums.items()}


def _record(sums: LayerRecord) -> LayerRecord:
    record = {name: sums[name] for name in _COLUMNS if name in sums}
    for name in record:
        if name in _MEANS:
            counts = sums[_rows_of(name)]
            record[name] = [total / rows if rows else math.nan for total, rows in zip(record[name], counts)]
    return record
