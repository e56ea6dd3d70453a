"""Gradients of isentropic.attention: through statistics, scales, maps and alpha."""

import math

import pytest
import torch
from problems import tensors

import isentropic
from isentropic import Scale, ScoreMap

DIFFERENTIABLE = (
    "log_partition entropy mean_score score_variance collision normalised_entropy effective_keys participation sparsity"
).split()


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
    # PyTorch's result for the formula, with its gradient; the scale cancels.
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
