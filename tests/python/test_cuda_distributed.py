"""Two ranks that share one GPU, over Gloo, and ranks with a GPU each, over NCCL: attention in bfloat16 against one rank,
and both against float64.
"""

import itertools

import pytest
import torch
import torch.distributed as dist
import worlds
from cuda_cases import REASON

import isentropic
from isentropic.distributed import ContextParallel

HEADS, KV_HEADS, N, WIDTH = 4, 2, 256, 64
LENGTHS = {1: [N], 2: [100, N - 100]}  # of keys, by ranks

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASON)

PROBLEMS = {
    "causal": dict(is_causal=True),
    "window and sink": dict(is_causal=True, window=70, sink=True),
    "documents": dict(is_causal=True, documents=[0, 30, 140, N]),
    "soft cap": dict(is_causal=True, soft_cap=3.0),
    "alibi": dict(is_causal=True, alibi_slopes=True),
    "log n": dict(is_causal=True, scale="log_n"),
    "prefix": dict(is_causal=True, window=40, prefix=5),
    "full": dict(),
}


def _inputs():
    torch.manual_seed(0)
    shapes = [(HEADS, WIDTH), (KV_HEADS, WIDTH), (KV_HEADS, WIDTH)]
    return [torch.randn(2, heads, N, width).bfloat16() for heads, width in shapes]


def _run(tensors, terms, options, plan=None):
    """Output, entropy and gradients, in float64 on the CPU."""
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    terms = {name: x.detach().clone().requires_grad_() for name, x in terms.items()}
    output, aux = isentropic.attention(
        *leaves,
        **terms,
        **options,
        enable_gqa=True,
        statistics=("entropy", "log_partition"),
        return_aux=True,
        group=plan,
    )
    loss = output.float().square().sum() + 3 * aux.entropy.sum() + aux.log_partition.sum()
    gradients = torch.autograd.grad(loss, [*leaves, *terms.values()])
    return [x.detach().double().cpu() for x in (output, aux.entropy, *gradients)]


def _error(found, exact):
    return (found - exact).norm() / exact.norm()


def _compare(name, method, balance):
    options = dict(PROBLEMS[name])
    terms = {}
    for term in ("sink", "alibi_slopes"):
        if options.pop(term, False):
            terms[term] = torch.linspace(0.1, 1, HEADS)
    whole = _inputs()
    exact = _run([x.double() for x in whole], {k: v.double() for k, v in terms.items()}, options)
    on_gpu = {k: v.cuda() for k, v in terms.items()}
    alone = _run([x.cuda() for x in whole], on_gpu, options)
    plan = ContextParallel(dist.group.WORLD, method=method, balance=balance)
    own = lambda x: plan.layout_of_whole(N).shard(x, plan.rank, 2).contiguous()
    found = _run([own(x).cuda() for x in whole], on_gpu, options, plan)
    for index, (x, one, reference) in enumerate(zip(found, alone, exact)):
        if index < 5:
            one, reference = own(one), own(reference)
        else:
            dist.all_reduce(x)  # a shared parameter's gradient
        # Shares of gradients are rounded to bfloat16 before they are summed: as much error again, and twice that is
        # allowed.
        assert _error(x, reference) <= 2 * _error(one, reference) + 1e-3, (name, method, balance, index)


def _check_all():
    for name, (method, balance) in itertools.product(
        PROBLEMS, itertools.product(("allgather", "ring", "ulysses"), ("none", "head_tail"))
    ):
        _compare(name, method, balance)


def _check_decode():
    q, k, v = (x.cuda() for x in _inputs())
    q = q[:, :, :1]
    plan = ContextParallel(dist.group.WORLD, method="decode", lengths=LENGTHS[dist.get_world_size()])
    own = lambda x: plan.layout_of_whole(N).shard(x, plan.rank, 2).contiguous()
    with torch.no_grad():
        options = dict(causal="end", enable_gqa=True, return_aux=True)
        expected, expected_aux = isentropic.attention(q, k, v, **options)
        found, aux = isentropic.attention(q, own(k), own(v), group=plan, **options)
    torch.testing.assert_close(found, expected, rtol=2**-7, atol=2**-7)
    for name, x in expected_aux.as_dict().items():
        torch.testing.assert_close(getattr(aux, name), x, rtol=1e-4, atol=1e-4, msg=name)


CHECKS = {"attention": _check_all, "decode": _check_decode}


@pytest.fixture(scope="module")
def over_gloo():
    return worlds.run(2, CHECKS)


@pytest.fixture(scope="module")
def over_nccl():
    """NCCL needs a GPU per rank."""
    return worlds.run(min(2, torch.cuda.device_count()), CHECKS, backend="cpu:gloo,cuda:nccl")


@pytest.mark.parametrize("name", CHECKS)
def test_two_ranks_on_one_gpu(over_gloo, name):
    assert not over_gloo[name], over_gloo[name]


@pytest.mark.parametrize("name", CHECKS)
def test_as_many_ranks_as_gpus(over_nccl, name):
    assert not over_nccl[name], over_nccl[name]
