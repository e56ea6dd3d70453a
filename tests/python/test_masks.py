"""Masks as in PyTorch, and their cost."""

import math
import os
import pathlib
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from problems import tensors

import isentropic


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_additive_mask_hides_keys_next_to_a_bias(dtype):
    q, k, v = tensors(2, 1, 4, 8, n_k=6)
    mask = torch.zeros(2, 1, 1, 6, dtype=dtype)
    mask[0, ..., 3:] = torch.finfo(dtype).min
    for bias in (dict(bias=torch.full((1, 1, 4, 6), 20.0)), dict(alibi_slopes=torch.ones(1)), {}):
        _, aux = isentropic.attention(q, k, v, mask, return_aux=True, **bias)
        assert aux.visible[0].eq(3).all() and aux.visible[1].eq(6).all()


@pytest.mark.parametrize("mask_type, bias_type", [(torch.float32, torch.float32), (torch.bfloat16, torch.float32), (torch.float32, torch.float16)])  # fmt: skip
def test_a_gradient_changes_nothing_of_what_a_mask_hides(mask_type, bias_type):
    q, k, v = tensors(1, 1, 2, 8, n_k=3, grad=True)
    mask = torch.tensor([[0.0, 1.0, -1.0], [0.0, 0.0, 0.0]], dtype=mask_type)
    mask[1] = torch.finfo(mask_type).min
    bias = torch.full((1, 1, 2, 3), 1.5, dtype=bias_type)
    bias[..., 0, 2] = torch.finfo(bias_type).min
    options = dict(bias=bias, return_aux=True)
    expected, without = isentropic.attention(q, k, v, mask, **options)
    mask.requires_grad_()
    output, aux = isentropic.attention(q, k, v, mask, **options)
    assert aux.visible.tolist() == without.visible.tolist() == [[[2, 0]]]
    torch.testing.assert_close(output, expected)
    output.square().sum().backward()
    assert mask.grad[0, :2].abs().min() > 0 and mask.grad[0, 2] == 0 and mask.grad[1].eq(0).all()


@pytest.mark.parametrize("options", [{}, {"map": "sigmoid"}, {"sink": torch.zeros(3)}, {"soft_cap": 2.0}, {"causal": "start", "scale": "log_n"}], ids=str)  # fmt: skip
@pytest.mark.parametrize("shape", [(6, 1), (1, 1), (2, 1, 6, 1)])
def test_one_number_for_a_row_is_as_many_equal_ones(shape, options):
    q, k, v = tensors(2, 3, 6, 8, n_k=7, dtype=torch.float64, grad=True)
    mask = torch.randn(shape, dtype=torch.float64)
    mask.flatten()[-1] = torch.finfo(torch.float64).min
    found = []
    for given in (mask.clone(), mask.expand(*shape[:-1], 7).clone()):
        given.requires_grad_()
        output, aux = isentropic.attention(q, k, v, given, return_aux=True, **options)
        statistics = [x for x in aux.as_dict().values() if x.requires_grad]
        gradients = torch.autograd.grad([x.sum() for x in (output, *statistics)], (q, k, v, given), allow_unused=True)
        weights = isentropic.attention_weights(q, k, range(6), attn_mask=given.detach(), **options)
        found.append((output, *aux.as_dict().values(), *gradients[:3], gradients[3].sum(-1, keepdim=True).sum_to_size(shape), weights))  # fmt: skip
    for one, many in zip(*found, strict=True):
        torch.testing.assert_close(one, many)
    hidden = torch.zeros(shape, dtype=torch.bool)
    torch.testing.assert_close(
        isentropic.attention(q, k, v, ~hidden, **options), isentropic.attention(q, k, v, **options)
    )
    assert isentropic.attention(q, k, v, hidden, **options).eq(0).all()


def test_one_number_for_a_row_in_two_levels():
    q, k, v = tensors(2, 3, 6, 8, n_k=7, dtype=torch.float64)
    for given in (torch.randn(6, 1, dtype=torch.float64), torch.randn(6, 1) > 0):
        one, many = (
            isentropic.hierarchical_attention(q, k, v, 3, attn_mask=mask, return_aux=True)
            for mask in (given, given.expand(6, 7).clone())
        )
        torch.testing.assert_close(one[0], many[0])
        torch.testing.assert_close(one[1].entropy, many[1].entropy)


ROW_MASKS = """
import resource, sys, torch, isentropic
n = 12000
q = torch.randn(1, 1, n, 8)
mask = torch.randn(n, 1) if sys.argv[1] == "additive" else torch.rand(n, 1) > 0.5
isentropic.attention(q[:, :, :64], q[:, :, :64], q[:, :, :64])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
isentropic.attention(q, q, q, attn_mask=mask, window=64, causal="start")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("kind", ["additive", "boolean"])
def test_one_number_for_a_row_is_not_written_out(kind):
    package = str(pathlib.Path(isentropic.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", ROW_MASKS, kind],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 60  # MiB; a matrix would have 137 of bytes, 549 of floats


def test_fully_masked_row_is_zero():
    q, k, v = tensors(1, 1, 3, 4, grad=True)
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = False
    output, aux = isentropic.attention(q, k, v, mask, return_aux=True)
    assert output[0, 0, 1].eq(0).all() and aux.entropy[0, 0, 1] == 0 and aux.visible[0, 0, 1] == 0
    assert aux.log_partition[0, 0, 1] == -math.inf
    (output.sum() + aux.entropy.sum()).backward()
    assert all(torch.isfinite(x.grad).all() for x in (q, k, v))
