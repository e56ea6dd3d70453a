"""One causal sequence on two processes of one thread each, against one process of two threads: forward and backward.

    python bench/peers/context_parallel.py                 (isentropic installed)

Every method and balance is first compared with the whole, then all take turns: rank 0 alone on two threads while rank 1
sleeps, both on one thread each. Medians over rounds, and the ratio to the single process of the same round.
"""

import argparse
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

import isentropic
from isentropic.distributed import ContextParallel

WAYS = [("allgather", "head_tail"), ("allgather", "none"), ("ring", "head_tail"), ("ring", "none"), ("ulysses", "none")]


def step(tensors, plan=None):
    """Seconds of a forward and a backward pass, and the gradients."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    start = time.perf_counter()
    output, aux = isentropic.attention(*leaves, is_causal=True, statistics="entropy", return_aux=True, group=plan)
    gradients = torch.autograd.grad(output.sum() + aux.entropy.sum(), leaves)
    return time.perf_counter() - start, gradients


def work(rank, given, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.manual_seed(0)
    whole = [torch.randn(1, given.heads, given.n, given.d) for _ in range(3)]
    torch.set_num_threads(2)
    expected = step(whole)[1]
    plans = {way: ContextParallel(dist.group.WORLD, method=way[0], balance=way[1]) for way in WAYS}
    cut = lambda plan, x: plan.layout_of_whole(given.n).shard(x, rank, 2).contiguous()
    torch.set_num_threads(1)
    shards = {way: [cut(plan, x) for x in whole] for way, plan in plans.items()}
    for way, plan in plans.items():
        for found, reference in zip(step(shards[way], plan)[1], expected):
            torch.testing.assert_close(found, cut(plan, reference), rtol=1e-3, atol=1e-3)
    alone, ratios, seconds = [], {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for _ in range(given.rounds):
        dist.barrier()
        if rank == 0:
            torch.set_num_threads(2)
            alone.append(step(whole)[0])
            torch.set_num_threads(1)
        for way, plan in plans.items():
            dist.barrier()
            start = time.perf_counter()
            step(shards[way], plan)
            dist.barrier()  # the slower of the two
            seconds[way].append(time.perf_counter() - start)
            if rank == 0:
                ratios[way].append(seconds[way][-1] / alone[-1])
    if rank == 0:
        print(f"n = {given.n}, {given.heads} heads of {given.d}, float32, causal, entropy and its gradient")
        print(f"| {'method':<9} | {'balance':<9} | seconds | ratio (range) |\n|---|---|---|---|")
        print(f"| one process, two threads | | {statistics.median(alone):.3f} | 1 |")
        for way in WAYS:
            of = sorted(ratios[way])
            print(
                f"| {way[0]:<9} | {way[1]:<9} | {statistics.median(seconds[way]):.3f} | "
                f"{statistics.median(of):.2f} ({of[0]:.2f} ... {of[-1]:.2f}) |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in dict(n=16384, heads=4, d=64, rounds=7).items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (given, folder), nprocs=2, start_method="spawn")


if __name__ == "__main__":
    main()
