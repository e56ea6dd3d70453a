"""Mistakes of the caller, named."""

from typing import Callable

from torch import Tensor


def require(condition: bool, message: Callable[[], str]) -> None:
    """ValueError with the message, which is put together only then: shapes may be symbols while a graph is traced."""
    if not condition:
        raise ValueError(message())


def require_tensor(name: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}; expected a tensor")
