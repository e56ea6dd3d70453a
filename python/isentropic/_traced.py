"""Attention inside compiled graphs: which module it belongs to, and the tallies to which the graph adds.

A graph cannot call an observer, but it can add to tensors outside it. While it is traced, hooks tell which module runs,
as they do in eager mode, and every watched module carries a :class:`Box` with its tallies. Layers of one class thus
share a graph: the tally that it adds to is an attribute of the module, not a constant.

``recipes`` is a constant of the graph: a graph that was traced without observers is traced again when there is one.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple, Optional

import torch
from torch import nn

from . import _tallies
from ._aux import Aux

if TYPE_CHECKING:
    from ._head_tallies import HeadTallies
    from ._problem import Problem


class Recipe(NamedTuple):
    """What is measured of every call, in constants that a graph can compare."""

    slot: int
    statistics: tuple[str, ...]
    columns: tuple[str, ...]
    fewest_keys: int
    strict: bool
    groups: tuple[int, int]
    detach: bool = True


class Box:
    """Carried by a watched module: the tallies of its calls, by key; ``calls`` counts those in the current forward."""

    def __init__(self):
        self.calls = 0
        self.slots: tuple[int, ...] = ()  # of the observers of the module


ATTRIBUTE = "_isentropic_box"

recipes: tuple[Recipe, ...] = ()

_books: dict[int, HeadTallies] = {}  # by slot
_boxes: weakref.WeakKeyDictionary[nn.Module, Box] = weakref.WeakKeyDictionary()  # also of modules no longer watched
_stack: list[nn.Module] = []  # outermost first, of the forward pass being traced
_counted: list[Box] = []  # in that forward pass


# ---- before tracing ----


def open_slot(book: HeadTallies) -> int:
    """Takes the lowest free slot: the next observer finds the graphs and the tallies of the one before."""
    slot = next(slot for slot in range(len(_books) + 1) if slot not in _books)
    _books[slot] = book
    return slot


def close_slot(slot: int) -> None:
    del _books[slot]


def attach(module: nn.Module, slot: int) -> Box:
    box = _boxes.setdefault(module, Box())
    box.slots = tuple(sorted({*box.slots, slot}))
    module.__dict__[ATTRIBUTE] = box
    return box


def detach(module: nn.Module, slot: int) -> None:
    box = _boxes.get(module, Box())
    box.slots = tuple(other for other in box.slots if other != slot)
    if not box.slots:
        module.__dict__.pop(ATTRIBUTE, None)


def watch(recipe: Recipe, on: bool) -> None:
    global recipes
    others = tuple(other for other in recipes if other.slot != recipe.slot)
    recipes = tuple(sorted((*others, recipe))) if on else others


def forget() -> None:
    """Clears what a forward pass left that ended with an error between two graphs."""
    _stack.clear()
    _begin_anew()


def belongs_to(key: str, recipe: Recipe) -> bool:
    """Whether a graph for this recipe finds its tally under the key."""
    return key.startswith(f"{_mark(recipe.slot, recipe.columns, recipe.fewest_keys)}:")


def call_of(key: str) -> int:
    return int(key.split(":")[1])


def _mark(slot: int, columns: tuple[str, ...], fewest_keys: int) -> str:
    return f"{slot}/{fewest_keys}/{','.join(columns)}"


# ---- while tracing ----


def is_watched() -> bool:
    return len(recipes) > 0 and len(_stack) > 0


def enter(module: nn.Module) -> None:
    _with_effects(_stack.append, module)


def leave() -> None:
    _with_effects(_pop)


def next_call() -> tuple[nn.Module, Box]:
    module = _stack[-1]
    box = getattr(module, ATTRIBUTE)
    _with_effects(_count, box)
    return module, box


def observe(recipe: Recipe, aux: Aux, problem: Problem, module: nn.Module, box: Box) -> None:
    """Adds one call to the tally of its module."""
    statistics = aux.as_dict()
    if recipe.slot not in box.slots or not statistics or problem.query.shape[2] == 0 or problem.query.shape[0] == 0:
        return
    cap = problem.undoable_cap(recipe.strict)
    wanted = _tallies.fields(tuple(statistics), recipe.columns, cap is not None)
    device = problem.query.device
    key = _prepare(
        recipe.slot, recipe.fewest_keys, module.__class__.__qualname__, box.calls, wanted.sums, wanted.maxima,
        int(problem.query.shape[1]), device.type, device.index,
    )  # fmt: skip
    getattr(box, key).add(*_tallies.measure(statistics, wanted, recipe.fewest_keys, cap))


def _pop() -> None:
    if _stack:  # empty when watching began inside the forward pass
        _stack.pop()
    if not _stack:
        _begin_anew()


def _begin_anew() -> None:
    for box in _counted:
        box.calls = 0
    _counted.clear()


def _count(box: Box) -> None:
    box.calls += 1
    _counted.append(box)


def _with_effects(function, *arguments) -> None:
    """Inside a checkpoint, dynamo has to be told that effects on Python objects happen only once."""
    if hasattr(torch._dynamo.utils, "_disable_side_effect_safety_checks_for_current_subtracer"):
        torch._dynamo.utils._disable_side_effect_safety_checks_for_current_subtracer(function, *arguments)
    else:  # an older PyTorch, which refuses effects there
        function(*arguments)


@torch.compiler.assume_constant_result
def _prepare(
    slot: int,
    fewest_keys: int,
    kind: str,
    call: int,
    sums: tuple[str, ...],
    maxima: tuple[str, ...],
    heads: int,
    device_type: str,
    device_index: Optional[int],
) -> str:
    """Makes, while the graph is traced, the tally that it will find in the box under the returned key.

    All modules of the class get one: a graph that is traced for one of them serves the others.
    """
    held, device = _tallies.Fields(sums, maxima), torch.device(device_type, device_index)
    book = _books[slot]
    key = f"{_mark(slot, book.columns, fewest_keys)}:{call}:{heads}:{device}:{','.join((*sums, *maxima))}"
    for name, module in book.modules.items():
        if type(module).__qualname__ == kind:
            tally = book.tally(name, call, held, heads, device)
            for tensor in (tally.sums, tally.maxima):
                torch._dynamo.mark_static_address(tensor)  # CUDA graphs add to it in place
            setattr(_boxes[module], key, tally)
    return key
