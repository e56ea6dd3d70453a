"""The statistics of every row of a model's attention, by layer."""

from __future__ import annotations

import contextlib
from typing import Iterable, Iterator, Union

from torch import nn

from . import _observe
from ._layers import RunningLayer
from ._aux import Aux


@contextlib.contextmanager
def collect(
    model: nn.Module, statistics: Union[str, Iterable[str]] = "all", *, detach: bool = True, keep: str = "last"
) -> Iterator[dict[str, Union[Aux, list[Aux]]]]:
    """Collects the statistics of every row, by layer: ``{layer: Aux}``, each statistic ``[batch, heads, n_q]``.

        with isentropic.collect(model, ("entropy", "visible"), detach=False) as layers:
            loss = model(**inputs).loss
        loss = loss + regulariser(layers)

    Works with any model whose modules call :func:`isentropic.attention`: those of :mod:`isentropic.nn`, of transformers
    with ``attn_implementation="isentropic"``, and any that calls PyTorch's attention inside
    :func:`isentropic.replace_sdpa`. A warning points out attention that cannot be observed. Layers are named as in
    :class:`isentropic.Monitor`.

    Args:
        model: any module.
        statistics: names of the statistics, or "all", which means all but those of key groups (``first_mass``,
            ``recent_mass``, ``entropy_without_first``, ``mean_distance``). Those that a call lacks are left out.
        detach: False keeps the gradient of the statistics, for use in a loss; the graph then lives as long as they do.
            With activation checkpointing, run the backward pass inside as well: it repeats the forward pass.
        keep: "last": each forward pass replaces the results of the one before. "all": ``{layer: [Aux, ...]}``, one for
            each forward pass, such as the steps of ``generate``.
    """
    if keep not in ("last", "all"):
        raise ValueError(f"keep is {keep!r}; expected 'last' or 'all'")
    collector = _Collector(model, _observe.checked_names(statistics), detach, keep == "all")
    collector.layer.start()
    _observe.watch(collector)
    failed = True
    try:
        yield collector.found
        failed = False
    finally:
        _observe.unwatch(collector)
        collector.layer.stop(failed)


class _Collector:
    groups = _observe.USUAL_GROUPS

    def __init__(self, model: nn.Module, statistics: _observe.Names, detach: bool, keeps_all: bool):
        self.statistics = statistics
        self.detach = detach
        self.layer = RunningLayer(model, "isentropic.collect")
        self.found: dict[str, Union[Aux, list[Aux]]] = {}
        self._keeps_all = keeps_all

    def observe(self, aux: Aux, call: _observe.Call) -> None:
        name = self.layer.next_label()
        if name is None:
            return
        if self._keeps_all:
            self.found.setdefault(name, []).append(aux)
            return
        self.found[name] = aux
        if "#" not in name:  # a new forward pass, which may make fewer calls
            further = 2
            while self.found.pop(f"{name}#{further}", None) is not None:
                further += 1
