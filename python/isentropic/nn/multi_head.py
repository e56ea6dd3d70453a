"""Multi-head attention: four projections around the heads."""

from __future__ import annotations

from typing import Optional, Sequence, Union

from torch import Tensor, nn

from .._aux import Aux
from .base import AttentionModule


class MultiHeadAttention(AttentionModule):
    """Multi-head attention that also returns information statistics of every row.

    Args:
        d_model: features of the queries and of the output.
        num_heads: number of query heads; must divide ``d_model``.
        num_kv_heads: number of key and value heads; must divide ``num_heads``, which is the default.
        kdim: features of the keys; ``d_model`` by default.
        vdim: features of the values; ``d_model`` by default.
        bias: whether the projections have a bias.
        options: arguments of :class:`isentropic.nn.base.AttentionModule`: ``scale``, ``map``, ``dropout``, ``causal``,
            ``window``, ``strided``, ``block_sparse``, ``segments``, ``positions``, ``base``, ``max_distance``,
            ``statistics``, ``groups``.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: Optional[int] = None,
        kdim: Optional[int] = None,
        vdim: Optional[int] = None,
        bias: bool = True,
        device=None,
        dtype=None,
        **options,
    ):
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if num_heads < 1 or d_model < 1 or d_model % num_heads:
            raise ValueError(f"num_heads is {num_heads}; expected a divisor of d_model = {d_model}")
        if num_kv_heads < 1 or num_heads % num_kv_heads:
            raise ValueError(f"num_kv_heads is {num_kv_heads}; expected a divisor of num_heads = {num_heads}")
        super().__init__(num_heads, d_model // num_heads, device=device, dtype=dtype, **options)
        self.d_model, self.num_kv_heads = d_model, num_kv_heads
        self.kdim, self.vdim = kdim or d_model, vdim or d_model
        of_keys = num_kv_heads * self.head_dim
        self.W_Q = nn.Linear(d_model, d_model, bias=bias, device=device, dtype=dtype)
        self.W_K = nn.Linear(self.kdim, of_keys, bias=bias, device=device, dtype=dtype)
        self.W_V = nn.Linear(self.vdim, of_keys, bias=bias, device=device, dtype=dtype)
        self.W_O = nn.Linear(d_model, d_model, bias=bias, device=device, dtype=dtype)

    def forward(
        self,
        Q: Tensor,
        K: Optional[Tensor] = None,
        V: Optional[Tensor] = None,
        mask: Optional[Tensor] = None,
        *,
        weights_of_rows: Optional[Sequence[int]] = None,
        key_lengths: Union[None, Tensor, Sequence[int]] = None,
        documents: Union[None, Tensor, Sequence[int]] = None,
        seed: Optional[int] = None,
    ) -> tuple[Tensor, Aux]:
        """
        Args:
            Q: ``[batch, n_q, d_model]``.
            K: ``[batch, n_k, kdim]``; Q by default.
            V: ``[batch, n_k, vdim]``; K by default.
            mask: boolean or integer, 0 hides a key: ``[batch, n_k]``, ``[n_q, n_k]``, ``[batch, n_q, n_k]`` or
                ``[batch, heads or 1, n_q, n_k]``. A row that sees no key gives 0 before ``W_O``.
            weights_of_rows: rows whose exact weights are returned in ``aux.weights``, ``[batch, heads, rows, n_k]``.
            key_lengths: number of valid keys of each batch entry, ``[batch]``.
            documents: offsets of packed documents, ``[documents + 1]`` or ``[batch, documents + 1]``, for
                self-attention.
            seed: seed of dropout and Gumbel noise.

        Returns:
            ``[batch, n_q, d_model]`` and an :class:`isentropic.Aux` of ``[batch, heads, n_q]`` statistics.
        """
        K = Q if K is None else K
        V = K if V is None else V
        self._check(Q, K, V)
        places = self.places(Q, K, key_lengths, documents)
        query = self._split(self.W_Q(self.positions.of_inputs(Q, places[0])), self.num_heads)
        key = self._split(self.W_K(self.positions.of_inputs(K, places[1])), self.num_kv_heads)
        value = self._split(self.W_V(V), self.num_kv_heads)
        output, aux = self.attend(
            query, key, value, places, mask, weights_of_rows=weights_of_rows, key_lengths=key_lengths,
            documents=documents, seed=seed,
        )  # fmt: skip
        return self.W_O(output.transpose(1, 2).flatten(2)), aux

    def _check(self, Q: Tensor, K: Tensor, V: Tensor) -> None:
        sizes = (("Q", Q, "n_q", self.d_model), ("K", K, "n_k", self.kdim), ("V", V, "n_k", self.vdim))
        for name, tensor, length, features in sizes:
            if tensor.dim() != 3 or tensor.shape[0] != Q.shape[0] or tensor.shape[-1] != features:
                raise ValueError(
                    f"{name} has shape {list(tensor.shape)}; expected [batch, {length}, {features}], with Q's batch"
                )
        if V.shape[1] != K.shape[1]:
            raise ValueError(f"V has {V.shape[1]} rows; expected {K.shape[1]}, as K")

    def _split(self, x: Tensor, heads: int) -> Tensor:
        """[batch, n, heads d] to [batch, heads, n, d]."""
        return x.unflatten(-1, (heads, self.head_dim)).transpose(1, 2)

    def extra_repr(self) -> str:
        own = [f"d_model={self.d_model}"]
        if self.num_kv_heads != self.num_heads:
            own.append(f"num_kv_heads={self.num_kv_heads}")
        return ", ".join((*own, super().extra_repr()))
