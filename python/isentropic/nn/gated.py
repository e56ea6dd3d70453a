"""The gated attention unit."""

from __future__ import annotations

from typing import Optional, Sequence, Union

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._aux import Aux
from ..maps import ScoreMap
from .base import AttentionModule


class GatedAttentionUnit(AttentionModule):
    """Gated attention unit, ``o = (u * A v) W_O``: single-head attention and a feed-forward layer in one.

    With ``phi`` the SiLU: ``u = phi(x W_U)``, ``v = phi(x W_V)``, ``z = phi(x W_Z)``; queries and keys are both made
    from z, each with its own learnt gain and offset; ``A = max(q.k / sqrt d_shared, 0)^2 / visible keys`` unless
    ``map`` and ``scale`` say otherwise.

    Args:
        d_model: features of the input and of the output.
        expansion: features of u and v, as a multiple of ``d_model``.
        d_shared: features of z.
        bias: whether the projections have a bias.
        options: arguments of :class:`isentropic.nn.base.AttentionModule`.
    """

    def __init__(
        self,
        d_model: int,
        expansion: float = 2.0,
        d_shared: int = 128,
        *,
        map: Union[None, str, ScoreMap] = "relu_squared",
        bias: bool = True,
        device=None,
        dtype=None,
        **options,
    ):
        width = int(expansion * d_model)
        if width < 1:
            raise ValueError(f"expansion is {expansion}; expected at least one feature from d_model = {d_model}")
        super().__init__(1, d_shared, map=map, device=device, dtype=dtype, **options)
        self.d_model = d_model
        self.W_U = nn.Linear(d_model, width, bias=bias, device=device, dtype=dtype)
        self.W_V = nn.Linear(d_model, width, bias=bias, device=device, dtype=dtype)
        self.W_Z = nn.Linear(d_model, d_shared, bias=bias, device=device, dtype=dtype)
        self.W_O = nn.Linear(width, d_model, bias=bias, device=device, dtype=dtype)
        for name in ("query", "key"):
            self.register_parameter(f"{name}_gain", nn.Parameter(torch.ones(d_shared, device=device, dtype=dtype)))
            self.register_parameter(f"{name}_offset", nn.Parameter(torch.zeros(d_shared, device=device, dtype=dtype)))

    def forward(
        self,
        x: Tensor,
        mask: Optional[Tensor] = None,
        *,
        weights_of_rows: Optional[Sequence[int]] = None,
        key_lengths: Union[None, Tensor, Sequence[int]] = None,
        documents: Union[None, Tensor, Sequence[int]] = None,
        seed: Optional[int] = None,
    ) -> tuple[Tensor, Aux]:
        """Maps ``[batch, n, d_model]`` to ``[batch, n, d_model]`` and an :class:`isentropic.Aux` of ``[batch, 1, n]``
        statistics. The other arguments are those of :class:`isentropic.nn.MultiHeadAttention`."""
        if x.dim() != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x has shape {list(x.shape)}; expected [batch, n, {self.d_model}]")
        places = self.places(x, x, key_lengths, documents)
        shared = F.silu(self.W_Z(self.positions.of_inputs(x, places[1]))).unsqueeze(1)
        query = shared * self.query_gain + self.query_offset
        key = shared * self.key_gain + self.key_offset
        value = F.silu(self.W_V(x)).unsqueeze(1)
        output, aux = self.attend(
            query, key, value, places, mask, weights_of_rows=weights_of_rows, key_lengths=key_lengths,
            documents=documents, seed=seed,
        )  # fmt: skip
        return self.W_O(F.silu(self.W_U(x)) * output.squeeze(1)), aux
