"""Effects of scale laws, tails, features and temperatures on the entropy of a row."""

from __future__ import annotations

from typing import NamedTuple, Union

from ...scales import Scale
from .._call import Array, Numbers, compiled

__all__ = [
    "KappaFit", "entropy_deficit", "entropy_slope_in_temperature", "feature_sharpening", "fit_kappa",
    "gaussian_local_exponent", "high_temperature_entropy", "invariant_kappa", "law_entropy", "law_lambda", "law_slope",
    "lognormal_entropy_deficit", "needle_probability", "planted_probability", "tail_growth", "zero_temperature_entropy",
]  # fmt: skip

# ---- Scale laws over random keys, s = d cos(theta). A scale is a Scale, a number or a name ----


@compiled
def law_lambda(scale: Union[Scale, float, str], n: Numbers, d: Numbers) -> Numbers:
    """lambda of a query that sees n keys and is at the last of them."""


@compiled
def law_entropy(scale: Union[Scale, float, str], n: Numbers, d: Numbers) -> Numbers:
    """E H of random keys under the law."""


@compiled
def law_slope(scale: Union[Scale, float, str], lengths: Array, d: Numbers) -> Numbers:
    """Least-squares dH/dlog n over the lengths: 1 where attention spreads, 0 where H is constant."""


@compiled
def invariant_kappa(lengths: Array, d: Numbers, most: Numbers = 20.0) -> Numbers:
    """The smallest kappa at which kappa log n/d has slope 0 over the lengths; NaN where there is none."""


class KappaFit(NamedTuple):
    """kappa by least squares of lambda* d on log n, the rms of the fit over the mean, and p of lambda* ~ (log n)^p."""

    kappa: Numbers
    relative_error: Numbers
    exponent: Numbers


@compiled
def fit_kappa(lengths: Array, d: Numbers, entropy: Numbers) -> KappaFit:
    """Fits the law kappa log n/d to the lambda*(n) that holds the entropy exactly."""


@compiled
def planted_probability(log_n: Numbers, planted_logit: Numbers, others_variance: Numbers) -> Numbers:
    """1/(1 + exp(log n + v/2 - a)), a the planted logit, v the variance of the others."""


@compiled
def needle_probability(log_n: Numbers, d: Numbers, scale: Numbers, match: Numbers = 1.0) -> Numbers:
    """``planted_probability`` for cosine ``match``: a = lambda d match, v = lambda^2 d."""


# ---- Tails ----


@compiled
def tail_growth(tail: str, log_n: Numbers, edge_exponent: Numbers = 1.0) -> Numbers:
    """Up to a constant, the lambda(n) that holds the entropy.

    "planted_match": log n; "gaussian": sqrt(log n); "exponential": 1; "bounded": n^{1/k}, k the ``edge_exponent``.
    """


@compiled
def gaussian_local_exponent(log_n: Numbers, entropy: Numbers) -> Numbers:
    """log n/(2 (log n - H)): the local power of log n in lambda* of Gaussian scores."""


# ---- Linear attention: a_j = x_j / sum x ----


@compiled
def entropy_deficit(x: Array) -> float:
    """D = E[x log x]/E[x] - log E[x] of equally likely values x >= 0; H -> log n - D. (1, 3): 0.13081."""


@compiled
def lognormal_entropy_deficit(sigma: Numbers) -> Numbers:
    """D = sigma^2/2 of x = e^g, g Gaussian."""


@compiled
def feature_sharpening(log_n: Numbers, entropy: Numbers, sigma: Numbers = 1.0) -> Numbers:
    """tau on keys of exp features, tau sigma = c sqrt(2 log n), that holds the entropy of each column."""


# ---- Temperature: softmax(s / tau) ----


@compiled
def entropy_slope_in_temperature(scores: Array, tau: Numbers) -> Numbers:
    """dH/dtau = Var_p(s) / tau^3. s = (0, 1), tau = 1: 0.19661."""


@compiled
def zero_temperature_entropy(scores: Array) -> float:
    """log k where k keys tie for the maximum."""


@compiled
def high_temperature_entropy(scores: Array, tau: Numbers, order: Numbers = 4) -> Numbers:
    """log n - K_2/(2 tau^2) - K_3/(3 tau^3) - K_4/(8 tau^4), K_j the cumulants; ``order``: the last j, 2 to 4."""
