"""CUDA tensors: the same results as on the CPU, and memory that is linear in the length."""

import pytest
import torch

import isentropic
from isentropic import Scale, ScoreMap

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def both(call, *tensors, tolerance=1e-5):
    """Values and gradients of call(*tensors) on both devices."""
    found = []
    for device in ("cpu", "cuda"):
        inputs = [x.detach().to(device).requires_grad_() for x in tensors]
        outputs = call(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        assert all(x.device.type == device for x in outputs)
        loss = sum(
            (x.double() * torch.linspace(-1, 1, x.numel(), device=device).reshape(x.shape)).sum() for x in outputs
        )
        gradients = torch.autograd.grad(loss, inputs)
        found.append([x.cpu() for x in (*outputs, *gradients)])
    for on_cpu, on_gpu in zip(*found):
        assert on_cpu.dtype == on_gpu.dtype
        torch.testing.assert_close(on_gpu, on_cpu, atol=tolerance * on_cpu.abs().max().item() + 1e-7, rtol=tolerance)


def qkv(n=50, dtype=torch.float32):
    return (
        torch.randn(2, 4, n, 16, dtype=dtype),
        torch.randn(2, 2, n + 7, 16, dtype=dtype),
        torch.randn(2, 2, n + 7, 8, dtype=dtype),
    )


@pytest.mark.parametrize(
    "options",
    [
        dict(is_causal=True),
        dict(causal="end", window=20, prefix=3),
        dict(scale="log_n", causal="start"),
        dict(scale=Scale.target_entropy(2.0)),
        dict(soft_cap=3.0),
        dict(map=ScoreMap.top_k(5)),
        dict(map="relu_squared"),
        dict(dropout_p=0.2, seed=3),
        dict(others=True),
    ],
)
def test_attention_as_on_the_cpu(options):
    def call(q, k, v):
        output, aux = isentropic.attention(q, k, v, enable_gqa=True, return_aux=True, **options)
        return (output, *(x for x in aux.as_dict().values() if x.requires_grad))

    both(call, *qkv())


def test_terms_as_on_the_cpu():
    def call(q, k, v, kappa, sink, bias):
        output, aux = isentropic.attention(
            q, k, v, enable_gqa=True, scale=Scale.log_n(kappa), sink=sink, bias=bias, return_aux=True
        )
        return output, aux.entropy, aux.sink_mass

    both(call, *qkv(), torch.rand(4), torch.randn(4), torch.randn(1, 4, 50, 57), tolerance=1e-4)


def test_narrow_types():
    q, k, v = (x.cuda() for x in qkv(dtype=torch.bfloat16))
    output, aux = isentropic.attention(q, k, v, enable_gqa=True, return_aux=True)
    exact, exact_aux = isentropic.attention(q.double(), k.double(), v.double(), enable_gqa=True, return_aux=True)
    assert output.dtype == torch.bfloat16 and aux.entropy.dtype == torch.float32
    torch.testing.assert_close(output.double(), exact, atol=2e-2, rtol=2e-2)
    torch.testing.assert_close(aux.entropy.double(), exact_aux.entropy, atol=1e-4, rtol=1e-4)


def test_losses_as_on_the_cpu():
    q, k = torch.randn(40, 12), torch.randn(40, 12)
    both(lambda q, k: isentropic.info_nce(q, k, temperature=0.5, reduction="none").loss, q, k)
    target = torch.randint(90, (40,))
    w, b = torch.randn(90, 12), torch.randn(90)

    def cross_entropy(x, w, b):
        found = isentropic.linear_cross_entropy(x, w, target.to(x.device), bias=b, label_smoothing=0.1, z_loss=1e-3)
        return found.loss, found.entropy

    both(cross_entropy, q, w, b)


def test_hierarchical_weights_and_key_mass_as_on_the_cpu():
    q, k, v = qkv()
    both(lambda q, k, v: isentropic.hierarchical_attention(q, k, v, 8, enable_gqa=True), q, k, v)
    weights = isentropic.attention_weights(q.cuda(), k.cuda(), [3, 9], enable_gqa=True)
    torch.testing.assert_close(weights.cpu(), isentropic.attention_weights(q, k, [3, 9], enable_gqa=True))
    mass = isentropic.key_mass(q.cuda(), k.cuda(), enable_gqa=True)
    torch.testing.assert_close(mass.cpu(), isentropic.key_mass(q, k, enable_gqa=True))


def test_no_square_memory():
    def peak(n):
        q, k, v = (torch.randn(1, 4, n, 64, device="cuda", requires_grad=True) for _ in range(3))
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        output, aux = isentropic.attention(q, k, v, is_causal=True, statistics=["entropy"], return_aux=True)
        (output.sum() + aux.entropy.sum()).backward()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    short, long = peak(8192), peak(32768)
    assert long < 2 * short  # one matrix of scores would be 16 times as large
    assert long < 4 * 32768**2


def test_autocast():
    q, k, v = (x.cuda() for x in qkv())
    with torch.autocast("cuda", torch.bfloat16):
        assert isentropic.attention(q, k, v, enable_gqa=True).dtype == torch.bfloat16


@pytest.mark.parametrize("n_q, n_k, batch", [(0, 3, 1), (3, 0, 1), (3, 3, 0)])
def test_empty_axes(n_q, n_k, batch):
    q = torch.randn(batch, 2, n_q, 4, device="cuda", requires_grad=True)
    k = torch.randn(batch, 2, n_k, 4, device="cuda", requires_grad=True)
    output, aux = isentropic.attention(q, k, k, return_aux=True)
    assert output.shape == (batch, 2, n_q, 4)
    (output.sum() + aux.entropy.sum()).backward()
    x = torch.randn(0, 4, device="cuda")
    assert isentropic.linear_cross_entropy(x, k.new_zeros(5, 4), x.new_zeros(0).long()).loss == 0


def test_wrong_targets_are_refused():
    x = torch.randn(4, 3, device="cuda")
    for wrong in (-2, 9):
        target = torch.tensor([0, 1, 2, wrong], device="cuda")
        with pytest.raises(ValueError, match="target is"):
            isentropic.linear_cross_entropy(x, x, target)
