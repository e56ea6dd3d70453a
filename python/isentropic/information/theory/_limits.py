"""Limits imposed by bounded scores, position biases and few coordinates."""

from __future__ import annotations

from typing import NamedTuple

from .._call import Array, Numbers, compiled

__all__ = [
    "BoundedEntropyFloor", "alibi_entropy", "alibi_entropy_of_keys", "bounded_entropy_floor", "bounded_entropy_gap",
    "bounded_top_share", "coin_output_information", "cosine_score_range", "gaussian_output_information",
    "generalisation_bound", "largest_bounded_weight", "least_entropy_of_norm", "least_position_coordinates",
    "norm_that_keeps_entropy", "smallest_bounded_weight", "sub_gaussian_deviation",
]  # fmt: skip

# ---- Scores within an interval of width w, r = e^w ----


@compiled
def cosine_score_range(tau: Numbers) -> Numbers:
    """w = 2 / tau, of cosines divided by tau."""


@compiled
def bounded_entropy_gap(range: Numbers) -> Numbers:
    """g(w) = D - 1 - log D, D = w r / (r - 1): H >= log n - g. w = 2: 0.4744746."""


@compiled
def bounded_top_share(range: Numbers) -> Numbers:
    """(D - 1) / (r - 1): the share of keys at the upper end that attains the gap."""


class BoundedEntropyFloor(NamedTuple):
    """The least entropy, and how many keys then have the upper score."""

    entropy: Numbers
    top_keys: int


@compiled
def bounded_entropy_floor(n: Numbers, range: Numbers) -> BoundedEntropyFloor:
    """The least entropy of n keys."""


@compiled
def largest_bounded_weight(n: Numbers, range: Numbers) -> Numbers:
    """1 / (1 + (n - 1) / r)."""


@compiled
def smallest_bounded_weight(n: Numbers, range: Numbers) -> Numbers:
    """1 / (1 + (n - 1) r)."""


# ---- Scores of bounded norm ----


@compiled
def least_entropy_of_norm(n: Numbers, norm: Numbers) -> Numbers:
    """log(1 + (n-1) b) + s sqrt(n (n-1)) b / (1 + (n-1) b), b = exp(-s sqrt(n/(n-1))), s the norm (Zhai et al. 2023)."""


@compiled
def norm_that_keeps_entropy(n: Numbers, entropy: Numbers) -> Numbers:
    """The inverse of ``least_entropy_of_norm``."""


# ---- Positions ----


@compiled
def alibi_entropy(slope: Numbers) -> Numbers:
    """(-q log q - (1 - q) log(1 - q)) / (1 - q), q = e^-m: a bias -m x at distance x. m = log 2: 2 log 2."""


@compiled
def alibi_entropy_of_keys(slope: Numbers, n: Numbers) -> Numbers:
    """``alibi_entropy`` over the first n distances: log((1 - q^n)/(1 - q)) + m (q/(1 - q) - n q^n/(1 - q^n))."""


@compiled
def least_position_coordinates(positions: Numbers, bits: Numbers) -> int:
    """The smallest d with d b >= log2 n: distinct codes of n positions, b bits in each coordinate."""


# ---- Information of an output about the values; generalisation of a loss ----


@compiled
def gaussian_output_information(a: Array, signal: Numbers, noise: Numbers) -> Numbers:
    """log(1 + (v / s) sum a^2) / 2: values N(0, v), noise N(0, s) on the output."""


@compiled
def coin_output_information(n: Numbers) -> Numbers:
    """The entropy of Binomial(n, 1/2): n equal weights on coins."""


@compiled
def sub_gaussian_deviation(low: Numbers, high: Numbers) -> Numbers:
    """(high - low) / 2, of a loss in [low, high]."""


@compiled
def generalisation_bound(information: Numbers, samples: Numbers, sigma: Numbers) -> Numbers:
    """sqrt(2 sigma^2 I(W;S) / N) (Xu & Raginsky 2017)."""
