"""Discrete distributions whose probabilities are known."""

from __future__ import annotations

import itertools
from typing import Iterable, Sequence

from ._call import Array, Numbers, compiled

__all__ = [
    "co_information", "conditional_entropy", "dual_total_correlation", "entropy", "jensen_shannon", "joint_entropy",
    "joint_mutual_information", "kl_divergence", "renyi_entropy", "to_bits", "total_correlation",
]  # fmt: skip


@compiled
def to_bits(nats: Numbers) -> Numbers:
    """nats / log 2."""


@compiled
def entropy(p: Array) -> float:
    """H(p) = -sum_i p_i log p_i. By hand: (1/2, 1/4, 1/4) has 1.03972 nats."""


@compiled
def kl_divergence(p: Array, q: Array) -> float:
    """KL(p||q) = sum_i p_i log(p_i / q_i); infinite where q_i = 0 < p_i."""


@compiled
def jensen_shannon(distributions: Array, weights: Array | None = None) -> float:
    """H(sum_k w_k p_k) - sum_k w_k H(p_k): a distribution in each row; weights are equal by default."""


@compiled
def renyi_entropy(p: Array, order: Numbers) -> Numbers:
    """log(sum_i p_i^a) / (1 - a); a = 0: log of the support size; 1: Shannon entropy; inf: -log max p."""


# ---- Joint distributions: p[x_0, x_1, ...], an axis for each variable; variables are named by their axes ----


@compiled
def joint_entropy(joint: Array, variables: Sequence[int]) -> float:
    """H of the given variables."""


@compiled
def conditional_entropy(joint: Array, of: Sequence[int] = (1,), given: Sequence[int] = (0,)) -> float:
    """H(of | given)."""


@compiled
def joint_mutual_information(
    joint: Array, a: Sequence[int] = (0,), b: Sequence[int] = (1,), given: Sequence[int] = ()
) -> float:
    """I(a; b | given), from probabilities. By hand: [[1/2, 0], [0, 1/2]] has log 2."""


def co_information(joint: Array, groups: Sequence[Sequence[int]]) -> float:
    """-sum over non-empty sets T of groups of (-1)^|T| H(T).

    Two groups: I(A;B). Three: I(A;B) - I(A;B|C), negative for synergy: the exclusive or of two bits has -log 2.
    """
    if any(not isinstance(group, Iterable) for group in groups):
        raise TypeError(f"groups is {groups!r}; expected sequences of axes, as in [[0], [1]]")
    return co_information_of_groups(joint, list(itertools.chain(*groups)), [len(group) for group in groups])


@compiled
def co_information_of_groups(joint: Array, members: Sequence[int], sizes: Sequence[int]) -> float:
    """``co_information`` of groups whose members are concatenated, with these sizes."""


@compiled
def total_correlation(joint: Array) -> float:
    """TC = sum_t H(x_t) - H(x)."""


@compiled
def dual_total_correlation(joint: Array) -> float:
    """DTC = H(x) - sum_t H(x_t | the others)."""
