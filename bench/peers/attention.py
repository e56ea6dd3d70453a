"""Attention against PyTorch's own on the CPU: same tensors, a single run, interleaved, medians of the ratios.

    make peers        (installs the pinned torch into build/venv, builds, runs this)

Every result is compared with PyTorch's before it is timed. "eager" forms the weights and their entropy, which is the
usual way to obtain it.
"""

import argparse
import ctypes
import math
import statistics
import time

import torch
import torch.nn.functional as F


class Sizes(ctypes.Structure):
    _fields_ = [("heads", ctypes.c_int64), ("n", ctypes.c_int64), ("d", ctypes.c_int64)] + [
        (name, ctypes.c_int32) for name in ("is_bfloat16", "is_causal", "with_statistics")
    ]


def load(path):
    library = ctypes.CDLL(path)
    for name in ("isentropic_forward", "isentropic_backward"):
        getattr(library, name).restype = ctypes.c_double
        getattr(library, name).argtypes = [ctypes.POINTER(Sizes)] + [ctypes.c_void_p] * 5
    return library


def seconds_of(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def eager_with_entropy(q, k, v, causal):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    weights = scores.softmax(-1)
    return weights @ v, torch.special.entr(weights).sum(-1)


class Case:
    def __init__(self, library, heads, n, d, dtype, causal):
        self.library, self.causal = library, causal
        self.q, self.k, self.v, self.g = (torch.randn(1, heads, n, d).to(dtype) for _ in range(4))
        self.out, self.entropy = torch.empty_like(self.q), torch.empty(1, heads, n)
        self.sizes = Sizes(heads, n, d, dtype == torch.bfloat16, causal, 1)

    def ours(self):
        pointers = [t.data_ptr() for t in (self.q, self.k, self.v, self.out, self.entropy)]
        return self.library.isentropic_forward(ctypes.byref(self.sizes), *pointers)

    def ours_backward(self):
        pointers = [t.data_ptr() for t in (self.q, self.k, self.v, self.g, self.out)]
        return self.library.isentropic_backward(ctypes.byref(self.sizes), *pointers)

    def sdpa(self):
        return F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal)

    def sdpa_backward(self):
        leaves = [t.detach().requires_grad_() for t in (self.q, self.k, self.v)]
        out = F.scaled_dot_product_attention(*leaves, is_causal=self.causal)
        return seconds_of(lambda: out.backward(self.g)), leaves[0].grad

    def verify(self, backward):
        tolerance = 3e-2 if self.q.dtype == torch.bfloat16 else 2e-5
        self.ours()
        torch.testing.assert_close(self.out, self.sdpa(), atol=tolerance, rtol=tolerance)
        rows = slice(-8, None)
        part = eager_with_entropy(self.q[..., rows, :].float(), self.k.float(), self.v.float(), False)
        if not self.causal:
            torch.testing.assert_close(self.entropy[..., rows], part[1], atol=1e-4, rtol=1e-4)
        if backward:
            self.ours_backward()
            torch.testing.assert_close(self.out, self.sdpa_backward()[1], atol=tolerance, rtol=tolerance)


def compare(case, rounds, backward, eager):
    case.verify(backward)
    ratios = {"sdpa": [], "eager": [], "backward": []}
    for _ in range(rounds):
        ours = case.ours()
        ratios["sdpa"].append(seconds_of(case.sdpa) / ours)
        if eager:
            ratios["eager"].append(seconds_of(lambda: eager_with_entropy(case.q, case.k, case.v, case.causal)) / ours)
        if backward:
            mine = case.ours_backward()
            ratios["backward"].append(case.sdpa_backward()[0] / mine)
    return {name: statistics.median(values) if values else None for name, values in ratios.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="the shared library of calls.cpp")
    parser.add_argument("--n", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    library = load(arguments.library)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {arguments.heads} heads, n = {arguments.n}")
    print("how many times faster than PyTorch, all statistics on\n")
    print(f"{'type':>9} {'d':>4} {'mask':>7} {'sdpa':>7} {'eager + entropy':>16} {'sdpa backward':>14}")
    for dtype in (torch.float32, torch.bfloat16):
        for d in (64, 128):
            for causal in (False, True):
                wide = dtype == torch.float32
                case = Case(library, arguments.heads, arguments.n, d, dtype, causal)
                found = compare(case, arguments.rounds, backward=True, eager=wide)
                cell = lambda x, width: f"{x:>{width}.2f}" if x else " " * width
                name = str(dtype).removeprefix("torch.")
                print(
                    f"{name:>9} {d:>4} {'causal' if causal else 'full':>7} {cell(found['sdpa'], 7)}"
                    f" {cell(found['eager'], 16)} {cell(found['backward'], 14)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
