"""The cost of training: losses against PyTorch's, the operator against the C++ call, the monitor; one interleaved run.

    make peers        (installs the pinned torch into build/venv, builds, runs this after attention.py)

Every result is compared with PyTorch's before it is timed. Extra memory is the process's peak beyond what it held
before the call, less the gradients, which any method must return.
"""

import argparse
import ctypes
import gc
import statistics
import time

import torch
import torch.nn.functional as F
from attention import Case, load

import isentropic


def seconds_of(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_mebibytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def extra_mebibytes(work, leaves):
    """The peak memory of work() beyond its start, without the gradients of the leaves."""
    for leaf in leaves:
        leaf.grad = None
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # leftovers of earlier calls would hide what this one needs
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # resets the peak
    before = peak_mebibytes()
    work()
    return peak_mebibytes() - before - sum(leaf.numel() * leaf.element_size() for leaf in leaves) / 2**20


def cross_entropy(rounds, rows=4096, d=768, vocabulary=32768):
    x = torch.randn(rows, d, requires_grad=True)
    w = (torch.randn(vocabulary, d) / d**0.5).requires_grad_()
    y = torch.randint(vocabulary, (rows,))
    ours = lambda: isentropic.linear_cross_entropy(x, w, y).loss.backward()
    theirs = lambda: F.cross_entropy(F.linear(x, w), y).backward()
    gradients = []
    for work in (ours, theirs):
        x.grad = w.grad = None
        work()
        gradients.append((x.grad.clone(), w.grad.clone()))
    for found, wanted in zip(*gradients):
        torch.testing.assert_close(found, wanted, atol=1e-4 * wanted.abs().max().item(), rtol=1e-3)
    del gradients
    ratios = []
    for _ in range(rounds):
        x.grad = w.grad = None
        mine = seconds_of(ours)
        x.grad = w.grad = None
        ratios.append(mine / seconds_of(theirs))
    logits = rows * vocabulary * 4 / 2**20
    extra = [extra_mebibytes(work, (x, w)) for work in (ours, theirs)]
    print(f"cross-entropy, N = {rows}, d = {d}, V = {vocabulary}, forward and backward")
    print(f"  time over linear + cross_entropy: {statistics.median(ratios):.2f}")
    print(
        f"  extra memory: {extra[0]:.0f} MiB, {100 * extra[0] / logits:.1f}% of the logits; PyTorch {extra[1]:.0f} MiB\n"
    )


def info_nce(rows=65536, d=128):
    q, k = (F.normalize(torch.randn(rows, d), dim=-1).requires_grad_() for _ in range(2))
    work = lambda: isentropic.info_nce(q, k, temperature=0.07).loss.backward()
    few = slice(0, 64)
    exact = F.cross_entropy(q[few] @ k.T / 0.07, torch.arange(64), reduction="none")
    found = isentropic.info_nce(q[few], k, temperature=0.07, positives=torch.arange(64), reduction="none").loss
    torch.testing.assert_close(found, exact, atol=1e-4, rtol=1e-4)
    start = time.perf_counter()
    extra = extra_mebibytes(work, (q, k))
    print(f"InfoNCE, N = {rows}, d = {d}, forward and backward: {time.perf_counter() - start:.1f} s")
    print(f"  extra memory: {extra:.0f} MiB, where the matrix would be {rows**2 * 4 / 2**20:.0f} MiB\n")


def operator(library, rounds, n=1024):
    print(f"over the C++ call, n = {n}, 8 heads, all statistics, forward")
    for d in (64, 128):
        case = Case(load(library), 8, n, d, torch.float32, False)
        attention = lambda: isentropic.attention(case.q, case.k, case.v, return_aux=True)
        problem = '{"statistics": "all"}'
        the_operator = lambda: torch.ops.isentropic.attention(problem, case.q, case.k, case.v, [])
        torch.testing.assert_close(attention()[0], case.sdpa(), atol=2e-5, rtol=2e-5)
        ratios = [(seconds_of(the_operator), seconds_of(attention), case.ours()) for _ in range(20 * rounds)]
        of_operator, of_function = (statistics.median(times[i] / times[2] for times in ratios) for i in (0, 1))
        print(f"  d = {d}: the operator {of_operator:.3f}, isentropic.attention {of_function:.3f}")
    print()


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x):
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(isentropic.attention(*heads.unbind(0), is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


def monitor(rounds, width=256, heads=8, layers=4, batch=4, n=512, vocabulary=4096):
    model = torch.nn.Sequential(torch.nn.Embedding(vocabulary, width), *(Block(width, heads) for _ in range(layers)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(vocabulary, (batch, n))

    def step():
        optimizer.zero_grad()
        isentropic.causal_lm_loss(model(tokens), model[0].weight, tokens).loss.backward()
        optimizer.step()

    step()
    ratios = []
    for _ in range(5 * rounds):
        plain = seconds_of(step)
        with isentropic.Monitor(model, optimizer=optimizer, dispersion=None) as watching:
            ratios.append(seconds_of(step) / plain)
        assert len(watching.last) == layers
    print(f"the monitor: a training step of {layers} layers of width {width}, batch {batch}, n = {n}")
    print(f"  with it over without: {statistics.median(ratios):.3f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="the shared library of calls.cpp")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, float32\n")
    operator(arguments.library, arguments.rounds)
    monitor(arguments.rounds)
    cross_entropy(arguments.rounds)
    info_nce()


if __name__ == "__main__":
    main()
