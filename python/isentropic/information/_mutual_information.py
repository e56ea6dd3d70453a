"""Mutual information from samples, its significance, and its sampling error."""

from __future__ import annotations

from typing import NamedTuple

from ._call import Array, Values, compiled

__all__ = [
    "Interval", "Significance", "binned", "gaussian_mutual_information", "half_sample_interval",
    "information_estimators", "information_warnings", "mixed_mutual_information", "mutual_information",
    "mutual_information_from_counts", "permutation_significance", "suitable_estimator", "usual_bins",
]  # fmt: skip


@compiled
def information_estimators() -> list[str]:
    """Values of ``estimator``, besides ``auto`` and ``ksg`` (which is ``ksg1``)."""


@compiled
def mutual_information(
    x: Array,
    y: Array,
    z: Array | None = None,
    *,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> float:
    """Estimates I(x; y), or I(x; y | z) if z is given.

    ``ksg1`` (``ksg``): digamma(k) + digamma(N) - <digamma(n_x + 1) + digamma(n_y + 1)>, n_x and n_y the numbers of
    points strictly nearer than the k-th neighbour (Kraskov, Stögbauer & Grassberger 2004). ``ksg2``: with rectangles.
    ``mesner_shalizi``: the same for repeated values. ``mixed``: symbols against points (Ross 2014). ``gaussian``:
    (log det C_x + log det C_y - log det C) / 2. ``discrete``: H(x) + H(y) - H(x, y), every distinct row a symbol.
    ``binned``, ``equal_mass``: that after binning the columns. ``auto``: the result of ``suitable_estimator``.

    ``k`` and ``scaling`` ("standardised" or "none") apply to neighbours, ``bins`` to binning (0: about the cube root of
    N), ``entropy`` to symbols. By hand: correlation .75 has -log(1 - .75^2) / 2 = 0.413339.
    """


@compiled
def mixed_mutual_information(symbols: Array, y: Array, k: int = 3, scaling: str = "standardised") -> float:
    """I(symbols; y) by ``mixed``, where the first argument holds the symbols."""


@compiled
def gaussian_mutual_information(covariance: Array, x_columns: int) -> float:
    """(log det C_x + log det C_y - log det C) / 2, x the first ``x_columns`` of the covariance C."""


@compiled
def mutual_information_from_counts(counts: Array, estimator: str = "miller_madow") -> float:
    """I(x; y) of a contingency table of integers, by an estimator of ``entropy_from_counts``."""


@compiled
def binned(samples: Array, bins: int, binning: str = "equal_width") -> Values:
    """The index of the bin, 0 ... bins - 1, of every value; bins are ``equal_width`` or ``equal_mass``."""


@compiled
def usual_bins(samples: int) -> int:
    """The default number of bins for this many samples: about the cube root, at least 2."""


@compiled
def suitable_estimator(x: Array, y: Array, z: Array | None = None) -> str:
    """The estimator that ``auto`` uses for these samples.

    A variable with at most sqrt(N) distinct rows is one of symbols. Both: ``discrete``; one: ``mixed``; none:
    ``mesner_shalizi`` if more than 5% of the values of a column repeat, otherwise ``ksg1``.
    """


@compiled
def information_warnings(
    x: Array,
    y: Array,
    z: Array | None = None,
    *,
    estimate: float,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> list[str]:
    """Reasons to distrust an estimate of I(x; y | z), one sentence each; empty if none are known."""


class Significance(NamedTuple):
    """p = (1 + surrogates at least as large as the estimate) / (1 + permutations)."""

    estimate: float
    p_value: float
    surrogate_mean: float
    surrogate_deviation: float
    permutations: int


@compiled
def permutation_significance(
    x: Array,
    y: Array,
    z: Array | None = None,
    *,
    permutations: int = 99,
    seed: int = 1,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> Significance:
    """``mutual_information`` against its value for shuffled x; given z, among neighbours in z (Runge 2018)."""


class Interval(NamedTuple):
    """estimate -+ z(level) * deviation: covers sampling noise, not bias."""

    estimate: float
    deviation: float
    low: float
    high: float
    halves: int


@compiled
def half_sample_interval(
    x: Array,
    y: Array,
    z: Array | None = None,
    *,
    halves: int = 50,
    level: float = 0.95,
    seed: int = 1,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> Interval:
    """``mutual_information`` with an interval from half-samples drawn without replacement."""
