"""Several processes that communicate over Gloo (or NCCL, with a GPU each), started once for all checks of a world size.

A check is a function without arguments, run by every process at the same time in the default group. It fails if it
raises in any of them; later checks are then skipped, since the processes may be out of step.
"""

import datetime
import os
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing

TIMEOUT = datetime.timedelta(seconds=60)  # for each collective


def run(size, checks, backend="gloo"):
    """{name of a check: the processes' error messages, "" if it passed}."""
    with tempfile.TemporaryDirectory() as folder:
        context = torch.multiprocessing.start_processes(
            _work, (size, checks, folder, backend), nprocs=size, join=False, start_method="spawn"
        )
        while not context.join():
            pass
        return _joined([_read(os.path.join(folder, str(rank))) for rank in range(size)], checks)


def _work(rank, size, checks, folder, backend):
    torch.set_num_threads(1)
    if "nccl" in backend:
        torch.cuda.set_device(rank)
    # A file instead of a port: no other program can have taken it.
    dist.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=TIMEOUT)
    said = {}
    for name, check in checks.items():
        torch.manual_seed(0)
        try:
            check()
            dist.barrier()
            said[name] = ""
        except BaseException:
            said[name] = f"rank {rank}: {traceback.format_exc()}"
            break
    torch.save(said, os.path.join(folder, str(rank)))
    if any(said.values()):
        # Other processes may be waiting for this one and notice its exit. A group that is out of step cannot be closed.
        os._exit(0)
    dist.destroy_process_group()


def _read(path):
    return torch.load(path) if os.path.exists(path) else {}


def _joined(by_rank, checks):
    found, failed = {}, None
    for name in checks:
        if failed is not None:
            found[name] = f"not run, since {failed} failed"
            continue
        found[name] = "\n".join(said.get(name, f"rank {rank} ended") for rank, said in enumerate(by_rank)).strip()
        failed = name if found[name] else None
    return found
