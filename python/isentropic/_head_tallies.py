"""Tallies of every attention head of a model since they were last read, in eager mode and in compiled graphs."""

from __future__ import annotations

from typing import Callable, Container, Iterator, Optional

import torch
from torch import Tensor, nn

from . import _observe, _tallies, _traced, _unseen, _vocabulary
from ._aux import Aux
from ._layers import RunningLayer, repeats_a_forward
from ._reduce import Entry, Tallies
from ._tallies import Fields, Tally


class HeadTallies:
    """One :class:`Tally` for each layer; calls add to it, :meth:`clear` empties it.

    Args:
        columns: some of ``_tallies.COLUMNS``.
        fewest_keys: rows that see fewer keys do not count for normalised entropy.
        observer: name of the observer in warnings about attention that is not seen; None: no warnings.
        strict: raise an error for scores that cannot be recovered from behind a soft cap.
    """

    detach = True  # nothing of the graph is kept
    groups = _observe.USUAL_GROUPS

    def __init__(
        self,
        model: nn.Module,
        columns: tuple[str, ...],
        fewest_keys: int,
        observer: Optional[str],
        strict: bool = False,
    ):
        model = model._modules.get(_unseen.COMPILED, model)
        self.columns, self.fewest_keys, self.strict = columns, fewest_keys, strict
        self.statistics = _statistics(columns)
        self.layer = RunningLayer(model, observer, traced=True)
        self._model = model
        self._recipe: Optional[_traced.Recipe] = None
        self._tallies: dict[tuple[str, int], dict[tuple, Tally]] = {}  # by module and call
        self._wrapped: list[tuple[nn.Module, str, Callable, Callable]] = []

    # ---- watching ----

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules that may call attention, by name."""
        return self.layer.modules

    def start(self) -> None:
        slot = _traced.open_slot(self)
        self._recipe = _traced.Recipe(slot, self.statistics, self.columns, self.fewest_keys, self.strict, self.groups)
        self._tallies = {}
        self.layer.start()
        for name, module in self.modules.items():
            self._adopt(name, _traced.attach(module, slot))
        self.clear()
        self._wrap_compiled_modules()

    def stop(self, failed: bool = False) -> None:
        """``failed``: after an error, there are no warnings about what was not seen."""
        self.watch(False)
        for module, attribute, call, wrapper in self._wrapped:
            if module.__dict__.get(attribute) is wrapper:
                module.__dict__[attribute] = call
        self._wrapped.clear()
        for module in self.modules.values():
            _traced.detach(module, self._recipe.slot)
        _traced.close_slot(self._recipe.slot)
        self.layer.stop(failed)

    def watch(self, on: bool) -> None:
        """Sets whether attention that runs from now on counts."""
        self.layer.expects_reports = on
        (_observe.watch if on else _observe.unwatch)(self)
        _traced.watch(self._recipe, on)

    def observe(self, aux: Aux, call: _observe.Call) -> None:
        """Called by :func:`isentropic.attention` outside graphs."""
        module = self.layer.next_call()
        statistics, query = aux.as_dict(), call.problem.query
        if module is None or not statistics or query.shape[0] == 0 or query.shape[2] == 0:
            return
        cap = call.problem.undoable_cap(self.strict)
        held = _tallies.fields(statistics, self.columns, cap is not None)
        tally = self.tally(*module, held, query.shape[1], query.device)
        tally.add(*_tallies.measure(statistics, held, self.fewest_keys, cap))

    def tally(self, name: str, call: int, held: Fields, heads: int, device: torch.device) -> Tally:
        """The tally of a module's ``call``-th call in a forward pass, at the same address each time."""
        of_call = self._tallies.setdefault((name, call), {})
        key = (held, heads, str(device))
        if key not in of_call:
            if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
                raise RuntimeError(
                    f"{self.layer.label(name, call)} is first seen while a CUDA graph is captured; expected a forward pass "
                    "before the capture"
                )
            of_call[key] = Tally(held, heads, device)
        return of_call[key]

    # ---- reading ----

    def of_modules(self) -> Iterator[tuple[str, Tally]]:
        """All tallies, with the names of their modules."""
        for (name, _), of_call in self._tallies.items():
            for tally in of_call.values():
                yield name, tally

    def entries(self) -> Tallies:
        """All tallies, by the names that they have on every rank."""
        found: Tallies = {}
        for (name, call), of_call in self._tallies.items():
            for tally in of_call.values():
                entry = Entry(self.layer.label(name, call), tally.fields, tally.heads)
                found.setdefault(entry, []).append(tally)
        return found

    def by_layer(self) -> dict[str, dict[str, Tensor]]:
        """``{layer: {field: [heads]}}`` at present, for the layers that were called."""
        named = [(entry.layer, tally.by_name()) for entry, tallies in self.entries().items() for tally in tallies]
        return {layer: fields for layer, fields in named if "calls" not in fields or fields["calls"].any()}

    def note_reports(self, layers: Container[str]) -> None:
        """Notes that these layers reported, in graphs or outside them."""
        for name, call in self._tallies:
            if self.layer.label(name, call) in layers:
                self.layer.saw(name)

    def clear(self) -> None:
        _tallies.clear(tally for _, tally in self.of_modules())
        _traced.forget()

    # ---- compiled graphs ----

    def _adopt(self, name: str, box: _traced.Box) -> None:
        """Takes over the tallies that graphs traced for an earlier observer add to."""
        for key, tally in vars(box).items():
            if isinstance(tally, Tally) and _traced.belongs_to(key, self._recipe):
                call = _traced.call_of(key)
                self._tallies.setdefault((name, call), {})[tally.fields, tally.heads, str(tally.sums.device)] = tally

    def _wrap_compiled_modules(self) -> None:
        """Makes forward passes that checkpointing repeats outside the graph count once."""
        for name, module in self._model.named_modules():
            attribute = "forward" if _unseen.COMPILED in module._modules else "_compiled_call_impl"
            call = module.__dict__.get(attribute)
            if call is not None and _unseen.is_compiled(module):
                inside = {name for name, _ in module.named_modules(prefix=name)}
                wrapper = module.__dict__[attribute] = self._counting_once(call, inside)
                self._wrapped.append((module, attribute, call, wrapper))

    def _counting_once(self, call: Callable, inside: set[str]) -> Callable:
        def run(*args, **kwargs):
            if torch.compiler.is_compiling() or not repeats_a_forward():
                return call(*args, **kwargs)
            tallies = [tally for (name, _), of in self._tallies.items() if name in inside for tally in of.values()]
            now = [tensor for tally in tallies for tensor in (tally.sums, tally.maxima)]
            before = [tensor.clone() for tensor in now]
            try:
                return call(*args, **kwargs)
            finally:
                if now:
                    torch._foreach_copy_(now, before)

        return run


def _statistics(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The statistics that must be measured for these columns."""
    wanted = [name for name in columns if name in _vocabulary.STATISTICS]
    if "least_normalised_entropy" in columns and "normalised_entropy" not in wanted:
        wanted.append("normalised_entropy")
    if "max_uncapped_score" in columns and "max_score" not in wanted:
        wanted.append("max_score")
    needs_rows = any(name in _tallies.MEANS for name in wanted)
    return ("visible", *wanted) if needs_rows else tuple(wanted)
