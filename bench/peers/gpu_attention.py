"""Attention with statistics on a GPU, against PyTorch's attention: its FlashAttention-2 and its default backend.

    python bench/peers/gpu_attention.py        (isentropic installed with its CUDA kernels)

Causal, 16 heads, bfloat16, batch max(1, 32768 / n). Outputs and entropies are compared in float64 before anything is
timed; then the calls take turns, and the median of the rounds counts.
"""

import statistics
import time

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import isentropic

HEADS = 16
EVERY = (
    "log_partition", "entropy", "mean_score", "score_variance", "max_score", "normalised_entropy", "peak", "collision",
    "sparsity", "participation", "effective_keys", "visible",
)  # fmt: skip


def inputs(batch, n, d):
    return [torch.randn(batch, HEADS, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3)]


def verify(d, n=777):
    q, k, v = inputs(1, n, d)
    output, aux = isentropic.attention(q, k, v, is_causal=True, statistics=EVERY, return_aux=True)
    scores = (q.double() @ k.double().mT * d**-0.5).masked_fill(
        torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1), float("-inf")
    )
    weights = scores.softmax(-1)
    expected = weights @ v.double()
    assert (output - expected).norm() < 4e-3 * expected.norm(), "the same output"
    assert (aux.entropy - torch.special.entr(weights).sum(-1)).abs().max() < 1e-4, "the same entropies"
    assert (aux.collision - weights.square().sum(-1)).abs().max() < 1e-4, "the same collisions"


def milliseconds(work, calls):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / calls * 1e3


def compare(n, d):
    q, k, v = inputs(max(1, 32768 // n), n, d)

    def flash():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    works = {
        "FlashAttention-2": flash,
        "default": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "no statistics": lambda: isentropic.attention(q, k, v, is_causal=True),
        "entropy": lambda: isentropic.attention(q, k, v, is_causal=True, statistics="entropy", return_aux=True),
        "every statistic": lambda: isentropic.attention(q, k, v, is_causal=True, statistics=EVERY, return_aux=True),
    }
    times = {name: [] for name in works}
    for _ in range(9):
        for name, work in works.items():
            times[name].append(milliseconds(work, 10))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}  # the first warms up
    print(f"n = {n}, d = {d}: " + ", ".join(f"{name} {value:.3f} ms" for name, value in medians.items()), flush=True)
    for name in ("no statistics", "entropy", "every statistic"):
        print(f"  FlashAttention-2 over {name}: {medians['FlashAttention-2'] / medians[name]:.2f}")


def main():
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    with torch.no_grad():
        for d in (64, 128):
            verify(d)
            for n in (1024, 2048, 4096, 16384, 65536):
                compare(n, d)


if __name__ == "__main__":
    main()
