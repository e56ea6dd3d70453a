"""PyTorch's kernel and this library's compute the same on a GPU, and the requested one runs."""

import pytest
import torch
import torch.nn.functional as F
from cuda_cases import DEVICE, REASON, TOLERANCES, Inputs, Shape, assert_near
from torch.utils.checkpoint import checkpoint

import isentropic

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASON)

OPTIONS = {
    "full": {},
    "causal": dict(is_causal=True),
    "causal end": dict(causal="end"),
    "scaled": dict(causal="start", scale=0.07),
}
SHAPES = {
    "64": Shape(n_q=203),
    "128": Shape(n_q=203, d=128, d_v=128),
    "80": Shape(n_q=203, d=80, d_v=80),
    "ungrouped": Shape(n_q=203, kv_heads=4),
    "ungrouped, other values": Shape(n_q=203, kv_heads=4, d=96, d_v=64),
}


def kernels_of(call):
    """The names of PyTorch's and this library's operators that ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    return {event.name for event in profile.events()}


def outputs_and_gradients(backend, shape, dtype, options):
    inputs = Inputs(shape, dtype, DEVICE, False)
    q, k, v = inputs.tensors(1.0)
    output = isentropic.attention(q, k, v, enable_gqa=True, backend=backend, **options)
    upstream = inputs.upstream("output", output)
    return output, *torch.autograd.grad(output, (q, k, v), upstream)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_both_backends_agree(options, shape, dtype):
    of_output, of_gradients, _ = TOLERANCES[dtype]
    theirs, ours = (outputs_and_gradients(backend, shape, dtype, options) for backend in ("auto", "isentropic"))
    tolerances = (of_output, of_gradients, of_gradients, of_gradients)
    for name, x, y, tolerance in zip(("output", "query", "key", "value"), theirs, ours, tolerances):
        # Both are rounded, so each may deviate as far from the truth as the other.
        assert_near(name, x, y.detach().cpu().double(), 2 * tolerance)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_kernel_that_is_asked_for_runs(options):
    q, k, v = Inputs(Shape(n_q=203), torch.bfloat16, DEVICE, False).tensors(1.0)
    ours, theirs = "isentropic::attention", "aten::scaled_dot_product_attention"
    found = kernels_of(lambda: isentropic.attention(q, k, v, enable_gqa=True, **options))
    assert theirs in found and ours not in found
    # No matrix: PyTorch has found a fused kernel for these inputs.
    assert "aten::_scaled_dot_product_attention_math" not in found
    found = kernels_of(lambda: isentropic.attention(q, k, v, enable_gqa=True, backend="isentropic", **options))
    assert ours in found and theirs not in found
    found = kernels_of(lambda: isentropic.attention(q, k, v, enable_gqa=True, statistics="entropy", **options))
    assert ours in found and theirs not in found


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_no_matrix_is_formed(shape, dtype):
    q, k, v = Inputs(shape, dtype, DEVICE, False).tensors(1.0)
    found = kernels_of(lambda: isentropic.attention(q, k, v, enable_gqa=True, is_causal=True))
    assert "aten::_scaled_dot_product_attention_math" not in found


def test_autocast():
    q, k, v = Inputs(Shape(n_q=203, kv_heads=4), torch.float32, DEVICE, False).tensors(1.0)
    with torch.autocast(DEVICE, torch.bfloat16):
        theirs = isentropic.attention(q, k, v, is_causal=True)
        ours = isentropic.attention(q, k, v, is_causal=True, backend="isentropic")
    assert theirs.dtype == ours.dtype == torch.bfloat16
    assert_near("output", theirs, ours.detach().cpu().double(), 2 * TOLERANCES[torch.bfloat16][0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(dynamic):
    torch._dynamo.reset()
    call = torch.compile(lambda q, k, v: isentropic.attention(q, k, v, is_causal=True), fullgraph=True, dynamic=dynamic)
    for n in (203, 301):
        q, k, v = Inputs(Shape(n_q=n, n_k=n, kv_heads=4), torch.bfloat16, DEVICE, False).tensors(1.0)
        expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        assert_near("output", call(q, k, v), expected.detach().cpu().double(), 2 * TOLERANCES[torch.bfloat16][0])


def test_a_checkpointed_forward_may_be_watched_and_its_repetition_not():
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return isentropic.attention(q, k, v, is_causal=True)

    q, k, v = Inputs(Shape(n_q=203, kv_heads=4), torch.bfloat16, DEVICE, False).tensors(1.0)
    model = Model()
    with isentropic.collect(model, ("entropy",)) as layers:
        output = checkpoint(model, q, k, v, use_reentrant=False)
    assert len(layers) == 1
    found = torch.autograd.grad(output.float().square().sum(), q)[0]
    expected = torch.autograd.grad(model(q, k, v).float().square().sum(), q)[0]
    assert_near("query", found, expected.cpu().double(), 2 * TOLERANCES[torch.bfloat16][1])
