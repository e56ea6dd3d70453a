"""Losses against PyTorch's with the explicit matrix, and the identities that relate them to attention."""

import functools
import math

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F

import isentropic


raw_info_nce = functools.partial(isentropic.info_nce, normalise=False)  # scores are plain dot products


def rows(n, d, seed=0, dtype=torch.float64, grad=True):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)


def expect_same(ours, theirs, inputs, upstream=None, tolerance=1e-10):
    """Values and gradients, the latter for a non-uniform upstream gradient."""
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)
    if upstream is None:
        upstream = torch.linspace(-1, 2, ours.numel(), dtype=ours.dtype).reshape(ours.shape)
    for found, wanted in zip(*(torch.autograd.grad(x, inputs, upstream, retain_graph=True) for x in (ours, theirs))):
        torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance)


# ---- InfoNCE ----


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_info_nce_in_batch(reduction):
    q, k = rows(7, 4), rows(7, 4, 1)
    tau = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    ours = raw_info_nce(q, k, temperature=tau, reduction=reduction)
    theirs = F.cross_entropy(q @ k.T / tau, torch.arange(7), reduction=reduction)
    expect_same(ours.loss, theirs, (q, k, tau))
    p = (q @ k.T / tau).softmax(-1)
    torch.testing.assert_close(ours.entropy, torch.distributions.Categorical(p).entropy())


def test_info_nce_symmetric_and_normalised():
    q, k = rows(6, 5), rows(6, 5, 1)
    ours = isentropic.info_nce(q, k, temperature=0.5, symmetric=True, reduction="none")
    scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).T / 0.5
    pairs = torch.arange(6)
    theirs = (F.cross_entropy(scores, pairs, reduction="none") + F.cross_entropy(scores.T, pairs, reduction="none")) / 2
    expect_same(ours.loss, theirs, (q, k))


@pytest.mark.parametrize("shared", [True, False])
def test_info_nce_with_explicit_negatives(shared):
    q, k = rows(5, 4), rows(5, 4, 1)
    negatives = (rows(9, 4, 2) if shared else rows(45, 4, 2).reshape(5, 9, 4)).detach().requires_grad_()
    ours = raw_info_nce(q, k, temperature=0.7, negatives=negatives, reduction="none")
    others = q @ negatives.T if shared else (q[:, None] * negatives).sum(-1)
    scores = torch.cat([(q * k).sum(-1, keepdim=True), others], 1) / 0.7
    expect_same(
        ours.loss, F.cross_entropy(scores, torch.zeros(5, dtype=torch.int64), reduction="none"), (q, k, negatives)
    )
    entropy = torch.distributions.Categorical(scores.softmax(-1)).entropy()
    expect_same(ours.entropy, entropy, (q, k, negatives))
    torch.testing.assert_close(ours.ceiling, torch.tensor(math.log(10), dtype=torch.float64))


def test_info_nce_with_indices_and_without_the_query_itself():
    x = rows(8, 3)
    partner = torch.tensor([4, 5, 6, 7, 0, 1, 2, 3])
    ours = raw_info_nce(x, x, temperature=0.4, positives=partner, exclude_self=True, reduction="none")
    scores = (x @ x.T / 0.4).masked_fill(torch.eye(8, dtype=torch.bool), -math.inf)
    expect_same(ours.loss, F.cross_entropy(scores, partner, reduction="none"), (x,))
    torch.testing.assert_close(ours.ceiling, torch.tensor(math.log(7), dtype=torch.float64))


def test_the_self_term_keeps_unit_vectors_above_log_2():
    x = F.normalize(rows(1, 16, grad=False).repeat(2, 1), dim=-1)  # a pair of equal views among distant ones
    far = -x[:1].repeat(6, 1)
    views = torch.cat([x, far])
    partner = torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])
    with_self = raw_info_nce(views, views, temperature=0.07, positives=partner, reduction="none").loss[:2]
    without = raw_info_nce(views, views, temperature=0.07, positives=partner, exclude_self=True, reduction="none")
    assert (with_self >= math.log(2) - 1e-9).all() and (without.loss[:2] < 1e-3).all()


@pytest.mark.parametrize("exclude_self", [False, True])
def test_info_nce_with_several_positives(exclude_self):
    x = rows(7, 3)
    labels = torch.tensor([3, 1, 3, 1, 1, 9, 3])  # 9 has no partner
    ours = raw_info_nce(x, x, temperature=0.6, labels=labels, exclude_self=exclude_self, reduction="none")
    own = torch.eye(7, dtype=torch.bool)
    scores = x @ x.T / 0.6
    log_p = scores - torch.logsumexp(scores.masked_fill(own & exclude_self, -math.inf), 1, keepdim=True)
    same = (labels[:, None] == labels) & ~(own & exclude_self)
    count = same.sum(1)
    theirs = torch.where(count > 0, -(log_p * same).sum(1) / count.clamp(min=1), 0.0)
    expect_same(ours.loss, theirs, (x,))
    assert ours.bound is None
    mean = raw_info_nce(x, x, temperature=0.6, labels=labels, exclude_self=exclude_self).loss
    torch.testing.assert_close(mean, theirs.sum() / (count > 0).sum())


def test_attention_is_the_gradient_of_info_nce():
    """attn(q, K, K) = k+ + tau dL/dq, and the gradient of each key."""
    q, k = rows(5, 4), rows(5, 4, 1)
    tau = 0.8
    loss = raw_info_nce(q, k, temperature=tau, reduction="sum").loss
    d_q, d_k = torch.autograd.grad(loss, (q, k))
    looked_up = isentropic.attention(q[None, None], k[None, None], k[None, None], scale=1 / tau)[0, 0]
    torch.testing.assert_close(looked_up, k + tau * d_q)
    p = isentropic.attention_weights(q[None, None], k[None, None], range(5), scale=1 / tau)[0, 0].double()
    # (P+ - 1) q / tau from the key's own query, P- q / tau from the others.
    torch.testing.assert_close(d_k, (p - torch.eye(5)).T @ q / tau, atol=1e-6, rtol=1e-6)


def one_row(seed=0):
    q = F.normalize(rows(1, 6, seed, grad=False), dim=-1)
    k = F.normalize(rows(9, 6, seed + 1, grad=False), dim=-1).requires_grad_()
    loss = lambda keys: raw_info_nce(q, keys, temperature=0.2, positives=torch.tensor([2])).loss
    return q, k, loss


@pytest.mark.parametrize("seed", range(5))
def test_key_gradients_sum_to_zero_and_descend_but_the_printed_ones_climb(seed):
    q, k, loss = one_row(seed)
    gradient = torch.autograd.grad(loss(k), k)[0]
    assert gradient.sum(0).abs().max() < 1e-12
    start = loss(k).item()
    assert loss(k.detach() - 1e-3 * gradient).item() < start
    # As printed in the sources: (q - E[k]) P+ / tau for the positive, (E[k] - q) P- / tau for the negatives.
    p = (q @ k.T / 0.2).softmax(-1)[0].detach()
    away = q - p @ k.detach()
    printed = -(p[:, None] * away) / 0.2
    printed[2] *= -1
    assert loss(k.detach() - 1e-3 * printed).item() > start
    assert (printed - gradient).norm() > gradient.norm()


def test_bound_never_exceeds_its_ceiling_and_finds_the_information_of_gaussians():
    generator = torch.Generator().manual_seed(0)
    n, rho = 4096, 0.9
    x = torch.randn(n, 1, generator=generator)
    y = rho * x + math.sqrt(1 - rho**2) * torch.randn(n, 1, generator=generator)
    # The optimal critic log p(y|x)/p(y), as a product of features: x y, x^2 and y^2 terms.
    a, b = rho / (1 - rho**2), rho**2 / (2 * (1 - rho**2))
    query, key = (
        torch.cat([a * x, -b * x * x, torch.ones_like(x)], 1),
        torch.cat([y, torch.ones_like(y), -b * y * y], 1),
    )
    found = raw_info_nce(query, key, temperature=1.0)
    assert abs(found.bound.item() - (-0.5 * math.log(1 - rho**2))) < 0.05
    assert found.bound <= found.ceiling
    sharp = raw_info_nce(100 * x, 100 * x, temperature=1.0)
    assert sharp.bound <= sharp.ceiling


# ---- NCE ----


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nce(shared, reduction, monkeypatch):
    monkeypatch.setattr("isentropic.losses._nce.SCORES_HELD", 20)  # several blocks
    q, x = rows(5, 3), rows(5, 3, 1)
    noise = (rows(8, 3, 2) if shared else rows(40, 3, 2).reshape(5, 8, 3)).detach().requires_grad_()
    data_density, noise_density = rows(5, 1, 3)[:, 0], (rows(8, 1, 4)[:, 0] if shared else rows(5, 8, 4))
    log_z = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    inputs = [t.detach().requires_grad_() for t in (q, x, noise, data_density, noise_density)] + [log_z]
    q, x, noise, data_density, noise_density, _ = inputs
    ours = isentropic.nce(
        q, x, noise, key_log_noise=data_density, noise_log_noise=noise_density, log_z=log_z, temperature=0.5,
        reduction=reduction,
    )  # fmt: skip
    data = (q * x).sum(-1) / 0.5 - log_z - math.log(8) - data_density
    scores = q @ noise.T if shared else (q[:, None] * noise).sum(-1)
    others = scores / 0.5 - log_z - math.log(8) - noise_density
    theirs = -F.logsigmoid(data) - F.logsigmoid(-others).sum(-1)
    expect_same(ours.loss, theirs if reduction == "none" else getattr(theirs, reduction)(), inputs)


@pytest.mark.parametrize("k", [1, 7])
def test_nce_finds_the_data_law_and_its_divergence_for_every_k(k):
    """Three outcomes, optimal odds, exact expectations: the loss gives the Jensen-Shannon divergence."""
    data, noise = torch.tensor([0.6, 0.3, 0.1]).double(), torch.tensor([0.2, 0.3, 0.5]).double()
    # One query per outcome: score = log data(x), so that the odds are data / (k noise).
    per_outcome = isentropic.nce(
        torch.ones(3, 1, dtype=torch.float64), data.log()[:, None], data.log()[:, None],
        key_log_noise=noise.log(), noise_log_noise=noise.log(), noise_ratio=float(k), reduction="none",
    )  # fmt: skip
    odds = data / (k * noise)
    expected = (data * torch.log1p(1 / odds)).sum() + k * (noise * torch.log1p(odds)).sum()
    mixture = (data + k * noise) / (1 + k)
    divergence = ((data * (data / mixture).log()).sum() + k * (noise * (noise / mixture).log()).sum()) / (1 + k)
    torch.testing.assert_close(per_outcome.ceiling - expected / (1 + k), divergence)
    # The data term of each outcome is the reported loss without its (shared) noise term.
    shared_noise = per_outcome.loss - torch.log1p(1 / odds)
    torch.testing.assert_close(shared_noise, shared_noise[:1].expand(3))


# ---- cross-entropy ----


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
def test_cross_entropy_as_torch(reduction, smoothing, biased):
    x, w = rows(9, 5), rows(13, 5, 1)
    b = rows(13, 1, 2)[:, 0].detach().requires_grad_()
    y = torch.randint(13, (9,), generator=torch.Generator().manual_seed(3))
    y[2] = y[7] = -100
    ours = isentropic.linear_cross_entropy(
        x, w, y, bias=b if biased else None, label_smoothing=smoothing, reduction=reduction
    )
    logits = F.linear(x, w, b if biased else None)
    theirs = F.cross_entropy(logits, y, label_smoothing=smoothing, reduction=reduction)
    expect_same(ours.loss, theirs, (x, w, b) if biased else (x, w))
    torch.testing.assert_close(ours.entropy, torch.distributions.Categorical(logits=logits).entropy())


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_with_cap_penalty_and_weights(smoothing):
    x, w = rows(8, 5), rows(11, 5, 1)
    b = rows(11, 1, 2)[:, 0].detach().requires_grad_()
    y = torch.arange(8)
    y[3] = -1
    weight = torch.rand(8, dtype=torch.float64)
    ours = isentropic.linear_cross_entropy(
        x, w, y, bias=b, soft_cap=1.5, z_loss=0.01, example_weight=weight, ignore_index=-1, label_smoothing=smoothing
    )
    logits = 1.5 * torch.tanh(x @ w.T / 1.5) + b
    each = F.cross_entropy(logits, y, ignore_index=-1, label_smoothing=smoothing, reduction="none")
    each = each + 0.01 * torch.logsumexp(logits, -1).square()
    weight = weight * (y != -1)
    expect_same(ours.loss, (each * weight).sum() / weight.sum(), (x, w, b))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)])
def test_cross_entropy_types(dtype, tolerance):
    x, w = rows(40, 64, dtype=dtype), rows(600, 64, 1, dtype=dtype)
    y = torch.randint(600, (40,))
    ours = isentropic.linear_cross_entropy(x, w, y).loss
    exact = F.cross_entropy(x.double() @ w.double().T, y)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours.double(), exact, atol=tolerance, rtol=tolerance)
    for found, wanted in zip(*(torch.autograd.grad(z, (x, w), retain_graph=True) for z in (ours, exact))):
        assert found.dtype == dtype
        assert (found - wanted).abs().max() <= tolerance * wanted.abs().max()


def test_autocast_casts_rows_and_classifier():
    x, w = rows(10, 8, dtype=torch.float32), rows(20, 8, 1, dtype=torch.float32)
    y = torch.arange(10)
    with torch.autocast("cpu", torch.bfloat16):
        found = isentropic.linear_cross_entropy(x.bfloat16(), w, y).loss
    exact = F.cross_entropy(x.bfloat16().double() @ w.bfloat16().double().T, y)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), exact, atol=1e-5, rtol=1e-5)
    assert torch.autograd.grad(found, w)[0].dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_in_16_bits_of_rows_that_are_sure_of_themselves(dtype):
    """E_p[k] and the target nearly cancel there: if rounded first, the gradient would be noise."""
    w = rows(512, 64, dtype=dtype)
    y = torch.randint(512, (128,))
    x = (w[y].float() * 0.25).to(dtype).detach().requires_grad_()
    exact_x, exact_w = (z.detach().double().requires_grad_() for z in (x, w))
    ours, exact = isentropic.linear_cross_entropy(x, w, y).loss, F.cross_entropy(exact_x @ exact_w.T, y)
    assert exact < 1e-2
    for found, wanted in zip(torch.autograd.grad(ours, (x, w)), torch.autograd.grad(exact, (exact_x, exact_w))):
        assert (found.double() - wanted).norm() < 0.05 * wanted.norm()


def test_a_temperature_is_not_rounded_to_16_bits():
    q, k = (F.normalize(rows(20, 16, seed), dim=-1).bfloat16() for seed in (0, 1))
    number = raw_info_nce(q, k, temperature=0.07).loss
    assert number == raw_info_nce(q, k, temperature=torch.tensor(0.07)).loss
    exact = F.cross_entropy(q.double() @ k.double().T / 0.07, torch.arange(20))
    torch.testing.assert_close(number.double(), exact, atol=1e-5, rtol=1e-5)


def test_scores_of_explicit_negatives_and_labels_are_summed_in_32_bits():
    x = torch.full((4, 64), 40.0, dtype=torch.float16)
    assert (
        abs(raw_info_nce(x, x, negatives=x[:2], temperature=100.0).loss - math.log(3)) < 1.3e-4
    )  # an ulp of the scores, 1024
    many = torch.full((2000, 8), 40.0, dtype=torch.float16)
    found = raw_info_nce(many, many, labels=torch.zeros(2000, dtype=torch.int64), temperature=100.0)
    assert abs(found.loss - math.log(2000)) < 1e-3


def test_integers_of_any_width_and_empty_batches():
    x, w = rows(4, 3), rows(5, 3, 1)
    y = torch.tensor([0, 4, 2, -100])
    wanted = isentropic.linear_cross_entropy(x, w, y).loss
    assert isentropic.linear_cross_entropy(x, w, y.int()).loss == wanted
    masked = torch.tensor([[1, 0], [0, 1]])
    hidden, tokens = x.reshape(2, 2, 3), torch.tensor([[1, 2], [3, 4]])
    assert (
        isentropic.masked_lm_loss(hidden, w, tokens, masked).loss
        == isentropic.masked_lm_loss(hidden, w, tokens, masked.bool()).loss
    )
    empty = raw_info_nce(x[:0], w[:0])
    assert empty.loss == 0 and empty.bound == 0


def test_a_monitor_sees_attention_not_losses():
    class Head(torch.nn.Module):
        def forward(self, x, w, y):
            return isentropic.linear_cross_entropy(x, w, y, label_smoothing=0.1, soft_cap=3.0).loss

    head = Head()
    with isentropic.Monitor(head) as monitor:
        head(rows(4, 3), rows(5, 3, 1), torch.arange(4))
    assert monitor.last == {}


def test_rows_that_are_ignored_count_for_nothing():
    x, w = rows(4, 3), rows(5, 3, 1)
    everything = torch.full((4,), -100)
    found = isentropic.linear_cross_entropy(x, w, everything)
    assert found.loss == 0 and found.bound == 0
    found.loss.backward()
    assert x.grad.eq(0).all() and w.grad.eq(0).all()


def test_language_model_forms():
    hidden = rows(12, 4).reshape(2, 6, 4)
    w = rows(7, 4, 1)
    tokens = torch.randint(7, (2, 6))
    logits = hidden @ w.T
    causal = isentropic.causal_lm_loss(hidden, w, tokens).loss
    torch.testing.assert_close(causal, F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()))
    masked = torch.rand(2, 6) > 0.5
    ours = isentropic.masked_lm_loss(hidden, w, tokens, masked).loss
    torch.testing.assert_close(ours, F.cross_entropy(logits[masked], tokens[masked]))


def test_the_bound_of_a_vocabulary_is_entropy_minus_loss():
    """Targets independent of the context carry no information, but log V - CE would claim some."""
    generator = torch.Generator().manual_seed(0)
    vocabulary = 50
    law = 1 / torch.arange(1, vocabulary + 1, dtype=torch.float64)
    law /= law.sum()
    y = torch.multinomial(law, 20000, replacement=True, generator=generator)
    x = torch.ones(20000, 1, dtype=torch.float64)
    found = isentropic.linear_cross_entropy(x, law.log()[:, None], y)
    assert abs(found.bound.item()) < 0.01
    assert math.log(vocabulary) - found.loss.item() > 0.5
    known = isentropic.linear_cross_entropy(x, law.log()[:, None], y, source_entropy=1.25)
    torch.testing.assert_close(known.bound, 1.25 - found.loss)


def test_losses_compile_without_a_break():
    x, w = rows(6, 4), rows(9, 4, 1)
    y = torch.tensor([0, 8, -100, 3, 3, 1])
    entropy = lambda x, w: isentropic.linear_cross_entropy(x, w, y, label_smoothing=0.1, z_loss=0.1)[:3]
    contrast = lambda x, w: raw_info_nce(x, w[:6], symmetric=True)[:3]
    for call in (entropy, contrast):
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        for found, wanted in zip(compiled(x, w), call(x, w)):
            torch.testing.assert_close(found, wanted)
        expect_same(compiled(x, w)[0], call(x, w)[0], (x, w))
    with pytest.raises(ValueError, match="target is"):
        torch.compile(isentropic.linear_cross_entropy, backend="aot_eager")(x, w, y.clamp(min=-1))


def test_losses_over_ranks_within_a_compiled_function(tmp_path):
    """They break its graph, but the rest is compiled."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        x, w, y = rows(6, 4), rows(6, 4, 1), torch.arange(6)

        def call(x, w):
            contrast = isentropic.info_nce(2 * x, w + x.mean(), group=dist.group.WORLD).loss
            return contrast + isentropic.linear_cross_entropy(x.sin(), w, y, group=dist.group.WORLD).loss

        expect_same(torch.compile(call, backend="aot_eager")(x, w), call(x, w), (x, w))
    finally:
        dist.destroy_process_group()


# ---- mistakes ----


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: isentropic.info_nce(x, x[:2]), ValueError, "key has 2 rows; expected 4"),
        (lambda x: isentropic.info_nce(x, x[:, :2]), ValueError, r"key has shape \[4, 2\]"),
        (lambda x: isentropic.info_nce(x[0], x), ValueError, r"query has shape \[3\]"),
        (lambda x: isentropic.info_nce([1], x), TypeError, "query is a list"),
        (lambda x: isentropic.info_nce(x, x, exclude_self=True), ValueError, "exclude_self"),
        (lambda x: isentropic.info_nce(x, x, negatives=x[:, :2]), ValueError, "negatives has shape"),
        (lambda x: isentropic.info_nce(x, x, negatives=x, labels=torch.zeros(4)), ValueError, "negatives and labels"),
        (lambda x: isentropic.info_nce(x, x, symmetric=True, exclude_self=True), ValueError, "symmetric"),
        (lambda x: isentropic.info_nce(x, x, reduction="max"), ValueError, "reduction is 'max'"),
        (lambda x: isentropic.info_nce(x, x, positives=torch.tensor([0, 1, 2, 9])), ValueError, "positives has 9"),
        (lambda x: isentropic.info_nce(x, x, positives=torch.tensor([0, 1, 2, -1])), ValueError, "positives has -1"),
        (lambda x: isentropic.info_nce(x, x, positives=torch.tensor([1, 0, 2, 0]), exclude_self=True), ValueError, "row 2 itself"),
        (lambda x: isentropic.info_nce(x, x, key_labels=torch.zeros(4)), ValueError, "key_labels is given without"),
        (lambda x: isentropic.info_nce(x, x, temperature=torch.ones(4)), ValueError, "temperature has shape"),
        (lambda x: isentropic.linear_cross_entropy(x, x, torch.zeros(4).long(), z_loss=-1.0), ValueError, "z_loss is -1"),
        (lambda x: isentropic.linear_cross_entropy(x, x, [0, 1, 2, 3]), TypeError, "target is a list"),
        (lambda x: isentropic.nce(x, x, x, key_log_noise=x[:, :1], noise_log_noise=x[:, 0]), ValueError, "key_log_noise has shape"),
        (lambda x: isentropic.linear_cross_entropy(x, x, torch.tensor([0, 1, 2, 9])), ValueError, "target is 9"),
        (lambda x: isentropic.linear_cross_entropy(x, x, torch.zeros(3).long()), ValueError, r"target has shape \[3\]"),
        (lambda x: isentropic.linear_cross_entropy(x, x, torch.zeros(4)), TypeError, "target has type torch.float32"),
        (lambda x: isentropic.linear_cross_entropy(x, x[:, :2], torch.zeros(4).long()), ValueError, "weight has shape"),
        (lambda x: isentropic.linear_cross_entropy(x, x, torch.zeros(4).long(), label_smoothing=2), ValueError, "smoothing"),
        (lambda x: isentropic.nce(x, x, x[:, :1], key_log_noise=x[:, 0], noise_log_noise=x[:, 0]), ValueError, "noise has shape"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(torch.zeros(4, 3))
