"""Isentropic: exact attention that measures itself.

output, aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
aux.entropy      # [batch, heads, n], nats, differentiable
"""

import pathlib

from . import _library

_library.load()

from .attention import (  # noqa: E402
    Aux,
    attention,
    attention_statistics,
    attention_weights,
    hierarchical_attention,
    key_mass,
)
from .collect import collect  # noqa: E402
from .losses import Loss, causal_lm_loss, info_nce, linear_cross_entropy, masked_lm_loss, nce  # noqa: E402
from .maps import ScoreMap  # noqa: E402
from .alarms import Alarm  # noqa: E402
from .monitor import Monitor  # noqa: E402
from .scales import Scale  # noqa: E402
from .sdpa import replace_sdpa  # noqa: E402
from ._scan import Comparison, Scan, scan  # noqa: E402

from . import hf, nn, regularisers  # noqa: E402
from .nn import EntropyInvariantAttention  # noqa: E402

__version__ = pathlib.Path(__file__).with_name("version.txt").read_text().strip()  # written by the build

__all__ = [
    "Alarm",
    "Aux",
    "Comparison",
    "EntropyInvariantAttention",
    "Loss",
    "Monitor",
    "Scale",
    "Scan",
    "ScoreMap",
    "attention",
    "attention_statistics",
    "attention_weights",
    "causal_lm_loss",
    "collect",
    "hf",
    "hierarchical_attention",
    "info_nce",
    "key_mass",
    "linear_cross_entropy",
    "masked_lm_loss",
    "nce",
    "nn",
    "regularisers",
    "replace_sdpa",
    "scan",
]
