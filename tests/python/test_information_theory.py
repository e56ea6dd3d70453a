"""isentropic.information.theory: closed forms against hand-computed values, elementwise over arrays."""

import math

import numpy
import pytest
import torch

from isentropic import Scale
from isentropic.information import theory

LOG_2, LOG_3, INF = math.log(2), math.log(3), math.inf
QUARTERS = [0.75, 0.25]
D = 2 / (1 - math.exp(-2))  # for scores within an interval of width 2

# Values given in the headers and formulas: (name, arguments, value).
BY_HAND = [
    ("freezing_spread", (2,), 2),
    ("random_energy_entropy", (math.log(1024), 1), math.log(1024) - 0.5),
    ("random_energy_entropy", (2, 4), 2 * LOG_2),
    ("frozen_coefficient", (2 * LOG_2,), 2),
    ("cosine_divergence_exponent", (1e-4,), 2),
    ("cosine_saddle_entropy", (9, 64, 0), 9),
    ("laplace_log_integral", (1, 0, -1), math.log(2 * math.pi) / 2),
    ("laplace_log_mean_exp", (1, 1, -0.5 - math.log(2 * math.pi) / 2, -1), 0.5),
    ("uniform_log_mean_exp", (1, 1, 1), math.log(math.e - 1)),
    ("uniform_log_mean_exp_edge", (2, 3, 4), 6 - math.log(8)),
    ("uniform_scores_entropy", (9, 2, 4), 10 - math.log(8)),
    ("mean_dot_product", (64, 1, 0.6), 38.4),
    ("variance_of_dot_product", (64, 1, 0.6), 87.04),
    ("variance_of_dot_product", (64, 1), 64),
    ("law_lambda", ("log_n", 1024, 64), math.log(1024) / 64),
    ("law_lambda", (Scale.log_n(2.0), 1024, 64), math.log(1024) / 32),
    ("law_lambda", (0.5, 1024, 64), 0.5),
    ("planted_probability", (math.log(3), 0, 0), 0.25),
    ("needle_probability", (math.log(1024), 64, math.log(1024) / 64), 1 / (1 + math.exp(math.log(1024) ** 2 / 128))),
    ("tail_growth", ("gaussian", 9), 3),
    ("tail_growth", ("bounded", LOG_2, 0.5), 4),
    ("gaussian_local_exponent", (8, 4), 1),
    ("entropy_deficit", ([1, 3],), 0.75 * LOG_3 - LOG_2),
    ("lognormal_entropy_deficit", (2,), 2),
    ("feature_sharpening", (2, 2 * LOG_2), 4),
    ("entropy_slope_in_temperature", ([0, 1], 1), math.e / (1 + math.e) ** 2),
    ("zero_temperature_entropy", ([1, 1, 0],), LOG_2),
    ("high_temperature_entropy", ([0, 1], 10), 0.69189874),
    ("high_temperature_entropy", ([0, 1], 10, 2), LOG_2 - 0.25 / 200),
    ("cosine_score_range", (0.1,), 20),
    ("bounded_entropy_gap", (2,), D - 1 - math.log(D)),
    ("bounded_top_share", (2,), (D - 1) / (math.exp(2) - 1)),
    ("largest_bounded_weight", (3, LOG_2), 0.5),
    ("smallest_bounded_weight", (3, LOG_2), 0.2),
    ("least_entropy_of_norm", (2, LOG_3 / math.sqrt(2)), 0.562335),
    ("norm_that_keeps_entropy", (2, 0.5623351446), LOG_3 / math.sqrt(2)),
    ("alibi_entropy", (LOG_2,), 2 * LOG_2),
    ("alibi_entropy_of_keys", (LOG_3, 2), 0.562335),
    ("least_position_coordinates", (1024, 4), 3),
    ("gaussian_output_information", ([1 / 16] * 16, 1, 0.1), 0.242754),
    ("coin_output_information", (1,), LOG_2),
    ("sub_gaussian_deviation", (0, 2), 1),
    ("generalisation_bound", (LOG_2, 1, 1), math.sqrt(2 * LOG_2)),
    ("generalisation_bound", (INF, 1, 1), INF),
    ("sparsity_of_exp", (5, 1), math.exp(-0.5)),
    ("sparsity_of_relu_squared", (), 1 / math.sqrt(6)),
    ("sparsity_of_identity", (), math.sqrt(2 / math.pi)),
    ("sparsity_floor", (16,), 0.25),
    ("sparsity_of_taylor", (2, 0), 1),
    ("taylor_sparsity_floor", (2,), 1 / math.sqrt(3)),
    ("taylor_features", (64, 2), 2145),
    ("sparsity_of_features", ([1, 0], [1, 1], [[3, 0], [0, 1]]), 0.5),
    ("sparsity_of_independent_features", ([1, 1], 1, 1), math.sqrt(2 / 3)),
    ("sparsity_of_decay", (0.5, 2), 0.948683),
    ("decay_sparsity_bound", (1, 2), INF),
    ("decay_sparsity_rate", (0.5,), math.sqrt(3)),
    ("slow_decay_sparsity", (2,), math.sqrt(math.tanh(1))),
    ("kl_to_uniform", (QUARTERS,), 0.130812),
    ("fisher_metric", (QUARTERS, "logits"), [[3 / 16, -3 / 16], [-3 / 16, 3 / 16]]),
    ("natural_entropy_gradient", (QUARTERS,), [-3 / 16 * LOG_3, 3 / 16 * LOG_3]),
    ("euclidean_entropy_gradient", (QUARTERS,), [-math.log(0.75) - 1, -math.log(0.25) - 1]),
    ("entropy_flow", (QUARTERS, 100), [0.5, 0.5]),
    ("log_sum_exp_excess_bound", (3, 0), 2),
    ("hard_attention_distance_bound", (0.75, 2), 0.5),
    ("softmax_jacobian_bound", (0.75,), 0.5),
    ("top_k_missing_mass", ([0.5, 0.25, 0.25], 1), 0.5),
    ("top_k_l1_distance", (0.5,), 1),
    ("top_k_output_bound", (0.5, 3), 3),
    ("range_of", ([1, -2, 0],), 3),
    ("diameter", ([[0, 0], [3, 4]],), 5),
    ("weights_change_bound", (4,), 2 * math.tanh(1)),
    ("output_change_bound", (3, 4), 3 * math.tanh(1)),
    ("softmax_infinity_norm", ([0.9, 0.1],), 0.36),
    ("softmax_euclidean_norm", ([0.9, 0.1],), 0.18),
    ("output_euclidean_norm", ([0.5, 0.5], [1, -1]), math.sqrt(0.5)),
    ("exponential_moment", ("gaussian", 1, 2), math.exp(2)),
    ("exponential_moment", ("laplace", 0.5), 4 / 3),
    ("exponential_moment", ("uniform", 1), math.sinh(1)),
    ("exponential_moment", ("gumbel", 2), math.sqrt(math.pi)),
    ("variance_ratio", ("gaussian", 1), math.e - 1),
    ("tail_index", ("gumbel", 3), 3),
    ("rate_exponent", ("laplace", 0.75), -0.25),
    ("rate_exponent", ("laplace", 1), math.nan),
    ("value_noise_shift", ([0.5, 0.5], [1, -1], 0.3), math.tanh(0.3)),
    ("mean_of_ratio", (1, 2, 3, 4), 0.5 - 0.75 + 0.5),
    ("size_in", ("euclidean", [3, -4]), 5),
    ("size_in", ("absolute", [3, -4]), 7),
    ("projections", ([[1, 2], [3, 4]], [1, -1]), [-1, -1]),
    ("output_gradient", ([0, 0], [1, -1]), [0.5, -0.5]),
    ("attack_gain", ([0, 0], [1, -1], [1, -1]), math.tanh(1)),
    ("nce_posterior", (1, 1, 3), 0.25),
    ("nce_loss", ([0.5, 0.5], [0.5, 0.5], [0.5, 0.5], 1), 2 * LOG_2),
    ("nce_gradient", ([0.5, 0.5], [0.5, 0.5], [0.5, 0.5], 1), [0, 0]),
    ("nce_variance", ([0.5, 0.5], [1, -1], [0.5, 0.5], INF), 1),
    ("contrast_gradient_norm", ([1, 1], 0, 1), 0),
    ("info_nce_limit", ([[0.5, 0], [0, 0.5]], [[0, 0], [0, 0]]), 0),
    ("gaussian_info_nce_limit", (0.6, 0.6 / 0.64, -0.18 / 0.64), -math.log(0.64) / 2),
    ("high_temperature_softmax", ([0, 1], 10, 1), [0.475, 0.525]),
]


@pytest.mark.parametrize("name, arguments, expected", BY_HAND, ids=[f"{i}-{row[0]}" for i, row in enumerate(BY_HAND)])
def test_by_hand(name, arguments, expected):
    found = numpy.asarray(getattr(theory, name)(*arguments))
    assert found == pytest.approx(numpy.asarray(expected), rel=5e-6, abs=1e-12, nan_ok=True)


def test_small_results():
    floor = theory.bounded_entropy_floor(2, LOG_3)
    assert floor == pytest.approx((0.562335, 1), abs=1e-6) and isinstance(floor.top_keys, int)
    assert theory.phase(2.0, 1.0) == "spread" and theory.phase(2.0, 3.0) == "frozen"
    assert theory.maximum_limit(2.0).location == pytest.approx(0, abs=1e-12)
    assert theory.expected_maximum(math.log(1e5)) == pytest.approx(4.384, abs=0.02)
    assert theory.nce_expansion([0.5, 0.5], [0.5, 0.5], [0.5, 0.5]) == pytest.approx((1, 0.5))
    gradients = theory.contrast_gradients([1, 0], [[1, 0], [0, 1]], 0, 1.0)
    assert gradients.key.sum(0) == pytest.approx([0, 0])
    assert gradients.query == pytest.approx([-gradients.query[1], -gradients.query[0]])


def test_features_of_gaussian_keys():
    relu = theory.gaussian_feature_moments("relu", numpy.array([1, 2]))
    assert relu.mean == pytest.approx([0.398942, 0.797885], abs=1e-6)
    assert relu.deviation == pytest.approx([0.583819, 1.167638], abs=1e-6)
    exp = theory.gaussian_feature_moments("exp")
    assert exp == pytest.approx((math.exp(0.5), math.exp(0.5) * math.sqrt(math.e - 1)))
    x = numpy.random.default_rng(1).standard_normal(10**6)
    elu_plus_one = numpy.where(x > 0, x + 1, numpy.exp(numpy.minimum(x, 0)))
    found = theory.gaussian_feature_moments("elu_plus_one")
    assert found == pytest.approx((elu_plus_one.mean(), elu_plus_one.std()), rel=3e-3)
    one = theory.sparsity_of_independent_features([1.0], *theory.gaussian_feature_moments("relu"))
    assert one == pytest.approx(1 / math.sqrt(math.pi))


def test_a_row_of_random_scores():
    row = theory.expected_row("cosine", math.log(64), 0, parameter=16, planted_score=1.0)
    assert row.planted == pytest.approx(1 / 65) and row.entropy == pytest.approx(math.log(65))
    scale = theory.scale_for_entropy("gaussian", math.log(1024), 2.0)
    assert theory.expected_row("gaussian", math.log(1024), scale).entropy == pytest.approx(2)
    assert theory.cosine_divergence(theory.cosine_saddle_scale(9, 64, 3)) * 64 == pytest.approx(6)


def test_laws_over_lengths():
    lengths = [2**i for i in range(6, 18)]
    kappa = theory.invariant_kappa(lengths, 64)
    assert kappa == pytest.approx(5.2, abs=0.05)
    assert theory.law_slope(Scale.log_n(kappa), lengths, 64) == pytest.approx(0, abs=1e-6)
    assert theory.law_slope("log_n", lengths, numpy.array([16, 64])) == pytest.approx([0.71, 0.88], abs=5e-3)
    assert theory.law_entropy(Scale.target_entropy(2.0), 1024, 64) == pytest.approx(2)
    assert theory.fit_kappa(lengths, 64, 2.0).kappa > 1


@pytest.mark.parametrize("budget, factor", [("infinity", 1), ("euclidean", math.sqrt(0.5)), ("absolute", 0.5)])
def test_attacks_by_hand(budget, factor):
    found = theory.exact_attack([0, 0], [1, -1], budget, 0.8)
    assert found.gain == pytest.approx(math.tanh(0.8 * factor))
    assert theory.size_in(budget, found.change) == pytest.approx(0.8)
    assert theory.first_order_attack([0, 0], [1, -1], budget, 0.8).gain <= found.gain + 1e-12


def test_noise_by_hand():
    ratio = theory.variance_ratio("gaussian", 1)
    effect = theory.noise_effect([0.25] * 4, [1, -1, 1, -1], ratio)
    assert effect.rms == pytest.approx(math.sqrt((math.e - 1) / 4)) and effect.bias == pytest.approx([0])
    grouped = theory.group_noise_effect([0.25] * 4, [1, 1, -1, -1], [7, 7, 9, 9], ratio)
    assert grouped.rms == pytest.approx(math.sqrt((math.e - 1) / 2))
    assert theory.two_key_gaussian_rms(1) == pytest.approx(0.5231, abs=5e-5)
    assert theory.norm_attack([0, 0], [1, -1], 0.5).gain == pytest.approx(0.5 * math.sqrt(0.5))


# ---- elementwise ----


def test_numbers_broadcast():
    n, sigma = numpy.array([[16], [64]]), numpy.array([0.5, 1, 2])
    found = theory.variance_of_dot_product(n, sigma, 0.6)
    assert isinstance(found, numpy.ndarray) and found == pytest.approx(n * sigma**4 * 1.36)
    found = theory.variance_of_dot_product(n, torch.tensor(sigma))
    assert isinstance(found, torch.Tensor) and found.shape == (2, 3)
    assert theory.variance_of_dot_product(numpy.array([16.0]), 1).shape == (1,)
    floors = theory.bounded_entropy_floor(numpy.array([2, 4]), LOG_3)
    assert floors.entropy.shape == floors.top_keys.shape == (2,)
    assert theory.nce_loss([0.5, 0.5], [0.5, 0.5], [0.5, 0.5], numpy.array([1, 1])) == pytest.approx([2 * LOG_2] * 2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: theory.mean_dot_product(0, 1), ValueError, "d is 0; expected at least 1"),
        (lambda: theory.mean_dot_product([4, 0], 1), ValueError, "d is 0; expected at least 1"),
        (lambda: theory.mean_dot_product(1.5, 1), ValueError, "d is 1.5; expected a whole number"),
        (lambda: theory.mean_dot_product([1, 2], [1, 2, 3]), ValueError, r"the shapes of the numbers are \[\(2,\), \(3,\)"),
        (lambda: theory.mean_dot_product(4, None), TypeError, "sigma is None; expected numbers"),
        (lambda: theory.mean_dot_product(4), TypeError, "missing a required argument: 'sigma'"),
        (lambda: theory.phase([1.0, 2.0], 1.0), ValueError, "the size of the numbers is 2; expected 1"),
        (lambda: theory.gaussian_feature_moments("identity"), ValueError, "feature is 'identity'; expected elu_plus_one, relu or exp"),
        (lambda: theory.gaussian_feature_moments("relu", 0), ValueError, "sigma is 0; expected a finite number > 0"),
        (lambda: theory.tail_growth("fat", 1.0), ValueError, "tail is 'fat'; expected planted_match, gaussian"),
        (lambda: theory.expected_row("cosine", 3, 1, parameter=1), ValueError, "d is 1; expected"),
        (lambda: theory.high_temperature_entropy([0, 1], 1, 5), ValueError, "order is 5; expected 2, 3 or 4"),
        (lambda: theory.contrast_gradients([1], [[1]], -1, 1.0), ValueError, "positive is -1; expected a whole number"),
        (lambda: theory.law_lambda("log", 4, 4), ValueError, "scale is 'log'; expected a number, a Scale or one of"),
        (lambda: theory.law_lambda(torch.ones(1), 4, 4), TypeError, "scale has a parameter that is a tensor"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
