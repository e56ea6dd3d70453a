"""Monitors the attention of a model during training or inference."""

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
from ._checks import hooked_optimizer, integer
from ._files import write_file
from ._head_tallies import HeadTallies
from ._reduce import Reduction, checked_group
from ._tallies import COLUMNS, LayerRecord
from .alarms import Alarm, Thresholds


class Monitor:
    """Records entropy, peak, largest score and more for every attention head of a model, step by step.

        with isentropic.Monitor(model, optimizer=optimizer) as monitor:
            train()
        monitor.last["layers.3.attention"]["entropy"][2]     # head 2, nats

    Every call of :func:`isentropic.attention` inside the model is monitored, in the same pass that computes it; run
    models that call PyTorch's attention inside :func:`isentropic.replace_sdpa`. A layer is the module that made the
    call; further calls in the same forward pass of the model get ``#2``, ``#3``, ... appended to its name, so that a
    layer that is used several times has an entry for each use.

    For every head the history contains the means over batch and rows of ``entropy`` (nats), ``effective_keys``,
    ``peak``, ``sink_mass`` (layers with sink logits) and, on request, ``first_mass``; the mean of
    ``normalised_entropy`` and its minimum, ``least_normalised_entropy``, over the rows that see at least
    ``fewest_keys`` keys; and the maximum of ``max_score`` (what QK-clip uses). Where scores go through a soft cap and
    no bias is added after it, ``max_uncapped_score`` is the maximum before the cap, ``cap atanh(max_score / cap)``; it
    saturates at about 8 times the cap, beyond which float32 has no score below the cap. Rows that see no key are not
    counted; where no row counts, the value is NaN.

    A step ends when ``optimizer`` has stepped or, without one, when :meth:`step` is called. All forward passes in
    between are combined, including those of accumulated micro-batches and of validation. The host waits for the device
    only then, once. Forward passes that activation checkpointing repeats in the backward pass are not counted again.

    Graphs of ``torch.compile`` are monitored as well, including those with ``fullgraph=True``: they add to tensors
    outside the graph, with one number per head for each sum or maximum, at fixed addresses. A graph that was compiled
    before the start is compiled once more; the original is used again after the end. A compiled module that is used
    several times has one entry for all uses, unless the model around it is compiled with it. A warning points out
    attention that cannot be observed, and how to fix it.

    With a ``group`` the results are reduced over its ranks, by two collectives per step, and every rank has the same
    history; all ranks must call :meth:`step` and :meth:`stop`. Without it each process monitors its own batch.

    Args:
        model: any module.
        optimizer: a step ends whenever this optimizer has stepped.
        every: monitor one step out of this many; no statistics are computed in the others.
        collapse: raise an alarm when the normalised entropy of a head falls below this; None: never.
        dispersion: raise an alarm when the normalised entropy of a head that was focused rises above this; None: never.
            A head is focused when its distance to 1 is more than twice that of ``dispersion`` (or its value is less
            than half of ``dispersion``), so an untrained model, whose heads attend everywhere, raises no alarm.
        fewest_keys: rows that see fewer keys do not count for normalised entropy.
        first_mass: also record the mass on the first key, which takes longer to compute.
        keep: number of steps kept in :attr:`history`; None: all.
        on_alarm: called with every new :class:`Alarm`.
        group: a process group, or a one-dimensional device mesh, whose ranks see parts of the same batch: data or
            context parallel ranks, not those that split the heads.
        log_to: a TensorBoard ``SummaryWriter``, a Weights & Biases run, or a list of them, which receive
            :meth:`scalars` after every monitored step (:mod:`isentropic.loggers`).

    Attributes:
        history: ``{step: {layer: {statistic: [value of head 0, value of head 1, ...]}}}``, oldest step first.
        alarms: the alarms so far. A head raises one when it crosses a threshold, and another only after it has come
            back; likewise when a statistic of its rows is NaN.
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
        self._optimizer = None if optimizer is None else hooked_optimizer(optimizer)
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

    # ---- monitoring ----

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
        """Stops monitoring, and ends the current step if anything was recorded in it."""
        self._stop(failed=False)

    def _stop(self, failed: bool) -> None:
        if not self._started:
            return
        if not failed or self._group is None:  # other ranks may not have failed, and would wait here
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
        """Ends the current step."""
        self._record()
        self._step += 1
        self._watch_if_due()

    def _record(self) -> None:
        """Adds what was observed in this step to the history."""
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
        """The sums and maxima of the step so far, ``[heads]`` each."""
        return self._heads.by_layer()

    # ---- results ----

    @property
    def last(self) -> dict[str, LayerRecord]:
        """The newest entry of :attr:`history`; empty before the first."""
        return self.history[next(reversed(self.history))] if self.history else {}

    @property
    def last_step(self) -> Optional[int]:
        """The step number of :attr:`last`; None before the first."""
        return next(reversed(self.history), None)

    def scalars(self, heads: bool = True) -> dict[str, float]:
        """Returns the newest step for a logger: ``{"attention/<layer>/head<h>/entropy": value, ...}``.

        ``heads=False``: ``{"attention/<layer>/entropy": value, ...}``, the mean over heads, except for maxima (the
        largest) and the least normalised entropy (the smallest).
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
        """Writes :attr:`history` as CSV, one line per step, layer and head. The file appears once it is complete."""
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
        """Writes :attr:`history` and :attr:`alarms` as one HTML page: curves of every head, a map for each step."""
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
    """A copy with None for NaN and infinities, which JSON cannot represent."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
