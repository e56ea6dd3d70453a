"""isentropic.attention inside PyTorch: opcheck, memory layouts, compilers, autocast, threads, reproducibility."""

import itertools
import os
import time

import pytest
import torch
import torch.nn.functional as F
from problems import tensors

import isentropic
from isentropic import Scale, ScoreMap


@pytest.mark.parametrize("options", [{}, {"scale": Scale.log_n(torch.tensor([0.5, 1.5])), "sink": torch.zeros(2)}, {"map": ScoreMap.top_k(2)}, {"map": ScoreMap.entmax(torch.tensor([1.5, 1.2]))}])  # fmt: skip
def test_opcheck(options):
    from isentropic._problem import Problem

    q, k, v = tensors(1, 2, 5, 4, grad=True)
    problem = Problem(q, k, v, statistics="all", **options)
    torch.library.opcheck(torch.ops.isentropic.attention, (problem.text(), q, k, v, problem._terms))
    torch.library.opcheck(torch.ops.isentropic.attention_weights, (problem.text(), q.detach(), k.detach(), problem._terms, [0]))  # fmt: skip


ORDERS = {"contiguous": (0, 1, 2, 3), "transposed": (0, 2, 1, 3), "turned": (2, 1, 0, 3), "last outside": (3, 0, 1, 2)}


def lying_in(order, x):
    """The same numbers with memory axes in a different order."""
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
    """CPU time of the calling thread (less if others take a share), and the ratio of all threads' CPU time to it."""
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
        assert share < 1.1  # no other thread worked
        torch.set_num_threads(2)
        # On a busy machine the other thread may start late; one good attempt is enough.
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
