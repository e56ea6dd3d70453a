"""A scale law inside a module."""

from __future__ import annotations

import torch
from torch import nn

from .. import _vocabulary
from ..scales import PerHead, Scale


def _learnable(law: str) -> tuple[str, ...]:
    return tuple(name for name, one in _vocabulary.PARAMETERS["scales"][law].items() if one["learnable"])


def _with_one_factor() -> tuple[str, ...]:
    """Laws that kappa determines: they have one learnable parameter, and no other without a default."""
    return tuple(
        law
        for law in _vocabulary.WORDS["scales"]
        if len(_learnable(law)) == 1
        and all("default" in one or one["learnable"] for one in _vocabulary.PARAMETERS["scales"][law].values())
    )


def _without_factor() -> tuple[str, ...]:
    return tuple(law for law in _vocabulary.USUAL["scales"] if not _learnable(law))


class ScaleLaw(nn.Module):
    """Holds the tensors of a :class:`Scale` as those of a module: in its state and on its device."""

    def __init__(self, scale: Scale):
        super().__init__()
        self.law = scale.law
        values = scale.learnable() or {name: x for name, x in scale.arguments if isinstance(x, torch.Tensor)}
        self.names = tuple(values)
        self._scale = scale.replaced(**dict.fromkeys(values))  # with the numbers, which no module's state holds
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    @property
    def is_one_factor(self) -> bool:
        """Whether the scale is a number for each head times something fixed."""
        return len(_learnable(self.law)) == 1

    def values(self) -> tuple[PerHead, ...]:
        return tuple(getattr(self, name) for name in self.names)

    def forward(self, *values: PerHead) -> Scale:
        """The law with its own values, or with the given ones."""
        return self._scale.replaced(**dict(zip(self.names, values or self.values())))

    def extra_repr(self) -> str:
        held = dict(zip(self.names, self.values()))
        numbers = (
            f"{name}={held.get(name, value)}" for name, value in self._scale.arguments if name not in self._parameters
        )
        return ", ".join((self.law, *numbers))


def with_kappa(scale: str | Scale, kappa: PerHead) -> Scale:
    """The law named ``scale`` with the factor ``kappa``; a :class:`Scale` brings its own."""
    if isinstance(scale, Scale):
        if not _is_one(kappa):
            raise ValueError(f"kappa is {kappa} beside a Scale; expected the Scale alone, with its numbers inside")
        return scale
    if scale == "hybrid":
        return Scale.hybrid(1.0, kappa)
    if scale in _with_one_factor():
        return getattr(Scale, scale)(**{_learnable(scale)[0]: kappa})
    if scale in _without_factor():
        if not _is_one(kappa):
            raise ValueError(f"kappa is {kappa}; expected 1, for the scale '{scale}' has no kappa")
        return getattr(Scale, scale)()
    known = ", ".join((*_with_one_factor(), "hybrid", *_without_factor()))
    raise ValueError(f"scale is {scale!r}; expected {known}, or a Scale, e.g. Scale.frozen(1.0, n_max=4096)")


def learnt(scale: Scale, num_heads: int, device=None, dtype=None) -> Scale:
    """The law with its learnable numbers as parameters, one for each head."""
    if not scale.learnable():
        raise ValueError(f"learn_kappa is True; expected False, for the scale '{scale.law}' has nothing to learn")

    def parameter(name: str, value: PerHead) -> nn.Parameter:
        start = torch.as_tensor(value, device=device, dtype=dtype or torch.get_default_dtype())
        if start.numel() not in (1, num_heads):
            raise ValueError(f"{name} has {start.numel()} numbers; expected one, or one for each of {num_heads} heads")
        return nn.Parameter(start.detach().reshape(-1).expand(num_heads).clone())

    return scale.replaced(**{name: parameter(name, value) for name, value in scale.learnable().items()})


def _is_one(kappa: PerHead) -> bool:
    return isinstance(kappa, (int, float)) and kappa == 1
