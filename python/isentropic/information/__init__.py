"""Entropy, mutual information, bounds and bottlenecks of samples and distributions; closed forms in ``theory``.

isentropic.information.mutual_information(x, y, estimator="ksg", k=3)    # nats

Arguments are NumPy arrays, tensors or lists; rows are samples, and an array with one axis is one column. Array results
are tensors if a tensor was given, NumPy arrays otherwise. Everything is in nats (only ``layer_information``: bits), and
nothing is clamped.
"""

import torch

if not hasattr(torch.ops.isentropic, "information_call"):
    raise ImportError(
        "isentropic was built without its information library, because Boost's headers were not found. "
        "On Debian: apt-get install libboost-dev; then build it again: pip install --no-build-isolation ."
    )

from . import theory  # noqa: F401
from ._attention import *  # noqa: F403
from ._bottleneck import *  # noqa: F403
from ._bounds import *  # noqa: F403
from ._distributions import *  # noqa: F403
from ._entropy import *  # noqa: F403
from ._layers import *  # noqa: F403
from ._multivariate import *  # noqa: F403
from ._mutual_information import *  # noqa: F403
