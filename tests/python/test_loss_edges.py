"""Losses at extreme numbers: near-certain rows, rows that do not count, huge ratios; and errors for mistakes."""

import math

import pytest
import torch
import torch.nn.functional as F

import isentropic


def test_a_sure_row_keeps_the_digits_of_its_loss():
    """The scores 1000 and 988 are rounded to 6e-5, which is the loss's relative error; their difference is not lost."""
    hidden, weight = torch.tensor([[1000.0]], requires_grad=True), torch.tensor([[1.0], [0.988]], requires_grad=True)
    loss = isentropic.linear_cross_entropy(hidden, weight, torch.tensor([0])).loss
    assert abs(loss.item() / math.log1p(math.exp(-12)) - 1) < 1e-4
    exact = F.cross_entropy(hidden.double() @ weight.double().T, torch.tensor([0]))
    for found, wanted in zip(torch.autograd.grad(loss, (hidden, weight)), torch.autograd.grad(exact, (hidden, weight))):
        torch.testing.assert_close(found, wanted, rtol=2e-4, atol=0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"negatives": True}], ids=str)
def test_no_bound_exceeds_its_ceiling(dtype, options):
    generator = torch.Generator().manual_seed(1)
    for n in (1, 2, 3, 8, 64):
        x = F.normalize(torch.randn(n, 16, generator=generator), dim=-1).to(dtype)
        given = {"negatives": torch.randn(5, 16, generator=generator).to(dtype)} if "negatives" in options else options
        found = isentropic.info_nce(x, x, temperature=0.02, reduction="none", **given)
        assert (found.loss >= 0).all() and found.bound <= found.ceiling
        if n == 1 and "negatives" not in options:
            assert found.loss.item() == 0.0


@pytest.mark.parametrize("poison", [math.nan, math.inf, 1e38])
@pytest.mark.parametrize("how", ["ignore_index", "example_weight"])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"z_loss": 0.1}, {"soft_cap": 3.0}], ids=str)
def test_a_row_that_does_not_count_poisons_nothing(poison, how, options):
    torch.manual_seed(2)
    clean, weight = torch.randn(5, 4), torch.randn(7, 4, requires_grad=True)
    bias = torch.randn(7, requires_grad=True)
    target = torch.tensor([1, 6, 0, 2, 3])
    hidden = clean.clone()
    hidden[2] = poison
    hidden.requires_grad_()
    if how == "ignore_index":
        given = {"target": torch.where(torch.arange(5) == 2, -100, target)}
    else:
        given = {"target": target, "example_weight": (torch.arange(5) != 2).float()}
    found = isentropic.linear_cross_entropy(hidden, weight, bias=bias, **given, **options)
    kept = [0, 1, 3, 4]
    expected = isentropic.linear_cross_entropy(clean[kept], weight, target[kept], bias=bias, **options)
    torch.testing.assert_close(found.loss, expected.loss)
    torch.testing.assert_close(found.bound, expected.bound)
    d_hidden, d_weight, d_bias = torch.autograd.grad(found.loss, (hidden, weight, bias))
    assert (d_hidden[2] == 0).all() and d_hidden.isfinite().all()
    for ours, theirs in zip((d_weight, d_bias), torch.autograd.grad(expected.loss, (weight, bias))):
        torch.testing.assert_close(ours, theirs)


def test_a_row_of_zeros_has_a_cosine():
    x = torch.randn(4, 8, dtype=torch.float16)
    x[1] = 0
    x.requires_grad_()
    loss = isentropic.info_nce(x, x.detach()).loss
    loss.backward()
    assert loss.isfinite() and x.grad.isfinite().all()


def test_normalises_by_default():
    torch.manual_seed(3)
    q, k = torch.randn(16, 32), torch.randn(16, 32)
    plain = isentropic.info_nce(F.normalize(q, dim=-1), F.normalize(k, dim=-1), normalise=False)
    torch.testing.assert_close(isentropic.info_nce(q, k).loss, plain.loss)
    assert isentropic.info_nce(q, k, normalise=False).loss > 2 * plain.loss


@pytest.mark.parametrize("held", [10, 1 << 24])
def test_the_gradient_of_normalised_rows(held, monkeypatch):
    monkeypatch.setattr("isentropic.losses._info_nce._WIDENED", held)
    q, k = (torch.randn(6, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    loss = lambda q, k: isentropic.info_nce(q, k, temperature=0.5).loss
    assert torch.autograd.gradcheck(loss, (q, k))
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for found, wanted in zip(*(torch.autograd.grad(f(q, k), (q, k)) for f in (compiled, loss))):
        torch.testing.assert_close(found, wanted)


def nce_of(odds, ratio, dtype=torch.float32):
    """One query whose data and noise have the given log-odds before the logarithm of the ratio is subtracted."""
    one = torch.ones(1, 1, dtype=dtype)
    zero = torch.zeros(1, dtype=dtype)
    query = torch.tensor([[odds]], dtype=dtype, requires_grad=True)
    return query, isentropic.nce(query, one, one, key_log_noise=zero, noise_log_noise=zero, noise_ratio=ratio)


@pytest.mark.parametrize("odds", [-60.0, -21.0, -1.0, 0.0, 1.0, 21.0, 60.0])
def test_entropy_of_a_sure_decision(odds):
    _, found = nce_of(odds, 1.0)
    p = 1 / (1 + math.exp(abs(odds)))
    exact = -p * math.log(p) - (1 - p) * math.log1p(-p)
    assert abs(found.entropy.item() / exact - 1) < 1e-5


@pytest.mark.parametrize("ratio", [1e-30, 1.0, 1e10, 1e37, 1e39, 1e300])
def test_any_noise_ratio(ratio):
    """k softplus(s - log k) tends to e^s, and softplus(log k - s) to log k - s."""
    s = 2.0
    query, found = nce_of(s, ratio)
    log_k = math.log(ratio)
    softplus = lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x)))
    noise = math.exp(s) if ratio > 1e20 else ratio * softplus(s - log_k)
    exact = softplus(log_k - s) + noise
    assert abs(found.loss.item() / exact - 1) < 1e-3  # log k = 700 is rounded to 6e-5
    (gradient,) = torch.autograd.grad(found.loss, query)
    slope = math.exp(s) if ratio > 1e20 else ratio / (1 + math.exp(log_k - s))
    assert abs(gradient.item() / (slope - 1 / (1 + math.exp(s - log_k) if log_k < 600 else 1)) - 1) < 1e-3
    assert found.bound.isfinite() and found.ceiling.isfinite()


X = torch.ones(4, 3)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: isentropic.info_nce(X, X, temperature=0.0), ValueError, "temperature is 0.0; expected a positive"),
        (lambda: isentropic.info_nce(X, X, temperature=-0.5), ValueError, "temperature is -0.5"),
        (lambda: isentropic.info_nce(X, X, temperature=torch.tensor(-1.0)), ValueError, "temperature is -1.0"),
        (lambda: isentropic.info_nce(X, X, temperature=math.inf), ValueError, "temperature is inf"),
        (lambda: isentropic.info_nce(X, X, temperature=1e-320), ValueError, "temperature is 1e-320"),
        (lambda: isentropic.info_nce(X, X, positives=torch.ones(4, dtype=torch.bool)), TypeError, "positives has type"),
        (lambda: isentropic.info_nce(X, X, positives=torch.ones(4)), TypeError, "positives has type"),
        (lambda: isentropic.info_nce(X, X[:0], positives=torch.zeros(4).long()), ValueError, "at least one key"),
        (lambda: isentropic.info_nce(X, X.double()), TypeError, "key has type torch.float64; expected torch.float32"),
        (lambda: isentropic.info_nce(X.long(), X.long()), TypeError, "type torch.int64; expected a floating"),
        (lambda: isentropic.linear_cross_entropy(X, X.double(), X[:, 0].long()), TypeError, "weight has type"),
        (lambda: isentropic.linear_cross_entropy(X, X[:0], X[:, 0].long()), ValueError, "at least one class"),
        (lambda: isentropic.linear_cross_entropy(X, X, X[:, 0].long(), bias=X), ValueError, "bias has shape"),
        (lambda: isentropic.linear_cross_entropy(X, X, X[:, 0].long(), soft_cap=1e39), ValueError, "soft_cap is 1e"),
        (lambda: isentropic.nce(X, X, X, key_log_noise=X[:, 0], noise_log_noise=X[:, 0], noise_ratio=math.inf), ValueError, "noise_ratio is inf"),
        (lambda: isentropic.nce(X, X, X, key_log_noise=X[:, 0], noise_log_noise=X[:, 0], temperature=-1.0), ValueError, "temperature is -1.0"),
        (lambda: isentropic.nce(X, X, X[:0], key_log_noise=X[:, 0], noise_log_noise=X[:0, 0]), ValueError, "noise has shape [0, 3]; expected at least one sample"),
        (lambda: isentropic.nce(X, X, [1.0], key_log_noise=X[:, 0], noise_log_noise=X[:, 0]), TypeError, "noise is a list; expected a tensor"),
        (lambda: isentropic.info_nce(X, X, temperature="0.1"), TypeError, "temperature is '0.1'; expected a number"),
        (lambda: isentropic.info_nce(X, X, negatives=[1.0]), TypeError, "negatives is a list; expected a tensor"),
        (lambda: isentropic.info_nce(X, X, negatives=X.long()), TypeError, "negatives has type torch.int64; expected a floating"),
        (lambda: isentropic.info_nce(X, X, negatives=X[0, 0]), ValueError, "negatives has shape []; expected [M, 3] or [4, M, 3]"),
        (lambda: isentropic.info_nce(X, X, negatives=X, exclude_self=True), ValueError, "exclude_self is given with negatives"),
        (lambda: isentropic.linear_cross_entropy(X, X, X[:, 0].long(), ignore_index="pad"), TypeError, "ignore_index is 'pad'; expected an integer"),
        (lambda: isentropic.causal_lm_loss(X, X, X[:, 0].long()), ValueError, "hidden has shape [4, 3]; expected [batch, n, d]"),
        (lambda: isentropic.causal_lm_loss(X[None], X, X[:3, 0][None].long()), ValueError, "tokens has shape [1, 3]; expected [1, 4], as hidden"),
        (lambda: isentropic.causal_lm_loss([1.0], X, X[:, 0].long()), TypeError, "hidden is a list; expected a tensor"),
        (lambda: isentropic.masked_lm_loss(X[None], X, X[:, 0][None].long(), X[:, :2] > 0), ValueError, "masked has shape [4, 2]; expected [1, 4]"),
    ],
)  # fmt: skip
def test_mistakes_in_the_callers_words(call, error, words):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert words in message and "\n" not in message and "{" not in message
