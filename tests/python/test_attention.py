"""The attention call: PyTorch's arguments, gradients, types, threads."""

import itertools
import math
import os
import time

import pytest
import torch
import torch.nn.functional as F
from problems import naive, tensors

import isentropic
from isentropic import Scale, ScoreMap

DIFFERENTIABLE = (
    "log_partition entropy mean_score score_variance collision normalised_entropy effective_keys participation sparsity"
).split()


# ---- PyTorch's own call ----


@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float64, 1e-13), (torch.float32, 2e-6), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)]
)
@pytest.mark.parametrize("is_causal", [False, True])
def test_equals_sdpa(dtype, tolerance, is_causal):
    q, k, v = tensors(2, 4, 37, 16, kv_heads=2, n_k=45, d_v=24, dtype=dtype)
    ours = isentropic.attention(q, k, v, None, 0.0, is_causal, None, True)
    theirs = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=is_causal, enable_gqa=True)
    assert ours.dtype == dtype and ours.shape == theirs.shape
    torch.testing.assert_close(ours.double(), theirs, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("shape", [(5, 8), (3, 5, 8), (2, 3, 5, 8), (2, 2, 3, 5, 8)])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_leading_axes_and_scale_as_sdpa(shape, scale):
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(*shape, generator=generator) for _ in range(3))
    torch.testing.assert_close(
        isentropic.attention(q, k, v, scale=scale), F.scaled_dot_product_attention(q, k, v, scale=scale)
    )


@pytest.mark.parametrize("batches", [(1, 3, 3), (3, 1, 3), (3, 3, 1)])
def test_batches_broadcast_as_in_sdpa(batches):
    q, k, v = (torch.randn(batch, 2, 5, 4) for batch in batches)
    torch.testing.assert_close(isentropic.attention(q, k, v), F.scaled_dot_product_attention(q, k, v))
    lone = torch.randn(2, 5, 4)
    torch.testing.assert_close(isentropic.attention(lone, k, v), F.scaled_dot_product_attention(lone[None], k, v))


def test_dropout_is_seeded_and_unbiased():
    q, k, v = tensors(1, 2, 64, 8)
    torch.manual_seed(5)
    first = isentropic.attention(q, k, v, dropout_p=0.4)
    second = isentropic.attention(q, k, v, dropout_p=0.4)
    torch.manual_seed(5)
    again = isentropic.attention(q, k, v, dropout_p=0.4)
    assert first.equal(again) and not first.equal(second)
    mean = torch.stack([isentropic.attention(q, k, v, dropout_p=0.4, seed=s) for s in range(400)]).mean(0)
    torch.testing.assert_close(mean, isentropic.attention(q, k, v), atol=0.08, rtol=0)


def test_dropout_gradient_is_that_of_the_same_draw():
    q, k, v = tensors(1, 1, 5, 3, dtype=torch.float64, grad=True)
    call = lambda q, k, v: isentropic.attention(q, k, v, dropout_p=0.3, seed=7)
    assert torch.autograd.gradcheck(call, (q, k, v))


@pytest.mark.parametrize("n_q, n_k, batch", [(0, 3, 1), (3, 0, 1), (0, 0, 1), (3, 3, 0)])
def test_empty_axes(n_q, n_k, batch):
    q = torch.randn(batch, 2, n_q, 4, requires_grad=True)
    k = torch.randn(batch, 2, n_k, 4, requires_grad=True)
    output, aux = isentropic.attention(q, k, k, return_aux=True)
    assert output.shape == (batch, 2, n_q, 4) and aux.entropy.shape == (batch, 2, n_q)
    (output.sum() + aux.entropy.sum()).backward()
    assert q.grad.eq(0).all() and k.grad.eq(0).all()


# ---- statistics ----


def aux_and_naive(q, k, v, options, **written):
    output, aux = isentropic.attention(q, k, v, return_aux=True, enable_gqa=True, **options)
    return output, aux, *naive(q, k, v, **written)


@pytest.mark.parametrize("case", ["plain", "causal", "window", "bias", "cap", "sink"])
def test_statistics_equal_the_written_out_ones(case):
    q, k, v = tensors(2, 4, 9, 6, kv_heads=2, n_k=12, dtype=torch.float64)
    i, j = torch.arange(9)[:, None], torch.arange(12)[None]
    bias = torch.randn(1, 4, 9, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    sink = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)
    options, written = {
        "plain": ({}, {}),
        "causal": ({"causal": "end"}, {"visible": j <= i + 3}),
        "window": ({"is_causal": True, "window": 4}, {"visible": (j <= i) & (j > i - 4)}),
        "bias": ({"bias": bias}, {"bias": bias}),
        "cap": ({"soft_cap": 0.7, "scale": 1.3}, {"soft_cap": 0.7, "scale": 1.3}),
        "sink": ({"sink": sink}, {"sink": sink}),
    }[case]
    output, aux, expected_output, expected = aux_and_naive(q, k, v, options, **written)
    torch.testing.assert_close(output, expected_output, atol=1e-12, rtol=1e-12)
    for name, value in expected.items():
        torch.testing.assert_close(getattr(aux, name), value, atol=1e-11, rtol=1e-11, msg=lambda m: f"{name}: {m}")
    assert set(aux.as_dict()) == set(expected)


def test_with_a_sink_statistics_are_conditional_on_the_keys():
    q, k, v = tensors(1, 2, 5, 4, dtype=torch.float64)
    output, aux = isentropic.attention(q, k, v, sink=torch.tensor([0.5, 2.0]), return_aux=True)
    keys = 1 - aux.sink_mass
    torch.testing.assert_close(aux.entropy, aux.log_partition + keys.log() - aux.mean_score)
    assert (aux.log_partition - aux.mean_score - aux.entropy).min() > 0.05  # the shorter formula is another number
    weights = isentropic.attention_weights(q, k, range(5))
    torch.testing.assert_close(output, keys[..., None] * (weights @ v))


def test_group_statistics_must_be_asked_for():
    q, k, v = tensors(1, 2, 100, 4)
    names = {"first_mass", "recent_mass", "entropy_without_first", "mean_distance"}
    assert names.isdisjoint(isentropic.attention(q, k, v, return_aux=True)[1].as_dict())
    by_name = isentropic.attention(q, k, v, is_causal=True, statistics=names, return_aux=True)[1].as_dict()
    by_groups = isentropic.attention(q, k, v, is_causal=True, groups=(1, 64), return_aux=True)[1].as_dict()
    assert by_name.keys() == names
    assert all(by_name[name].equal(by_groups[name]) for name in names)


def test_aux_has_what_was_asked_for():
    q, k, v = tensors(1, 2, 5, 4)
    _, aux = isentropic.attention(q, k, v, statistics=["entropy", "peak"], return_aux=True)
    assert sorted(aux.as_dict()) == ["entropy", "peak"]
    with pytest.raises(AttributeError, match="collision.*entropy, peak"):
        aux.collision
    _, aux = isentropic.attention(q, k, v, statistics="entropy", groups=(1, 2), return_aux=True)
    assert {"first_mass", "recent_mass", "entropy_without_first", "mean_distance"} <= set(aux.as_dict())
    weights = isentropic.attention_weights(q, k, range(5))
    torch.testing.assert_close(aux.first_mass, weights[..., 0])


def test_weights_and_key_mass():
    q, k, v = tensors(2, 4, 7, 5, kv_heads=2, n_k=9)
    options = dict(causal="end", enable_gqa=True, scale="log_n")
    weights = isentropic.attention_weights(q, k, range(7), **options)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 7))
    expected = weights @ v.repeat_interleave(2, 1)
    torch.testing.assert_close(isentropic.attention(q, k, v, **options), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(isentropic.key_mass(q, k, **options), weights.sum(-2))
    assert isentropic.attention_weights(q, k, [6, 2], **options).equal(weights[..., [6, 2], :])


def test_statistics_alone_equal_those_with_the_output():
    q, k, v = tensors(1, 2, 33, 8)
    alone = isentropic.attention_statistics(q, k, is_causal=True)
    _, aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
    for name, value in aux.as_dict().items():
        assert getattr(alone, name).equal(value), name


# ---- scales and maps ----


def test_scales_count_visible_keys():
    q, k, v = tensors(1, 2, 6, 4)
    _, aux = isentropic.attention(q, k, v, is_causal=True, scale=Scale.log_n(2.0), return_aux=True)
    expected = (2 * torch.arange(1, 7).double().log() / 4).float()
    torch.testing.assert_close(aux.row_scale, expected.expand(1, 2, 6))


def test_target_entropy():
    q, k, v = tensors(1, 2, 8, 16, n_k=64)
    _, aux = isentropic.attention(q, k, v, scale=Scale.target_entropy([2.0, 3.0]), return_aux=True)
    assert aux.status.eq(0).all()
    torch.testing.assert_close(aux.entropy, torch.tensor([2.0, 3.0])[:, None].expand(1, 2, 8), atol=1e-4, rtol=0)
    _, aux = isentropic.attention(q, k, v, scale=Scale.target_entropy(9.0), return_aux=True)
    assert aux.status.eq(1).all() and aux.row_scale.eq(0).all()


def test_under_the_implicit_gradient_entropy_does_not_move():
    q, k, v = tensors(1, 2, 4, 8, n_k=32, dtype=torch.float64, grad=True)
    scale = Scale.target_entropy(2.0, gradient="implicit")
    output, aux = isentropic.attention(q, k, v, scale=scale, statistics=["entropy"], return_aux=True)
    of_entropy = torch.autograd.grad(aux.entropy.sum(), (q, k), retain_graph=True)
    of_output = torch.autograd.grad(output.sum(), (q, k))
    assert max(g.abs().max() for g in of_entropy) < 1e-8 * max(g.abs().max() for g in of_output)


@pytest.mark.parametrize("score_map", ["hard", "sparsemax", "entmax", "sigmoid", "relu_squared", "identity", "linear", ScoreMap.top_k(3), ScoreMap.decay(0.9), ScoreMap.gumbel(0.5), ScoreMap.gumbel(0.5, straight_through=True)])  # fmt: skip
def test_every_map_runs_and_its_weights_give_the_output(score_map):
    q, k, v = tensors(1, 2, 6, 4)
    options = dict(map=score_map, causal="start", seed=3)
    output = isentropic.attention(q, k, v, **options)
    if score_map != ScoreMap.gumbel(0.5, straight_through=True):  # its weights are the relaxed ones
        weights = isentropic.attention_weights(q, k, range(6), **options)
        torch.testing.assert_close(output, weights @ v, atol=1e-5, rtol=1e-5)
    isentropic.key_mass(q, k, **options)


def test_hierarchical_equals_flat_and_has_the_chain_rule():
    q, k, v = tensors(1, 2, 10, 4, dtype=torch.float64, grad=True)
    two_level, aux = isentropic.hierarchical_attention(q, k, v, 3, return_aux=True, causal="start")
    flat, flat_aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
    torch.testing.assert_close(two_level, flat)
    torch.testing.assert_close(aux.entropy, flat_aux.entropy)
    torch.testing.assert_close(aux.block_entropy + aux.within_entropy, aux.entropy)
    for score in ("log_partition", "mean_key"):
        call = lambda q, k, v: isentropic.hierarchical_attention(q, k, v, 3, block_score=score)
        assert torch.autograd.gradcheck(call, (q, k, v))


# ---- gradients ----


def all_differentiable(output, aux):
    return (output, *(getattr(aux, name) for name in aux.as_dict() if getattr(aux, name).requires_grad))


@pytest.mark.parametrize("case", ["plain", "causal", "kappa", "hybrid", "per row", "temperature", "bias", "alibi", "relative", "sink", "cap", "lengths", "documents", "exclude_self"])  # fmt: skip
def test_gradcheck(case):
    q, k, v = tensors(2, 4, 5, 3, kv_heads=2, n_k=5, d_v=2, dtype=torch.float64, grad=True)
    generator = torch.Generator().manual_seed(9)
    leaf = lambda *shape: torch.rand(shape, generator=generator, dtype=torch.float64).add_(0.3).requires_grad_()
    options, leaves = {
        "plain": (lambda: {}, ()),
        "causal": (lambda: {"causal": "end", "window": (3, 1)}, ()),
        "kappa": (lambda kappa: {"scale": Scale.log_n(kappa), "causal": "start"}, (leaf(4),)),
        "hybrid": (lambda a, b: {"scale": Scale.hybrid(a, b)}, (leaf(1), leaf(4))),
        "per row": (lambda rows: {"scale": Scale.per_row(rows)}, (leaf(1, 4, 5),)),
        "temperature": (lambda x: {"scale": x}, (leaf(),)),
        "bias": (lambda bias: {"bias": bias}, (leaf(1, 4, 5, 5),)),
        "alibi": (lambda slopes: {"alibi_slopes": slopes, "causal": "start"}, (leaf(4),)),
        "relative": (lambda table: {"relative_bias": table}, (leaf(4, 7),)),
        "sink": (lambda sink: {"sink": sink, "causal": "start"}, (leaf(4),)),
        "cap": (lambda bias: {"soft_cap": 0.8, "bias": bias}, (leaf(2, 1, 1, 5),)),
        "lengths": (lambda: {"key_lengths": [4, 2]}, ()),
        "documents": (lambda: {"documents": [0, 2, 5], "causal": "start"}, ()),
        "exclude_self": (lambda: {"exclude_self": True}, ()),
    }[case]  # fmt: skip

    def call(q, k, v, *parameters):
        found = isentropic.attention(q, k, v, return_aux=True, enable_gqa=True, **options(*parameters))
        return all_differentiable(*found)

    assert len(call(q, k, v, *leaves)) >= 1 + len(DIFFERENTIABLE)
    assert torch.autograd.gradcheck(call, (q, k, v, *leaves))


@pytest.mark.parametrize("shape", [(), (1,), (4,), (4, 1, 1), (1, 4), (1, 1, 1)])
def test_parameters_of_heads_learn_in_every_shape(shape):
    q, k, v = tensors(1, 4, 3, 2, dtype=torch.float64)
    leaf = lambda: torch.rand(shape, dtype=torch.float64).add_(0.5).requires_grad_()
    for name in ("scale", "sink", "alibi_slopes"):
        call = lambda x: isentropic.attention(q, k, v, **{name: x})
        assert torch.autograd.gradcheck(call, (leaf(),)), name


def test_the_target_of_a_target_entropy_gets_no_gradient():
    q, k, v = tensors(1, 2, 3, 4, n_k=20, grad=True)
    target = torch.ones(2, requires_grad=True)
    isentropic.attention(q, k, v, scale=Scale.target_entropy(target)).sum().backward()
    assert target.grad is None and q.grad is not None


def test_documents_of_queries_and_keys_as_lists_or_tensors():
    q, k, v = tensors(2, 1, 6, 4)
    pair = [0, 2, 6], [0, 4, 6]
    as_lists = isentropic.attention(q, k, v, documents=pair)
    assert as_lists.equal(isentropic.attention(q, k, v, documents=tuple(torch.tensor(x) for x in pair)))


@pytest.mark.parametrize("score_map", [ScoreMap.top_k(3), ScoreMap.gumbel(0.7), ScoreMap.relu_squared(), ScoreMap.sigmoid(), ScoreMap.sparsemax(), ScoreMap.entmax(1.3), ScoreMap.linear(), ScoreMap.linear("exp", sharpen=0.7), ScoreMap.identity("l2")])  # fmt: skip
def test_gradcheck_of_maps(score_map):
    q, k, v = tensors(1, 2, 4, 3, dtype=torch.float64, grad=True, seed=2)
    assert torch.autograd.gradcheck(lambda q, k, v: isentropic.attention(q, k, v, map=score_map, seed=1), (q, k, v))


@pytest.mark.parametrize("alpha", [1.05, 1.5, 2.0, 2.6])
@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_gradcheck_of_alpha(alpha, shape):
    q, k, v = tensors(1, 2, 4, 3, n_k=6, dtype=torch.float64, grad=True, seed=2)
    alphas = torch.full(shape, alpha, dtype=torch.float64, requires_grad=True)
    function = lambda q, alphas: isentropic.attention(q, k, v, map=ScoreMap.entmax(alphas), causal="end", scale=1.3)
    assert torch.autograd.gradcheck(function, (q, alphas))
    same = isentropic.attention(q, k, v, map=ScoreMap.entmax(alpha), causal="end", scale=1.3)
    assert torch.equal(function(q, alphas), same)


def test_alpha_gets_a_gradient_beside_other_terms():
    q, k, v = tensors(2, 2, 5, 4, dtype=torch.float64, grad=True)
    alpha = torch.tensor([1.2, 1.7], dtype=torch.float64, requires_grad=True)
    kappa = torch.tensor([0.8, 1.4], dtype=torch.float64, requires_grad=True)
    bias = torch.randn(1, 1, 5, 5, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 3])

    def function(alpha, kappa, bias):
        options = dict(map=ScoreMap.entmax(alpha), scale=Scale.log_n(kappa), bias=bias, key_lengths=lengths)
        return isentropic.attention(q, k, v, dropout_p=0.3, seed=4, **options)

    assert torch.autograd.gradcheck(function, (alpha, kappa, bias))


@pytest.mark.parametrize("make, expected", [
    (lambda: ScoreMap.decay(torch.tensor([0.9, 0.8])), (TypeError, "gamma of the map decay")),
    (lambda: ScoreMap.linear(sharpen=1.0), (ValueError, "sharpen is 1")),
    (lambda: ScoreMap.entmax(torch.tensor([0.5, 1.5])), (ValueError, "alpha is 0.5")),
    (lambda: ScoreMap.entmax(torch.tensor([1.2, 1.3, 1.4])), (ValueError, "alpha")),
])  # fmt: skip
def test_what_maps_do_not_take(make, expected):
    q, k, v = tensors(1, 2, 4, 3)
    with pytest.raises(expected[0], match=expected[1]):
        isentropic.attention(q, k, v, map=make())


@pytest.mark.parametrize("causal", [None, "start"])
def test_sharpened_features_are_one_in_both_forms(causal):
    q, k, v = tensors(2, 2, 9, 4, dtype=torch.float64, grad=True)
    both = [ScoreMap.linear("exp", recurrent=recurrent, sharpen=0.8) for recurrent in (False, True)]
    quadratic, recurrent = (isentropic.attention(q, k, v, map=map, causal=causal) for map in both)
    assert torch.allclose(quadratic, recurrent, rtol=1e-12, atol=1e-12)
    # What PyTorch makes of the formula, with its gradient; the scale cancels.
    features = q.exp() @ (0.8 * math.sqrt(2 * math.log(9)) * k).exp().transpose(-1, -2)
    features = features.tril() if causal else features
    wanted = features / features.sum(-1, keepdim=True) @ v
    assert torch.allclose(quadratic, wanted, rtol=1e-12, atol=1e-12)
    upstream = torch.randn_like(wanted)
    for found in (quadratic, recurrent):
        for one, two in zip(*(torch.autograd.grad(x, (q, k, v), upstream, retain_graph=True) for x in (found, wanted))):
            assert torch.allclose(one, two, rtol=1e-10, atol=1e-12)


def test_sharpening_counts_the_keys_of_each_batch_entry():
    q, k, v = tensors(2, 1, 6, 4)
    options = dict(map=ScoreMap.linear("exp", sharpen=1.0))
    padded = isentropic.attention(q, k, v, key_lengths=[6, 4], **options)
    assert torch.allclose(padded[1], isentropic.attention(q[1:], k[1:, :, :4], v[1:, :, :4], **options)[0], atol=1e-6)


def test_a_second_derivative_is_refused():
    q, k, v = tensors(1, 1, 3, 2, dtype=torch.float64, grad=True)
    gradient = lambda: torch.autograd.grad(isentropic.attention(q, k, v).sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivative"):
        gradient()


def test_statistics_of_other_maps_have_no_gradient():
    q, k, v = tensors(1, 1, 4, 3, grad=True)
    _, aux = isentropic.attention(q, k, v, map="relu_squared", return_aux=True)
    assert not any(x.requires_grad for x in aux.as_dict().values())


# ---- the rest of PyTorch ----


@pytest.mark.parametrize("options", [{}, {"scale": Scale.log_n(torch.tensor([0.5, 1.5])), "sink": torch.zeros(2)}, {"map": ScoreMap.top_k(2)}, {"map": ScoreMap.entmax(torch.tensor([1.5, 1.2]))}])  # fmt: skip
def test_opcheck(options):
    from isentropic._problem import Problem

    q, k, v = tensors(1, 2, 5, 4, grad=True)
    problem = Problem(q, k, v, statistics="all", **options)
    torch.library.opcheck(torch.ops.isentropic.attention, (problem.text(), q, k, v, problem._terms))
    torch.library.opcheck(torch.ops.isentropic.attention_weights, (problem.text(), q.detach(), k.detach(), problem._terms, [0]))  # fmt: skip


ORDERS = {"contiguous": (0, 1, 2, 3), "transposed": (0, 2, 1, 3), "turned": (2, 1, 0, 3), "last outside": (3, 0, 1, 2)}


def lying_in(order, x):
    """The same numbers with the axes of memory in another order."""
    back = sorted(range(4), key=lambda axis: order[axis])
    return x.detach().permute(order).contiguous().permute(back).requires_grad_(x.requires_grad)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_results_lie_in_memory_as_the_inputs(order):
    q, k, v = tensors(2, 4, 5, 8, kv_heads=2, n_k=7, d_v=6, grad=True)
    inputs = [lying_in(order, x) for x in (q, k, v)]
    output, plain = (isentropic.attention(*x, is_causal=True, enable_gqa=True) for x in (inputs, (q, k, v)))
    outer = [axis for axis in order if axis != 3]
    assert output.permute(*outer, 3).is_contiguous() and output.equal(plain)
    upstream = torch.randn_like(output)
    gradients, expected = (torch.autograd.grad(x, y, upstream) for x, y in ((output, inputs), (plain, (q, k, v))))
    for gradient, same in zip(gradients, expected):
        assert gradient.permute(*outer, 3).is_contiguous() and gradient.equal(same)


@pytest.mark.parametrize("options, fields", [({}, 3), ({"statistics": "entropy"}, 4), ({"statistics": "all"}, 6), ({"map": "relu_squared"}, 1), ({"map": "entmax"}, 1), ({"map": ScoreMap.top_k(2)}, 3), ({"scale": Scale.target_entropy(0.7, gradient="implicit")}, 6)])  # fmt: skip
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("n_q", [0, 1, 5])
def test_compilers_are_told_shapes_and_strides(options, fields, order, n_q):
    from torch._subclasses.fake_tensor import FakeTensorMode

    from isentropic._problem import Problem

    q, k, v = (lying_in(order, x) for x in tensors(2, 4, n_q, 8, n_k=7, d_v=6))
    problem = Problem(q, k, v, **options)

    def run(q, k, v):
        found = torch.ops.isentropic.attention(problem.text(), q, k, v, problem._terms)
        output, _, _, _, *saved = found
        upstream = torch.ones(output.shape)
        return *found, *torch.ops.isentropic.attention_backward(
            problem.text(), q, k, v, problem._terms, output, *saved, upstream, None, False
        )

    seen = lambda found: [(x.shape, x.stride(), x.dtype) for x in found]
    with FakeTensorMode() as fake:
        told = seen(run(*(fake.from_tensor(x) for x in (q, k, v))))
    assert told == seen(run(q, k, v))
    assert told[4][0] == (fields, 2, 4, n_q) and told[5][0] == (4, 2, 4, n_q) and told[5][2] == torch.int64


def test_opcheck_of_losses_and_levels():
    q, k, v = (x[0, 0] for x in tensors(1, 1, 6, 4))
    q, k = q.requires_grad_(), k.requires_grad_()
    arguments = (q, k, torch.arange(6), torch.tensor(2.0, requires_grad=True), torch.randn(6), 3.0, False)
    torch.library.opcheck(torch.ops.isentropic.softmax_loss, arguments)
    q, k, v = tensors(1, 2, 6, 4, grad=True)
    torch.library.opcheck(torch.ops.isentropic.hierarchical_attention, ("{}", q, k, v, [], 3, True, None))


def test_compiles_without_a_break():
    q, k, v = tensors(1, 2, 16, 8, grad=True)

    def loss(q, k, v):
        output, aux = isentropic.attention(q, k, v, is_causal=True, scale="log_n", return_aux=True)
        return output.square().mean() + aux.entropy.mean()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(q, k, v), loss(q, k, v))
    for ours, plain in zip(*(torch.autograd.grad(f(q, k, v), (q, k, v)) for f in (compiled, loss))):
        torch.testing.assert_close(ours, plain)


def test_compiles_for_every_length_at_once():
    entropy = lambda q: isentropic.attention(q, q, q, dropout_p=0.25, return_aux=True)[1].entropy
    compiled = torch.compile(entropy, dynamic=True, fullgraph=True, backend="aot_eager")
    for n in (5, 6, 9):
        q = torch.randn(1, 2, n, 4, requires_grad=True)
        torch.testing.assert_close(compiled(q), entropy(q))


def test_autocast_gives_the_region_type_and_float32_statistics():
    q, k, v = tensors(1, 2, 8, 4, grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        output, aux = isentropic.attention(q, k, v, return_aux=True)
    assert output.dtype == torch.bfloat16 and aux.entropy.dtype == torch.float32
    output.float().sum().backward()
    assert q.grad.dtype == torch.float32


def cpu_times(work):
    """CPU time of the calling thread (it falls when others take a share), and that of all threads over it."""
    work()
    tries = []
    for _ in range(6):
        own, everyone = time.thread_time(), time.process_time()
        work()
        own, everyone = time.thread_time() - own, time.process_time() - everyone
        tries.append((own, everyone / own))
    return min(tries)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
@pytest.mark.parametrize("backward", [False, True])
def test_torch_threads_are_obeyed(backward):
    q, k, v = tensors(1, 8, 1500, 64, grad=backward)

    def work():
        output = isentropic.attention(q, k, v)
        if backward:
            output.sum().backward()

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone, share = cpu_times(work)
        assert share < 1.1  # nobody else worked
        torch.set_num_threads(2)
        # On a busy machine the other thread may come late; one good try of many is enough.
        assert any(cpu_times(work)[0] < 0.8 * alone for _ in range(5))
    finally:
        torch.set_num_threads(before)


def test_runs_are_reproducible_bit_for_bit():
    q, k, v = tensors(2, 4, 300, 32, kv_heads=2, grad=True)
    before, runs = torch.get_num_threads(), []
    torch.use_deterministic_algorithms(True)
    try:
        for threads in (1, 2, 2):
            torch.set_num_threads(threads)
            output, aux = isentropic.attention(q, k, v, is_causal=True, enable_gqa=True, return_aux=True)
            runs.append((output, aux.entropy, *torch.autograd.grad(output.sum() + aux.entropy.sum(), (q, k, v))))
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(before)
    for run, (first, other) in itertools.product(runs[1:], zip(runs[0], runs[1])):
        assert first.equal(other)
    assert all(x.equal(y) for x, y in zip(runs[1], runs[2]))


def test_training_with_one_seed_gives_the_same_numbers_twice():
    def train():
        torch.manual_seed(11)
        layer = isentropic.EntropyInvariantAttention(32, 4, learn_kappa=True, dropout=0.2, causal="start")
        optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-2)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            output, aux = layer(torch.randn(2, 40, 32))
            loss = output.square().mean() - 0.1 * aux.entropy.mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [p.detach().clone() for p in layer.parameters()]

    (first, weights), (second, again) = train(), train()
    assert first == second and len(set(first)) == 5
    assert all(x.equal(y) for x, y in zip(weights, again))


def test_transposed_inputs_are_taken_as_they_are():
    q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors(2, 3, 6, 8))
    assert not q.is_contiguous()
    torch.testing.assert_close(isentropic.attention(q, k, v), F.scaled_dot_product_attention(q, k, v))
    turned = q.transpose(-1, -2).contiguous().transpose(-1, -2)
    torch.testing.assert_close(isentropic.attention(turned, k, v), F.scaled_dot_product_attention(q, k, v))
