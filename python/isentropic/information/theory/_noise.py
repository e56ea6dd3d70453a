"""Noise on scores, and their worst-case change within a budget."""

from __future__ import annotations

from typing import NamedTuple

from .._call import Array, Numbers, Values, compiled

__all__ = [
    "Attack", "NoiseEffect", "attack_gain", "exact_attack", "exponential_moment", "first_order_attack",
    "group_noise_effect", "mean_of_ratio", "noise_effect", "norm_attack", "output_gradient", "projections",
    "rate_exponent", "size_in", "tail_index", "two_key_gaussian_rms", "value_noise_shift", "variance_ratio",
]  # fmt: skip

# ---- Families: "gaussian" (sigma), "uniform" (half width a), "laplace" (b), "gumbel" (tau) ----


@compiled
def exponential_moment(family: str, parameter: Numbers, order: Numbers = 1.0) -> Numbers:
    """E e^{k eps}: e^{k^2 sigma^2/2}, sinh(k a)/(k a), 1/(1 - k^2 b^2), Gamma(1 - k/tau); infinite where it diverges."""


@compiled
def variance_ratio(family: str, parameter: Numbers) -> Numbers:
    """r = Var(e^eps) / (E e^eps)^2. Gaussian of sigma 1: e - 1."""


@compiled
def tail_index(family: str, parameter: Numbers) -> Numbers:
    """P(e^eps > x) falls like x^-index; infinite: faster than any power."""


@compiled
def rate_exponent(family: str, parameter: Numbers) -> Numbers:
    """p of |o~ - o| ~ n^p: -1/2 for an index of 2 or more, -(1 - 1/index) above 1; NaN where nothing averages out."""


class NoiseEffect(NamedTuple):
    """E[o~] - o, one for each coordinate, and sqrt(E|o~ - o|^2)."""

    bias: Values
    rms: float


@compiled
def noise_effect(weights: Array, values: Array, variance_ratio: float) -> NoiseEffect:
    """bias -r sum a_i^2 (v_i - o), rms sqrt(r sum a_i^2 |v_i - o|^2)."""


@compiled
def group_noise_effect(weights: Array, values: Array, groups: Array, variance_ratio: float) -> NoiseEffect:
    """``noise_effect`` if the keys of a group, given by an integer label, share one draw."""


@compiled
def value_noise_shift(weights: Array, values: Array, c: Numbers) -> Numbers:
    """sum a_i e^{c v_i} v_i / sum a_i e^{c v_i} - sum a_i v_i. Equal weights on +-1: tanh(c)."""


@compiled
def two_key_gaussian_rms(sigma: Numbers) -> Numbers:
    """rms of tanh((eps_1 - eps_2) / 2): two equal weights on -1 and 1. sigma = 1: 0.5231."""


@compiled
def mean_of_ratio(mean_x: Numbers, mean_y: Numbers, covariance: Numbers = 0.0, variance_y: Numbers = 0.0) -> Numbers:
    """E[X/Y] to second order: EX/EY - Cov(X,Y)/EY^2 + Var(Y) EX/EY^3."""


# ---- The worst-case change delta of scores s, with x_i = <v_i, u> and f = sum a_i x_i. Budgets: "infinity",
# "euclidean", "absolute": the norm of delta that eps limits ----


class Attack(NamedTuple):
    """delta and f(s + delta) - f(s)."""

    change: Values
    gain: float


@compiled
def size_in(budget: str, change: Array) -> float:
    """|delta| in the budget's norm."""


@compiled
def projections(values: Array, direction: Array) -> Values:
    """x_i = <v_i, u>."""


@compiled
def output_gradient(scores: Array, x: Array) -> Values:
    """g_i = a_i (x_i - sum_j a_j x_j)."""


@compiled
def first_order_attack(scores: Array, x: Array, budget: str, eps: float) -> Attack:
    """eps sign(g), eps g / |g|_2, or eps sign(g_k) at k = argmax |g|."""


@compiled
def exact_attack(scores: Array, x: Array, budget: str, eps: float) -> Attack:
    """The optimum for any eps. s = (0, 0), x = (1, -1): tanh(eps), tanh(eps / sqrt 2), tanh(eps / 2)."""


@compiled
def attack_gain(scores: Array, x: Array, change: Array) -> float:
    """f(s + delta) - f(s) for any change."""


@compiled
def norm_attack(scores: Array, values: Array, eps: float) -> Attack:
    """|o(s + delta) - o(s)| to first order under |delta|_2 <= eps: the top singular vector of the Jacobian."""
