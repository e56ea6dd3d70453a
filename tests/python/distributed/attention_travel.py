"""What attention sends between ranks, how much of the keys the ring keeps, and that timing changes no bit."""

import time
import weakref
from unittest import mock

import torch
import torch.distributed as dist
from distributed.loss_cases import Watch, leaf, numbers

import isentropic
from isentropic.distributed import ContextParallel

BATCH, HEADS, KV_HEADS, WIDTH, VALUE_WIDTH = 2, 8, 4, 7, 5
PACKED = KV_HEADS * (WIDTH + VALUE_WIDTH)  # elements per position in keys and values
LENGTHS = {2: [9, 6], 4: [7, 3, 9, 5]}
TYPES = ((torch.float64, 8), (torch.float32, 4), (torch.bfloat16, 4))  # and the bytes of an accumulated number


def _plan(method):
    return ContextParallel(dist.group.WORLD, method=method, lengths=LENGTHS[dist.get_world_size()])


def _sizes():
    """Positions of each rank, in total, of this rank, and of the next."""
    lengths, rank = LENGTHS[dist.get_world_size()], dist.get_rank()
    return lengths, sum(lengths), lengths[rank], lengths[(rank + 1) % len(lengths)]


def _inputs(dtype, n, n_q=None):
    shapes = [(HEADS, n_q or n, WIDTH), (KV_HEADS, n, WIDTH), (KV_HEADS, n, VALUE_WIDTH)]
    return [leaf(numbers(BATCH, *shape, seed=seed), dtype) for seed, shape in enumerate(shapes)]


def _attention(plan, tensors, **options):
    return isentropic.attention(*tensors, is_causal=True, enable_gqa=True, group=plan, **options)


def _sent(work):
    """The result of the work, its collectives, the bytes that this rank passed to each, and the largest tensor."""
    with Watch() as watch:
        found = work()
    return found, [name for name, _ in watch.collectives], [given for _, given in watch.collectives], watch.largest


def _gradients(tensors, output, aux=None):
    loss = output.double().square().sum()
    return torch.autograd.grad(loss if aux is None else loss + aux.entropy.double().sum(), tensors)


def check_what_allgather_sends():
    """docs/scale.md has the formulas."""
    lengths, n, here, _ = _sizes()
    for dtype, wide in TYPES:
        tensors, plan = _inputs(dtype, here), _plan("allgather")
        padded = BATCH * max(lengths) * PACKED * dtype.itemsize  # shards are padded to the longest
        (output, aux), names, given, _ = _sent(lambda: _attention(plan, tensors, return_aux=True))
        assert names == ["allgather_"] and given == [padded], (names, given)
        _, names, given, _ = _sent(lambda: _gradients(tensors, output, aux))
        assert names == ["allgather_", "alltoall_base_"], names
        assert given == [padded, BATCH * n * PACKED * wide], given  # including this rank's own part


def check_what_the_ring_sends():
    """docs/scale.md has the formulas."""
    lengths, n, here, next_block = _sizes()
    size = len(lengths)
    for dtype, wide in TYPES:
        tensors, plan = _inputs(dtype, here), _plan("ring")
        around = BATCH * (n - next_block) * PACKED * dtype.itemsize
        (output, aux), names, given, largest = _sent(
            lambda: _attention(plan, tensors, statistics=["entropy"], return_aux=True)
        )
        assert names == ["alltoall_base_"] * (size - 1) and sum(given) == around, (names, given)
        # Nothing is as large as all keys and values, nor as the output of all positions.
        own = BATCH * max(lengths) * max(PACKED, HEADS * WIDTH, HEADS * 8)  # 8: at most, per row's record
        assert largest <= own < BATCH * n * PACKED, largest
        _, names, given, largest = _sent(lambda: _gradients(tensors, output, aux))
        assert names == ["alltoall_base_"] * (2 * size - 1), names
        assert sum(given) == around + BATCH * n * PACKED * wide, given
        assert largest <= own, largest


def check_what_ulysses_sends():
    """docs/scale.md has the formulas."""
    lengths, n, here, _ = _sizes()
    size = len(lengths)
    for dtype, wide in TYPES:
        tensors, plan = _inputs(dtype, here), _plan("ulysses")
        whole = HEADS * WIDTH + PACKED  # elements per position in query, key and value
        output_width = HEADS * VALUE_WIDTH
        inward, outward = BATCH * here * whole * dtype.itemsize, BATCH * n * output_width // size * dtype.itemsize
        output, names, given, _ = _sent(lambda: _attention(plan, tensors))
        assert names == ["alltoall_base_"] * 2 and given == [inward, outward], (names, given)
        _, names, given, _ = _sent(lambda: _gradients(tensors, output))
        back = [BATCH * here * output_width * dtype.itemsize, BATCH * n * whole // size * dtype.itemsize]
        assert names == ["alltoall_base_"] * 2 and given == back, (names, given, back)

        # One more for each stack of statistics: those with a gradient, those without, counts.
        asked = ("entropy", "collision", "peak", "argmax")
        (output, aux), names, given, _ = _sent(lambda: _attention(plan, tensors, statistics=asked, return_aux=True))
        rows = BATCH * HEADS * n // size
        assert names == ["alltoall_base_"] * 5, names
        assert given[:2] == [inward, outward] and given[2:] == [2 * rows * wide, rows * wide, rows * 8], given
        # With gradients of statistics, everything is sent in their type.
        _, names, given, _ = _sent(lambda: _gradients(tensors, output, aux))
        assert names == ["alltoall_base_"] * 2, names
        assert given == [BATCH * here * (output_width + 2 * HEADS) * wide, back[1]], given


def check_what_decoding_sends():
    """docs/scale.md has the formulas."""
    here, n_q = _sizes()[2], 3
    for dtype, wide in TYPES:
        tensors, plan = [x.detach() for x in _inputs(dtype, here, n_q)], _plan("decode")
        rows = BATCH * HEADS * n_q
        for asked, sums in ((None, 1), ("log_partition", 1), ("entropy", 2), ("score_variance", 4), ("collision", 4)):
            _, names, given, _ = _sent(lambda: _attention(plan, tensors, statistics=asked))
            assert names == ["allreduce_"] * 2, names
            assert given == [rows * wide, rows * (VALUE_WIDTH + sums + 1) * 8], (asked, given, sums)
        _, names, given, _ = _sent(lambda: _attention(plan, tensors, statistics="all"))
        assert names == ["allreduce_"] * 3, names
        assert sorted(given) == sorted([rows * wide, rows * (VALUE_WIDTH + 4 + 1) * 8, rows * 8]), given


def check_the_ring_holds_two_foreign_blocks():
    """The one in use and the one arriving, forward and backward; for sums, the one leaving and the one arriving."""
    _, _, here, _ = _sizes()
    size = dist.get_world_size()
    arrived, most, send = {}, {}, dist.all_to_all_single

    def alive(kind):
        return sum(x() is not None for x in arrived[kind])

    def wrapped(arriving, *arguments, **options):
        kind = arriving.dtype
        arrived.setdefault(kind, []).append(weakref.ref(arriving))
        deadline = time.monotonic() + 2  # Gloo's threads release what they sent slightly after reporting completion
        while alive(kind) > 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        most[kind] = max(most.get(kind, 0), alive(kind))
        return send(arriving, *arguments, **options)

    tensors, plan = _inputs(torch.bfloat16, here), _plan("ring")  # keys and values are sent in 16 bits, sums in 32
    with mock.patch.object(dist, "all_to_all_single", wrapped):
        output = _attention(plan, tensors)
        assert most == {torch.bfloat16: min(size - 1, 2)}, most
        arrived.clear()
        _gradients(tensors, output)
    assert most == {torch.bfloat16: min(size - 1, 2), torch.float32: 2}, most


def check_the_same_bits_in_any_timing():
    _, _, here, _ = _sizes()

    def run(method, late=None):
        def wait(step):
            if late == (dist.get_rank(), step):
                time.sleep(0.2)

        n_q, options = (3 if method == "decode" else None), dict(statistics="all", return_aux=True)
        tensors = _inputs(torch.float32, here, n_q)
        wait("forward")
        if method == "decode":
            output, aux = _attention(_plan(method), [x.detach() for x in tensors], **options)
            return [output, *aux.as_dict().values()]
        output, aux = _attention(_plan(method), tensors, **options)
        wait("backward")
        return [output, *aux.as_dict().values(), *_gradients(tensors, output, aux)]

    for method in ("allgather", "ring", "ulysses", "decode"):
        first = run(method)
        for late in ((0, "forward"), (1, "forward"), (1, "backward")):
            for x, y in zip(run(method, late), first):
                assert torch.equal(x, y), (method, late)
