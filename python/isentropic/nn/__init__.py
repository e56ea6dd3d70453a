"""Attention modules: projections, heads and positions around :func:`isentropic.attention`.

attention = isentropic.nn.EntropyInvariantAttention(d_model=512, num_heads=8, causal="start")
output, aux = attention(x)          # x [batch, n, 512]
aux.entropy                         # [batch, 8, n], nats, differentiable
"""

from .bottleneck import NoisyAttention, VariationalBottleneck, gaussian_rate
from .entropy_invariant import EntropyInvariantAttention
from .gated import GatedAttentionUnit
from .hierarchical import HierarchicalAttention
from .multi_head import MultiHeadAttention
from .variants import (
    DecayAttention,
    EntmaxAttention,
    GumbelAttention,
    LinearAttention,
    ReluSquaredAttention,
    SegmentedAttention,
    SigmoidAttention,
    TopKAttention,
)

__all__ = [
    "DecayAttention",
    "EntmaxAttention",
    "EntropyInvariantAttention",
    "GatedAttentionUnit",
    "GumbelAttention",
    "HierarchicalAttention",
    "LinearAttention",
    "MultiHeadAttention",
    "NoisyAttention",
    "ReluSquaredAttention",
    "SegmentedAttention",
    "SigmoidAttention",
    "TopKAttention",
    "VariationalBottleneck",
    "gaussian_rate",
]
