"""Scale laws by name: the scale of a row in score = scale * q.k."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Sequence, Union

import torch

from . import _vocabulary
from ._checks import integer, number

#: One number for all heads, one for each head, or a tensor ``[]``, ``[1]`` or ``[heads]``, which may be learnt.
PerHead = Union[float, Sequence[float], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Scale:
    """A scale law, created by the static method of its name.

    n is the number of keys the row can see: i + 1 under a causal mask, n_k in cross-attention.

    {table}

    Parameters given as tensors receive gradients, except the target of a target entropy.
    """

    law: str
    arguments: tuple[tuple[str, object], ...] = ()  # parameters by name, in their order

    @staticmethod
    def named(scale: Union[None, float, str, torch.Tensor, Scale]) -> Scale:
        """Converts to a law. None: 1 / sqrt d; a number or tensor: constant; a name: that law with its defaults."""
        if scale is None:
            return _USUAL
        if isinstance(scale, Scale):
            return scale
        if isinstance(scale, str):
            usual = _vocabulary.USUAL["scales"]
            if scale not in usual:
                raise ValueError(f"scale is '{scale}'; expected a number, a Scale or one of {', '.join(usual)}")
            return getattr(Scale, scale)()
        if isinstance(scale, (int, float, torch.Tensor)):
            return Scale("constant", (("value", scale),))
        raise TypeError(f"scale is a {type(scale).__name__}; expected a number, a name, a tensor or a Scale")

    def replaced(self, **values: object) -> Scale:
        """Returns the law with other values for some of its parameters."""
        return Scale(self.law, tuple((name, values.get(name, value)) for name, value in self.arguments))

    def learnable(self) -> dict[str, object]:
        """The parameters that can have a gradient, by name."""
        known = _vocabulary.PARAMETERS["scales"][self.law]
        return {name: value for name, value in self.arguments if known[name]["learnable"]}

    def get(self, name: str, otherwise: object = None) -> object:
        """The value of a parameter, or ``otherwise`` if the law has none of that name."""
        return dict(self.arguments).get(name, otherwise)

    def written(self) -> tuple[tuple[tuple[str, object], ...], list[torch.Tensor]]:
        """In the form the operators take: the law and its parameters by name, and those parameters that are tensors."""
        items: list[tuple[str, object]] = [("law", self.law)]
        tensors = []
        for name, value in self.arguments:
            if isinstance(value, torch.Tensor):
                tensors.append(value)
                items.append((name, "tensor"))
            else:
                items.append((name, self._checked(name, value)))
        if self.law == "per_row":
            return tuple(items[:1]), [_three_axes(rows) for rows in tensors]
        return tuple(items), tensors

    def _checked(self, name: str, value: object) -> object:
        full_name = "scale" if self.law == "constant" else f"{name} of the scale {self.law}"
        kind = _vocabulary.PARAMETERS["scales"][self.law][name]["type"]
        if kind == "integer":
            return integer(full_name, value)
        if kind == "choice":
            return value
        if kind == "per_head" and isinstance(value, (tuple, list)):
            return tuple(number(full_name, one) for one in value)
        return number(full_name, value)


def _three_axes(rows: torch.Tensor) -> torch.Tensor:
    while rows.dim() < 3:
        rows = rows.unsqueeze(0)
    return rows.reshape(-1, *rows.shape[-2:])


_USUAL = Scale("inverse_sqrt_d")
_TYPES = {"per_head": PerHead, "integer": int, "number": float, "choice": str, "tensor": torch.Tensor}
_vocabulary.add_constructors(Scale, "scales", _TYPES, lambda law, values: Scale(law, tuple(values.items())))
Scale.__doc__ = inspect.cleandoc(Scale.__doc__).format(table=_vocabulary.table("scales"))
