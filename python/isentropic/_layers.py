"""Which layer of a model is running, and which of its attention was never seen."""

from __future__ import annotations

import sys
import threading
from typing import Optional

import torch
from torch import nn

from . import _unseen


class RunningLayer:
    """Names the innermost module of a model whose forward has begun.

    A module is known by its call; one whose ``forward`` is called directly goes by the name of the module around it.

    Attention that runs and does not report is pointed out, once, with what to do: ``observer`` is who sees nothing;
    None: nobody is told.
    """

    def __init__(self, model: nn.Module, observer: Optional[str]):
        self._model = model
        self._observer = observer
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._here = threading.local()  # every thread runs its own modules
        self.expects_reports = True  # whether attention that runs now is to report

    def start(self) -> None:
        self._here = threading.local()
        self.ran: dict[str, nn.Module] = {}
        self.reported: set[str] = set()  # with the modules around
        self._named: set[str] = set()
        self._warn(_unseen.compiled(self._model))
        for name, module in self._model.named_modules():
            self._hook(module, name)

    def stop(self, failed: bool = False) -> None:
        """``failed``: an error ends it all, and is told instead of what was not seen."""
        for handle in self._handles:
            handle.remove()
        if self._handles and not failed:
            self._point_out()
        self._handles.clear()

    def next_call(self) -> Optional[str]:
        """A name for what is called now: the layer's, with #2, #3, ... for further calls in the same forward.

        A forward is that of the outermost module which was called. None outside of the model, and while activation
        checkpointing repeats a forward for the backward pass.
        """
        if not self._running or _repeats_a_forward():
            return None
        self.reported.update(self._running)
        name = self._running[-1] or type(self._model).__name__
        calls = self._here.calls[name] = self._here.calls.get(name, 0) + 1
        return name if calls == 1 else f"{name}#{calls}"

    @property
    def _running(self) -> list[str]:
        """The modules around us, outermost first."""
        return self._here.__dict__.setdefault("names", [])

    def _hook(self, module: nn.Module, name: str) -> None:
        # Hooks in a compiled graph would break it; it cannot report in any case.
        def enter(*_) -> None:
            if torch.compiler.is_compiling():
                return
            if not self._running:
                self._here.calls = {}
            self._running.append(name)
            if self.expects_reports and not _repeats_a_forward():
                self.ran[name] = module

        def leave(*_) -> None:
            if torch.compiler.is_compiling() or not self._running:  # empty when watching began inside of the forward
                return
            self._running.pop()
            failed = sys.exc_info()[0] is not None
            if name == "" and not self._running and self.expects_reports and not failed:
                self._point_out()

        self._handles.append(module.register_forward_pre_hook(enter))
        self._handles.append(module.register_forward_hook(leave, always_call=True))

    def _point_out(self) -> None:
        self._warn(_unseen.compiled(self._model) | _unseen.attention(self._model, self.ran, self.reported))
        if not self.reported and not self._named:
            self._warn({"": _unseen.nothing(self._model, bool(self.ran))})

    def _warn(self, reasons: dict[str, str]) -> None:
        """Of modules that were not named before."""
        if self._observer is None:
            return
        new = {name: why for name, why in reasons.items() if name not in self._named}
        _unseen.warn(self._observer, self._model, new)
        self._named.update(reasons)


def _repeats_a_forward() -> bool:
    return torch._C._current_graph_task_id() != -1
