"""The attention call: PyTorch's arguments, statistics, scales and maps."""

import pytest
import torch
import torch.nn.functional as F
from problems import naive, tensors

import isentropic
from isentropic import Scale, ScoreMap


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
    assert (aux.log_partition - aux.mean_score - aux.entropy).min() > 0.05  # the shorter formula is a different number
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
    if score_map != ScoreMap.gumbel(0.5, straight_through=True):  # whose weights are the relaxed ones
        weights = isentropic.attention_weights(q, k, range(6), **options)
        torch.testing.assert_close(output, weights @ v, atol=1e-5, rtol=1e-5)
    isentropic.key_mass(q, k, **options)


def test_a_key_that_is_first_and_recent_counts_as_first():
    q, k = torch.randn(2, 1, 1, 9, 8)
    aux = isentropic.attention_statistics(q, k, causal="start", statistics="all", groups=(3, 4))
    weights = isentropic.attention_weights(q, k, range(9), causal="start")
    distance = torch.arange(9)[:, None] - torch.arange(9)
    recent = (distance < 4) & (torch.arange(9) >= 3)
    torch.testing.assert_close(aux.first_mass, weights[..., :3].sum(-1))
    torch.testing.assert_close(aux.recent_mass, (weights * recent).sum(-1))


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
