"""Multi-head attention with other score maps and patterns. ``options`` are those of MultiHeadAttention."""

from __future__ import annotations

from typing import Optional, Sequence, Union

from ..maps import ScoreMap
from .multi_head import MultiHeadAttention


class TopKAttention(MultiHeadAttention):
    """Softmax over the ``keys`` largest scores of a row."""

    def __init__(self, d_model: int, num_heads: int, keys: int, **options):
        super().__init__(d_model, num_heads, map=ScoreMap.top_k(keys), **options)


class SigmoidAttention(MultiHeadAttention):
    """``1 / (1 + e^{-(s + offset)})`` for every key independently. An offset of -log n makes initial weights small."""

    def __init__(self, d_model: int, num_heads: int, offset: float = 0.0, normaliser: str = "none", **options):
        super().__init__(d_model, num_heads, map=ScoreMap.sigmoid(offset, normaliser), **options)


class ReluSquaredAttention(MultiHeadAttention):
    """``max(s, 0)^2``, by default over the number of visible keys. GatedAttentionUnit adds the gate."""

    def __init__(self, d_model: int, num_heads: int, normaliser: str = "visible", **options):
        super().__init__(d_model, num_heads, map=ScoreMap.relu_squared(normaliser), **options)


class GumbelAttention(MultiHeadAttention):
    """``softmax((s + noise) / tau)``; ``straight_through``: the output takes one key, gradients the relaxed weights.

    It also samples in evaluation mode; ``seed`` reproduces a sample.
    """

    def __init__(self, d_model: int, num_heads: int, tau: float = 1.0, straight_through: bool = False, **options):
        super().__init__(d_model, num_heads, map=ScoreMap.gumbel(tau, straight_through), **options)


class EntmaxAttention(MultiHeadAttention):
    """Entmax, whose weights may be exactly 0: softmax in the limit ``alpha = 1``, sparsemax at 2, sparser above.

    ``learn_alpha=True`` learns alpha for each head, starting from ``alpha``; ``alpha()`` returns the learnt values.
    """

    def __init__(self, d_model: int, num_heads: int, alpha: Union[float, Sequence[float]] = 1.5, **options):
        super().__init__(d_model, num_heads, map=ScoreMap.entmax(alpha), **options)


class LinearAttention(MultiHeadAttention):
    """``phi(q).phi(k)``; ``recurrent=True`` computes the same output in O(n); ``feature`` as for ScoreMap.linear.

    ``sharpen=c`` (``feature="exp"``) multiplies keys by ``c sqrt(2 log n)``, where n is the number of keys of a batch
    entry, so that weights spread less as n grows; the output of a row then depends on the total number of keys, even
    under a causal mask.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        feature: str = "elu_plus_one",
        *,
        normaliser: str = "l1",
        recurrent: bool = False,
        sharpen: float = 0.0,
        **options,
    ):
        map = ScoreMap.linear(feature, normaliser, recurrent=recurrent, sharpen=sharpen)
        super().__init__(d_model, num_heads, map=map, **options)


class DecayAttention(MultiHeadAttention):
    """Causal attention with decay: ``gamma^{i-j} q.k / sqrt d`` (retention, without its group norm).

    Args:
        gamma: one number, or one for each head; 1 - 2^{-5-head} by default.
        content: False uses ``gamma^{i-j}`` alone, normalised to sum to one; queries and keys are then ignored.
        recurrent: computes the same output in O(n).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        gamma: Union[None, float, Sequence[float]] = None,
        *,
        content: bool = True,
        recurrent: bool = False,
        causal: Optional[str] = "start",
        **options,
    ):
        if gamma is None:
            gamma = [1.0 - 2.0 ** (-5 - head) for head in range(num_heads)]
        if content:
            map = ScoreMap.linear("identity", "none", gamma, recurrent)
        else:
            map = ScoreMap.decay(gamma, recurrent=recurrent)
        super().__init__(d_model, num_heads, map=map, causal=causal, **options)


class SegmentedAttention(MultiHeadAttention):
    """Attention within segments of ``segment`` positions."""

    def __init__(self, d_model: int, num_heads: int, segment: int, **options):
        super().__init__(d_model, num_heads, segments=segment, **options)
