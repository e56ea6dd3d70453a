"""Mistakes of the caller: one line that names the argument, its value and what was expected."""

import math

import pytest
import torch

import isentropic
from isentropic import Scale, ScoreMap


def refused(change, error, words):
    """The call is rejected with these words, in one line."""
    arguments = {name: torch.randn(1, 2, 3, 4) for name in ("query", "key", "value")} | change
    with pytest.raises(error, match=words) as caught:
        isentropic.attention(**arguments)
    assert "\n" not in str(caught.value) and "{" not in str(caught.value)


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict(query=[1.0]), TypeError, "query is a list"),
        (dict(query=torch.zeros(1, 2, 3, 4, dtype=torch.int32)), TypeError, "query has type torch.int32"),
        (dict(query=torch.zeros(4)), ValueError, r"query has shape \[4\]"),
        (dict(key=torch.zeros(1, 2, 3, 5)), ValueError, "key d is 5; expected 4"),
        (dict(key=torch.zeros(1, 1, 3, 4), value=torch.zeros(1, 1, 3, 4)), ValueError, "enable_gqa"),
        (dict(attn_mask=torch.zeros(7, 7, dtype=torch.bool)), ValueError, r"attn_mask has shape \[7, 7\]"),
        (dict(attn_mask=torch.zeros(3, 3, dtype=torch.int64)), TypeError, "attn_mask has type torch.int64"),
        (dict(is_causal=True, attn_mask=torch.zeros(3, 3, dtype=torch.bool)), ValueError, "is_causal"),
        (dict(is_causal=True, causal="end"), ValueError, "is_causal and causal"),
        (dict(causal="middle"), ValueError, "causal is 'middle'"),
        (dict(scale="log"), ValueError, "scale is 'log'"),
        (dict(scale=[1]), TypeError, "scale is a list"),
        (dict(scale=torch.zeros(3)), ValueError, "scale count is 3"),
        (dict(map="soft"), ValueError, "map is 'soft'"),
        (dict(map=3), TypeError, "map is a int"),
        (dict(dropout_p=1.0), ValueError, "dropout_p is 1.0"),
        (dict(statistics=["entropie"]), ValueError, "'entropie'"),
        (dict(statistics=["sink_mass"]), ValueError, "sink"),
        (dict(window=0), ValueError, "window left is 0"),
        (dict(soft_cap=-1.0), ValueError, "soft_cap is -1.0; expected a positive number"),
        (dict(sink=torch.zeros(3)), ValueError, "sink"),
        (dict(sink=[0.0, 0.0]), TypeError, "sink is a list"),
        (dict(key_lengths=torch.tensor([1.5])), TypeError, "key_lengths has type"),
        (dict(key_lengths=[9]), ValueError, "key length is 9"),
        (dict(key_lengths=[2.5]), TypeError, "key_lengths has type"),
        (dict(attn_mask=[[True]]), TypeError, "attn_mask is a list"),
        (dict(query=torch.zeros(2, 2, 3, 4), key=torch.zeros(3, 2, 3, 4)), ValueError, "leading axes"),
        (
            dict(attn_mask=torch.ones(2, 1, 1, 3, 3).bool()),
            ValueError,
            r"attn_mask has shape \[2, 1, 1, 3, 3\]; expected l.* to \[1\]",
        ),
        (dict(alibi_slopes=[1.0, 2.0]), TypeError, "alibi_slopes is a list; expected a tensor"),
        (dict(bias=torch.zeros(3, 3), alibi_slopes=torch.zeros(2)), ValueError, "more than one of bias"),
    ],
)
def test_mistakes_are_named(change, error, words):
    refused(change, error, words)


@pytest.mark.parametrize("name, given, words", [
    ("window", 1.5, "window is 1.5; expected an integer"),
    ("window", True, "window is True; expected an integer"),
    ("window", "4", "window is '4'; expected an integer"),
    ("window", (2, 0.5), "window is 0.5; expected an integer"),
    ("window", (2, 1, 3), r"window is \(2, 1, 3\); expected two integers, left and right"),
    ("window", ((2, 0), (3, 0)), r"window is \(2, 0\); expected an integer"),
    ("window", torch.tensor(1.5), "window is a Tensor; expected an integer"),
    ("prefix", 0.5, "prefix is 0.5; expected an integer"),
    ("segments", 2.0, "segments is 2.0; expected an integer"),
    ("strided", 3, "strided is 3; expected two integers, stride and local"),
    ("strided", (3, 1.5), "strided is 1.5; expected an integer"),
    ("groups", 2, "groups is 2; expected two integers, first and recent"),
    ("groups", (1, 2.5), "groups is 2.5; expected an integer"),
    ("block_sparse", (torch.ones(2, 2, dtype=torch.bool), 2, 2.5), "block_sparse is 2.5; expected an integer"),
    ("soft_cap", "high", "soft_cap is 'high'; expected a number"),
    ("scale", True, "scale is True; expected a number"),
    ("dropout_p", "0.1", "dropout_p is '0.1'; expected a number"),
    ("statistics", 3, "statistics is a int; expected names, or 'all'"),
])  # fmt: skip
def test_other_types_are_refused(name, given, words):
    refused({name: given}, TypeError, words)


@pytest.mark.parametrize("name, given", [("window", 2**63), ("window", (1, 2**70)), ("prefix", 2**64), ("segments", 2**63), ("seed", 2**63)])  # fmt: skip
def test_integers_past_64_bits_are_refused(name, given):
    largest = given[1] if isinstance(given, tuple) else given
    refused({name: given, "dropout_p": 0.5}, ValueError, f"{name} is {largest}; expected an integer of 64 bits")


def test_the_largest_integers_are_no_limit():
    q, k, v = (torch.randn(1, 2, 3, 4) for _ in range(3))
    expected = isentropic.attention(q, k, v)
    assert isentropic.attention(q, k, v, window=(2**63 - 1, 2**63 - 1)).equal(expected)


@pytest.mark.parametrize("change, words", [
    (dict(soft_cap=1e39), r"soft_cap is 1e\+39; expected a positive number in the range of float32"),
    (dict(soft_cap=1e-46), "soft_cap is 1e-46; expected a positive number in the range of float32"),
    (dict(soft_cap=math.nan), "soft_cap is nan; expected a positive number"),
    (dict(soft_cap=math.inf), "soft_cap is inf; expected a positive number"),
    (dict(scale=1e39), r"scale is 1e\+39; expected a finite number in the range of float32"),
    (dict(scale=math.nan), "scale is nan; expected a number that is finite"),
    (dict(scale=Scale.log_n(-1e39)), r"kappa of the scale log_n is -1e\+39; expected a finite number in the range"),
    (dict(scale=Scale.yarn(math.inf)), "factor of the scale yarn is inf; expected a number that is finite"),
    (dict(scale=torch.tensor(1e39, dtype=torch.float64)), r"scale is 1e\+39; expected a finite number in the range of float32"),
    (dict(sink=torch.full((2,), 1e39, dtype=torch.float64)), r"sink is 1e\+39; expected a finite number in the range of float32"),
    (dict(alibi_slopes=torch.full((2,), 1e39, dtype=torch.float64)), r"ALiBi slope is 1e\+39; expected a finite number in the"),
    (dict(map=ScoreMap.sigmoid(offset=1e39)), r"offset of the map sigmoid is 1e\+39; expected a finite number in the range"),
    (dict(map=ScoreMap.gumbel(tau=1e-46)), "tau of the map gumbel is 1e-46; expected a positive number in the range"),
])  # fmt: skip
def test_numbers_past_float32_are_refused(change, words):
    refused(change, ValueError, words)


def test_float64_takes_numbers_past_float32():
    q, k, v = (torch.randn(1, 2, 3, 4, dtype=torch.float64) for _ in range(3))
    capped = isentropic.attention(q, k, v, soft_cap=1e39)
    torch.testing.assert_close(capped, isentropic.attention(q, k, v), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("documents, words", [
    ([0, 3], r"documents is \[0, 3\]; expected offsets from 0 to 5, the number of queries"),
    ([1, 5], r"documents is \[1, 5\]; expected offsets from 0 to 5, the number of queries"),
    (torch.tensor([[0, 2, 5], [0, 3, 4]]), r"documents is \[0, 3, 4\]; expected offsets from 0 to 5"),
    (([0, 2, 5], [0, 2, 4]), r"documents is \[0, 2, 4\]; expected offsets from 0 to 5, the number of keys"),
    ([], r"documents is \[\]; expected offsets from 0 to 5"),
])  # fmt: skip
def test_documents_hold_every_row(documents, words):
    tensors = {name: torch.randn(2, 2, 5, 4) for name in ("query", "key", "value")}
    refused(tensors | {"documents": documents}, ValueError, words)


@pytest.mark.parametrize("build, words", [
    (lambda: ScoreMap.gumbel("hot"), "tau of the map gumbel is 'hot'; expected a number"),
    (lambda: ScoreMap.gumbel(0.5, straight_through=1), "straight_through of the map gumbel is 1; expected True or False"),
    (lambda: ScoreMap.sigmoid(normaliser=None), "normaliser of the map sigmoid is None; expected a name"),
    (lambda: ScoreMap.linear(gamma="slow"), "gamma of the map linear is 'slow'; expected a number"),
    (lambda: ScoreMap.top_k(2.5), "keys of the map top_k is 2.5; expected an integer"),
])  # fmt: skip
def test_options_of_maps_are_checked_where_they_are_given(build, words):
    with pytest.raises(TypeError, match=words):
        build()


@pytest.mark.parametrize("block", [2.7, "2"])
def test_a_block_is_a_whole_number_of_keys(block):
    with pytest.raises(TypeError, match=f"block is {block!r}; expected an integer"):
        isentropic.hierarchical_attention(*torch.randn(3, 1, 2, 4, 8), block=block)
