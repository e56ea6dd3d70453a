"""Observers see the statistics of every attention call that is made while they watch."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Iterable, Protocol, Union

import torch
from torch import Tensor

from . import _traced, _vocabulary
from ._aux import Aux

if TYPE_CHECKING:
    from ._problem import Problem

Names = Union[str, Iterable[str]]  # "all", or names of statistics

Groups = tuple[int, int]
USUAL_GROUPS: Groups = (1, 64)  # the groups of a group statistic that is requested by name only


@dataclasses.dataclass
class Call:
    """One call of attention: its problem, output and everything that was measured."""

    problem: Problem
    output: Tensor
    aux: Aux


class Observer(Protocol):
    """Receives the ``statistics`` of every call; those that a call does not have are left out of its report.

    Statistics of key groups are also left out where the caller or an earlier observer has other groups.
    """

    statistics: Names
    groups: Groups
    detach: bool  # from the graph

    def observe(self, aux: Aux, call: Call) -> None:
        """Receives the requested statistics of one call."""


_watching: list[Observer] = []


def watch(observer: Observer) -> None:
    if observer not in _watching:
        _watching.append(observer)


def unwatch(observer: Observer) -> None:
    if observer in _watching:
        _watching.remove(observer)


def is_watched() -> bool:
    """A compiled graph cannot report to observers; it adds to the tallies of those that keep some."""
    # Compilation is checked first: a graph that had read the list would be recompiled whenever the list changes.
    return _traced.is_watched() if torch.compiler.is_compiling() else bool(_watching)


def run(problem: Problem) -> tuple[Tensor, Aux]:
    """One pass with all statistics of caller and observers; the caller gets those that it asked for."""
    asked = _names(problem.text())
    is_traced = torch.compiler.is_compiling()
    observers = _traced.recipes if is_traced else tuple(_watching)
    groups = problem.groups or _first_groups(observers)
    wanted = [_wanted(problem, observer, groups) for observer in observers]
    together = tuple(dict.fromkeys(name for names in (asked, *wanted) for name in names))
    grouped = {"groups": groups} if _has_groups(together) else {}
    output, aux = problem.run_text(problem.text(statistics=together, **grouped))
    if is_traced:
        module, box = _traced.next_call()
        for recipe, names in zip(observers, wanted):
            _traced.observe(recipe, _part(aux, names, detached=True), problem, module, box)
    else:
        for observer, names in zip(observers, wanted):
            observer.observe(_part(aux, names, observer.detach), Call(problem, output, aux))
    return output, _part(aux, asked)


def checked_names(statistics: Names) -> Names:
    """ "all", or a tuple of known names."""
    if isinstance(statistics, str):
        statistics = statistics if statistics == "all" else (statistics,)
    if statistics == "all":
        return statistics
    try:
        names = tuple(statistics)
    except TypeError:
        raise TypeError(f"statistics is a {type(statistics).__name__}; expected names, or 'all'") from None
    for name in names:
        if name not in _vocabulary.STATISTICS:
            raise ValueError(f"statistics has {name!r}; expected 'all' or some of {', '.join(_vocabulary.STATISTICS)}")
    return names


def _first_groups(observers: Iterable[Observer]) -> Groups:
    """The groups of the first observer that asks for key groups."""
    for observer in observers:
        if observer.statistics != "all" and _has_groups(observer.statistics):
            return observer.groups
    return USUAL_GROUPS


def _has_groups(names: Iterable[str]) -> bool:
    return any(name in _vocabulary.GROUP_STATISTICS for name in names)


def _wanted(problem: Problem, observer: Observer, groups: Groups) -> tuple[str, ...]:
    """The requested statistics that this problem has; "all" means all but those of key groups."""
    statistics = observer.statistics
    there = _names(problem.text(statistics="all", groups=groups))
    if statistics == "all" or observer.groups != groups:
        there = tuple(name for name in there if name not in _vocabulary.GROUP_STATISTICS)
    if statistics == "all":
        return there
    return tuple(name for name in statistics if name in there)


def _names(text: str) -> tuple[str, ...]:
    from ._problem import names_of

    return tuple(name for group in names_of(text) for name in group)


def _part(aux: Aux, names: Iterable[str], detached: bool = False) -> Aux:
    there = aux.as_dict()
    part = {name: there[name].detach() if detached else there[name] for name in names}
    return Aux(part, aux._rows, aux._row_counts)
