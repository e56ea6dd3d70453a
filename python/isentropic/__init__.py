"""Isentropic: exact attention that measures itself.

output, aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
aux.entropy      # [batch, heads, n], nats, differentiable
"""

import importlib
import pathlib
from types import ModuleType
from typing import TYPE_CHECKING

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
from .losses import (  # noqa: E402
    Loss,
    causal_lm_loss,
    info_nce,
    linear_cross_entropy,
    masked_lm_loss,
    nce,
    soft_cross_entropy,
)
from .maps import ScoreMap  # noqa: E402
from .alarms import Alarm  # noqa: E402
from .monitor import Monitor  # noqa: E402
from .plane import InformationPlane  # noqa: E402
from .scales import Scale  # noqa: E402
from .sdpa import replace_sdpa  # noqa: E402
from ._scan import Comparison, Scan, scan  # noqa: E402

from . import distributed, hf, loggers, nn, regularisers  # noqa: E402
from .nn import EntropyInvariantAttention  # noqa: E402
from .qk_clip import HeadRows, QKClip, QKWeights  # noqa: E402

if TYPE_CHECKING:
    from . import information as information

__version__ = pathlib.Path(__file__).with_name("version.txt").read_text().strip()  # written by the build


def __getattr__(name: str) -> ModuleType:
    """Imports ``isentropic.information`` on first use: builds without Boost's headers do not have it."""
    if name == "information":
        return importlib.import_module(".information", __name__)
    raise AttributeError(f"module 'isentropic' has no attribute '{name}'")


__all__ = [
    "Alarm",
    "Aux",
    "Comparison",
    "EntropyInvariantAttention",
    "HeadRows",
    "InformationPlane",
    "Loss",
    "Monitor",
    "QKClip",
    "QKWeights",
    "Scale",
    "Scan",
    "ScoreMap",
    "attention",
    "attention_statistics",
    "attention_weights",
    "causal_lm_loss",
    "collect",
    "distributed",
    "hf",
    "hierarchical_attention",
    "info_nce",
    "key_mass",
    "linear_cross_entropy",
    "loggers",
    "masked_lm_loss",
    "nce",
    "nn",
    "regularisers",
    "replace_sdpa",
    "scan",
    "soft_cross_entropy",
]
