"""Given weights: the simplex they lie on, and how far a change of the scores can move them."""

from __future__ import annotations

from .._call import Array, Numbers, Values, compiled

__all__ = [
    "diameter", "entropy_flow", "euclidean_entropy_gradient", "fisher_metric", "hard_attention_distance_bound",
    "kl_to_uniform", "log_sum_exp_excess_bound", "natural_entropy_gradient", "output_change_bound",
    "output_euclidean_norm", "range_of", "softmax_euclidean_norm", "softmax_infinity_norm", "softmax_jacobian_bound",
    "top_k_l1_distance", "top_k_missing_mass", "top_k_output_bound", "weights_change_bound",
]  # fmt: skip

# ---- The simplex ----


@compiled
def kl_to_uniform(a: Array) -> float:
    """KL(a || u) = log n - H(a). (3/4, 1/4): 0.130812."""


@compiled
def fisher_metric(a: Array, coordinates: str = "plain") -> Values:
    """E[d_i log p d_j log p]: "plain" [i=j]/a_i, "homogeneous" that - 1, "free" + 1/a_n, "logits" diag(a) - a a'."""


@compiled
def natural_entropy_gradient(a: Array) -> Values:
    """a_i (-log a_i - H): the gradient of H in the Fisher metric, and dH/ds_i of softmax(s)."""


@compiled
def euclidean_entropy_gradient(a: Array) -> Values:
    """-log a_i - 1, which leaves the simplex."""


@compiled
def entropy_flow(a: Array, time: float) -> Values:
    """softmax(e^-t log a): the flow along the natural gradient after time t."""


# ---- Near a corner ----


@compiled
def log_sum_exp_excess_bound(n: Numbers, gap: Numbers) -> Numbers:
    """log sum e^s - max s <= (n - 1) e^-gap."""


@compiled
def hard_attention_distance_bound(peak: Numbers, diameter: Numbers) -> Numbers:
    """|o - v*| <= (1 - a_max) diameter."""


@compiled
def softmax_jacobian_bound(peak: Numbers) -> Numbers:
    """The spectral norm of da/ds is at most 2 (1 - a_max)."""


@compiled
def top_k_missing_mass(p: Array, k: Numbers) -> Numbers:
    """m: the mass outside the k largest weights."""


@compiled
def top_k_l1_distance(missing_mass: Numbers) -> Numbers:
    """sum_j |p_j - p'_j| = 2 m, p' the k largest, rescaled."""


@compiled
def top_k_output_bound(missing_mass: Numbers, largest_value: Numbers) -> Numbers:
    """|o - o'| <= 2 m max|v|."""


# ---- A change delta of the scores ----


@compiled
def range_of(change: Array) -> float:
    """max - min; 0 when empty."""


@compiled
def diameter(values: Array) -> float:
    """The greatest distance between two rows."""


@compiled
def weights_change_bound(range: Numbers) -> Numbers:
    """2 tanh(range / 4): a bound on the change of the weights in l1."""


@compiled
def output_change_bound(diameter: Numbers, range: Numbers) -> Numbers:
    """diameter tanh(range / 4): a bound on the change of the output."""


@compiled
def softmax_infinity_norm(weights: Array) -> float:
    """inf -> 1 norm of J = diag(a) - a a': max over sets of keys of 4 P (1 - P)."""


@compiled
def softmax_euclidean_norm(weights: Array) -> float:
    """2 -> 2 norm of J, at most 1/2."""


@compiled
def output_euclidean_norm(weights: Array, values: Array) -> float:
    """2 -> 2 norm of the output's Jacobian, columns a_i (v_i - o)."""
