"""Dependence among many variables, from samples with one variable per column."""

from __future__ import annotations

from typing import NamedTuple

from ._call import Array, Values, compiled

__all__ = [
    "Correlation", "CorrelationReport", "DataProcessing", "correlation", "correlation_with_baselines",
    "data_processing", "order_information", "with_resampled_positions", "with_shuffled_order",
]  # fmt: skip


class Correlation(NamedTuple):
    """TC = sum_t H(x_t) - H(x) and DTC = H(x) - sum_t H(x_t | the others)."""

    total: float
    dual_total: float


@compiled
def correlation(
    samples: Array,
    *,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> Correlation:
    """Total and dual total correlation. Options as for ``mutual_information``, without ``ksg2`` and ``mixed``."""


class CorrelationReport(NamedTuple):
    """``resampled_positions``: each column permuted separately, where the truth is 0. ``shuffled_order``: each row."""

    observed: Correlation
    resampled_positions: Correlation
    shuffled_order: Correlation


@compiled
def correlation_with_baselines(
    samples: Array,
    *,
    seed: int = 1,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> CorrelationReport:
    """``correlation`` of the samples and of two shuffles of them."""


@compiled
def with_resampled_positions(samples: Array, seed: int = 1) -> Values:
    """Permutes every column separately: the product of the marginals."""


@compiled
def with_shuffled_order(samples: Array, seed: int = 1) -> Values:
    """Permutes the entries of every row: the exchangeable mixture."""


@compiled
def order_information(samples: Array) -> float:
    """KL(P || its shuffled order) of the empirical distribution of symbols: the information in the order."""


class DataProcessing(NamedTuple):
    """I(x;y) <= I(x;z) + I(x;y|z); ``slack`` is I(x;y|z), 0 for a chain x -> z -> y, ``margin`` the difference."""

    x_z: float
    z_y: float
    x_y: float
    slack: float
    margin: float

    def holds(self, tolerance: float) -> bool:
        """I(x;y) <= min(I(x;z), I(z;y)) within ``tolerance``, as for any chain."""
        return self.x_y <= min(self.x_z, self.z_y) + tolerance


@compiled
def data_processing(
    x: Array,
    z: Array,
    y: Array,
    *,
    estimator: str = "auto",
    k: int = 3,
    scaling: str = "standardised",
    bins: int = 0,
    entropy: str = "miller_madow",
) -> DataProcessing:
    """Measures the terms of the data-processing inequality."""
