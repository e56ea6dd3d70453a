"""Attention matrices and heads: row-stochastic weights, queries along the rows; paths and position codes."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ._call import Array, Values, compiled

__all__ = [
    "AttentionEntropies", "AttentionSpectrum", "HeadDecomposition", "OffsetInformation", "PathSummary",
    "attention_entropies", "attention_perplexity", "attention_spectrum", "decompose_heads", "effective_rank",
    "head_diversity", "head_redundancy", "head_similarity", "joint_of_heads", "offset_information", "path_lengths",
    "position_information", "singular_values", "sinusoidal_codes", "summarise_paths",
]  # fmt: skip


class AttentionEntropies(NamedTuple):
    """The entropy of each query, their mean H(J|Q), and H(J) of the mean row."""

    per_query: Values
    mean: float
    marginal: float


@compiled
def attention_entropies(weights: Array) -> AttentionEntropies:
    """Entropies of the rows of a matrix; its rows must sum to one within 1e-5."""


@compiled
def attention_perplexity(weights: Array) -> float:
    """exp(H(J|Q)): the number of keys that a query attends to."""


class AttentionSpectrum(NamedTuple):
    """Spectrum of a square matrix of weights.

    ``eigenvalues`` in order of decreasing modulus, ``singular_values`` in decreasing order, the number of eigenvalues that
    are 1 (``unit_eigenvalues``) and of modulus 1 (``on_unit_circle``), both within 1e-8, and ``spectral_entropy``, the
    entropy of the singular values divided by their sum, in nats.
    """

    eigenvalues: Values
    singular_values: Values
    unit_eigenvalues: int
    on_unit_circle: int
    spectral_entropy: float


@compiled
def attention_spectrum(weights: Array) -> AttentionSpectrum:
    """Spectrum of a square matrix: as many queries as keys."""


@compiled
def effective_rank(weights: Array) -> float:
    """exp(entropy of sigma_i / sum sigma), sigma the singular values (Roy & Vetterli 2007)."""


@compiled
def singular_values(matrix: Array) -> Values:
    """Singular values of any matrix, in decreasing order."""


# ---- Several heads: [heads, queries, keys] ----


@compiled
def joint_of_heads(first: Array, second: Array) -> Values:
    """p(j1, j2) = mean_q a1(j1|q) a2(j2|q)."""


@compiled
def head_redundancy(heads: Array) -> float:
    """R = 1/(h(h-1)) sum_{i != j} I(J_i;J_j) / min(H(J_i), H(J_j)), in [0, 1]."""


@compiled
def head_similarity(heads: Array) -> float:
    """1 - mean over pairs and queries of JS(a_i(.|q), a_j(.|q)) / log 2, in [0, 1]."""


@compiled
def head_diversity(heads: Array) -> float:
    """mean_q [H(mean a) - mean H], in [0, log h]."""


class HeadDecomposition(NamedTuple):
    """I(Z_1..Z_H; Y) by the chain rule, and by inclusion-exclusion with C_S of every set S of heads."""

    total: float
    single: Values
    chain: Values
    terms: dict[tuple[int, ...], float]

    def chain_sum(self) -> float:
        """sum_h I(Z_h; Y | Z_<h), which is ``total``."""
        return float(self.chain.sum())

    def inclusion_exclusion(self) -> float:
        """sum_S (-1)^(|S|+1) C_S, which is ``total``."""
        return sum(value if len(heads) % 2 else -value for heads, value in self.terms.items())


def decompose_heads(joint: Array) -> HeadDecomposition:
    """Joint information of heads about Y: p[z_1, ..., z_H, y], Y the last axis. Two copies of a bit: 1 = 1 + 1 - 1."""
    total, single, chain, co_information, members = head_terms(joint)
    sets = (tuple(torch.as_tensor(row).nonzero().flatten().tolist()) for row in members)
    return HeadDecomposition(total, single, chain, dict(zip(sets, torch.as_tensor(co_information).tolist())))


class HeadTerms(NamedTuple):
    """C_S in ``co_information``; a row of ``members`` marks the heads in S, by 0 and 1."""

    total: float
    single: Values
    chain: Values
    co_information: Values
    members: Values


@compiled
def head_terms(joint: Array) -> HeadTerms:
    """``decompose_heads`` with its terms as arrays."""


# ---- How far information has to travel ----


@compiled
def path_lengths(graph: str, n: int, source: int = 0, window: int = 1) -> Values:
    """Number of edges on the shortest path from ``source`` to every node; -1 where there is none.

    ``graph``: "recurrent" (nodes 0 ... n-1 inputs, n ... 2n-1 states), "full", "causal", or "window" attention, which
    sees ``window`` positions to either side.
    """


class PathSummary(NamedTuple):
    """The longest of the shortest paths, and the fraction of ordered pairs that have one."""

    longest: int
    reachable_fraction: float


@compiled
def summarise_paths(graph: str, n: int, window: int = 1) -> PathSummary:
    """Summary over all pairs of nodes of a graph; graphs as in ``path_lengths``."""


# ---- Position codes: one in each row ----


@compiled
def position_information(codes: Array, positions: Array | None = None, resolution: float = 0) -> float:
    """I(PE;pos) = H(PE); codes are equal if their coordinates are, rounded to multiples of ``resolution`` (0: exactly).

    ``positions``: probabilities of the positions; equal by default.
    """


class OffsetInformation(NamedTuple):
    """I(PE1; Delta), I((PE1,PE2); Delta) and H(Delta), Delta = pos1 - pos2."""

    one_code: float
    both_codes: float
    entropy: float


@compiled
def offset_information(codes: Array, positions: Array | None = None, resolution: float = 0) -> OffsetInformation:
    """Information of one code, and of both, about the offset of two independent positions."""


@compiled
def sinusoidal_codes(positions: int, d: int, base: float = 10000) -> Values:
    """sin(pos w_i), cos(pos w_i) in columns 2i and 2i + 1, w_i = base^(-2i/d) (Vaswani et al. 2017)."""
