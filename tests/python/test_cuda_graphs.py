"""Attention on a GPU inside PyTorch: torch.compile, autocast, CUDA graphs, and no synchronisation with the device."""

import contextlib

import pytest
import torch
import watched
from cuda_cases import CASES, DEVICE, REASON, TOLERANCES, Inputs, Shape, assert_near

import isentropic
from isentropic import Scale

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASON)


def step(q, k, v, leaves, options):
    """Output, entropy and all gradients."""
    output, aux = isentropic.attention(
        q, k, v, enable_gqa=True, statistics=("entropy",), return_aux=True, **options
    )  # fmt: skip
    loss = output.float().square().sum() + aux.entropy.sum()
    return output, aux.entropy, *torch.autograd.grad(loss, leaves)


def problem(case, dtype=torch.bfloat16):
    inputs = Inputs(Shape(n_q=203), dtype, DEVICE, False)
    q, k, v = inputs.tensors(1.0)
    options = CASES[case](inputs)
    return q, k, v, list(inputs.leaves.values()), options


# ---- compile and autocast ----


@pytest.mark.parametrize(
    "case, dynamic",
    [
        ("causal", False),
        ("log_n", True),
        ("key lengths, causal", True),
        ("sink and everything", False),
        ("bias", False),
    ],
)
def test_compile(case, dynamic):
    torch._dynamo.reset()

    def loss(q, k, v, options):
        output, aux = isentropic.attention(q, k, v, enable_gqa=True, statistics="entropy", return_aux=True, **options)
        return output.float().square().sum() + aux.entropy.sum(), aux.entropy.mean((0, 2))

    q, k, v, leaves, options = problem(case)
    found = []
    for call in (torch.compile(loss, fullgraph=True, dynamic=dynamic), loss):
        value, entropy = call(q, k, v, options)
        found.append((value, entropy, *torch.autograd.grad(value, leaves)))
    for compiled, eager in zip(*found):
        assert_near(case, compiled, eager.cpu(), 1e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    q, k, v, leaves, options = problem("log_n", torch.float32)
    with torch.autocast(DEVICE, dtype):
        output, aux = isentropic.attention(q, k, v, enable_gqa=True, statistics="entropy", return_aux=True, **options)
    assert output.dtype == dtype and aux.entropy.dtype == torch.float32
    gradients = torch.autograd.grad(output.float().square().sum() + aux.entropy.sum(), leaves)
    narrow = [x.to(dtype) for x in (q, k, v)]
    expected = step(*narrow, leaves, options)
    assert all(gradient.dtype == torch.float32 for gradient in gradients)
    assert output.equal(expected[0])
    for gradient, other in zip(gradients, expected[2:]):
        assert_near("gradient", gradient, other.cpu(), TOLERANCES[dtype][1])


# ---- graphs ----


def capture(call):
    """A graph of call(), and its outputs."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        written = call()
    return graph, written


GRAPHS = [
    "full", "causal", "window and prefix", "documents", "key lengths", "boolean mask", "log_n", "log_n, key lengths",
    "of each row", "target entropy", "ALiBi", "relative", "sink and everything", "bias",
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("case", GRAPHS)
def test_graphs(case, dtype):
    q, k, v, leaves, options = problem(case, dtype)
    graph, written = capture(lambda: step(q, k, v, leaves, options))
    with torch.no_grad():
        for leaf in leaves:
            leaf.mul_(0.5)  # a replay reads the current values
    graph.replay()
    for replayed, eager in zip(written, step(q, k, v, leaves, options)):
        assert_near(case, replayed, eager.cpu(), 1e-3 if dtype == torch.float32 else 2e-2)


def test_replays_read_the_seed():
    q, k, v, leaves, _ = problem("full")
    seed = torch.tensor([1], device=DEVICE)
    graph, written = capture(lambda: step(q, k, v, leaves, dict(dropout_p=0.3, seed=seed)))
    outputs = []
    for value in (1, 2, 1):
        seed.fill_(value)
        graph.replay()
        outputs.append([x.clone() for x in written])
        eager = step(q, k, v, leaves, dict(dropout_p=0.3, seed=value))
        for replayed, other in zip(outputs[-1], eager):
            assert_near(f"seed {value}", replayed, other.cpu(), 2e-2)
    assert outputs[0][0].equal(outputs[2][0]) and not outputs[0][0].equal(outputs[1][0])
    assert outputs[0][1].equal(outputs[1][1])  # statistics are those before dropout


def test_replays_draw_new_masks():
    q, k, v, leaves, _ = problem("full")
    graph, written = capture(lambda: step(q, k, v, leaves, dict(dropout_p=0.3)))
    graph.replay()
    first = written[0].clone()
    graph.replay()
    assert not first.equal(written[0])


# ---- no synchronisation ----


@contextlib.contextmanager
def no_waiting():
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("case", [*GRAPHS, "soft cap", "segments", "strided", "additive mask"])
def test_nothing_waits(case, dtype):
    q, k, v, leaves, options = problem(case, dtype)
    step(q, k, v, leaves, options)
    with no_waiting():
        step(q, k, v, leaves, options)


@pytest.mark.parametrize(
    "options",
    [dict(dropout_p=0.3), dict(scale=Scale.target_entropy(2.0)), dict(scale="log_n", is_causal=True)],
    ids=str,
)
def test_options_without_tensors_do_not_wait_either(options):
    q, k, v, leaves, _ = problem("full")
    step(q, k, v, leaves, options)
    with no_waiting():
        step(q, k, v, leaves, options)


def test_losses_do_not_wait():
    x, w = (torch.randn(n, 64, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for n in (100, 1000))
    target, temperature = torch.randint(1000, (100,), device=DEVICE), torch.tensor(0.07, device=DEVICE)
    for context in (contextlib.nullcontext, no_waiting):
        with context():
            isentropic.linear_cross_entropy(x, w, target).loss.backward()
            isentropic.info_nce(x, x, temperature=temperature).loss.backward()


# ---- monitors ----


def train(model, run, steps=5):
    """What a monitor reports for each step, and the gradients of the last one."""
    with isentropic.Monitor(model) as monitor:
        for seed in range(steps):
            model.zero_grad()
            run(watched.inputs(seed).to(DEVICE)).square().sum().backward()
            monitor.step()
    return monitor.history, [parameter.grad.clone() for parameter in model.parameters()]


def test_monitors_see_the_replays_of_compiled_models():
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters["inductor"]
    counters.clear()
    model = watched.Model(watched.Attention(), watched.Attention(soft_cap=2.0)).to(DEVICE)
    eager, gradients = train(model, model)
    found, compiled = train(model, torch.compile(model, mode="reduce-overhead", fullgraph=True))
    assert counters["cudagraph_skips"] == 0
    assert list(found) == list(eager) and len(found) == 5
    for step, layers in eager.items():
        for layer, record in layers.items():
            for name, values in record.items():
                assert found[step][layer][name] == pytest.approx(values, rel=1e-4, abs=1e-5), (step, layer, name)
    for one, other in zip(gradients, compiled):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_monitors_count_every_replay_of_a_graph():
    model = watched.Model(watched.Attention()).to(DEVICE)
    x = watched.inputs().to(DEVICE)
    with isentropic.Monitor(model) as monitor, torch.no_grad():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            model(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        monitor.step()
        for _ in range(3):
            graph.replay()
        (tally,) = monitor._tallies.values()
        assert tally["rows"].tolist() == [3 * watched.BATCH * watched.LENGTH] * watched.HEADS
        monitor.step()
    first, second = (record["layers.0"]["entropy"] for record in monitor.history.values())
    assert second == pytest.approx(first, rel=1e-5)
