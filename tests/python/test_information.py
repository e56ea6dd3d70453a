"""isentropic.information: estimators against scikit-learn, closed forms and the program's output."""

import inspect
import math
import pathlib
import random
import re
import sys
import types

import numpy
import pytest
import torch
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.metrics import mutual_info_score

import isentropic
from isentropic import information
from isentropic.information import _call

LOG_2 = math.log(2)


def gaussian_pairs(n=2000, rho=0.6, seed=1):
    x, noise = numpy.random.default_rng(seed).standard_normal((2, n))
    return x, rho * x + math.sqrt(1 - rho * rho) * noise


# ---- the table of C++ functions and the Python functions ----


def python_functions():
    modules = [module for name, module in sys.modules.items() if name.startswith("isentropic.information")]
    return {
        value.__name__: value
        for module in modules
        for value in vars(module).values()
        if inspect.isfunction(value) and hasattr(value, "__wrapped__")
    }


def test_every_function_of_the_library_is_there_with_its_arguments():
    found = python_functions()
    assert found.keys() == _call.KINDS.keys() and len(found) > 150
    for name, function in found.items():
        assert len(inspect.signature(function).parameters) == len(_call.KINDS[name]), name
        assert function.__doc__, name


@pytest.mark.parametrize("package", [information, information.theory])
def test_annotations_can_be_read(package):
    for value in vars(package).values():
        if inspect.isfunction(value):
            hints = inspect.get_annotations(value, eval_str=True)
            assert hints.keys() == {*inspect.signature(value).parameters, "return"}


# ---- mutual information ----


def test_ksg_is_that_of_scikit_learn():
    x, y = gaussian_pairs()
    expected = mutual_info_regression(x[:, None], y, n_neighbors=3, random_state=0)[0]
    assert information.mutual_information(x, y, estimator="ksg", k=3) == pytest.approx(expected, abs=1e-6)
    expected = mutual_info_regression(x[:, None], y, n_neighbors=7, random_state=0)[0]
    assert information.mutual_information(x, y, estimator="ksg", k=7) == pytest.approx(expected, abs=1e-6)


def test_mixed_is_that_of_scikit_learn():
    x, y = gaussian_pairs()
    label = (x > 0).astype(int)
    expected = mutual_info_classif(y[:, None], label, n_neighbors=3, random_state=0)[0]
    found = information.mutual_information(label, y, estimator="mixed")
    assert found == pytest.approx(expected, abs=1e-6)
    assert information.mixed_mutual_information(label, y) == found == information.mutual_information(label, y)


def test_discrete_is_that_of_scikit_learn():
    x, y = (numpy.clip(numpy.round(v), -2, 2) for v in gaussian_pairs())
    found = information.mutual_information(x, y, estimator="discrete", entropy="plug_in")
    assert found == pytest.approx(mutual_info_score(x, y), abs=1e-12)
    counts = numpy.histogram2d(x, y, bins=5)[0]
    assert information.mutual_information_from_counts(counts, "plug_in") == pytest.approx(found, abs=1e-12)


@pytest.fixture(scope="module")
def pairs():
    """The samples used in docs/information.md."""
    generator = random.Random(1)
    rows = []
    for _ in range(5000):
        x, e, other = (generator.gauss(0, 1) for _ in range(3))
        rows.append((x, 0.75 * x + 0.4375**0.5 * e, int(x > 0), other))
    return numpy.array(rows).T


def test_values_are_those_that_the_program_prints(pairs):
    x, y, label, other = pairs
    six = {"abs": 5e-7}
    assert information.mutual_information(x, y) == pytest.approx(0.431225, **six)
    assert information.mutual_information(x, y, estimator="gaussian") == pytest.approx(0.424157, **six)
    assert information.mutual_information(x, y, estimator="binned") == pytest.approx(0.413723, **six)
    assert information.mutual_information(label, y) == pytest.approx(0.225229, **six)
    assert information.mutual_information(x, y, label) == pytest.approx(0.222566, **six)
    assert information.mutual_information(x, y, label, estimator="ksg1") == pytest.approx(0.205474, **six)
    found = information.correlation_with_baselines(numpy.column_stack([x, y, other]))
    assert found.observed == pytest.approx((0.427272, 0.419822), **six)
    assert found.shuffled_order == pytest.approx((0.137909, 0.142614), **six)


def test_significance_and_interval_are_those_that_the_program_prints(pairs):
    x, y, label, other = pairs
    found = information.permutation_significance(x, y)
    assert found.p_value == 0.01 and found.permutations == 99
    assert found.surrogate_deviation == pytest.approx(0.009686, abs=5e-7)
    interval = information.half_sample_interval(x, y)
    assert (interval.low, interval.high) == pytest.approx((0.395334, 0.467116), abs=5e-7)
    assert information.permutation_significance(label, other).p_value == pytest.approx(0.31)


def test_the_estimator_is_chosen_by_the_data_and_distrusted_where_it_fails(pairs):
    x, y, label, _ = pairs
    assert information.suitable_estimator(x, y) == "ksg1"
    assert information.suitable_estimator(label, y) == "mixed"
    assert information.suitable_estimator(x, y, label) == "mesner_shalizi"
    assert set(information.information_estimators()) >= {"ksg1", "ksg2", "gaussian", "discrete"}
    assert information.information_warnings(x, y, estimate=0.43) == []
    (warning,) = information.information_warnings(numpy.round(x), y, estimate=0.4, estimator="ksg")
    assert "x has many ties" in warning


def test_arrays_tensors_and_lists_are_the_same_samples():
    x, y = gaussian_pairs(200)
    expected = information.mutual_information(x, y)
    assert isinstance(expected, float)
    assert information.mutual_information(x[:, None], y.tolist()) == expected
    assert information.mutual_information(torch.tensor(x, requires_grad=True), torch.tensor(y)) == expected
    wide = numpy.stack([x, y])  # columns are not contiguous
    assert information.mutual_information(wide.T[:, :1], wide.T[:, 1:]) == expected
    narrow = x.astype("float32")
    assert information.mutual_information(narrow, y) == information.mutual_information(narrow.astype(float), y)


def test_the_number_of_threads_changes_no_bit(one_thread):
    x, y = gaussian_pairs(5000)
    alone = information.mutual_information(x, y)
    torch.set_num_threads(2)
    assert information.mutual_information(x, y) == alone


def test_results_are_tensors_where_a_tensor_was_given():
    samples = [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 9.0]]
    binned = information.binned(samples, 2, "equal_mass")
    assert isinstance(binned, numpy.ndarray) and binned.tolist() == [[0, 0], [0, 0], [1, 1], [1, 1]]
    assert torch.equal(information.binned(torch.tensor(samples), 2, "equal_mass"), torch.from_numpy(binned))
    transposed = torch.tensor([[4.0, 3.0, 1.0, 2.0], [5.0, 6.0, 9.0, 7.0]]).T  # column-major in memory
    assert information.binned(transposed, 4, "equal_mass").T.tolist() == [[3, 2, 0, 1], [0, 1, 3, 2]]
    assert information.usual_bins(1000) == 10 and isinstance(information.usual_bins(1000), int)


# ---- entropies ----


def test_entropies_of_counts_by_hand():
    assert information.entropy_from_counts([1, 1], "plug_in") == pytest.approx(LOG_2)
    assert information.entropy_from_counts([1, 1]) == pytest.approx(LOG_2 + 0.25)
    assert information.entropy_from_counts([1, 1], "grassberger") == pytest.approx(2 * LOG_2 + 0.5772156649)
    assert information.entropy_from_symbols([3, 3, 7, 7], "plug_in") == pytest.approx(LOG_2)
    for estimator in information.entropy_estimators():
        assert 1 < information.entropy_from_counts([50, 50, 50], estimator, cells=3) < 1.2


def test_differential_entropies():
    x, y = gaussian_pairs(4000)
    one = math.log(2 * math.pi * math.e) / 2
    assert information.gaussian_entropy([[1, 0.6], [0.6, 1]]) == pytest.approx(2 * one + math.log(0.8))
    assert information.gaussian_entropy_from_samples(x) == pytest.approx(one + math.log(x.std(ddof=1)))
    assert information.kozachenko_leonenko_entropy(x) == pytest.approx(one, abs=0.05)
    assert information.gaussian_mutual_information([[1, 0.75], [0.75, 1]], 1) == pytest.approx(0.413339, abs=1e-6)


def test_known_distributions_by_hand():
    assert information.to_bits(information.entropy([0.5, 0.25, 0.25])) == pytest.approx(1.5)
    assert information.kl_divergence([0.5, 0.5], [1, 0]) == math.inf
    assert information.jensen_shannon([[1, 0], [0, 1]]) == pytest.approx(LOG_2)
    assert information.renyi_entropy([0.5, 0.25, 0.25], numpy.array([0, math.inf])) == pytest.approx(
        [math.log(3), LOG_2]
    )
    copy, xor = numpy.diag([0.5, 0.5]), numpy.zeros((2, 2, 2))
    xor[[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] = 0.25
    assert information.joint_mutual_information(copy) == pytest.approx(LOG_2)
    assert information.conditional_entropy(copy) == pytest.approx(0)
    assert information.joint_entropy(xor, [0, 2]) == pytest.approx(2 * LOG_2)
    assert information.joint_mutual_information(xor, [0], [1], given=[2]) == pytest.approx(LOG_2)
    assert information.co_information(xor, [[0], [1], [2]]) == pytest.approx(-LOG_2)
    assert information.co_information(xor, [[0, 1], [2]]) == pytest.approx(LOG_2)
    assert information.total_correlation(xor) == pytest.approx(LOG_2)
    assert information.dual_total_correlation(xor) == pytest.approx(2 * LOG_2)


def test_many_variables():
    coins = numpy.array([[0, 0], [1, 1]] * 50)
    assert information.correlation(coins, estimator="discrete", entropy="plug_in") == pytest.approx((LOG_2, LOG_2))
    assert information.order_information(coins) == pytest.approx(0)
    assert information.order_information([[0, 1]] * 4) == pytest.approx(LOG_2)
    shuffled = information.with_resampled_positions(coins, seed=3)
    assert (shuffled.sum(0) == 50).all() and (shuffled != coins).any()
    assert (information.with_shuffled_order([[0, 1]] * 50).sum(1) == 1).all()
    x, z = gaussian_pairs(1000)
    y = z + numpy.random.default_rng(2).standard_normal(1000)
    chain = information.data_processing(x, z, y, estimator="gaussian")
    assert chain.slack == pytest.approx(0, abs=0.01) and chain.holds(1e-9)
    assert chain.margin == pytest.approx(chain.x_z + chain.slack - chain.x_y)


# ---- mistakes ----


@pytest.mark.parametrize(
    "arguments, options, error, message",
    [
        (([1, 2, 3], [1, 2]), {"estimator": "auto"}, ValueError, "y is 2 rows long"),
        (([], []), {"estimator": "auto"}, ValueError, "x is without rows; expected at least one observation"),
        (([1, 2, 3], [1, 2]), {}, ValueError, "y is 2 rows long; expected 3 rows, as many as x"),
        (([1, 2, 3], [1, 2, 4]), {"k": 3}, ValueError, "k is 3; expected at least 1 and less than the 3 samples"),
        (([1, 2, 3], [1, 2, 4]), {"k": 1.5}, ValueError, "k is 1.5; expected a whole number"),
        (([1, 2, 3], [1, 2, 4]), {"k": 2**40}, ValueError, "k is .*; expected a whole number of at most 2147483647"),
        (([1, 2, 3], [1, 2, 4]), {"k": math.nan}, ValueError, "k is nan; expected a whole number"),
        (([1, 2, 3], [1, 2, 4]), {"k": []}, ValueError, "k is empty; expected at least one number"),
        (([1, 2, 3], [1, 2, 4]), {"estimator": "cca"}, ValueError, "estimator is 'cca'; expected one of ksg1, ksg2"),
        (([1, 2, 3], [1, 2, 4]), {"estimator": 3}, TypeError, "estimator is a int; expected a name"),
        (([1, 2, 3], [1, 2, 4]), {"scaling": "log"}, ValueError, "scaling is 'log'; expected none or standardised"),
        (([1, 2, 3], [1, 2, 4], [1, 2, 2]), {"estimator": "ksg2"}, ValueError, "estimator is ksg2, with a condition z"),
        (([1, 2, 3], ["a", "b", "c"]), {}, TypeError, "y is a list; expected numbers"),
        (([1, 2, 3], None), {}, TypeError, "y is None; expected numbers"),
        (([1, 2, 3j], [1, 2, 3]), {}, TypeError, "x is a list; expected numbers"),
        ((torch.ones(3, dtype=torch.complex64), [1, 2, 3]), {}, TypeError, "x is complex; expected real numbers"),
        (([1, 2], [[1], [2, 3]]), {}, ValueError, "y is a list of parts that differ in shape; expected equal shapes"),
        (([1, 2, math.nan], [1, 2, 3]), {}, ValueError, r"x\(2, 0\) is nan; expected a finite number"),
        ((numpy.array(["a", "b", "c"]), [1, 2, 3]), {}, TypeError, "x is an array of type <U1; expected numbers"),
        (
            (numpy.ma.masked_equal([1, 2, 9], 9), [1, 2, 3]),
            {},
            TypeError,
            "x has masked values; expected an array without",
        ),
        (([1, 2, 3],), {}, TypeError, r"mutual_information\(\) missing a required argument: 'y'"),
        (
            ([1, 2, 3], [1, 2, 4]),
            {"kk": 2},
            TypeError,
            r"mutual_information\(\) got an unexpected keyword argument 'kk'",
        ),
        ((numpy.ones((2, 2, 2)), [1, 2]), {}, ValueError, r"x has the shape \(2, 2, 2\); expected 2 axes"),
    ],
)
def test_mistakes_are_named(arguments, options, error, message):
    with pytest.raises(error, match=message):
        information.mutual_information(*arguments, **{"estimator": "ksg", **options})


def test_large_unsigned_integers_do_not_wrap():
    y = numpy.arange(8.0)
    x = numpy.where(y % 2 == 0, 0, 2**64 - 2**12).astype(numpy.uint64)
    assert information.binned(x, 2).ravel().tolist() == [0, 1] * 4
    with pytest.raises(ValueError, match=r"seed is 1.84467e\+19; expected a whole number of at most"):
        information.permutation_significance(y, y, seed=2**64 - 1, permutations=2)
    with pytest.raises(TypeError, match=r"groups is \[0, 1\]; expected sequences of axes"):
        information.co_information([[0.5, 0], [0, 0.5]], [0, 1])


def test_without_the_library_the_import_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("isentropic.information")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(isentropic, "information")
    monkeypatch.setattr(torch.ops, "isentropic", types.SimpleNamespace())
    with pytest.raises(ImportError, match="apt-get install libboost-dev"):
        isentropic.information
    with pytest.raises(AttributeError, match="module 'isentropic' has no attribute 'informatics'"):
        isentropic.informatics


def test_the_sample_of_the_documentation_runs():
    text = (pathlib.Path(__file__).parents[2] / "docs" / "information.md").read_text()
    (sample,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names: dict = {}
    exec(sample, names)
    assert names["information"].mutual_information(names["x"], names["y"]) == pytest.approx(0.413, abs=0.03)
