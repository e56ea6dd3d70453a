"""The softmax of random scores: expectations at every n, their limits, Laplace's method. n enters as log n."""

from __future__ import annotations

from typing import NamedTuple

from .._call import Numbers, compiled

__all__ = [
    "ExpectedRow", "GumbelLimit", "cosine_divergence", "cosine_divergence_exponent", "cosine_saddle_entropy",
    "cosine_saddle_scale", "expected_maximum", "expected_row", "freezing_spread", "frozen_coefficient",
    "laplace_log_integral", "laplace_log_mean_exp", "maximum_limit", "mean_dot_product", "phase",
    "random_energy_entropy", "scale_for_entropy", "uniform_log_mean_exp", "uniform_log_mean_exp_edge",
    "uniform_scores_entropy", "variance_of_dot_product",
]  # fmt: skip

# ---- Gaussian scores, many keys: the random energy model. spread = lambda sigma ----


@compiled
def freezing_spread(log_n: Numbers) -> Numbers:
    """sqrt(2 log n), at which the top keys take over."""


@compiled
def phase(log_n: float, spread: float) -> str:
    """ "spread" below the freezing spread, "frozen" above."""


@compiled
def random_energy_entropy(log_n: Numbers, spread: Numbers) -> Numbers:
    """log n - b^2/2 for b < sqrt(2 log n); beyond, psi(1) - psi(1 - m), m = sqrt(2 log n)/b."""


@compiled
def frozen_coefficient(entropy: Numbers) -> Numbers:
    """c > 1 such that a spread of c sqrt(2 log n) holds the entropy: psi(1) - psi(1 - 1/c) = H. 2 log 2: 2."""


@compiled
def expected_maximum(log_n: Numbers) -> Numbers:
    """r - (log log n + log 4 pi)/(2 r) + 0.5772.../r, r = sqrt(2 log n): of n standard Gaussian scores."""


class GumbelLimit(NamedTuple):
    """(max - location) / scale tends to a standard Gumbel variable."""

    location: Numbers
    scale: Numbers


@compiled
def maximum_limit(n: Numbers) -> GumbelLimit:
    """The distribution of the largest of n standard Gaussian scores."""


# ---- Random directions: s = d cos(theta) ----


@compiled
def cosine_divergence(scale: Numbers) -> Numbers:
    """kl = -log(1 - c^2)/2, c = (sqrt(1 + 4 lambda^2) - 1)/(2 lambda)."""


@compiled
def cosine_divergence_exponent(scale: Numbers) -> Numbers:
    """d log kl / d log lambda: 2 for small lambda, falling to 0."""


@compiled
def cosine_saddle_entropy(log_n: Numbers, d: Numbers, scale: Numbers) -> Numbers:
    """log n - d kl(lambda)."""


@compiled
def cosine_saddle_scale(log_n: Numbers, d: Numbers, entropy: Numbers) -> Numbers:
    """The lambda at which ``cosine_saddle_entropy`` is ``entropy``."""


# ---- Any n, exactly ----


class ExpectedRow(NamedTuple):
    """Expectations over the draws of the scores; ``planted``: the weight of the planted key, 0 without one."""

    log_partition: Numbers
    mean_score: Numbers
    entropy: Numbers
    collision: Numbers
    planted: Numbers


@compiled
def expected_row(
    law: str, log_n: Numbers, scale: Numbers, *, parameter: Numbers = 1.0, planted_score: Numbers | None = None
) -> ExpectedRow:
    """softmax(lambda s) of n independent scores, by quadrature of E log Z and E E_p s. lambda = 0: H = log n.

    ``law``: "gaussian" (``parameter``: sigma), "cosine" (d cos(theta); ``parameter``: d), "exponential", "uniform".
    """


@compiled
def scale_for_entropy(law: str, log_n: Numbers, entropy: Numbers, *, parameter: Numbers = 1.0) -> Numbers:
    """The lambda whose expected entropy is ``entropy``; laws as in ``expected_row``."""


# ---- Laplace's method ----


@compiled
def laplace_log_integral(n: Numbers, maximum: Numbers, curvature: Numbers) -> Numbers:
    """n f* + log(2 pi/(n |f''|))/2, of log int e^{n f(x)} dx."""


@compiled
def laplace_log_mean_exp(scale: Numbers, s_star: Numbers, log_density: Numbers, curvature: Numbers) -> Numbers:
    """lambda s* + log p(s*) + log(2 pi/|(log p)''|)/2, of log E e^{lambda s}."""


@compiled
def uniform_log_mean_exp(scale: Numbers, s_max: Numbers, width: Numbers) -> Numbers:
    """log E e^{lambda s} of scores that are uniform on ``width`` below ``s_max``, exactly."""


@compiled
def uniform_log_mean_exp_edge(scale: Numbers, s_max: Numbers, width: Numbers) -> Numbers:
    """lambda s_max - log(lambda w): ``uniform_log_mean_exp`` for lambda w >> 1."""


@compiled
def uniform_scores_entropy(log_n: Numbers, scale: Numbers, width: Numbers) -> Numbers:
    """log n + 1 - log(lambda w), for 1 << lambda w << n."""


# ---- Products of random vectors ----


@compiled
def mean_dot_product(d: Numbers, sigma: Numbers, rho: Numbers = 0.0) -> Numbers:
    """E[q.k] = d rho sigma^2. d = 64, sigma = 1, rho = 0.6: 38.4."""


@compiled
def variance_of_dot_product(d: Numbers, sigma: Numbers, rho: Numbers = 0.0) -> Numbers:
    """Var(q.k) = d sigma^4 (1 + rho^2). d = 64, sigma = 1, rho = 0.6: 87.04."""
