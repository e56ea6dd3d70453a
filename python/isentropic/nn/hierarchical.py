"""Attention in two levels."""

from __future__ import annotations

from typing import Optional, Sequence

from torch import Tensor

from .._aux import Aux
from ..attention import hierarchical_attention
from .multi_head import MultiHeadAttention


class HierarchicalAttention(MultiHeadAttention):
    """Multi-head attention in two levels: within blocks of keys, then over the blocks.

    ``aux`` contains ``entropy`` = ``block_entropy`` + ``within_entropy``, without gradient. Gradients treat scales as
    constants, so nothing in them can be learnt.

    Args:
        block: number of keys in a block; the last may be shorter.
        block_score: "log_partition" equals flat attention; "mean_key" scores blocks by
            ``block_scale * q.mean(keys of the block)``.
        block_scale: scale of the block scores for "mean_key"; 1 / sqrt d by default.
        options: arguments of :class:`isentropic.nn.MultiHeadAttention`, except ``map``, ``dropout``, ``statistics``,
            ``groups`` and relative positions.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        block: int,
        *,
        block_score: str = "log_partition",
        block_scale: Optional[float] = None,
        **options,
    ):
        unfit = sorted({"map", "dropout", "statistics", "groups"} & options.keys())
        if unfit:
            raise ValueError(f"{', '.join(unfit)} given to two-level attention; expected none of them")
        if block < 1:
            raise ValueError(f"block is {block}; expected at least 1")
        if block_score not in ("log_partition", "mean_key"):
            raise ValueError(f"block_score is {block_score!r}; expected 'log_partition' or 'mean_key'")
        super().__init__(d_model, num_heads, **options)
        if list(self.positions.parameters()) or list(self.scale.parameters()):
            raise ValueError("scale or positions would be learnt; expected constants, for they get no gradient here")
        self.block, self.block_score, self.block_scale = block, block_score, block_scale

    def attend(self, *arguments, weights_of_rows: Optional[Sequence[int]] = None, **options) -> tuple[Tensor, Aux]:
        if weights_of_rows is not None and self.block_score == "mean_key":
            raise ValueError("weights_of_rows is given with block_score 'mean_key'; expected 'log_partition'")
        return super().attend(*arguments, weights_of_rows=weights_of_rows, **options)

    def compute(self, query: Tensor, key: Tensor, value: Tensor, **options) -> tuple[Tensor, Aux]:
        return hierarchical_attention(
            query, key, value, self.block, block_score=self.block_score, block_scale=self.block_scale, return_aux=True,
            **options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, block={self.block}, block_score={self.block_score!r}"
