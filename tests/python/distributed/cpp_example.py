"""The example in C++ that takes a c10d process group, examples/cpp/attention_over_ranks.cpp."""

import os

import torch
import torch.distributed as dist

import isentropic


def check_the_example():
    torch.ops.load_library(os.environ["ISENTROPIC_ATTENTION_OVER_RANKS"])
    size, rank = dist.get_world_size(), dist.get_rank()
    n = 12
    torch.manual_seed(0)
    whole = [torch.randn(2, 3, n * size, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    output, aux = isentropic.attention(*whole, is_causal=True, return_aux=True, statistics="entropy")
    expected = torch.autograd.grad(output.square().sum(), whole)
    own = lambda x: x.detach()[:, :, rank * n : (rank + 1) * n].clone()
    here = [own(x).requires_grad_() for x in whole]
    found, entropy = torch.ops.isentropic_examples.attention_over_ranks(*here, dist.group.WORLD.group_name)
    torch.testing.assert_close(found, own(output), rtol=0, atol=1e-12)
    torch.testing.assert_close(entropy, own(aux.entropy), rtol=0, atol=1e-12)
    for x, y in zip(torch.autograd.grad(found.square().sum(), here), expected):
        torch.testing.assert_close(x, own(y), rtol=0, atol=1e-12)
