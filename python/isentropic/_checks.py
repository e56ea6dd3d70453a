"""Mistakes of the caller, named: the argument, its value and what was expected, in one line."""

from __future__ import annotations

import math
import operator
from typing import Callable

from torch import Tensor


def require(condition: bool, message: Callable[[], str]) -> None:
    """ValueError with the message, which is put together only then: shapes may be symbols while a graph is traced."""
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
    """``parts`` names the two for whoever gave anything else."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name} is {_shown(value)}; expected two integers, {parts}")
    return integer(name, value[0]), integer(name, value[1])


def number(name: str, value: object, positive: bool = False) -> float:
    """``value`` as a float; whether the type of the computation can hold it is for the library to say."""
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


def _shown(value: object) -> str:
    """Short: what was given may be a whole tensor."""
    return repr(value) if isinstance(value, (int, float, str, tuple, list, type(None))) else f"a {type(value).__name__}"
