"""Contrastive losses and cross-entropy as one streaming softmax, with the information bounds they imply.

The loss of a row is log-partition minus the score of its positive; forward and backward never form the matrix of all
scores. Everything is in nats.
"""

from ._cross_entropy import causal_lm_loss, linear_cross_entropy, masked_lm_loss
from ._info_nce import info_nce
from ._nce import nce
from ._rows import Loss
from ._soft_cross_entropy import soft_cross_entropy

__all__ = [
    "Loss",
    "causal_lm_loss",
    "info_nce",
    "linear_cross_entropy",
    "masked_lm_loss",
    "nce",
    "soft_cross_entropy",
]
