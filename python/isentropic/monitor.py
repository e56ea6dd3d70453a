"""Watches the attention of a model while it trains or answers."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import math
import os
from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor, nn

from . import _tallies, loggers
from ._checks import integer
from ._files import write_file
from ._head_tallies import HeadTallies
from ._reduce import Reduction, checked_group
from ._tallies import COLUMNS, LayerRecord
from .alarms import Alarm, Thresholds


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
    the layer has sink logits ``sink_mass``, and ``first_mass`` on demand; of ``normalised_entropy`` the mean and, as
    ``least_normalised_entropy``, the least over the rows that see at least ``fewest_keys`` keys; of ``max_score`` the
    maximum (what QK-clip looks at). Where scores go through a soft cap, and no bias is added after it,
    ``max_uncapped_score`` is the maximum before the cap, ``cap atanh(max_score / cap)``; it ends at about 8 times the
    cap, where float32 holds no score below the cap any more. Rows that see no key count nowhere; where no row counts
    the value is NaN.

    A step ends when ``optimizer`` has stepped, or without one when :meth:`step` is called: all forwards in between
    count together, those of accumulated micro-batches and of validation too. The device is waited for once, there.
    Forwards that activation checkpointing repeats in the backward pass are not counted again.

    Graphs of ``torch.compile`` are watched as well, with ``fullgraph=True``, too: they add to tensors outside of them, of
    a head's size for each layer and at fixed addresses. A graph that was compiled before the start is compiled once
    more, and comes back at the end. A compiled module that stands in several places has one entry for all of them,
    unless the model around it is compiled with it. Attention that runs unseen is pointed out by a warning that says
    what to do.

    With a ``group`` the tallies are added up over its ranks, by two collectives for each step; every rank then has the
    same history. :meth:`step` and :meth:`stop` are to be called by all ranks. Without it each process watches its own
    batch.

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
        group: a process group, or a device mesh of one axis, whose ranks see parts of the same batch: data and context
            parallel ones, not those that share out the heads.
        log_to: a ``SummaryWriter`` of TensorBoard, a run of Weights & Biases, or a list of them, which get
            :meth:`scalars` after every step that was watched (:mod:`isentropic.loggers`).

    Attributes:
        history: ``{step: {layer: {statistic: [value of head 0, value of head 1, ...]}}}``, oldest step first.
        alarms: the alarms so far. A head gives one when it passes a threshold, and another only after it came back;
            likewise when a statistic of its rows is NaN.
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
        group: Optional[torch.distributed.ProcessGroup] = None,
        log_to: Any = None,
    ):
        for name, number, least in (("every", every, 1), ("fewest_keys", fewest_keys, 2), ("keep", keep, 1)):
            if number is not None and integer(name, number) < least:
                raise ValueError(f"{name} is {number}; expected at least {least}")
        self.history: dict[int, dict[str, LayerRecord]] = {}
        self.alarms: list[Alarm] = []
        self._model = model
        self._optimizer = optimizer
        self._every = every
        self._thresholds = Thresholds(collapse, dispersion)
        self._keep = keep
        self._on_alarm = on_alarm
        self._log_to = loggers.checked(log_to)
        columns = tuple(name for name in COLUMNS if first_mass or name != "first_mass")
        self._heads = HeadTallies(model, columns, fewest_keys, "isentropic.Monitor")
        self._group = checked_group(group)
        self._reduction = Reduction(self._group)
        self._step = 0
        self._is_due = False
        self._optimizer_hook = None
        self._started = False

    # ---- watching ----

    def start(self) -> Monitor:
        if self._started:
            raise RuntimeError("the monitor is watching already; expected stop() before start()")
        self._started = True
        self._heads.start()
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
        if not failed or self._group is None:  # other ranks may not know of a failure, and would wait here
            self._record()
        self._started = False
        if self._optimizer_hook is not None:
            self._optimizer_hook.remove()
        self._heads.stop(failed)

    def __enter__(self) -> Monitor:
        return self.start()

    def __exit__(self, error, *_) -> None:
        self._stop(failed=error is not None)

    def step(self) -> None:
        """Ends a step."""
        self._record()
        self._step += 1
        self._watch_if_due()

    def _record(self) -> None:
        """What was seen in this step becomes its entry of the history."""
        if not self._is_due:
            return
        entries = self._heads.entries()
        found = self._reduction.read(entries) if entries or self._group is not None else {}
        self._heads.clear()
        if not found:
            return
        self._heads.note_reports(found)
        self.history[self._step] = {layer: _tallies.means(parts) for layer, parts in found.items()}
        while self._keep is not None and len(self.history) > self._keep:
            del self.history[next(iter(self.history))]
        self._raise_alarms({layer: _tallies.totals(parts) for layer, parts in found.items()})
        for logger in self._log_to:
            loggers.log(self, logger)

    def _watch_if_due(self) -> None:
        self._is_due = self._started and self._step % self._every == 0
        if self._started:
            self._heads.watch(self._is_due)

    @property
    def _tallies(self) -> dict[str, dict[str, Tensor]]:
        """What the step has so far, ``[heads]`` each."""
        return self._heads.by_layer()

    # ---- results ----

    @property
    def last(self) -> dict[str, LayerRecord]:
        """The newest step of :attr:`history`; empty before there is one."""
        return self.history[next(reversed(self.history))] if self.history else {}

    @property
    def last_step(self) -> Optional[int]:
        """The number of :attr:`last`."""
        return next(reversed(self.history), None)

    def scalars(self, heads: bool = True) -> dict[str, float]:
        """The newest step for a logger: ``{"attention/<layer>/head<h>/entropy": value, ...}``.

        ``heads=False``: ``{"attention/<layer>/entropy": value, ...}``, the mean over the heads; of maxima the largest, of
        the least normalised entropy the least.
        """
        if not heads:
            return {
                f"attention/{layer}/{statistic}": value
                for layer, record in self.last.items()
                for statistic, value in loggers.by_layer(record).items()
            }
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
