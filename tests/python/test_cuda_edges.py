"""Edge cases of attention on a GPU: NaN, empty rows and axes, strides, reproducibility, memory, large tensors."""

import math

import pytest
import torch
from cuda_cases import DEVICE, REASON, TOLERANCES, TYPES, Shape, assert_as_on_the_cpu, assert_near, run

import isentropic

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASON)

FAST = (torch.float32, torch.bfloat16)
SMOOTH = ("entropy", "log_partition", "score_variance", "collision")  # the argmax of a row with NaN is unspecified


# ---- NaN and empty rows ----


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", ["full", "causal", "documents", "sink", "ALiBi", "boolean mask"])
def test_nan_stays_in_its_row(case, dtype):
    def edit(q, k, v):
        q[0, 1, 70] = math.nan

    assert_as_on_the_cpu(case, dtype=dtype, edit=edit, statistics=SMOOTH)
    values, gradients = run(case, Shape(), dtype, DEVICE, False, edit=edit, statistics=SMOOTH)
    for name in ("output", *SMOOTH):
        rows = values[name].isnan().reshape(2, 4, 113, -1).any(-1)
        assert rows.sum() == 1 and rows[0, 1, 70], name
    rows = gradients["query"].isnan().any(-1)
    assert rows.sum() == 1 and rows[0, 1, 70]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "case, hidden",
    [
        ("causal", slice(113, None)),
        ("key lengths", slice(133, None)),
        ("documents", slice(90, 130)),  # in a document without queries
        ("window", slice(113, None)),
        ("additive mask", slice(5, 6)),
    ],
)
def test_hidden_nan_reaches_nobody(case, hidden, dtype):
    def with_nan(q, k, v):
        k[:, :, hidden] = math.nan
        v[:, :, hidden] = math.inf

    def with_zeros(q, k, v):
        k[:, :, hidden] = v[:, :, hidden] = 0.0

    dirty, clean = (run(case, Shape(), dtype, DEVICE, False, edit=edit) for edit in (with_nan, with_zeros))
    for found, expected in zip(dirty, clean):
        for name, value in found.items():
            assert value.isnan().sum() == 0, name
            assert_near(name, value, expected[name].cpu(), TOLERANCES[dtype][1])
    for name in ("key", "value"):
        assert dirty[1][name][:, :, hidden].eq(0).all()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_empty_rows(dtype):
    values, gradients = run("key lengths", Shape(), dtype, DEVICE, False)  # the second entry has no keys
    assert values["output"][1].eq(0).all() and values["entropy"][1].eq(0).all() and values["visible"][1].eq(0).all()
    assert values["log_partition"][1].eq(-math.inf).all()
    assert all(gradient[1].eq(0).all() for gradient in gradients.values())


@pytest.mark.parametrize("dtype", FAST, ids=str)
@pytest.mark.parametrize("n_q, n_k, batch", [(0, 3, 1), (3, 0, 1), (0, 0, 1), (3, 3, 0)])
def test_empty_axes(n_q, n_k, batch, dtype):
    draw = lambda n: torch.randn(batch, 2, n, 64, device=DEVICE, dtype=dtype, requires_grad=True)
    q, k, v = draw(n_q), draw(n_k), draw(n_k)
    output, aux = isentropic.attention(q, k, v, return_aux=True)
    assert output.shape == (batch, 2, n_q, 64) and aux.entropy.shape == (batch, 2, n_q)
    (output.sum() + aux.entropy.sum()).backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


# ---- strides ----


def _misaligned(x):
    """Starts one element past the start of its memory."""
    return torch.cat((x.new_zeros(1), x.flatten()))[1:].view(x.shape)


VIEWS = {
    "transposed": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "part of a row": lambda x: torch.cat((x, x), -1).transpose(1, 2).contiguous().transpose(1, 2)[..., x.shape[-1] :],
    "odd rows": lambda x: torch.nn.functional.pad(x, (0, 1))[..., :-1],
    "every other row": lambda x: torch.stack((x, x), 3).flatten(2, 3)[:, :, ::2],
    "misaligned": _misaligned,
    "turned": lambda x: x.mT.contiguous().mT,
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_strides(name, dtype):
    for d in (64, 40):
        assert_as_on_the_cpu("causal", Shape(d=d, d_v=d), dtype, view=VIEWS[name])


@pytest.mark.parametrize("dtype", FAST, ids=str)
def test_repeated_tensors(dtype):
    q, k, v = (torch.randn(3, 2, 70, 64, device=DEVICE, dtype=dtype) for _ in range(3))
    once = isentropic.attention(q, k[:1].expand_as(k), v[:1].expand_as(v))
    assert_near("output", once, isentropic.attention(q, k[:1].repeat(3, 1, 1, 1), v[:1].repeat(3, 1, 1, 1)).cpu(), 1e-2)


@pytest.mark.parametrize("dtype", FAST, ids=str)
@pytest.mark.parametrize("d", [40, 64, 128])
def test_outputs_lie_as_queries_do(d, dtype):
    q, k, v = (torch.randn(2, 50, 4, d, device=DEVICE, dtype=dtype).transpose(1, 2) for _ in range(3))
    assert isentropic.attention(q, k, v, is_causal=True, backend="isentropic").transpose(1, 2).is_contiguous()
    rows = [x.contiguous() for x in (q, k, v)]
    assert isentropic.attention(*rows, is_causal=True, backend="isentropic").is_contiguous()


# ---- reproducibility ----


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", ["full", "causal", "sink and everything", "documents", "dropout", "relative"])
def test_runs_repeat_their_bits(case, dtype):
    shape = Shape(n_q=300, n_k=500)
    first, second = (run(case, shape, dtype, DEVICE, False) for _ in range(2))
    for name, value in first[0].items():
        assert value.equal(second[0][name]), name
    for name in ("key", "value"):
        assert first[1][name].equal(second[1][name]), name
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (run(case, shape, dtype, DEVICE, False) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    for name, gradient in first[1].items():
        assert gradient.equal(second[1][name]), name


def test_batch_entries_do_not_depend_on_one_another():
    q, k, v = (torch.randn(5, 4, 200, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    together = isentropic.attention(q, k, v, is_causal=True)
    alone = torch.cat(
        [isentropic.attention(q[b : b + 1], k[b : b + 1], v[b : b + 1], is_causal=True) for b in range(5)]
    )
    assert together.equal(alone)


# ---- sizes ----


@pytest.mark.parametrize("dtype", FAST, ids=str)
def test_no_square_memory(dtype):
    def peak(n):
        draw = lambda: torch.randn(1, 4, n, 64, device=DEVICE, dtype=dtype, requires_grad=True)
        q, k, v = draw(), draw(), draw()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        output, aux = isentropic.attention(q, k, v, is_causal=True, statistics=["entropy"], return_aux=True)
        (output.float().sum() + aux.entropy.sum()).backward()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    short, long = peak(4096), peak(16384)
    assert long < 5 * short and long < 16384**2  # a matrix of scores would be 16 times as large


@pytest.mark.parametrize("dtype", FAST, ids=str)
def test_many_heads(dtype):
    """More than the second axis of a grid allows."""
    draw = lambda: torch.randn(70_000, 1, 5, 64, device=DEVICE, dtype=dtype, requires_grad=True)
    q, k, v = draw(), draw(), draw()
    output, aux = isentropic.attention(q, k, v, is_causal=True, return_aux=True)
    gradients = torch.autograd.grad((output.float().square().sum(), aux.entropy.sum()), (q, k, v))
    few = [x[-3:].detach().requires_grad_() for x in (q, k, v)]
    expected, expected_aux = isentropic.attention(*few, is_causal=True, return_aux=True)
    wanted = torch.autograd.grad((expected.float().square().sum(), expected_aux.entropy.sum()), few)
    torch.testing.assert_close(output[-3:], expected)
    torch.testing.assert_close(aux.entropy[-3:], expected_aux.entropy)
    for gradient, other in zip(gradients, wanted):
        torch.testing.assert_close(gradient[-3:], other)


def _has_memory(gigabytes):
    return torch.cuda.is_available() and torch.cuda.mem_get_info()[0] > gigabytes * 1e9


def test_more_queries_than_32_bits_count():
    """2^31 elements of the query or more."""
    if not _has_memory(60):
        pytest.skip("needs 60 GB of a GPU")
    n, few = 2**24 + 3, 5
    q = torch.randn(1, 2, n, 64, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.randn(1, 2, 40, 64, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
    output, aux = isentropic.attention(q, k, v, statistics="entropy", return_aux=True)
    expected, expected_aux = isentropic.attention(q[:, :, -few:], k, v, statistics="entropy", return_aux=True)
    torch.testing.assert_close(output[:, :, -few:], expected)
    torch.testing.assert_close(aux.entropy[:, :, -few:], expected_aux.entropy)
    upstream = torch.zeros_like(output)
    upstream[:, :, -few:] = 1.0
    gradients = torch.autograd.grad(output, (q, k, v), upstream)
    wanted = torch.autograd.grad(expected, (q, k, v), upstream[:, :, -few:])
    torch.testing.assert_close(gradients[0][:, :, -few:], wanted[0][:, :, -few:])
    for gradient, other in zip(gradients[1:], wanted[1:]):
        torch.testing.assert_close(gradient, other, atol=2e-2, rtol=2e-2)


def test_more_keys_than_32_bits_count():
    if not _has_memory(40):
        pytest.skip("needs 40 GB of a GPU")
    n = 2**25 + 5
    q = torch.randn(1, 1, 3, 64, device=DEVICE, dtype=torch.bfloat16)
    k, v = (torch.randn(1, 1, n, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    k[0, 0, -1], v[0, 0, -1] = 40 * q[0, 0, 0], 7.0  # the first query looks at the very last key
    output, aux = isentropic.attention(q, k, v, statistics=("entropy", "log_partition"), return_aux=True)
    scores = (q[0, 0].float() @ k[0, 0].float().T).double() / 8
    torch.testing.assert_close(aux.log_partition[0, 0].double(), scores.logsumexp(-1), atol=1e-3, rtol=1e-5)
    torch.testing.assert_close(
        aux.entropy[0, 0].double(), torch.special.entr(scores.softmax(-1)).sum(-1), atol=2e-3, rtol=1e-3
    )
    torch.testing.assert_close(output[0, 0, 0].float(), torch.full((64,), 7.0, device=DEVICE))
