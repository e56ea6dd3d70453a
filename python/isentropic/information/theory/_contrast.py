"""Contrastive learning in closed form: noise-contrastive estimation, InfoNCE, softmax at high temperature."""

from __future__ import annotations

from typing import NamedTuple

from .._call import Array, Numbers, Values, compiled

__all__ = [
    "ContrastGradients", "NceExpansion", "contrast_gradient_norm", "contrast_gradients", "gaussian_info_nce_limit",
    "high_temperature_softmax", "info_nce_limit", "nce_expansion", "nce_gradient", "nce_loss", "nce_posterior",
    "nce_variance",
]  # fmt: skip

# ---- NCE: one datum with distribution d against k draws of noise n; the model p need not be normalised ----


@compiled
def nce_posterior(model: Numbers, noise: Numbers, noise_per_datum: Numbers) -> Numbers:
    """P(datum | x) = p / (p + k n)."""


@compiled
def nce_loss(data: Array, model: Array, noise: Array, noise_per_datum: Numbers) -> Numbers:
    """L = -E_d log[p / (p + k n)] - k E_n log[k n / (p + k n)]. d = p = n, k = 1: 2 log 2."""


@compiled
def nce_gradient(data: Array, model: Array, noise: Array, noise_per_datum: float) -> Values:
    """dL / dlog p_x = -k n_x / (p_x + k n_x) (d_x - p_x)."""


class NceExpansion(NamedTuple):
    """L = log k + constant + first_order / k + O(1/k^2)."""

    constant: float
    first_order: float


@compiled
def nce_expansion(data: Array, model: Array, noise: Array) -> NceExpansion:
    """1 + KL(d||p) - KL(d||n), and sum_x d_x p_x / n_x - 1/2 sum_x p_x^2 / n_x, for a normalised model."""


@compiled
def nce_variance(data: Array, score: Array, noise: Array, noise_per_datum: Numbers) -> Numbers:
    """N Var = (A - (1 + 1/k) B^2) / A^2, A = E[w g^2], B = E[w g], w = k n / (p + k n), g the score."""


# ---- InfoNCE ----


class ContrastGradients(NamedTuple):
    """dL / dq and dL / dk_j, a row for each key."""

    query: Values
    key: Values


@compiled
def contrast_gradients(query: Array, keys: Array, positive: int, temperature: float) -> ContrastGradients:
    """(E_P[k] - k_+) / tau and (P_j - [j = +]) q / tau, P = softmax(q.k / tau)."""


@compiled
def contrast_gradient_norm(cosines: Array, positive: int, temperature: Numbers) -> Numbers:
    """|dL/dq| of unit vectors whose parts perpendicular to q are orthogonal to one another."""


@compiled
def info_nce_limit(joint: Array, critic: Array) -> float:
    """E[f] - E_y log E_{p(x)} e^f, the limit of log N - L; p(y, x) and f(y, x), anchors along the rows."""


@compiled
def gaussian_info_nce_limit(rho: Numbers, cross: Numbers, square: Numbers) -> Numbers:
    """``info_nce_limit`` for Gaussian pairs and f = cross x y + square x^2; -log(1 - rho^2) / 2 where f is the PMI."""


# ---- Softmax at high temperature ----


@compiled
def high_temperature_softmax(scores: Array, temperature: float, order: int = 2) -> Values:
    """(1 + c_j / tau + (c_j^2 - mean c^2) / (2 tau^2)) / n, c = s - mean s; ``order`` 1 omits the last term."""
