"""A scale law inside a module."""

from __future__ import annotations

import inspect

import torch
from torch import nn

from ..scales import PerHead, Scale

_OF_KAPPA = {
    "log_n": Scale.log_n,
    "log_n_sqrt_d": Scale.log_n_sqrt_d,
    "sqrt_log_n": Scale.sqrt_log_n,
    "hybrid": lambda kappa: Scale.hybrid(1.0, kappa),
    "ssmax": Scale.ssmax,
    "constant": Scale.constant,
}
_WITHOUT_KAPPA = {"inverse_sqrt_d": Scale.inverse_sqrt_d, "llama4": Scale.llama4}
_NOT_LEARNABLE = ("per_row", "target_entropy")


class ScaleLaw(nn.Module):
    """Keeps the tensors of a :class:`Scale` where a module's tensors belong: in its state and on its device."""

    def __init__(self, scale: Scale):
        super().__init__()
        self.law, self.length, self.numbers, self.gradient = scale.law, scale.length, scale.numbers, scale.gradient
        names = list(inspect.signature(getattr(Scale, scale.law)).parameters)
        self.names = tuple(names[: len(scale.parameters)])
        for name, value in zip(self.names, scale.parameters):
            if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    @property
    def is_one_factor(self) -> bool:
        """Whether the scale is a number for each head times something fixed."""
        return len(self.names) == 1 and self.law not in _NOT_LEARNABLE

    def values(self) -> tuple[PerHead, ...]:
        return tuple(getattr(self, name) for name in self.names)

    def forward(self, *values: PerHead) -> Scale:
        """The law with its own values, or with the given ones."""
        return Scale(self.law, values or self.values(), self.length, self.numbers, self.gradient)

    def extra_repr(self) -> str:
        numbers = (f"{name}={getattr(self, name)}" for name in self.names if name not in self._parameters)
        return ", ".join((self.law, *numbers))


def with_kappa(scale: str | Scale, kappa: PerHead) -> Scale:
    """The law called ``scale`` with ``kappa`` as its factor; a :class:`Scale` has its own."""
    if isinstance(scale, Scale):
        if not _is_one(kappa):
            raise ValueError(f"kappa is {kappa} beside a Scale; expected the Scale alone, with its numbers inside")
        return scale
    if scale in _OF_KAPPA:
        return _OF_KAPPA[scale](kappa)
    if scale in _WITHOUT_KAPPA:
        if not _is_one(kappa):
            raise ValueError(f"kappa is {kappa}; expected 1, for the scale '{scale}' has no kappa")
        return _WITHOUT_KAPPA[scale]()
    known = ", ".join((*_OF_KAPPA, *_WITHOUT_KAPPA))
    raise ValueError(f"scale is {scale!r}; expected {known}, or a Scale, e.g. Scale.frozen(1.0, n_max=4096)")


def learnt(scale: Scale, num_heads: int, device=None, dtype=None) -> Scale:
    """The law with its numbers as parameters, one for each head."""
    if not scale.parameters or scale.law in _NOT_LEARNABLE:
        raise ValueError(f"learn_kappa is True; expected False, for the scale '{scale.law}' has nothing to learn")

    def parameter(value: PerHead) -> nn.Parameter:
        start = torch.as_tensor(value, device=device, dtype=dtype or torch.get_default_dtype())
        return nn.Parameter(start.detach().expand(num_heads).clone())

    return Scale(scale.law, tuple(parameter(value) for value in scale.parameters), scale.length, scale.numbers)


def _is_one(kappa: PerHead) -> bool:
    return isinstance(kappa, (int, float)) and kappa == 1
