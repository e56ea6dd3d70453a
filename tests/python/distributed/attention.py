"""Attention over shards against the whole on one process, in float64: outputs, statistics and every gradient."""

import itertools

import torch
import torch.distributed as dist

import isentropic
from isentropic.distributed import ContextParallel

BATCH, HEADS, KV_HEADS, WIDTH, VALUE_WIDTH = 2, 4, 4, 8, 6
METHODS = ("allgather", "ring", "ulysses")


def _whole(n, seed=0, kv_heads=KV_HEADS, dtype=torch.float64):
    """The same tensors on every rank."""
    random = torch.Generator().manual_seed(seed)
    shapes = [(HEADS, WIDTH), (kv_heads, WIDTH), (kv_heads, VALUE_WIDTH)]
    return [torch.randn(BATCH, h, n, d, generator=random, dtype=dtype) for h, d in shapes]


def _loss(output, aux, weights):
    """Depends on everything that has a gradient, row by row."""
    loss = (output * weights[..., : output.shape[-1]]).sum()
    for name in ("entropy", "log_partition", "score_variance", "collision"):
        loss = loss + (getattr(aux, name) * weights[..., 0]).sum()
    return loss


def _gradients(of, loss):
    return torch.autograd.grad(loss, of, allow_unused=True)


def _compare(plan, n, parameters=None, kv_heads=KV_HEADS, statistics="all", tolerance=1e-12, **options):
    """This rank's part of one attention, on its own and together with the other ranks."""
    layout, parameters = plan.layout_of_whole(n), parameters or {}
    whole = [x.requires_grad_() for x in _whole(n, kv_heads=kv_heads)]
    alone = {name: x.clone().requires_grad_() for name, x in parameters.items()}
    weights = _whole(n, seed=1)[0]
    asked = dict(statistics=statistics, return_aux=True, enable_gqa=kv_heads != HEADS)
    output, aux = isentropic.attention(*whole, **alone, **asked, **options)
    expected = _gradients([*whole, *alone.values()], _loss(output, aux, weights))

    own = lambda x, dim=2: layout.shard(x.detach(), plan.rank, dim).clone()
    here = [own(x).requires_grad_() for x in whole]
    shared = {name: x.clone().requires_grad_() for name, x in parameters.items()}
    mine, mine_aux = isentropic.attention(*here, group=plan, **shared, **asked, **options)
    found = _gradients([*here, *shared.values()], _loss(mine, mine_aux, own(weights)))

    close = lambda x, y: torch.testing.assert_close(x, y, rtol=0, atol=tolerance)
    close(mine, own(output))
    for name, x in aux.as_dict().items():
        if name != "argmax" or plan.method != "decode":
            close(getattr(mine_aux, name), own(x))
    for x, y in zip(found[:3], expected[:3]):
        close(x, own(y))
    for x, y in zip(found[3:], expected[3:]):
        dist.all_reduce(x, group=plan.group)  # shared parameters: sum over ranks
        close(x, y)


def _plans(n_documents=None, methods=METHODS):
    for method, balance in itertools.product(methods, ("none", "head_tail")):
        yield ContextParallel(dist.group.WORLD, method=method, balance=balance)


def check_masks_mean_the_same():
    for plan in _plans():
        for options in (
            dict(is_causal=True),
            dict(causal="end", window=9),
            dict(causal=True, window=20, prefix=3),
            dict(window=(7, 5)),
            dict(strided=(4, 6), causal=True),
            dict(segments=10),
            dict(key_lengths=[48, 31], causal=True),
            dict(documents=[0, 5, 30, 48], causal=True),
            dict(exclude_self=True),
        ):
            _compare(plan, 48, **options)


def check_score_terms_and_their_gradients():
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for plan in _plans():
        _compare(plan, 32, is_causal=True, soft_cap=1.5, parameters=dict(sink=draw(HEADS)))
        _compare(plan, 32, is_causal=True, window=12, parameters=dict(sink=draw(HEADS)))
        _compare(plan, 32, is_causal=True, parameters=dict(alibi_slopes=draw(HEADS)))
        _compare(plan, 32, window=(9, 4), parameters=dict(relative_bias=draw(HEADS, 11)))


def check_scale_laws_look_at_all_keys():
    for plan in _plans():
        for scale in ("log_n", isentropic.Scale.ssmax(0.4), "llama4"):
            _compare(plan, 32, is_causal=True, scale=scale)
        kappa = torch.linspace(0.5, 1.5, HEADS, dtype=torch.float64)
        layout = plan.layout_of_whole(32)
        for window in (None, 10):
            whole = [x.requires_grad_() for x in _whole(32)]
            of = lambda tensors, k, **rest: isentropic.attention(
                *tensors, is_causal=True, window=window, scale=isentropic.Scale.log_n(k), **rest
            )
            alone = kappa.clone().requires_grad_()
            expected = torch.autograd.grad(of(whole, alone).square().sum(), [alone, *whole])
            here = [layout.shard(x.detach(), plan.rank, 2).clone().requires_grad_() for x in whole]
            shared = kappa.clone().requires_grad_()
            found = torch.autograd.grad(of(here, shared, group=plan).square().sum(), [shared, *here])
            total = found[0].clone()
            dist.all_reduce(total)
            torch.testing.assert_close(total, expected[0], rtol=0, atol=1e-12)
            for x, y in zip(found[1:], expected[1:]):
                torch.testing.assert_close(x, layout.shard(y, plan.rank, 2), rtol=0, atol=1e-12)


def check_grouped_heads():
    size = dist.get_world_size()
    for plan in _plans():
        if plan.method != "ulysses" or size == 2:
            _compare(plan, 32, kv_heads=2, is_causal=True, window=11)


def check_key_groups():
    for plan in _plans():
        _compare(plan, 32, is_causal=True, groups=(2, 5))


def check_uneven_and_empty_shards():
    size = dist.get_world_size()
    for lengths in ([7, 25, 3, 13][:size], [0, 20, 11, 1][:size], [30, 0, 0, 2][:size]):
        for method in METHODS:
            plan = ContextParallel(dist.group.WORLD, method=method, lengths=lengths)
            _compare(plan, sum(lengths), is_causal=True, window=12)


def check_balance_by_document():
    size = dist.get_world_size()
    offsets = [0, 2 * size, 8 * size, 12 * size]
    for method in METHODS:
        plan = ContextParallel(dist.group.WORLD, method=method, balance="per_document", documents=offsets)
        # The plan's documents are applied as the mask of every call.
        whole, here = _whole(offsets[-1]), None
        layout = plan.layout_of_whole(offsets[-1])
        here = [layout.shard(x, plan.rank, 2).contiguous() for x in whole]
        expected = isentropic.attention(*whole, is_causal=True, documents=offsets)
        found = isentropic.attention(*here, is_causal=True, group=plan)
        torch.testing.assert_close(found, layout.shard(expected, plan.rank, 2), rtol=0, atol=1e-12)


def check_key_mass():
    for plan in _plans():
        layout = plan.layout_of_whole(32)
        q, k, _ = _whole(32)
        options = dict(is_causal=True, window=13, sink=torch.linspace(-1, 1, HEADS, dtype=torch.float64))
        expected = isentropic.key_mass(q, k, **options)
        own = lambda x: layout.shard(x, plan.rank, 2).contiguous()
        found = isentropic.key_mass(own(q), own(k), group=plan, **options)
        torch.testing.assert_close(found, own(expected), rtol=0, atol=1e-12)


def check_decode():
    size, rank = dist.get_world_size(), dist.get_rank()
    for lengths in ([20] * size, [1, 30, 0, 9][:size]):
        n = sum(lengths)
        q, k, v = _whole(n)
        q = q[:, :, :3]
        plan = ContextParallel(dist.group.WORLD, method="decode", lengths=lengths)
        options = dict(causal="end", window=25, soft_cap=2.0, return_aux=True, scale="log_n")
        options["sink"] = torch.linspace(-1, 1, HEADS, dtype=torch.float64)
        expected, expected_aux = isentropic.attention(q, k, v, **options)
        own = lambda x: plan.layout_of_whole(n).shard(x, rank, 2).contiguous()
        found, aux = isentropic.attention(q, own(k), own(v), group=plan, **options)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        for name, x in expected_aux.as_dict().items():
            torch.testing.assert_close(getattr(aux, name), x, rtol=0, atol=1e-12)


def check_dense_terms_of_own_queries():
    random = torch.Generator().manual_seed(5)
    mask = torch.rand(1, 1, 32, 32, generator=random) < 0.7
    bias = torch.randn(1, HEADS, 32, 32, generator=random, dtype=torch.float64)
    for plan in _plans(methods=("allgather", "ring")):
        layout = plan.layout_of_whole(32)
        rows = lambda x: layout.shard(x, plan.rank, 2).contiguous()
        whole = _whole(32)
        alone = bias.clone().requires_grad_()
        expected = isentropic.attention(*whole, attn_mask=mask, bias=alone)
        (of_bias,) = torch.autograd.grad(expected.square().sum(), alone)
        own = rows(bias).requires_grad_()
        found = isentropic.attention(*map(rows, whole), attn_mask=rows(mask), bias=own, group=plan)
        (of_own,) = torch.autograd.grad(found.square().sum(), own)
        torch.testing.assert_close(found, rows(expected), rtol=0, atol=1e-12)
        torch.testing.assert_close(of_own, rows(of_bias), rtol=0, atol=1e-12)
