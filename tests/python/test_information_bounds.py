"""isentropic.information: bounds, bottlenecks, attention matrices and heads against formulas and values by hand."""

import math

import numpy
import pytest
import torch

from isentropic import information

LOG_2 = math.log(2)
JOINT = [[0.36, 0.01, 0.03], [0.02, 0.16, 0.02], [0.03, 0.15, 0.02], [0.01, 0.01, 0.18]]  # from docs/information.md


# ---- bounds from a critic ----


@pytest.fixture
def scores():
    return torch.randn(6, 6, dtype=torch.float64) + 2 * torch.eye(6, dtype=torch.float64)


def apart(scores):
    return scores[~torch.eye(len(scores), dtype=torch.bool)]


def test_bounds_are_their_formulas(scores):
    n, diagonal, rest = len(scores), scores.diagonal().mean(), apart(scores)
    found = information.info_nce_bound(scores)
    expected = math.log(n) + (scores.diagonal() - scores.logsumexp(1)).mean()
    assert found.value == pytest.approx(expected.item()) and found.ceiling == pytest.approx(math.log(n))
    assert found.validity == "lower_bound"
    found = information.donsker_varadhan_bound(scores)
    donsker_varadhan = (diagonal - rest.exp().mean().log()).item()
    assert found.value == pytest.approx(donsker_varadhan) and found.ceiling == math.inf
    assert found.validity == "lower_bound_in_the_limit"
    assert information.nwj_bound(scores).value == pytest.approx((diagonal - (rest - 1).exp().mean()).item())
    tuba = information.tuba_bound(scores, [1.0] * n)
    assert tuba.value == pytest.approx(information.nwj_bound(scores).value)
    assert information.interpolated_bound(scores, [1.0] * n, 0).value == pytest.approx(tuba.value)
    smile = information.smile_estimate(scores, math.inf)
    assert smile.value == pytest.approx(donsker_varadhan) and smile.validity == "estimate"
    jensen_shannon = information.jensen_shannon_bound(scores)
    assert jensen_shannon.mutual_information.value == pytest.approx(information.nwj_bound(scores + 1).value)


def test_limits_of_bounds():
    assert information.barber_agakov_bound(LOG_2, [0.0, 0.0]) == (LOG_2, LOG_2, "lower_bound")
    assert information.barber_agakov_bound(LOG_2, [0.0], kind="density").ceiling == math.inf
    expected = [math.log(n) - math.log(1 + (n - 1) * math.exp(-2 / 0.1)) for n in (2, 64)]
    assert information.cosine_critic_ceiling(numpy.array([2, 64]), 0.1) == pytest.approx(expected)


def test_the_moving_partition_remembers_batches(scores):
    mine = information.MovingPartition(0.25)
    assert mine.log_average == -math.inf
    assert mine.update(scores).value == pytest.approx(information.donsker_varadhan_bound(scores).value)
    mine.update(scores.numpy() + 1)
    average = apart(scores).exp().mean() * (0.75 + 0.25 * math.e)
    assert mine.log_average == pytest.approx(average.log().item())
    with pytest.raises(ValueError, match=r"share is 2; expected a number in \(0, 1\]"):
        information.MovingPartition(2)
    with pytest.raises(ValueError, match="scores is 1 x 2; expected a square table"):
        mine.update([[1.0, 2.0]])


def test_noisy_layers_by_hand():
    found = information.noisy_layer_input_information([0.0, 3.0], 2.0)
    assert found.upper == pytest.approx(LOG_2 - math.log(1 + math.exp(-9 / 4)))
    assert found.lower == pytest.approx(LOG_2 - math.log(1 + math.exp(-9 / 16)))
    sure = information.noisy_layer_input_information([0.0, 3.0], 2.0, weights=[1.0, 0.0])
    assert sure.upper == pytest.approx(0)
    label = information.noisy_layer_label_information([0.0, 3.0], [0, 1], 2.0)
    assert label.bounds == pytest.approx(found) and label.pairwise_kl == pytest.approx(found.upper)


# ---- layers in the information plane, bits ----

LAYER, LABELS = [0, 0.2, 0.6, 0.7], [0, 0, 1, 0]  # from layer_information.hpp


def test_layers_by_hand():
    of_labels = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    assert information.layer_information(LAYER, LABELS, estimator="exact") == pytest.approx((2, of_labels))
    expected = pytest.approx((1, of_labels - 0.5))
    assert information.layer_information(LAYER, LABELS) == expected
    found = information.layer_information(torch.tensor(LAYER).reshape(4, 1), torch.tensor(LABELS))
    assert found == expected and isinstance(found.input, float)
    assert information.layer_information(numpy.array(LAYER), numpy.array(LABELS)) == expected
    shared = information.layer_information(LAYER, LABELS, inputs=[3, 3, 7, 7], estimator="exact")
    assert shared.input == pytest.approx(1)
    noisy = information.layer_information([0.0, 1.0], [0, 0], estimator="kolchinsky_upper:0.5")
    assert noisy == pytest.approx((math.log2(2 / (1 + math.exp(-1))), 0))


def test_usual_estimators_are_known():
    assert information.usual_layer_estimators()[:2] == ["exact", "width:0.5"]
    names = information.usual_layer_estimators(0.25)
    assert names[-1] == "noise:0.25"
    for name in names:
        assert information.layer_information([1.0, 1.0], [0, 1], estimator=name) == pytest.approx((0, 0))
    with pytest.raises(ValueError, match="noise_variance is 0.0; expected a positive number"):
        information.usual_layer_estimators(0)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"labels": [0, 1]}, ValueError, "labels is of length 2; expected length 4, one for each row"),
        ({"labels": [0, 0.5, 1, 1]}, ValueError, "labels is 0.5; expected a whole number"),
        ({"inputs": [1]}, ValueError, "inputs is of length 1; expected length 4, one for each row"),
        ({"inputs": []}, ValueError, "inputs is empty; expected one for each row"),
        ({"activations": [0, math.nan, 1, 2]}, ValueError, r"activations\(1, 0\) is nan; expected a finite number"),
        (
            {"activations": numpy.zeros((4, 2, 2))},
            ValueError,
            r"activations has the shape \(4, 2, 2\); expected 2 axes",
        ),
        ({"estimator": "bins:3"}, ValueError, "estimator is 'bins:3'; expected one of exact, width:0.5"),
        ({"estimator": 30}, TypeError, "estimator is a int; expected a name"),
    ],
)
def test_mistakes_with_layers_are_named(options, error, message):
    with pytest.raises(error, match=message):
        information.layer_information(**{"activations": LAYER, "labels": LABELS, **options})


# ---- the bottleneck ----


def test_the_curve_is_the_one_that_the_program_prints():
    curve = information.bottleneck_curve(JOINT, [0.001, 0.01, 0.2, 0.4, 0.6, 0.7])
    assert (curve.entropy_x, curve.entropy_y, curve.information) == pytest.approx((1.3322, 1.0768, 0.5715), abs=5e-5)
    printed = [1.3321, 1.0549, 1.0533, 0.9507, 0.3552, 0]
    assert [code.information_x for code in curve.points] == pytest.approx(printed, abs=5e-5)
    printed = [0.5715, 0.5703, 0.5700, 0.5354, 0.2216, 0]
    assert [code.information_y for code in curve.points] == pytest.approx(printed, abs=5e-5)
    assert [code.encoder.shape[1] for code in curve.points] == [4, 3, 3, 3, 3, 1]
    assert max(curve.defects) < 1e-9
    code = curve.points[3]
    assert code.converged and curve.information_y_at(code.information_x) == pytest.approx(code.information_y)
    kept = curve.information_y_at(numpy.array([0, curve.entropy_x]))
    assert kept == pytest.approx([0, curve.information])
    assert curve.price(code) == code.information_x


def test_deterministic_codes_are_functions():
    joint = torch.tensor(JOINT, dtype=torch.float64)
    curve = information.bottleneck_curve(joint, torch.tensor([0.1]), kind="deterministic")
    (code,) = curve.points
    assert curve.kind == "deterministic" and isinstance(code.encoder, torch.Tensor)
    assert set(code.encoder.flatten().tolist()) == {0.0, 1.0}
    assert curve.price(code) == code.entropy == pytest.approx(code.information_x)
    longer = code._replace(entropy=code.entropy + 1)
    assert curve.price(longer) == longer.entropy


def test_one_run_and_its_objective():
    code = information.iterate_bottleneck(JOINT, 0.2, numpy.eye(4))
    terms = information.bottleneck_terms(JOINT, code.encoder)
    assert terms.objective(0.2) == pytest.approx(code.objective) and terms.rate == pytest.approx(code.information_x)
    uniform = numpy.full((code.encoder.shape[1], 3), 1 / 3)
    prior = numpy.array(JOINT).sum(1) @ code.encoder
    bound = information.variational_bottleneck(JOINT, code.encoder, uniform, prior, numpy.array([0.2, 0.4]))
    assert bound[0] < code.objective and bound[1] < bound[0]


def test_critical_points_by_hand():
    flip = 0.1
    channel = [[(1 - flip) / 2, flip / 2], [flip / 2, (1 - flip) / 2]]
    assert information.squared_maximal_correlation(channel) == pytest.approx((1 - 2 * flip) ** 2)
    assert information.critical_beta(channel).global_ == pytest.approx((1 - 2 * flip) ** 2)
    found = information.critical_beta(JOINT)
    assert (found.global_, found.local) == pytest.approx((0.6495, 0.6372), abs=5e-5) and found.input.shape == (4,)


def test_gaussian_bottleneck_by_hand():
    rho = math.sqrt(0.5)
    for found in (
        information.gaussian_bottleneck_of_correlations([rho, 0.1], 0.25),
        information.gaussian_bottleneck([[1]], [[1]], [[rho]], 0.25),
    ):
        assert found[:3] == pytest.approx((math.log(3) / 2, math.log(1.5) / 2, 1))


# ---- attention ----


def test_matrices_at_their_extremes():
    uniform, identity = numpy.full((4, 4), 0.25), numpy.eye(4)
    assert information.attention_perplexity(uniform) == pytest.approx(4)
    assert information.effective_rank(uniform) == pytest.approx(1)
    assert information.attention_perplexity(identity) == pytest.approx(1)
    assert information.effective_rank(identity) == pytest.approx(4)
    entropies = information.attention_entropies(identity)
    assert entropies.mean == 0 and entropies.marginal == pytest.approx(2 * LOG_2) and entropies.per_query.shape == (4,)
    shift = information.attention_spectrum(numpy.roll(identity, 1, axis=1))
    assert shift.on_unit_circle == 4 and shift.unit_eigenvalues == 1 and shift.eigenvalues.dtype == complex
    assert shift.spectral_entropy == pytest.approx(2 * LOG_2)
    matrix = numpy.random.default_rng(1).standard_normal((3, 5))
    assert information.singular_values(matrix) == pytest.approx(numpy.linalg.svd(matrix, compute_uv=False))


def test_heads_at_their_extremes():
    identity = torch.eye(4)
    offsets = torch.stack([identity, identity.roll(1, 1)])
    assert information.head_redundancy(offsets) == pytest.approx(1)
    assert information.head_redundancy(list(offsets)) == pytest.approx(1)
    assert information.head_similarity(offsets) == pytest.approx(0)
    assert information.head_diversity(offsets) == pytest.approx(LOG_2)
    uniform = numpy.full((3, 4, 4), 0.25)
    assert information.head_redundancy(uniform) == 0 and information.head_similarity(uniform) == pytest.approx(1)
    assert information.joint_of_heads(*offsets).numpy() == pytest.approx(offsets[1].numpy() / 4)
    with pytest.raises(ValueError, match=r"heads has the shape \(4, 4\); expected 3 axes"):
        information.head_diversity(identity)


def test_heads_together():
    copies = numpy.zeros((2, 2, 2))
    copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    found = information.decompose_heads(copies)
    assert found.total == pytest.approx(LOG_2) and found.chain == pytest.approx([LOG_2, 0])
    assert found.terms == pytest.approx({(0,): LOG_2, (1,): LOG_2, (0, 1): LOG_2})
    assert found.inclusion_exclusion() == pytest.approx(found.total)
    assert found.chain_sum() == pytest.approx(found.total)


def test_paths_and_positions_by_hand():
    assert information.path_lengths("causal", 4, source=1).tolist() == [-1, 0, 1, 1]
    assert information.path_lengths("window", 7, window=2).tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert information.path_lengths("recurrent", 3)[-1] == 3
    assert information.summarise_paths("causal", 4) == (1, 10 / 16)
    with pytest.raises(ValueError, match="graph is 'tree'; expected recurrent, full, causal or window"):
        information.path_lengths("tree", 4)
    codes = information.sinusoidal_codes(16, 8)
    assert information.to_bits(information.position_information(codes)) == pytest.approx(4)
    found = information.offset_information(codes)
    assert information.to_bits(found.both_codes) == pytest.approx(4.716, abs=5e-4)
    assert information.to_bits(found.one_code) == pytest.approx(0.716, abs=5e-4)
