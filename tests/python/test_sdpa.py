"""PyTorch's attention routed to this library."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from watched import BATCH, HEADS, LENGTH, WIDTH, Watcher, inputs, masks, tensors

import isentropic

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("options", [
    {}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": masks()[0, 0] > 0}, {"attn_mask": masks()},
], ids=["plain", "causal", "scale", "boolean", "additive"])  # fmt: skip
def test_replaced_attention_agrees_with_pytorch(options):
    q, k, v = tensors()
    expected = F.scaled_dot_product_attention(q, k, v, **options)
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = F.scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=1e-5)
    assert len(watcher.reports) == 1
    with Watcher("entropy") as watcher:
        F.scaled_dot_product_attention(q, k, v, **options)
    assert not watcher.reports


def test_replaced_attention_knows_grouped_heads():
    q = torch.randn(BATCH, 6, LENGTH, 4)
    k, v = torch.randn(2, BATCH, 2, LENGTH, 4)
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, enable_gqa=True))
    assert watcher.reports[0].entropy.shape == (BATCH, 6, LENGTH)


def test_replaced_attention_repeats_a_single_head():
    q = torch.randn(BATCH, 6, LENGTH, 4)
    k, v = torch.randn(2, BATCH, 1, LENGTH, 4)
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = F.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v))
    assert watcher.reports[0].entropy.shape == (BATCH, 6, LENGTH)


@pytest.mark.parametrize("run", [
    lambda loss, leaf: loss.backward(), lambda loss, leaf: torch.autograd.grad(loss, leaf), lambda loss, leaf: torch.autograd.backward(loss),
], ids=["backward", "grad", "autograd.backward"])  # fmt: skip
def test_a_checkpointed_forward_is_repeated_as_it_was(run):
    leaf = inputs().requires_grad_()

    def forward(x):
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        return torch.tanh(F.scaled_dot_product_attention(heads, heads, heads))

    with isentropic.replace_sdpa():
        run(checkpoint(forward, leaf, use_reentrant=False).sum(), leaf)
    assert F.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention


def test_what_has_no_kernel_is_left_to_pytorch():
    shapes = [(1, 2, 4, 8)] * 3
    cases = [
        [torch.randn(shape, device="meta") for shape in shapes],
        [torch.randn(4, 8) for _ in shapes],
        [torch.randn(2, 2, 4, 8), torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8)],
        [torch.randn(1, 2, 0, 8), torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8)],
        [*(torch.randn(shape) for shape in shapes), torch.ones(4, 4, dtype=torch.bool), 0.0, True],
        [*(torch.randn(shape) for shape in shapes), None, 1.0],
    ]
    with isentropic.replace_sdpa(), Watcher("entropy") as watcher:
        found = [F.scaled_dot_product_attention(*case) for case in cases]
        with pytest.raises(RuntimeError):
            F.scaled_dot_product_attention(*(torch.ones(1, 2, 4, 8, dtype=torch.int64) for _ in range(3)))
    assert [list(output.shape) for output in found] == [list(case[0].shape) for case in cases]
    assert not watcher.reports


def test_pytorch_layers_can_be_watched():
    layer = nn.TransformerEncoderLayer(d_model=WIDTH, nhead=HEADS, dim_feedforward=16, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False).train()
    expected = model(inputs())
    with isentropic.replace_sdpa(), isentropic.Monitor(model) as monitor:
        found = model(inputs())
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=1e-5)
    assert list(monitor.last) == ["layers.0.self_attn", "layers.1.self_attn"]
    assert len(monitor.last["layers.0.self_attn"]["entropy"]) == HEADS
    assert F.scaled_dot_product_attention is torch._C._nn.scaled_dot_product_attention
