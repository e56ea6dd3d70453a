"""How sparse attention can be: S = E|a| / sqrt(E[a^2]), small where few keys share the mass."""

from __future__ import annotations

from typing import NamedTuple

from .._call import Array, Numbers, compiled

__all__ = [
    "FeatureMoments", "decay_sparsity_bound", "decay_sparsity_rate", "gaussian_feature_moments",
    "slow_decay_sparsity", "sparsity_floor", "sparsity_of_decay", "sparsity_of_exp", "sparsity_of_features",
    "sparsity_of_identity", "sparsity_of_independent_features", "sparsity_of_relu_squared", "sparsity_of_taylor",
    "taylor_features", "taylor_sparsity_floor",
]  # fmt: skip

# ---- Weights f(s) of Gaussian scores s ~ N(beta, gamma^2), t = beta / gamma ----


@compiled
def sparsity_of_exp(beta: Numbers = 0.0, gamma: Numbers = 1.0) -> Numbers:
    """e^{-gamma^2 / 2}, independent of beta."""


@compiled
def sparsity_of_relu_squared(beta: Numbers = 0.0, gamma: Numbers = 1.0) -> Numbers:
    """M_2(t) / sqrt(M_4(t)), M_k(t) = E[max(t + e, 0)^k]. t = 0: 1/sqrt 6."""


@compiled
def sparsity_of_identity(beta: Numbers = 0.0, gamma: Numbers = 1.0) -> Numbers:
    """(sqrt(2/pi) e^{-t^2/2} + t erf(t/sqrt 2)) / sqrt(1 + t^2)."""


@compiled
def sparsity_floor(n: Numbers) -> Numbers:
    """n^-1/2: one key has all the mass."""


@compiled
def sparsity_of_taylor(degree: Numbers, gamma: Numbers) -> Numbers:
    """f(s) = sum_{k <= p} s^k / k!, p even, beta = 0."""


@compiled
def taylor_sparsity_floor(degree: Numbers) -> Numbers:
    """E|e|^p / sqrt(E e^{2p}), the limit for large gamma. p = 2: 1/sqrt 3."""


@compiled
def taylor_features(d: Numbers, degree: Numbers) -> Numbers:
    """C(d + p, p), the features of linear attention that truncates exp after degree p. d = 64, p = 2: 2145."""


# ---- Linear attention over features ----


@compiled
def sparsity_of_features(query: Array, mean: Array, covariance: Array) -> float:
    """1 / sqrt(1 + q'Cq / (q.m)^2), m and C the mean and covariance of the keys' features."""


@compiled
def sparsity_of_independent_features(query: Array, mean: Numbers, deviation: Numbers) -> Numbers:
    """1 / sqrt(1 + (deviation / mean)^2 |q|_2^2 / |q|_1^2)."""


class FeatureMoments(NamedTuple):
    """Moments of one feature, as ``sparsity_of_independent_features`` takes them."""

    mean: Numbers
    deviation: Numbers


@compiled
def gaussian_feature_moments(feature: str, sigma: Numbers = 1.0) -> FeatureMoments:
    """Moments of phi(x), x ~ N(0, sigma^2); ``feature``: "relu", "elu_plus_one" or "exp".

    By hand, sigma = 1: relu 1/sqrt(2 pi) and sqrt(1/2 - 1/(2 pi)); exp e^{1/2} and e^{1/2} sqrt(e - 1).
    """


# ---- Decay: a_j = lambda^(n - j) ----


@compiled
def sparsity_of_decay(factor: Numbers, n: Numbers) -> Numbers:
    """S^2 = (1 - l^n)(1 + l) / (n (1 - l)(1 + l^n)), l the factor. l = 1/2, n = 2: S = .948683."""


@compiled
def decay_sparsity_bound(factor: Numbers, n: Numbers) -> Numbers:
    """Upper bound on ``sparsity_of_decay`` that omits 1 - l^n."""


@compiled
def decay_sparsity_rate(factor: Numbers) -> Numbers:
    """sqrt((1 + l) / (1 - l)), the limit of S sqrt n."""


@compiled
def slow_decay_sparsity(c: Numbers) -> Numbers:
    """sqrt((2/c) tanh(c/2)), the limit of S with 1 - l = c / n."""
