"""Isentropic: exact attention that measures itself.

    output, aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
    aux.entropy      # [batch, heads, n], nats, differentiable
"""

from . import _library

_library.load()

from .attention import Aux, attention, attention_statistics, attention_weights, key_mass  # noqa: E402
from .maps import ScoreMap  # noqa: E402
from .scales import Scale  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "Aux",
    "Scale",
    "ScoreMap",
    "attention",
    "attention_statistics",
    "attention_weights",
    "key_mass",
]
