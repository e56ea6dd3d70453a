"""Score maps by name: from scores to weights."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Union

import torch

from . import _vocabulary
from ._checks import integer, number
from .scales import PerHead


@dataclasses.dataclass(frozen=True)
class ScoreMap:
    """A score map, created by the static method of its name.

    {table}

    alpha of entmax may be a tensor ``[]``, ``[1]`` or ``[heads]``, which receives a gradient.
    """

    name: str = "softmax"
    options: tuple[tuple[str, object], ...] = ()

    @staticmethod
    def named(map: Union[None, str, ScoreMap]) -> ScoreMap:
        """Converts to a map. None: softmax; a name: that map with its default options."""
        if map is None:
            return _USUAL
        if isinstance(map, ScoreMap):
            return map
        if isinstance(map, str):
            usual = _vocabulary.USUAL["maps"]
            if map not in usual:
                raise ValueError(f"map is '{map}'; expected a ScoreMap or one of {', '.join(usual)}")
            return getattr(ScoreMap, map)()
        raise TypeError(f"map is a {type(map).__name__}; expected a name or a ScoreMap")

    def __post_init__(self):
        self.checked_options()

    def checked_options(self) -> tuple[tuple[str, object], ...]:
        """The options by name, in the form the operators take: "tensor" in place of tensors."""
        known = _vocabulary.PARAMETERS["maps"][self.name]

        def checked(name: str, value: object) -> object:
            if isinstance(value, torch.Tensor) and known[name]["learnable"]:
                return "tensor"
            return _checked(f"{name} of the map {self.name}", known[name]["type"], value, name == "tau")

        return tuple((name, checked(name, value)) for name, value in self.options)

    def learnable(self) -> dict[str, object]:
        """The parameters that can have a gradient, by name."""
        known = _vocabulary.PARAMETERS["maps"][self.name]
        return {name: value for name, value in self.options if known[name]["learnable"]}

    def tensors(self) -> list[torch.Tensor]:
        return [value for value in self.learnable().values() if isinstance(value, torch.Tensor)]

    @property
    def is_random(self) -> bool:
        return self.name == "gumbel"

    @property
    def is_softmax(self) -> bool:
        return self.name in ("softmax", "gumbel", "top_k", "hard")


def _checked(full_name: str, kind: str, value: object, positive: bool) -> object:
    if kind == "integer":
        return integer(full_name, value)
    if kind == "per_head" and isinstance(value, (tuple, list)):
        return tuple(number(full_name, one) for one in value)
    if kind in ("per_head", "number"):
        return number(full_name, value, positive=positive)
    expected = bool if kind == "boolean" else str
    if not isinstance(value, expected):
        raise TypeError(f"{full_name} is {value!r}; expected {'True or False' if expected is bool else 'a name'}")
    return value


def _made(name: str, values: dict[str, object]) -> ScoreMap:
    return ScoreMap(name, tuple((key, tuple(x) if isinstance(x, list) else x) for key, x in values.items()))


_USUAL = ScoreMap()
_TYPES = {"per_head": PerHead, "integer": int, "number": float, "choice": str, "boolean": bool}
_vocabulary.add_constructors(ScoreMap, "maps", _TYPES, _made)
ScoreMap.__doc__ = inspect.cleandoc(ScoreMap.__doc__).format(table=_vocabulary.table("maps"))
