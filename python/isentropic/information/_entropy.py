"""Entropy from samples: of discrete symbols, and of points in space."""

from __future__ import annotations

from ._call import Array, compiled

__all__ = [
    "entropy_estimators", "entropy_from_counts", "entropy_from_symbols", "gaussian_entropy",
    "gaussian_entropy_from_samples", "kozachenko_leonenko_entropy",
]  # fmt: skip


@compiled
def entropy_estimators() -> list[str]:
    """Values of ``estimator`` for counts and symbols."""


@compiled
def entropy_from_counts(counts: Array, estimator: str = "miller_madow", cells: int = 0) -> float:
    """Estimates the entropy of the distribution behind counts n_i; N is their sum, p_i = n_i / N.

    ``plug_in``: -sum p_i log p_i. ``miller_madow``: that + (cells seen - 1) / (2 N). ``james_stein``: plug-in of
    shrunken p. ``grassberger``: log N - (1/N) sum n_i G(n_i). ``chao_shen``: -sum q_i log q_i / (1 - (1 - q_i)^N),
    q = C p, C the coverage. ``nsb``: the posterior mean under a prior that is nearly uniform in the entropy.

    ``cells``: the size of the alphabet, for ``james_stein`` and ``nsb``; 0: the number of counts.
    """


@compiled
def entropy_from_symbols(samples: Array, estimator: str = "miller_madow") -> float:
    """``entropy_from_counts`` where every distinct row is a symbol."""


@compiled
def gaussian_entropy(covariance: Array) -> float:
    """log det(2 pi e C) / 2; -inf where C is singular."""


@compiled
def gaussian_entropy_from_samples(samples: Array) -> float:
    """``gaussian_entropy`` of the covariance of the samples (divisor N - 1)."""


@compiled
def kozachenko_leonenko_entropy(samples: Array, k: int = 3) -> float:
    """digamma(N) - digamma(k) + (d/N) sum_i log(2 r_i), r_i the distance to the k-th neighbour in the maximum norm."""
