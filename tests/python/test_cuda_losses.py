"""Losses on a GPU against float64 on the CPU: values and gradients, every partitioning, no waiting, bounded memory."""

import math

import pytest
import torch
import torch.nn.functional as F

import isentropic

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

# Rounding of a gradient's entries before the products, and of the products' results.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 1.2e-2, torch.float16: 2e-3}


def draw(*shape, seed=0, dtype=torch.float32, size=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (size * torch.randn(*shape, generator=generator)).to(dtype)


def compare(call, inputs, dtype, rows_tolerance=2e-4):
    """call(*inputs) -> tensors whose weighted sum is differentiated; the CPU gets the same numbers in float64."""
    found = []
    for device, type_ in (("cuda", dtype), ("cpu", torch.float64)):
        leaves = [x.detach().to(device, type_ if x.dtype == dtype else x.dtype) for x in inputs]
        if device == "cpu":
            leaves = [x.double() for x in leaves]
        leaves = [x.requires_grad_() for x in leaves]
        outputs = call(*leaves)
        total = sum(
            (x.double() * torch.linspace(1, 2, x.numel(), device=device).reshape(x.shape)).sum() for x in outputs
        )
        gradients = torch.autograd.grad(total, leaves)
        for leaf, gradient in zip(leaves, gradients):
            assert gradient.dtype == leaf.dtype
        found.append(([x.detach().cpu().double() for x in outputs], [x.cpu().double() for x in gradients]))
    (outputs, gradients), (wanted_outputs, wanted_gradients) = found
    for ours, exact in zip(outputs, wanted_outputs):
        torch.testing.assert_close(ours, exact, atol=rows_tolerance, rtol=rows_tolerance)
    for ours, exact in zip(gradients, wanted_gradients):
        assert (ours - exact).norm() <= TOLERANCE[dtype] * exact.norm(), ((ours - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    "options",
    [{}, {"soft_cap": 3.0}, {"z_loss": 1e-2}, {"label_smoothing": 0.1}, {"soft_cap": 5.0, "z_loss": 1e-3}],
    ids=str,
)
@pytest.mark.parametrize("biased", [False, True])
def test_cross_entropy(dtype, reduction, options, biased):
    x, w, b = draw(130, 64, dtype=dtype), draw(1037, 64, seed=1, dtype=dtype, size=0.3), draw(1037, seed=2)
    y = torch.randint(1037, (130,), generator=torch.Generator().manual_seed(3))
    y[5] = y[77] = -100

    def call(x, w, b):
        found = isentropic.linear_cross_entropy(
            x, w, y.to(x.device), bias=b if biased else None, reduction=reduction, **options
        )
        return (found.loss,) if biased else (found.loss + 0 * b.sum(),)

    compare(call, (x, w, b), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"symmetric": True}, {"exclude_self": True}], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_info_nce_and_its_temperature(dtype, options, reduction):
    q, k = (F.normalize(draw(300, 32, seed=s), dim=-1).to(dtype) for s in (0, 1))
    partner = (torch.arange(300) + 150) % 300
    given = {"positives": partner} if "exclude_self" in options else {}

    def call(q, k, temperature):
        positives = {name: x.to(q.device) for name, x in given.items()}
        return (
            isentropic.info_nce(
                q, k, temperature=temperature, normalise=False, reduction=reduction, **options, **positives
            ).loss,
        )

    compare(call, (q, k, torch.tensor(0.2)), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_entropy_has_a_gradient_beside_the_mean(dtype):
    x, w = draw(60, 32, dtype=dtype), draw(500, 32, seed=1, dtype=dtype, size=0.3)
    y = torch.arange(60)

    def call(x, w):
        found = isentropic.linear_cross_entropy(x, w, y.to(x.device))
        return found.loss, found.entropy

    compare(call, (x, w), dtype)


def test_nce_as_on_the_cpu():
    q, x, noise = draw(50, 16), draw(50, 16, seed=1), draw(90, 16, seed=2)

    def call(q, x, noise):
        zeros = lambda n: torch.zeros(n, device=q.device, dtype=q.dtype)
        return (isentropic.nce(q, x, noise, key_log_noise=zeros(50), noise_log_noise=zeros(90)).loss,)

    compare(call, (q, x, noise), torch.float32)


# What determines how a problem is partitioned: rows, keys and their width (src/pytorch/cuda/loss_plan.hpp).
@pytest.mark.parametrize(
    "rows, keys, d",
    [(12000, 40000, 16), (2100, 150000, 8), (70000, 8192, 8), (1, 100000, 8), (5000, 1, 8), (1500, 1 << 21, 65)],
    ids=["several groups", "wide rows", "many rows", "one row", "one key", "two sweeps"],
)
@pytest.mark.parametrize("form", ["mean", "rows"])
def test_every_way_of_cutting(rows, keys, d, form):
    torch.manual_seed(1)
    q = torch.randn(rows, d, device="cuda").bfloat16().requires_grad_()
    k = (0.3 * torch.randn(keys, d, device="cuda")).bfloat16().requires_grad_()
    target = torch.randint(keys, (rows,), device="cuda")
    loss = isentropic.linear_cross_entropy(q, k, target, reduction="mean" if form == "mean" else "none").loss
    gradients = torch.autograd.grad(loss.mean(), (q, k))
    wide = [x.detach().float().requires_grad_() for x in (q, k)]
    exact, sums = 0.0, [torch.zeros_like(x) for x in wide]
    for begin in range(0, rows, 500):
        part = F.cross_entropy(wide[0][begin : begin + 500] @ wide[1].T, target[begin : begin + 500], reduction="sum")
        exact += part.item()
        for total, gradient in zip(sums, torch.autograd.grad(part / rows, wide)):
            total += gradient
    assert abs(loss.mean().item() - exact / rows) < 1e-4 * (1 + exact / rows)
    for ours, wanted in zip(gradients, sums):
        assert (ours.float() - wanted).norm() <= 1.2e-2 * wanted.norm() + 1e-12


def test_targets_out_of_range_are_none():
    x, w = draw(4, 8).cuda(), draw(9, 8, seed=1).cuda()
    scale = torch.ones((), device="cuda")
    target = torch.tensor([2, -5, 9, 1 << 40], device="cuda")
    loss = torch.ops.isentropic.softmax_loss(x, w, target, scale, None, None, False)[0].cpu()
    assert loss[0] > 0 and (loss[1:] == 0).all()
    found = isentropic.linear_cross_entropy(x.requires_grad_(), w, target)
    (gradient,) = torch.autograd.grad(found.loss, x)
    assert found.loss.item() > 0 and (gradient[1:] == 0).all() and gradient[0].abs().max() > 0


@pytest.mark.parametrize("how", ["ignore_index", "example_weight"])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"z_loss": 0.1}, {"soft_cap": 3.0}], ids=str)
def test_a_row_that_does_not_count_poisons_nothing(how, options):
    clean, w, b = draw(5, 8).cuda(), draw(70, 8, seed=1).cuda().requires_grad_(), draw(70, seed=2).cuda()
    target = torch.tensor([1, 6, 0, 2, 3], device="cuda")
    hidden = clean.clone()
    hidden[2] = math.nan
    hidden.requires_grad_()
    counts = torch.arange(5, device="cuda") != 2
    given = dict(target=torch.where(counts, target, -100)) if how == "ignore_index" else dict(target=target, example_weight=counts.float())  # fmt: skip
    found = isentropic.linear_cross_entropy(hidden, w, bias=b, **given, **options)
    expected = isentropic.linear_cross_entropy(clean[counts], w, target[counts], bias=b, **options)
    torch.testing.assert_close(found.loss, expected.loss)
    d_hidden, d_w = torch.autograd.grad(found.loss, (hidden, w))
    assert (d_hidden[2] == 0).all() and d_hidden.isfinite().all()
    torch.testing.assert_close(d_w, torch.autograd.grad(expected.loss, w)[0])


def test_a_hidden_class_may_hold_anything():
    x, w = draw(20, 8).cuda().requires_grad_(), draw(70, 8, seed=1).cuda()
    b = torch.zeros(70, device="cuda")
    b[66:] = -math.inf
    y = torch.arange(20, device="cuda")
    poisoned = w.clone()
    poisoned[66:] = math.nan
    found, wanted = (isentropic.linear_cross_entropy(x, z, y, bias=b).loss for z in (poisoned, w))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.autograd.grad(found, x)[0], torch.autograd.grad(wanted, x)[0])


def test_gradients_in_float16_do_not_vanish():
    x = draw(4096, 32, dtype=torch.float16).cuda().requires_grad_()
    w = draw(3000, 32, seed=1, dtype=torch.float16, size=0.1).cuda().requires_grad_()
    y = torch.randint(3000, (4096,), device="cuda")
    lifted = 65536 * isentropic.linear_cross_entropy(x, w, y).loss  # like a gradient scaler
    gradients = torch.autograd.grad(lifted, (x, w))
    wide = [z.detach().double().requires_grad_() for z in (x, w)]
    exact = torch.autograd.grad(65536 * F.cross_entropy(wide[0] @ wide[1].T, y), wide)
    for ours, wanted in zip(gradients, exact):
        assert (ours.double() - wanted).norm() < 5e-3 * wanted.norm()


@pytest.mark.parametrize("call", ["cross_entropy", "info_nce"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_graph_captures_forward_and_backward(call, dtype):
    x, w = (draw(200, 64, seed=s, dtype=dtype).cuda().requires_grad_() for s in (0, 1))
    y = torch.arange(200, device="cuda")
    temperature = torch.tensor(0.3, device="cuda", requires_grad=True)

    def step():
        if call == "cross_entropy":
            loss = isentropic.linear_cross_entropy(x, w, y, label_smoothing=0.1).loss + 0 * temperature
        else:
            loss = isentropic.info_nce(x, w, temperature=temperature, symmetric=True).loss
        return loss, *torch.autograd.grad(loss, (x, w, temperature))

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    with torch.no_grad():
        x.copy_(draw(200, 64, seed=7, dtype=dtype))
    graph.replay()
    for replayed, fresh in zip(captured, step()):
        assert torch.equal(replayed, fresh)


def test_nothing_waits_for_the_device():
    x, w = (draw(200, 64, seed=s, dtype=torch.bfloat16).cuda().requires_grad_() for s in (0, 1))
    y = torch.arange(200, device="cuda")
    isentropic.linear_cross_entropy(x, w, y).loss.backward()
    torch.cuda.set_sync_debug_mode("error")
    try:
        isentropic.linear_cross_entropy(x, w, y).loss.backward()
        isentropic.linear_cross_entropy(x, w, y, reduction="none").loss.sum().backward()
        isentropic.info_nce(x, w, temperature=torch.full((), 0.1, device="cuda")).loss.backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def peak_beyond(call, allowed):
    """Peak bytes beyond those allocated before and ``allowed``."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before - allowed


def test_memory_of_a_large_vocabulary():
    rows, keys, d = 8192, 131072, 4096
    x = torch.randn(rows, d, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    w = (torch.randn(keys, d, device="cuda", dtype=torch.bfloat16) * 0.02).requires_grad_()
    y = torch.randint(keys, (rows,), device="cuda")
    gradients, sums = 2 * d * (rows + keys), 4 * d * keys
    assert peak_beyond(lambda: isentropic.linear_cross_entropy(x, w, y).loss.backward(), gradients + sums) < 2**29


def test_memory_of_a_large_batch():
    n, d = 131072, 512
    q, k = (F.normalize(torch.randn(n, d, device="cuda"), dim=-1).bfloat16().requires_grad_() for _ in range(2))
    call = lambda: isentropic.info_nce(q, k, normalise=False).loss.backward()
    assert peak_beyond(call, 2 * 2 * n * d) < 2**30
