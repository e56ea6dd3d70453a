"""What monitoring and clipping cost a training step, compiled and not: ratios of steps with and without, in turns.

    PYTHONPATH=build/python build/venv/bin/python bench/peers/monitor.py

Steps with and without take turns, and the median of their ratios counts. With --ranks, that many processes train on the
CPU with gradients averaged over Gloo, and the measurements include the collectives. On a shared machine,
--threads 1 --clock cpu measures the process's own CPU time.
"""

import argparse
import contextlib
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

import isentropic


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.num_heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out = (torch.nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        heads = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                 for layer in (self.q_proj, self.k_proj, self.v_proj))  # fmt: skip
        return self.out(isentropic.attention(*heads, is_causal=True).transpose(1, 2).flatten(2))


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.mlp(self.norms[1](x))


class Training:
    """A small GPT that trains one step at a time."""

    def __init__(self, given, compiled):
        torch.manual_seed(1)
        blocks = (Block(given.width, given.heads) for _ in range(given.layers))
        self.model = torch.nn.Sequential(torch.nn.Embedding(given.vocabulary, given.width), *blocks).to(given.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.tokens = torch.randint(given.vocabulary, (given.batch, given.length), device=given.device)
        self.forward = torch.compile(self.model, fullgraph=True) if compiled else self.model
        self.dtype = torch.bfloat16 if given.device == "cuda" else None
        self.clock = {"wall": time.perf_counter, "cpu": time.process_time}[given.clock]

    def step(self):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", self.dtype) if self.dtype else contextlib.nullcontext():
            loss = isentropic.causal_lm_loss(self.forward(self.tokens), self.model[0].weight, self.tokens).loss
        loss.backward()
        if dist.is_initialized():
            for parameter in self.model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()
        self.optimizer.step()

    def seconds(self):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = self.clock()
        self.step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return self.clock() - start


def ratio(training, watched, rounds):
    """The median over pairs of steps, whose order alternates too."""
    for _ in range(2):  # compiles the graphs
        with watched():
            training.step()
        training.step()
    ratios, plain = [], []
    for pair in range(rounds):
        if pair % 2:
            plain.append(training.seconds())
        with watched():
            ours = training.seconds()
        if not pair % 2:
            plain.append(training.seconds())
        ratios.append(ours / plain[-1])
    return statistics.median(ratios), statistics.median(plain)


def measure(given):
    group = dist.group.WORLD if dist.is_initialized() else None
    for compiled in (False, True):
        training = Training(given, compiled)
        model, optimizer = training.model, training.optimizer
        watching = {
            "Monitor": lambda: isentropic.Monitor(model, optimizer=optimizer, dispersion=None, group=group),
            "QKClip": lambda: isentropic.QKClip(model, optimizer, group=group),
            "QKClip, clipping": lambda: isentropic.QKClip(model, optimizer, threshold=1e-6, group=group),
            "both": lambda: _both(model, optimizer, group),
        }
        for name, watched in watching.items():
            found, plain = ratio(training, watched, given.rounds)
            if not dist.is_initialized() or dist.get_rank() == 0:
                how = "compiled" if compiled else "eager"
                print(f"{how:<9}{name:<18}{found:.3f} x a step without, which takes {plain * 1e3:.0f} ms", flush=True)


@contextlib.contextmanager
def _both(model, optimizer, group):
    with isentropic.QKClip(model, optimizer, group=group):
        with isentropic.Monitor(model, optimizer=optimizer, dispersion=None, group=group):
            yield


def _rank(rank, given, folder):
    torch.set_num_threads(given.threads or max(1, (os.cpu_count() or 1) // given.ranks))
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=given.ranks)
    measure(given)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = dict(rounds=40, layers=4, width=256, heads=8, batch=4, length=512, vocabulary=4096, ranks=1)
    for name, usual in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--threads", type=int, help="of every rank; all cores unless given")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    print(
        f"torch {torch.__version__}, {given.ranks} ranks, {given.layers} layers of width {given.width}, {given.heads} heads, "
        f"batch {given.batch}, n = {given.length}, {given.device}"
    )
    if given.ranks == 1:
        measure(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(_rank, (given, folder), nprocs=given.ranks, start_method="spawn")


if __name__ == "__main__":
    main()
