"""InfoNCE over ranks against one process with the whole batch: values and every gradient."""

import functools

import torch
import torch.distributed as dist
from distributed.loss_cases import D, UNEVEN, WITH_EMPTY_RANKS, expect, leaf, numbers, of_rank, summed

import isentropic

raw_info_nce = functools.partial(isentropic.info_nce, normalise=False)


def objective(found, of_loss, of_entropy):
    """Loss and entropies together, so that both have an upstream gradient."""
    return (found.loss * of_loss).sum() + (found.entropy * of_entropy).sum()


def compare_info_nce(sizes, loss=raw_info_nce, tied=False, partner=None, **options):
    """``tied``: queries are the keys. ``partner(m)``: the positives of a rank with m rows."""
    rank, n = dist.get_rank(), sum(sizes)
    first = sum(sizes[:rank])
    whole = [leaf(numbers(n, D, seed=seed)) for seed in ((1,) if tied else (1, 2))]
    mine = [leaf(of_rank(x, sizes)) for x in whole]
    tau, whole_tau = (leaf(torch.tensor(0.8)) for _ in range(2))
    positives, whole_positives = {}, {}
    if partner is not None:
        positives["positives"] = partner(sizes[rank])
        starts = [sum(sizes[:r]) for r in range(len(sizes))]
        whole_positives["positives"] = torch.cat([partner(m) + start for m, start in zip(sizes, starts)])
    ours = loss(mine[0], mine[-1], temperature=tau, group=dist.group.WORLD, **positives, **options)
    theirs = loss(whole[0], whole[-1], temperature=whole_tau, **whole_positives, **options)
    own = slice(first, first + sizes[rank])
    rows = options.get("reduction") == "none"
    of_loss = numbers(n, seed=3) if rows else torch.tensor(0.7, dtype=torch.float64)
    of_entropy = numbers(n, seed=4)
    expect(ours.loss, theirs.loss[own] if rows else theirs.loss)
    expect(ours.entropy, theirs.entropy[own])
    expect((ours.bound, ours.ceiling), (theirs.bound, theirs.ceiling))
    objective(ours, of_loss[own] if rows else of_loss, of_entropy[own]).backward()
    objective(theirs, of_loss, of_entropy).backward()
    for x, y in zip(mine, whole):
        expect(x.grad, y.grad[own])
    expect(summed(tau.grad), whole_tau.grad)


def check_info_nce_equals_one_process():
    for reduction in ("mean", "sum", "none"):
        compare_info_nce(UNEVEN[dist.get_world_size()], reduction=reduction)
    compare_info_nce(UNEVEN[dist.get_world_size()], loss=isentropic.info_nce)


def check_info_nce_with_empty_ranks():
    sizes = WITH_EMPTY_RANKS[dist.get_world_size()]
    compare_info_nce(sizes)
    compare_info_nce(sizes, reduction="none", symmetric=True)
    compare_info_nce([0] * len(sizes))


def check_symmetric_info_nce():
    for reduction in ("mean", "none"):
        compare_info_nce(UNEVEN[dist.get_world_size()], reduction=reduction, symmetric=True)


def check_info_nce_without_the_query_itself():
    sizes = {2: [4, 2], 4: [4, 0, 6, 2]}[dist.get_world_size()]
    compare_info_nce(sizes, tied=True, partner=lambda m: torch.arange(m).roll(m // 2), exclude_self=True)


def check_positives_of_fewer_queries():
    """More keys than queries on every rank."""
    size, rank = dist.get_world_size(), dist.get_rank()
    query, key = numbers(2 * size, D, seed=1), numbers(5 * size, D, seed=2)
    place = torch.tensor([4, 1])
    ours = raw_info_nce(
        query.chunk(size)[rank], key.chunk(size)[rank], temperature=0.8, positives=place, group=dist.group.WORLD
    )
    everywhere = torch.cat([place + 5 * r for r in range(size)])
    theirs = raw_info_nce(query, key, temperature=0.8, positives=everywhere)
    expect(ours.loss, theirs.loss)
    expect(ours.bound, theirs.bound)


def check_losses_far_below_the_rounding_of_scores():
    """Rows near-certain of their positive: losses around e^-60 are correct to every digit."""
    sizes = UNEVEN[dist.get_world_size()]
    key = torch.eye(D, dtype=torch.float64)[: sum(sizes)] * 8 + 0.01 * numbers(sum(sizes), D)
    theirs = raw_info_nce(key, key, temperature=1.0, reduction="none").loss
    mine = of_rank(key, sizes)
    ours = raw_info_nce(mine, mine, temperature=1.0, reduction="none", group=dist.group.WORLD).loss
    assert theirs.max() < 1e-20
    torch.testing.assert_close(ours, of_rank(theirs, sizes), atol=0.0, rtol=1e-10)


def check_info_nce_in_bfloat16():
    """Against float64 on the same numbers, within what 8 bits allow.

    A gradient is the sum of a part of every rank; each part, and the sum, is rounded to bfloat16, by at most 2^-8 of
    itself (neighbours of 1 are 1 + 2^-7 and 1 - 2^-8). Everything before that is float32: a score is a sum of D
    products and a partition one of n terms, so p is accurate to about (D + n) 2^-24 max |s|.
    """
    sizes, scale = UNEVEN[dist.get_world_size()], 1 / 0.5
    n = sum(sizes)
    q, k = (numbers(n, D, seed=seed).bfloat16().double() for seed in (1, 2))
    mine = [leaf(of_rank(x, sizes), torch.bfloat16) for x in (q, k)]
    ours = raw_info_nce(*mine, temperature=0.5, group=dist.group.WORLD)
    ours.loss.backward()
    scores = scale * q @ k.T
    g = (scores.softmax(1) - torch.eye(n, dtype=torch.float64)) / n
    single = (D + n) * 2.0**-24 * float(scores.abs().max())
    loss = (scores.logsumexp(1) - scores.diagonal()).mean()
    assert abs(float(ours.loss.detach() - loss)) <= 2 * single
    for x, weights, others in ((mine[0], g, k), (mine[1], g.T, q)):
        parts = [scale * w @ other for w, other in zip(weights.split(sizes, 1), others.split(sizes))]
        wanted, rounded = sum(parts), sum(part.abs() for part in parts) + sum(parts).abs()
        allowed = 2.0**-8 * (1 + 2.0**-8) * rounded + 2 * single * scale * weights.abs() @ others.abs()
        found = x.grad.double()
        error = (found - of_rank(wanted, sizes)).abs()
        assert bool((error <= of_rank(allowed, sizes)).all()), float((error / of_rank(allowed, sizes)).max())


def check_the_loss_times_the_world_size_under_ddp():
    """DistributedDataParallel averages what should be summed."""
    size, sizes = dist.get_world_size(), UNEVEN[dist.get_world_size()]
    torch.manual_seed(1)
    whole = torch.nn.Linear(D, 7).double()
    encoder = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(D, 7).double())
    encoder.module.load_state_dict(whole.state_dict())
    x, y = numbers(sum(sizes), D, seed=1), numbers(sum(sizes), D, seed=2)
    query, key = encoder(torch.cat([of_rank(x, sizes), of_rank(y, sizes)])).chunk(2)
    (size * isentropic.info_nce(query, key, group=dist.group.WORLD).loss).backward()
    isentropic.info_nce(whole(x), whole(y)).loss.backward()
    for ours, theirs in zip(encoder.parameters(), whole.parameters()):
        expect(ours.grad, theirs.grad)
