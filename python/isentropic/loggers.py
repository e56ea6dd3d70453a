"""Logs the results of a Monitor or QKClip to TensorBoard, Weights & Biases and the transformers Trainer.

monitor = isentropic.Monitor(model, optimizer=optimizer, log_to=SummaryWriter())    # or a wandb run; after every step
trainer = Trainer(model, args, callbacks=[isentropic.loggers.MonitorCallback()])
isentropic.loggers.log(clip, run)                                                    # once

None of these packages is imported before it is used.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import TYPE_CHECKING, Any, Optional

import torch.distributed as dist

if TYPE_CHECKING:
    from .monitor import Monitor


def log(source: Any, to: Any, *, step: Optional[int] = None, heads: bool = True) -> None:
    """Logs the newest step of a :class:`isentropic.Monitor` or :class:`isentropic.QKClip`.

    Args:
        source: the object whose ``scalars()`` are logged; NaN values are left out.
        to: a TensorBoard ``SummaryWriter``, or any object with ``add_scalar``; a Weights & Biases run, or any object
            with ``log``.
        step: step number to log. By default TensorBoard gets that of the monitor, and Weights & Biases adds the values
            to what is logged next.
        heads: log every head; False: one number per layer and statistic.
    """
    _check(to)
    scalars = {name: value for name, value in source.scalars(heads=heads).items() if not math.isnan(value)}
    if hasattr(to, "add_scalar"):
        usual = getattr(source, "last_step", None)
        for name, value in scalars.items():
            to.add_scalar(name, value, global_step=usual if step is None else step)
    elif step is None:
        to.log(scalars, commit=False)
    else:
        to.log(scalars, step=step)


def checked(to: Any) -> list:
    """One logger or several, as a list."""
    loggers = [] if to is None else list(to) if isinstance(to, (list, tuple)) else [to]
    for one in loggers:
        _check(one)
    return loggers


def _check(to: Any) -> None:
    if not hasattr(to, "add_scalar") and not callable(getattr(to, "log", None)):
        kinds = "a SummaryWriter of TensorBoard or a run of Weights & Biases: an object with add_scalar or log"
        raise TypeError(f"log_to is a {type(to).__name__}; expected {kinds}")


def by_layer(record: dict[str, list[float]]) -> dict[str, float]:
    """One number per statistic: the mean over heads; of maxima the largest, of minima and scales the smallest."""
    found = {}
    for name, values in record.items():
        known = [value for value in values if not math.isnan(value)]
        if known:
            extreme = max if name.startswith("max_") else min if name.startswith("least_") or name == "scale" else None
            found[name] = extreme(known) if extreme else sum(known) / len(known)
    return found


# ---- transformers ----


def __getattr__(name: str) -> type:
    if name == "MonitorCallback":
        try:
            base = importlib.import_module("transformers").TrainerCallback
        except ImportError as error:
            raise ImportError(
                "isentropic.loggers.MonitorCallback needs transformers: pip install transformers"
            ) from error
        callback = globals()["MonitorCallback"] = type("MonitorCallback", (_MonitorCallback, base), {})
        callback.__doc__ = _MonitorCallback.__doc__
        callback.__module__ = __name__
        return callback
    raise AttributeError(f"module 'isentropic.loggers' has no attribute '{name}'")


class _MonitorCallback:
    """Monitors the model that a transformers Trainer trains, and logs whenever the Trainer does.

        trainer = Trainer(model, args, callbacks=[isentropic.loggers.MonitorCallback(heads=False)])

    The values go to ``trainer.state.log_history``, to the active Weights & Biases run if there is one, and to
    ``log_to``. ``callback.monitor`` is the :class:`isentropic.Monitor`; with several processes its group contains all
    of them, unless the options say otherwise.

    Args:
        log_to: a logger, or a list of them, as for :func:`log`.
        heads: log every head; False: one number per layer and statistic.
        options: arguments of :class:`isentropic.Monitor`.
    """

    def __init__(self, log_to: Any = None, heads: bool = False, **options):
        self._log_to = checked(log_to)
        self._heads = heads
        self._options = options
        self.monitor: Optional[Monitor] = None

    def on_train_begin(self, args, state, control, model=None, **_) -> None:
        from .monitor import Monitor

        options = dict(self._options)
        if "group" not in options and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            options["group"] = dist.group.WORLD
        self.monitor = Monitor(model, **options).start()

    def on_step_end(self, args, state, control, **_) -> None:
        self.monitor.step()

    def on_train_end(self, args, state, control, **_) -> None:
        self.monitor.stop()

    def on_log(self, args, state, control, logs=None, **_) -> None:
        if self.monitor is None or not state.is_world_process_zero:
            return
        scalars = self.monitor.scalars(heads=self._heads)
        if state.log_history:
            state.log_history[-1].update(scalars)
        run = getattr(sys.modules.get("wandb"), "run", None)
        if run is not None:  # the Trainer plots its own values against this one, too
            run.log({**scalars, "train/global_step": state.global_step})
        for one in self._log_to:
            log(self.monitor, one, step=state.global_step, heads=self._heads)
