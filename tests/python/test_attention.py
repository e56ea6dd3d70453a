"""The attention call: PyTorch's arguments, gradients, types, threads."""

import itertools
import math
import os
import time

import pytest
import torch
import torch.nn.functional as F

import isentropic
from isentropic import Scale, ScoreMap

DIFFERENTIABLE = (
    "log_partition entropy mean_score score_variance collision normalised_entropy effective_keys participation sparsity"
).split()


def tensors(*shape_q, kv_heads=None, n_k=None, d_v=None, dtype=torch.float32, seed=0, grad=False):
    *leading, heads, n_q, d = shape_q
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)
    kv_heads, n_k, d_v = kv_heads or heads, n_k or n_q, d_v or d
    return draw(*leading, heads, n_q, d), draw(*leading, kv_heads, n_k, d), draw(*leading, kv_heads, n_k, d_v)


def naive(q, k, v, scale=None, visible=None, bias=None, soft_cap=None, sink=None):
    """Attention and its statistics from the written-out matrix."""
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    s = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if soft_cap is not None:
        s = soft_cap * torch.tanh(s / soft_cap)
    if bias is not None:
        s = s + bias
    if visible is not None:
        s = s.masked_fill(~visible, -math.inf)
    keys = torch.logsumexp(s, -1)
    total = keys if sink is None else torch.logaddexp(keys, sink[:, None].expand(keys.shape))
    log_p = s - keys[..., None]
    p = log_p.exp()
    term = torch.where(p > 0, p * log_p, 0.0)
    s_seen = torch.where(p > 0, s, 0.0)
    mean = (p * s_seen).sum(-1)
    k_seen = (s > -math.inf).sum(-1)
    count = k_seen.to(s.dtype)
    collision = p.square().sum(-1)
    found = {
        "log_partition": total,
        "entropy": -term.sum(-1),
        "mean_score": mean,
        "score_variance": (p * (s_seen - mean[..., None]).square()).sum(-1),
        "max_score": s.max(-1).values,
        "peak": p.max(-1).values,
        "collision": collision,
        "visible": k_seen,
        "argmax": s.argmax(-1),
        "participation": 1 / collision,
        "sparsity": 1 / (count * collision).sqrt(),
        "effective_keys": (-term.sum(-1)).exp(),
        "normalised_entropy": torch.where(k_seen > 1, -term.sum(-1) / count.clamp(min=2).log(), 0.0),
    }
    if sink is not None:
        found["sink_mass"] = (sink[:, None] - total).exp()
    return (s - total[..., None]).exp() @ v, found


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


@pytest.mark.parametrize("mask_shape", [(6, 7), (1, 7), (6, 1), (2, 1, 6, 7), (1, 3, 6, 7), (2, 3, 1, 7)])
@pytest.mark.parametrize("boolean", [True, False])
def test_masks_as_sdpa(mask_shape, boolean):
    q, k, v = tensors(2, 3, 6, 8, n_k=7, grad=True)
    generator = torch.Generator().manual_seed(3)
    mask = torch.randn(*mask_shape, generator=generator)
    mask = mask > -0.5 if boolean else mask.requires_grad_()
    upstream = torch.randn(2, 3, 6, 8, generator=generator)
    gradients = []
    for call in (isentropic.attention, F.scaled_dot_product_attention):
        inputs = (q, k, v) if boolean else (q, k, v, mask)
        output = call(q, k, v, attn_mask=mask)
        gradients.append((output, *torch.autograd.grad(output, inputs, upstream)))
    for ours, theirs in zip(*gradients):
        torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=1e-5)


def test_broadcast_batch_mask_over_several_leading_axes():
    q, k, v = tensors(2, 2, 3, 5, 4)
    mask = torch.rand(2, 1, 1, 5, 5, generator=torch.Generator().manual_seed(0)) > 0.3
    mask[..., 0] = True
    torch.testing.assert_close(
        isentropic.attention(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, mask), atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("batches", [(1, 3, 3), (3, 1, 3), (3, 3, 1)])
def test_batches_broadcast_as_in_sdpa(batches):
    q, k, v = (torch.randn(batch, 2, 5, 4) for batch in batches)
    torch.testing.assert_close(isentropic.attention(q, k, v), F.scaled_dot_product_attention(q, k, v))
    lone = torch.randn(2, 5, 4)
    torch.testing.assert_close(isentropic.attention(lone, k, v), F.scaled_dot_product_attention(lone[None], k, v))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_additive_mask_hides_keys_next_to_a_bias(dtype):
    q, k, v = tensors(2, 1, 4, 8, n_k=6)
    mask = torch.zeros(2, 1, 1, 6, dtype=dtype)
    mask[0, ..., 3:] = torch.finfo(dtype).min
    for bias in (dict(bias=torch.full((1, 1, 4, 6), 20.0)), dict(alibi_slopes=torch.ones(1)), {}):
        _, aux = isentropic.attention(q, k, v, mask, return_aux=True, **bias)
        assert aux.visible[0].eq(3).all() and aux.visible[1].eq(6).all()


def test_fully_masked_row_is_zero():
    q, k, v = tensors(1, 1, 3, 4, grad=True)
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = False
    output, aux = isentropic.attention(q, k, v, mask, return_aux=True)
    assert output[0, 0, 1].eq(0).all() and aux.entropy[0, 0, 1] == 0 and aux.visible[0, 0, 1] == 0
    assert aux.log_partition[0, 0, 1] == -math.inf
    (output.sum() + aux.entropy.sum()).backward()
    assert all(torch.isfinite(x.grad).all() for x in (q, k, v))


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
    expected = 2 * torch.arange(1, 7).double().log() / 4
    torch.testing.assert_close(aux.row_scale, expected.expand(1, 2, 6))


def test_wanted_entropy():
    q, k, v = tensors(1, 2, 8, 16, n_k=64)
    _, aux = isentropic.attention(q, k, v, scale=Scale.wanted_entropy([2.0, 3.0]), return_aux=True)
    assert aux.status.eq(0).all()
    torch.testing.assert_close(aux.entropy, torch.tensor([2.0, 3.0])[:, None].expand(1, 2, 8), atol=1e-4, rtol=0)
    _, aux = isentropic.attention(q, k, v, scale=Scale.wanted_entropy(9.0), return_aux=True)
    assert aux.status.eq(1).all() and aux.row_scale.eq(0).all()


def test_under_the_implicit_gradient_entropy_does_not_move():
    q, k, v = tensors(1, 2, 4, 8, n_k=32, dtype=torch.float64, grad=True)
    scale = Scale.wanted_entropy(2.0, gradient="implicit")
    output, aux = isentropic.attention(q, k, v, scale=scale, statistics=["entropy"], return_aux=True)
    of_entropy = torch.autograd.grad(aux.entropy.sum(), (q, k), retain_graph=True)
    of_output = torch.autograd.grad(output.sum(), (q, k))
    assert max(g.abs().max() for g in of_entropy) < 1e-8 * max(g.abs().max() for g in of_output)


@pytest.mark.parametrize("score_map", ["hard", "sparsemax", "sigmoid", "relu_squared", "identity", "linear", ScoreMap.top_k(3), ScoreMap.decay(0.9), ScoreMap.gumbel(0.5), ScoreMap.gumbel(0.5, straight_through=True)])  # fmt: skip
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


@pytest.mark.parametrize("case", ["plain", "causal", "kappa", "hybrid", "per row", "temperature", "bias", "alibi", "relative", "sink", "cap", "lengths", "documents", "others"])  # fmt: skip
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
        "others": (lambda: {"others": True}, ()),
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


def test_the_target_of_a_wanted_entropy_gets_no_gradient():
    q, k, v = tensors(1, 2, 3, 4, n_k=20, grad=True)
    target = torch.ones(2, requires_grad=True)
    isentropic.attention(q, k, v, scale=Scale.wanted_entropy(target)).sum().backward()
    assert target.grad is None and q.grad is not None


def test_documents_of_queries_and_keys_as_lists_or_tensors():
    q, k, v = tensors(2, 1, 6, 4)
    pair = [0, 2, 6], [0, 4, 6]
    as_lists = isentropic.attention(q, k, v, documents=pair)
    assert as_lists.equal(isentropic.attention(q, k, v, documents=tuple(torch.tensor(x) for x in pair)))


@pytest.mark.parametrize("score_map", [ScoreMap.top_k(3), ScoreMap.gumbel(0.7), ScoreMap.relu_squared(), ScoreMap.sigmoid(), ScoreMap.sparsemax(), ScoreMap.linear(), ScoreMap.identity("l2")])  # fmt: skip
def test_gradcheck_of_maps(score_map):
    q, k, v = tensors(1, 2, 4, 3, dtype=torch.float64, grad=True, seed=2)
    assert torch.autograd.gradcheck(lambda q, k, v: isentropic.attention(q, k, v, map=score_map, seed=1), (q, k, v))


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


@pytest.mark.parametrize("options", [{}, {"scale": Scale.log_n(torch.tensor([0.5, 1.5])), "sink": torch.zeros(2)}, {"map": ScoreMap.top_k(2)}])  # fmt: skip
def test_opcheck(options):
    from isentropic._problem import Problem

    q, k, v = tensors(1, 2, 5, 4, grad=True)
    problem = Problem(q, k, v, statistics="all", **options)
    torch.library.opcheck(torch.ops.isentropic.attention, (problem.text(), q, k, v, problem._terms))
    torch.library.opcheck(torch.ops.isentropic.attention_weights, (problem.text(), q.detach(), k.detach(), problem._terms, [0]))  # fmt: skip


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


# ---- mistakes ----


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
        (dict(scale=torch.zeros(3)), ValueError, "scale parameter count is 3"),
        (dict(map="soft"), ValueError, "map is 'soft'"),
        (dict(map=3), TypeError, "map is a int"),
        (dict(dropout_p=1.0), ValueError, "dropout_p is 1.0"),
        (dict(statistics=["entropie"]), ValueError, "'entropie'"),
        (dict(statistics=["sink_mass"]), ValueError, "sink"),
        (dict(window=0), ValueError, "window left is 0"),
        (dict(soft_cap=-1.0), ValueError, "soft cap"),
        (dict(sink=torch.zeros(3)), ValueError, "sink"),
        (dict(sink=[0.0, 0.0]), TypeError, "sink is a list"),
        (dict(key_lengths=torch.tensor([1.5])), TypeError, "key_lengths has type"),
        (dict(key_lengths=[9]), ValueError, "key length is 9"),
        (dict(key_lengths=[2.5]), TypeError, "key_lengths has type"),
        (dict(attn_mask=[[True]]), TypeError, "attn_mask is a list"),
        (dict(map=ScoreMap.gumbel("hot")), ValueError, "problem description"),
        (dict(query=torch.zeros(2, 2, 3, 4), key=torch.zeros(3, 2, 3, 4)), ValueError, "leading axes"),
        (dict(bias=torch.zeros(3, 3), alibi_slopes=torch.zeros(2)), ValueError, "more than one of bias"),
    ],
)
def test_mistakes_are_named(change, error, words):
    arguments = dict(zip(("query", "key", "value"), tensors(1, 2, 3, 4))) | change
    with pytest.raises(error, match=words):
        isentropic.attention(**arguments)
