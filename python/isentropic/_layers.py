"""Which layer of a model is running."""

from __future__ import annotations

import threading
from typing import Optional

import torch
from torch import nn


class RunningLayer:
    """Names the innermost module of a model whose forward has begun.

    A module is known by its call; one whose ``forward`` is called directly goes by the name of the module around it.
    """

    def __init__(self, model: nn.Module):
        self._model = model
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._here = threading.local()  # every thread runs its own modules

    def start(self) -> None:
        self._here = threading.local()
        for name, module in self._model.named_modules():
            self._hook(module, name or type(module).__name__)

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def next_call(self) -> Optional[str]:
        """A name for what is called now: the layer's, with #2, #3, ... for further calls in the same forward.

        None outside of the model, and while activation checkpointing repeats a forward for the backward pass.
        """
        if not self._running or torch._C._current_graph_task_id() != -1:
            return None
        frame = self._running[-1]
        frame[1] += 1
        name, calls = frame
        return name if calls == 1 else f"{name}#{calls}"

    @property
    def _running(self) -> list[list]:
        """[name, calls so far] of the modules around us, outermost first."""
        return self._here.__dict__.setdefault("frames", [])

    def _hook(self, module: nn.Module, name: str) -> None:
        def enter(*_) -> None:
            self._running.append([name, 0])

        def leave(*_) -> None:
            if self._running:  # empty when watching began inside of the forward
                self._running.pop()

        self._handles.append(module.register_forward_pre_hook(enter))
        self._handles.append(module.register_forward_hook(leave, always_call=True))
