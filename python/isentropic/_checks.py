"""Checks of arguments. Errors name the argument, its value and what was expected, in one line."""

from __future__ import annotations

import math
import operator
from typing import Callable

import torch
from torch import Tensor


def require(condition: bool, message: Callable[[], str]) -> None:
    """ValueError unless the condition holds. The message is made only then: while tracing, shapes may be symbols."""
    if not condition:
        raise ValueError(message())


def require_tensor(name: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}; expected a tensor")


def integer(name: str, value: object) -> int:
    """``value`` if it is an integer of 64 bits; a float is not one, whatever its value."""
    if isinstance(value, bool) or isinstance(value, float):
        raise TypeError(f"{name} is {value!r}; expected an integer")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {_shown(value)}; expected an integer") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name} is {number}; expected an integer of 64 bits, at most {2**63 - 1}")
    return number


def pair_of_integers(name: str, value: object, parts: str) -> tuple[int, int]:
    """``value`` if it is a pair of integers; ``parts`` names the two in the error message."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name} is {_shown(value)}; expected two integers, {parts}")
    return integer(name, value[0]), integer(name, value[1])


def number(name: str, value: object, positive: bool = False) -> float:
    """``value`` as a float; the library checks whether the type of the computation can hold it."""
    if isinstance(value, (bool, str)):
        raise TypeError(f"{name} is {value!r}; expected a number")
    try:
        found = float(value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is {_shown(value)}; expected a number") from None
    kind = "a positive number" if positive else "a number"
    if not math.isfinite(found) or (positive and found <= 0):
        raise ValueError(f"{name} is {found}; expected {kind}{'' if positive else ' that is finite'}")
    return found


def hooked_optimizer(value: object) -> torch.optim.Optimizer:
    """``value``, or the optimizer inside a wrapper such as accelerate's, whose own hooks are never called."""
    inner = getattr(value, "optimizer", None)
    found = inner if isinstance(inner, torch.optim.Optimizer) else value
    if not isinstance(found, torch.optim.Optimizer):
        raise TypeError(f"optimizer is a {type(value).__name__}; expected one of torch.optim")
    return found


def _shown(value: object) -> str:
    """A short form for messages: the value may be a whole tensor."""
    return repr(value) if isinstance(value, (int, float, str, tuple, list, type(None))) else f"a {type(value).__name__}"
