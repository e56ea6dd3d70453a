"""Watches the attention of a model while it trains or answers."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import math
import os
from typing import Callable, Optional, Union

import torch
from torch import Tensor, nn

from . import _observe, _tallies
from ._checks import integer
from ._layers import RunningLayer
from ._tallies import COLUMNS, LayerRecord
from .alarms import Alarm, Thresholds
from ._aux import Aux
from ._files import write_file


class Monitor:
    """Entropy, peak, largest score and more of every attention head of a model, step by step.

        with isentropic.Monitor(model, optimizer=optimizer) as monitor:
            train()
        monitor.last["layers.3.attention"]["entropy"][2]     # head 2, nats

    Whatever calls :func:`isentropic.attention` inside the model is watched, in the same pass that computes it; around
    models that call PyTorch's attention put :func:`isentropic.replace_sdpa`. A layer is the module that made the call;
    further calls in the same forward of the model get ``#2``, ``#3``, ... behind its name, so that a layer which stands
    in several places has an entry for each.

    Of every head there are the means over batch and rows of ``entropy`` (nats), ``effective_keys``, ``peak``, where
    the layer has sink logits ``sink_mass``, and ``first_mass`` on demand; of ``normalised_entropy`` the mean over the
    rows that see at least ``fewest_keys`` keys; of ``max_score`` the maximum (what QK-clip looks at). Rows that see no
    key count nowhere; where no row counts the value is NaN. Under data parallelism each process watches its own batch.

    A step ends when ``optimizer`` has stepped, or without one when :meth:`step` is called: all forwards in between
    count together, those of accumulated micro-batches and of validation too. The device is waited for once, there.
    Forwards that activation checkpointing repeats in the backward pass are not counted again.

    What runs under ``torch.compile`` is not seen: a compiled graph cannot report. Watch the model before compiling it.
    Attention that runs unseen, for this or another reason, is pointed out by a warning that says what to do.

    Args:
        model: any module.
        optimizer: ends a step whenever it has stepped.
        every: watch one step of so many; in the others no statistics are computed.
        collapse: alarm when a head's normalised entropy is below; None: never.
        dispersion: alarm when that of a head which was focused rises above; None: never. Focused is a head whose
            distance to 1 was at least twice that of ``dispersion``: an untrained model, whose heads look everywhere,
            raises no alarm.
        fewest_keys: rows that see fewer keys do not count for normalised entropy.
        first_mass: also the mass on the first key, which takes longer to compute.
        keep: steps kept in :attr:`history`; None: all.
        on_alarm: called with every new :class:`Alarm`.

    Attributes:
        history: ``{step: {layer: {statistic: [value of head 0, value of head 1, ...]}}}``, oldest step first.
        alarms: the alarms so far. A head gives one when it passes a threshold, and another only after it came back;
            likewise when a statistic of its rows is NaN.
    """

    detach = True  # nothing of the graph is kept
    groups = _observe.USUAL_GROUPS

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
            if number is not None and integer(name, number) < least:
                raise ValueError(f"{name} is {number}; expected at least {least}")
        self.history: dict[int, dict[str, LayerRecord]] = {}
        self.alarms: list[Alarm] = []
        self.statistics = ("visible", *(name for name in COLUMNS if first_mass or name != "first_mass"))
        self._model = model
        self._optimizer = optimizer
        self._every = every
        self._thresholds = Thresholds(collapse, dispersion)
        self._fewest_keys = fewest_keys
        self._keep = keep
        self._on_alarm = on_alarm
        self._layer = RunningLayer(model, "isentropic.Monitor")
        self._step = 0
        self._tallies: dict[str, dict[str, Tensor]] = {}
        self._optimizer_hook = None
        self._started = False

    # ---- watching ----

    def start(self) -> Monitor:
        if self._started:
            raise RuntimeError("the monitor is watching already; expected stop() before start()")
        self._started = True
        self._layer.start()
        if self._optimizer is not None:
            self._optimizer_hook = self._optimizer.register_step_post_hook(lambda *_: self.step())
        self._watch_if_due()
        return self

    def stop(self) -> None:
        """Ends watching, and the step if anything happened in it."""
        self._stop(failed=False)

    def _stop(self, failed: bool) -> None:
        if not self._started:
            return
        if self._tallies:
            self.step()
        self._started = False
        _observe.unwatch(self)
        self._layer.stop(failed)
        if self._optimizer_hook is not None:
            self._optimizer_hook.remove()

    def __enter__(self) -> Monitor:
        return self.start()

    def __exit__(self, error, *_) -> None:
        self._stop(failed=error is not None)

    def step(self) -> None:
        """Ends a step."""
        if self._tallies:
            sums = _tallies.numbers_of(self._tallies)
            self._tallies = {}
            self.history[self._step] = {layer: _tallies.means(of_layer) for layer, of_layer in sums.items()}
            while self._keep is not None and len(self.history) > self._keep:
                del self.history[next(iter(self.history))]
            self._raise_alarms(sums)
        self._step += 1
        self._watch_if_due()

    def observe(self, aux: Aux, call: _observe.Call) -> None:
        """Called by :func:`isentropic.attention`."""
        layer = self._layer.next_call()
        if layer is not None and aux.visible.numel() > 0:
            tally = _tallies.tally(aux.as_dict(), self._fewest_keys)
            so_far = self._tallies.get(layer)
            self._tallies[layer] = tally if so_far is None else _tallies.merge(so_far, tally)

    def _watch_if_due(self) -> None:
        self._layer.expects_reports = self._started and self._step % self._every == 0
        (_observe.watch if self._layer.expects_reports else _observe.unwatch)(self)

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
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(("step", "layer", "head", *COLUMNS))
        for step, layers in self.history.items():
            for layer, record in layers.items():
                values = [record.get(name, ()) for name in COLUMNS]
                for head, of_head in enumerate(itertools.zip_longest(*values, fillvalue="")):
                    writer.writerow((step, layer, head, *of_head))
        write_file(path, text.getvalue())

    def report(self, path: Union[str, os.PathLike], name: str = "") -> None:
        """Writes :attr:`history` and :attr:`alarms` as one HTML page: curves of every head, a map at each step."""
        run = {"name": name, "history": self.history, "alarms": [dataclasses.asdict(alarm) for alarm in self.alarms]}
        text = json.dumps(_finite(run))
        write_file(path, torch.ops.isentropic.training_page(text))

    def _raise_alarms(self, sums: dict[str, LayerRecord]) -> None:
        for layer, of_layer in sums.items():
            for alarm in self._thresholds.alarms(self._step, layer, self.last[layer], of_layer):
                self.alarms.append(alarm)
                if self._on_alarm is not None:
                    self._on_alarm(alarm)


def _finite(value):
    """The same with None for numbers that JSON has no word for."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
