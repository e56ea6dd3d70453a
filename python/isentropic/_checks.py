"""Mistakes of the caller, named."""

from typing import Callable


def require(condition: bool, message: Callable[[], str]) -> None:
    """ValueError with the message, which is put together only then: shapes may be symbols while a graph is traced."""
    if not condition:
        raise ValueError(message())
