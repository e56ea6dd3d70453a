"""The scale of a row: score = scale * q.k, by name."""

from __future__ import annotations

import dataclasses
from typing import Sequence, Union

import torch

from ._checks import integer, number

#: A number for all heads, one for each head, or a tensor ``[]``, ``[1]`` or ``[heads]``, which may be learnt.
PerHead = Union[float, Sequence[float], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Scale:
    """A scale law. n is the number of keys the row can see: i + 1 when causal, n_k in cross-attention.

    ==================  ====================================================================
    ``inverse_sqrt_d``  1 / sqrt d (the usual one)
    ``log_n``           kappa log n / d
    ``log_n_sqrt_d``    kappa log n / sqrt d
    ``sqrt_log_n``      kappa sqrt(log n / d)
    ``frozen``          kappa log n_max / d
    ``hybrid``          alpha / sqrt d + beta log n / d
    ``trained_length``  max(1, log n / log n_train) / sqrt d
    ``ssmax``           s log n
    ``yarn``            (0.1 mscale log(factor) + 1)^2 / sqrt d
    ``llama4``          (1 + coefficient log(1 + floor((p + 1) / step))) / sqrt d, p the position
    ``constant``        the number itself
    ``per_row``         a tensor ``[batch or 1, heads or 1, n_q]``
    ``target_entropy``  solved so that the row has the target entropy, in nats
    ==================  ====================================================================

    Parameters that are tensors get gradients, but for the target of a target entropy.
    """

    law: str
    parameters: tuple[PerHead, ...] = ()
    length: int = 0
    numbers: tuple[float, ...] = ()
    gradient: str = "detached"

    @staticmethod
    def inverse_sqrt_d() -> Scale:
        return Scale("inverse_sqrt_d")

    @staticmethod
    def log_n(kappa: PerHead = 1.0) -> Scale:
        return Scale("log_n", (kappa,))

    @staticmethod
    def log_n_sqrt_d(kappa: PerHead = 1.0) -> Scale:
        return Scale("log_n_sqrt_d", (kappa,))

    @staticmethod
    def sqrt_log_n(kappa: PerHead = 1.0) -> Scale:
        return Scale("sqrt_log_n", (kappa,))

    @staticmethod
    def frozen(kappa: PerHead, n_max: int) -> Scale:
        return Scale("frozen", (kappa,), length=n_max)

    @staticmethod
    def hybrid(alpha: PerHead, beta: PerHead) -> Scale:
        return Scale("hybrid", (alpha, beta))

    @staticmethod
    def trained_length(n_train: int) -> Scale:
        return Scale("trained_length", length=n_train)

    @staticmethod
    def ssmax(s: PerHead) -> Scale:
        return Scale("ssmax", (s,))

    @staticmethod
    def yarn(factor: float, mscale: float = 1.0) -> Scale:
        return Scale("yarn", numbers=(factor, mscale))

    @staticmethod
    def llama4(step: int = 8192, coefficient: float = 0.1) -> Scale:
        return Scale("llama4", length=step, numbers=(coefficient,))

    @staticmethod
    def constant(value: PerHead) -> Scale:
        return Scale("constant", (value,))

    @staticmethod
    def per_row(rows: torch.Tensor) -> Scale:
        return Scale("per_row", (rows,))

    @staticmethod
    def target_entropy(target: PerHead, gradient: str = "detached") -> Scale:
        """``gradient``: "detached" takes the solved scale as a constant, "implicit" moves it so that H stays."""
        return Scale("target_entropy", (target,), gradient=gradient)

    @staticmethod
    def named(scale: Union[None, float, str, torch.Tensor, Scale]) -> Scale:
        """None: 1 / sqrt d. A number or tensor: constant. A name: that law with its usual parameters."""
        if scale is None:
            return Scale.inverse_sqrt_d()
        if isinstance(scale, Scale):
            return scale
        if isinstance(scale, str):
            if scale not in _USUAL:
                raise ValueError(f"scale is '{scale}'; expected a number, a Scale or one of {', '.join(_USUAL)}")
            return _USUAL[scale]()
        if isinstance(scale, (int, float, torch.Tensor)):
            return Scale.constant(scale)
        raise TypeError(f"scale is a {type(scale).__name__}; expected a number, a name, a tensor or a Scale")

    def written(self, dtype: torch.dtype) -> tuple[dict, list[torch.Tensor]]:
        """As the operators take it: a description, and the parameters that are tensors.

        Numbers must be in the range of what is computed for queries of ``dtype``.
        """
        description: dict = {"law": self.law, "gradient": self.gradient}
        tensors = [parameter for parameter in self.parameters if isinstance(parameter, torch.Tensor)]
        if self.law == "per_row":
            return description, [_three_axes(rows) for rows in tensors]
        description["parameters"] = [self._written(parameter, dtype) for parameter in self.parameters]
        if self.length:
            description["length"] = integer(f"length of the scale {self.law}", self.length)
        if self.numbers:
            name = f"number of the scale {self.law}"
            description["numbers"] = tuple(number(name, one, dtype) for one in self.numbers)
        return description, tensors

    def _written(self, parameter: PerHead, dtype: torch.dtype) -> object:
        if isinstance(parameter, torch.Tensor):
            return "tensor"
        each = parameter if isinstance(parameter, (tuple, list)) else (parameter,)
        return tuple(
            number("scale" if self.law == "constant" else f"parameter of the scale {self.law}", one, dtype)
            for one in each
        )


def _three_axes(rows: torch.Tensor) -> torch.Tensor:
    while rows.dim() < 3:
        rows = rows.unsqueeze(0)
    return rows.reshape(-1, *rows.shape[-2:])


_USUAL = {
    "inverse_sqrt_d": Scale.inverse_sqrt_d,
    "log_n": Scale.log_n,
    "log_n_sqrt_d": Scale.log_n_sqrt_d,
    "sqrt_log_n": Scale.sqrt_log_n,
    "llama4": Scale.llama4,
}
