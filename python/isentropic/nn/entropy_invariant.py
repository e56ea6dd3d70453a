"""Attention whose scale grows with log n."""

from __future__ import annotations

from typing import Optional, Union

from torch import Tensor
from torch.nn import Module

from .._aux import Aux
from ..scales import PerHead, Scale
from ._scale import learnt, with_kappa
from .multi_head import MultiHeadAttention


class EntropyInvariantAttention(MultiHeadAttention):
    """Multi-head attention with the scale ``kappa log n / d``, where n is the number of keys a row can see.

    Args:
        d_model: features of the queries and of the output.
        num_heads: number of query heads; must divide ``d_model``.
        kappa: one number, or one for each head.
        learn_kappa: makes kappa a parameter, one for each head (of a :class:`Scale`: every number of its law that can
            be learnt).
        scale: "log_n", "log_n_sqrt_d", "sqrt_log_n", "hybrid" (1 / sqrt d + kappa log n / d), "ssmax", "constant",
            "inverse_sqrt_d", "llama4"; or a :class:`Scale`, which brings its own numbers.
        options: arguments of :class:`isentropic.nn.MultiHeadAttention`.

    ``scale.kappa`` is the given or learnt kappa. ``controller`` is the
    :class:`isentropic.regularisers.TargetEntropyController` that sets kappa instead, if one is attached.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        kappa: PerHead = 1.0,
        *,
        learn_kappa: bool = False,
        scale: Union[str, Scale] = "log_n",
        **options,
    ):
        law = with_kappa(scale, kappa)
        if learn_kappa:
            law = learnt(law, num_heads, options.get("device"), options.get("dtype"))
        super().__init__(d_model, num_heads, scale=law, **options)
        self.controller: Optional[Module] = None

    def row_scale(self) -> Scale:
        return self.scale() if self.controller is None else self.scale(self.controller.kappa())

    def attend(self, *arguments, **options) -> tuple[Tensor, Aux]:
        output, aux = super().attend(*arguments, **options)
        if self.controller is not None and self.training:
            self.controller.observe(aux)
        return output, aux
