"""What InfoNCE sends around the ring, how much memory a rank needs, and that timing changes no bit."""

import contextlib
import time
import weakref
from unittest import mock

import torch
import torch.distributed as dist
from distributed.loss_cases import D, UNEVEN, WITH_EMPTY_RANKS, Watch, leaf, numbers, of_rank

import isentropic
from isentropic.distributed._ring import Ring


@contextlib.contextmanager
def late(rank, call):
    """Delays one rank at a step of the ring."""
    calls = 0
    send = dist.all_to_all_single

    def wrapped(*arguments, **options):
        nonlocal calls
        calls += 1
        if dist.get_rank() == rank and calls == call:
            time.sleep(0.3)
        return send(*arguments, **options)

    with mock.patch.object(dist, "all_to_all_single", wrapped):
        yield


def check_the_same_bits_in_any_timing():
    sizes = UNEVEN[dist.get_world_size()]

    def run():
        mine = [leaf(of_rank(numbers(sum(sizes), D, seed=seed), sizes), torch.float32) for seed in (1, 2)]
        tau = leaf(torch.tensor(0.3), torch.float32)
        found = isentropic.info_nce(*mine, temperature=tau, group=dist.group.WORLD)
        gradients = torch.autograd.grad(found.loss + found.entropy.sum(), (*mine, tau))
        return (found.loss, found.entropy, found.bound, *gradients)

    first = run()
    of_all = [torch.empty_like(first[0]) for _ in sizes]
    dist.all_gather(of_all, first[0].detach())
    assert all(torch.equal(x, of_all[0]) for x in of_all)
    for rank, call in ((0, 1), (1, 2)):
        with late(rank, call):
            assert all(torch.equal(x, y) for x, y in zip(run(), first))


def check_what_info_nce_sends():
    """docs/scale.md has the formula."""
    sizes, rank, size = UNEVEN[dist.get_world_size()], dist.get_rank(), dist.get_world_size()
    n, next_block = sum(sizes), sizes[(rank + 1) % size]
    for dtype, wide in ((torch.float64, 8), (torch.float32, 4), (torch.bfloat16, 4)):
        mine = [leaf(of_rank(numbers(n, D, seed=seed), sizes), dtype) for seed in (1, 2)]
        with Watch() as watch:
            loss = isentropic.info_nce(*mine, group=dist.group.WORLD).loss
        forward = (n - next_block) * D * dtype.itemsize
        assert [name for name, _ in watch.collectives] == ["allgather_"] + ["alltoall_base_"] * (size - 1) + [
            "allgather_"
        ]
        assert sum(b for _, b in watch.collectives) == 24 + forward + 8, (watch.collectives, forward)
        assert watch.largest <= max(sizes) * D < n * D
        with Watch() as watch:
            loss.backward()
        assert [name for name, _ in watch.collectives] == ["alltoall_base_"] * (2 * (size - 1))
        assert sum(b for _, b in watch.collectives) == forward + (n - sizes[rank]) * D * wide
        assert watch.largest <= max(sizes) * D
    with Watch() as watch:
        isentropic.info_nce(mine[0], mine[1].detach(), group=dist.group.WORLD).loss.backward()
    assert sum(b for _, b in watch.collectives) == 24 + 2 * forward + 8  # keys without a gradient: none is sent back
    with Watch() as watch:
        isentropic.info_nce(*mine, symmetric=True, group=dist.group.WORLD).loss.backward()
    backward = forward + (n - sizes[rank]) * D * wide
    assert sum(b for _, b in watch.collectives) == 24 + 2 * (forward + backward) + 8


def check_no_rank_holds_all_keys():
    """Besides its own block there are the one in use and the one arriving."""
    sizes = UNEVEN[dist.get_world_size()]
    query, key = (of_rank(numbers(sum(sizes), D, seed=seed), sizes).clone() for seed in (1, 2))
    arrived, most, send = [], 0, dist.all_to_all_single

    def alive():
        return sum(x() is not None for x in arrived)

    def wrapped(arriving, *arguments, **options):
        nonlocal most
        arrived.append(weakref.ref(arriving))
        deadline = time.monotonic() + 2  # Gloo's threads release what they sent slightly after reporting completion
        while alive() > 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        most = max(most, alive())
        return send(arriving, *arguments, **options)

    with mock.patch.object(dist, "all_to_all_single", wrapped):
        isentropic.info_nce(query, key, normalise=False, group=dist.group.WORLD)
    assert most == min(dist.get_world_size() - 1, 2), most


def check_a_ring_of_several_tensors():
    sizes, rank = WITH_EMPTY_RANKS[dist.get_world_size()], dist.get_rank()

    def block(r):
        return [torch.full((sizes[r], 2, 3), r, dtype=torch.float16), torch.full((sizes[r],), 10 * r)]

    ring = Ring(dist.group.WORLD, sizes)
    for step, found in ring.rotate(block(rank)):
        wanted = block(ring.source(step))
        assert ring.source(step) == (rank - step) % len(sizes)
        assert all(torch.equal(x, y) and x.dtype == y.dtype for x, y in zip(found, wanted))
    assert step == len(sizes) - 1
