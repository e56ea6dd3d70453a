"""Tracks which layer of a model is running, and which of its attention was never seen."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import OrderedDict
from types import CodeType, FunctionType
from typing import Optional

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from . import _traced, _unseen

_free_ids: list[int] = []  # of removed hooks, to be used again: compiled graphs know them
_codes: weakref.WeakKeyDictionary[type, dict[str, CodeType]] = weakref.WeakKeyDictionary()


class RunningLayer:
    """Names the innermost module of a model whose forward has begun.

    A module is recognised by its call; one whose ``forward`` is called directly has the name of the module around it.

    A warning points out attention that runs and does not report, once, and how to fix it: ``observer`` is the name of
    who does not see it; None: no warnings. ``traced``: the observer also sees what runs in compiled graphs.
    """

    def __init__(self, model: nn.Module, observer: Optional[str], traced: bool = False):
        self._model = model
        self._observer = observer
        self._traced = traced
        self._hook_id: Optional[int] = None
        self._here = threading.local()  # every thread runs its own modules
        self.modules: dict[str, nn.Module] = {}  # with hooks: modules that may call attention
        self.expects_reports = True  # whether attention that runs now is to report

    def start(self) -> None:
        self._here = threading.local()
        self.ran: dict[str, nn.Module] = {}
        self.reported: set[str] = set()  # with the modules around
        self._named: set[str] = set()
        if not self._traced:
            self._warn(_unseen.compiled(self._model))
        self._hook_id = _free_ids.pop() if _free_ids else RemovableHandle(OrderedDict()).id
        modules = self._model.named_modules()
        self.modules = {name: module for name, module in modules if name == "" or _may_call_attention(module)}
        for name, module in self.modules.items():
            self._hook(module, name)

    def stop(self, failed: bool = False) -> None:
        """``failed``: after an error, there are no warnings about what was not seen."""
        if self._hook_id is None:
            return
        for module in self.modules.values():
            for hooks in (module._forward_pre_hooks, module._forward_hooks, module._forward_hooks_always_called):
                hooks.pop(self._hook_id, None)
        _free_ids.append(self._hook_id)
        self._hook_id = None
        if not failed:
            self._point_out(at_the_end=True)

    def next_call(self) -> Optional[tuple[str, int]]:
        """The current call: the name of the module, and the number of this call in the same forward pass, from 1.

        A forward pass is that of the outermost module that was called. None outside the model, and while activation
        checkpointing repeats a forward pass for the backward pass.
        """
        if not self._running or repeats_a_forward():
            return None
        self.reported.update(self._running)
        name = self._running[-1]
        calls = self._here.calls[name] = self._here.calls.get(name, 0) + 1
        return name, calls

    def next_label(self) -> Optional[str]:
        """A name for the current call: the layer's, with #2, #3, ... for further calls in the same forward pass."""
        call = self.next_call()
        return None if call is None else self.label(*call)

    def label(self, name: str, call: int) -> str:
        """The name of the ``call``-th call of a module in one forward pass."""
        shown = ".".join(part for part in name.split(".") if part != _unseen.COMPILED) or type(self._model).__name__
        return shown if call == 1 else f"{shown}#{call}"

    def saw(self, name: str) -> None:
        """Notes that a module reported from a compiled graph."""
        parts = name.split(".")
        self.reported.update(".".join(parts[:depth]) for depth in range(len(parts) + 1))

    @property
    def _running(self) -> list[str]:
        """The modules around us, outermost first."""
        return self._here.__dict__.setdefault("names", [])

    def _hook(self, module: nn.Module, name: str) -> None:
        # Guards of a graph must not differ between the layers that share it: neither by a name nor by a hook's number.
        def enter(running: nn.Module, *_) -> None:
            if torch.compiler.is_compiling():
                if self._traced:
                    _traced.enter(running)
                return
            if _is_a_copy(running, module):
                return
            if not self._running:
                self._here.calls = {}
            self._running.append(name)
            if self.expects_reports and not repeats_a_forward():
                self.ran[name] = module

        def leave(running: nn.Module, *_) -> None:
            if torch.compiler.is_compiling():
                if self._traced:
                    _traced.leave()
                return
            if _is_a_copy(running, module) or not self._running:  # empty when watching began inside the forward pass
                return
            self._running.pop()
            failed = sys.exc_info()[0] is not None
            if name == "" and not self._running and self.expects_reports and not failed:
                self._point_out()

        module._forward_pre_hooks[self._hook_id] = _with_own_code(enter, type(module))
        module._forward_hooks[self._hook_id] = _with_own_code(leave, type(module))
        module._forward_hooks_always_called[self._hook_id] = True

    def _point_out(self, at_the_end: bool = False) -> None:
        if not self._traced:
            self._warn(_unseen.compiled(self._model))
        ran = self.ran | (_unseen.in_graphs(self._model) if self._traced and at_the_end else {})
        self._warn(_unseen.attention(self._model, ran, self.reported))
        runs_in_a_graph = self._traced and not at_the_end and bool(_unseen.compiled(self._model))
        if not self.reported and not self._named and not runs_in_a_graph:
            self._warn({"": _unseen.nothing(self._model, bool(ran))})

    def _warn(self, reasons: dict[str, str]) -> None:
        """Warns about modules that were not named before."""
        if self._observer is None:
            return
        new = {name: why for name, why in reasons.items() if name not in self._named}
        _unseen.warn(self._observer, self._model, new)
        self._named.update(reasons)


def _is_a_copy(running: nn.Module, module: nn.Module) -> bool:
    """Whether ``running`` is another model's: copy.deepcopy, as for an average of weights, copies hooks as well.

    The replicas of nn.DataParallel are copies, too, but run in the place of the module.
    """
    return running is not module and not getattr(running, "_is_replica", False)


def repeats_a_forward() -> bool:
    return torch._C._current_graph_task_id() != -1


def _with_own_code(hook: FunctionType, kind: type) -> FunctionType:
    """The hook with code of its own for each class of modules.

    Dynamo may compile a hook separately, once for each class that it meets, and only so often for the same code.
    """
    name = hook.__code__.co_name
    code = _codes.setdefault(kind, {}).setdefault(name, hook.__code__.replace(co_name=f"{name}_{kind.__name__}"))
    return FunctionType(code, hook.__globals__, name, None, hook.__closure__)


def _may_call_attention(module: nn.Module) -> bool:
    """False for PyTorch's own layers without submodules, which are most of a model."""
    is_plain = type(module).__module__.startswith("torch.nn.modules.") and not module._modules
    return not is_plain or "forward" in module.__dict__
