"""Bounds on mutual information: from a critic's scores, and for layers with Gaussian noise.

Scores are f(x_j, y_i), N x N: anchor y_i along the rows, candidate x_j along the columns, matching pairs on the
diagonal. J is the mean over the diagonal, M the mean over the rest. A bound holds in expectation over batches whose
candidates are drawn from p(x) independently of the anchor, never for a single batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from .._checks import number
from ._call import Array, Numbers, as_tensor, compiled

__all__ = [
    "CriticBound", "InformationBounds", "JensenShannonBound", "LabelInformation", "MovingPartition",
    "barber_agakov_bound", "cosine_critic_ceiling", "donsker_varadhan_bound", "info_nce_bound", "interpolated_bound",
    "jensen_shannon_bound", "noisy_layer_input_information", "noisy_layer_label_information", "nwj_bound",
    "smile_estimate", "tuba_bound",
]  # fmt: skip


class CriticBound(NamedTuple):
    """``value`` never exceeds ``ceiling``, whatever the critic.

    ``validity``: "lower_bound" (in expectation), "lower_bound_in_the_limit" (of many pairs) or "estimate".
    """

    value: float
    ceiling: float
    validity: str


@compiled
def info_nce_bound(scores: Array) -> CriticBound:
    """log N + J[f_ii - log sum_j e^{f_ij}] <= log N (van den Oord et al. 2018)."""


@compiled
def donsker_varadhan_bound(scores: Array) -> CriticBound:
    """J[f] - log M[e^f]."""


@compiled
def nwj_bound(scores: Array) -> CriticBound:
    """J[f] - M[e^{f - 1}] (Nguyen, Wainwright & Jordan 2010)."""


@compiled
def tuba_bound(scores: Array, log_baseline: Array) -> CriticBound:
    """1 + J[f - log a(y)] - M[e^f / a(y)]; ``log_baseline``: log a(y_i), one for each row (Poole et al. 2019)."""


@compiled
def interpolated_bound(scores: Array, log_baseline: Array, alpha: float) -> CriticBound:
    """TUBA with the baseline alpha (InfoNCE's mean) + (1 - alpha) a(y), <= 1 + log((N - 1) / alpha)."""


@compiled
def smile_estimate(scores: Array, clip: float) -> CriticBound:
    """J[f] - log M[clip(e^f, e^-clip, e^clip)]; not a bound (Song & Ermon 2020)."""


class JensenShannonBound(NamedTuple):
    """``divergence``: at most JS(p(x,y), p(x)p(y)) in expectation. ``mutual_information``: NWJ of f + 1."""

    divergence: float
    mutual_information: CriticBound


@compiled
def jensen_shannon_bound(scores: Array) -> JensenShannonBound:
    """For an f trained with the objective J[-softplus(-f)] - M[softplus(f)]."""


@compiled
def barber_agakov_bound(entropy_of_x: float, log_likelihoods: Array, kind: str = "probability") -> CriticBound:
    """H(X) + mean log q(x_i | z_i); ``kind``: "probability" (then at most H(X)) or "density"."""


@compiled
def cosine_critic_ceiling(candidates: Numbers, temperature: Numbers) -> Numbers:
    """log N - log(1 + (N - 1) e^{-2 / temperature}): the highest InfoNCE of a critic cos(x, y) / temperature."""


class MovingPartition:
    """MINE's bound J[f] - log(moving average of M[e^f] over batches) (Belghazi et al. 2018).

    ``share``: the weight of the newest batch, in (0, 1]; the first starts the average.
    """

    def __init__(self, share: float):
        self._partition = torch.classes.isentropic.MovingPartition(number("share", share))

    @property
    def log_average(self) -> float:
        """Logarithm of the moving average; -inf before the first batch."""
        return self._partition.log_average()

    def update(self, scores: Array) -> CriticBound:
        """Adds the batch to the average, then returns the bound."""
        return CriticBound(*self._partition.update(as_tensor("scores", scores)))


# ---- T = f(X) + N(0, s2 I), X one of N inputs (Kolchinsky & Tracey 2017) ----


class InformationBounds(NamedTuple):
    lower: float
    upper: float


@compiled
def noisy_layer_input_information(
    outputs: Array, noise_variance: float, weights: Array | None = None
) -> InformationBounds:
    """I(X;T) lies between -sum_i w_i log sum_j w_j e^{-|f_i - f_j|^2 / (8 s2)} and the same with 2 s2.

    ``outputs``: f(x_i) in each row; weights are equal by default.
    """


class LabelInformation(NamedTuple):
    """``bounds`` hold; the other two use one distance for both terms, as in the usual curves, and are not bounds."""

    bounds: InformationBounds
    pairwise_kl: float
    pairwise_bhattacharyya: float


@compiled
def noisy_layer_label_information(outputs: Array, labels: Array, noise_variance: float) -> LabelInformation:
    """I(T;Y) = I(X;T) - sum_y p(y) I(X;T | Y = y) for one integer label per input."""
