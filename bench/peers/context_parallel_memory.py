"""What a rank needs beyond its shard, by method, length and number of ranks: forward and backward of one layer.

    python bench/peers/context_parallel_memory.py          (isentropic installed; Linux)

The peak of the process's resident memory beyond that before the call, on rank 0, in MiB. A window keeps the arithmetic
short; keys are still sent.
"""

import itertools
import pathlib
import re
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing

import isentropic
from isentropic.distributed import ContextParallel

HEADS, WIDTH = 8, 128


def memory(name):
    """VmRSS, the current resident memory, or VmHWM, the peak since the last reset, in MiB."""
    return int(re.search(rf"{name}:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024


def step(n, plan):
    leaves = [torch.randn(1, HEADS, n, WIDTH, requires_grad=True) for _ in range(3)]
    dist.barrier()
    before = memory("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    options = dict(is_causal=True, window=256, statistics="entropy", return_aux=True)
    output, aux = isentropic.attention(*leaves, **options, group=plan)
    torch.autograd.grad(output.sum() + aux.entropy.sum(), leaves)
    return memory("VmHWM") - before


def work(rank, ranks, n, method, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    plan = ContextParallel(dist.group.WORLD, method=method)
    step(64, plan)  # one-time allocations
    beyond = step(n // ranks, plan)
    if rank == 0:
        whole = 2 * HEADS * n * WIDTH * 4 / 2**20
        print(f"| {method:<9} | {n} | {ranks} | {whole:.0f} | {beyond:.0f} |", flush=True)
    dist.barrier()


def main():
    print("| method | n | ranks | keys and values of all, MiB | beyond the shard, MiB |\n|---|---|---|---|---|")
    for method, n, ranks in itertools.product(("ring", "allgather"), (16384, 32768), (2, 4)):
        with tempfile.TemporaryDirectory() as folder:
            given = (ranks, n, method, folder)
            torch.multiprocessing.start_processes(work, given, nprocs=ranks, start_method="spawn")


if __name__ == "__main__":
    main()
