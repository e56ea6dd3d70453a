"""Attention with statistics on a GPU: against PyTorch's two backends, a Triton kernel, and workarounds without either.

    python bench/peers/gpu_attention.py                                  (isentropic installed with its CUDA kernels)
    python bench/peers/gpu_attention.py --n 16384 --d 128 --causal --only backward --json found.json

bfloat16, 16 heads, batch max(1, 32768 / n). Outputs, entropies and gradients are compared with float64 before anything
is timed. Calls are captured as CUDA graphs and take turns; medians. "matrix" forms the weights and their entropy, "two
passes" runs FlashAttention-2 twice, for sum p v with the log-partition L and for sum p k: H = L - scale q.(sum p k),
with the error left by rounding the second output to bfloat16 (1e-2 nats; ours and Triton's is 1e-5). Backward passes
are those of outputs and, for ours, of entropies too. TFLOP/s count 4 n^2 d for each head forward, 2.5 times that
backward, half of it under a causal mask.
"""

import argparse
import statistics
import time

import torch
from gpu_timing import deterministic, introduce, measure, table, write_json
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import isentropic

try:
    import triton_attention
except ImportError:
    triton_attention = None

HEADS = 16
LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768, 65536)
EVERY = (
    "log_partition", "entropy", "mean_score", "score_variance", "max_score", "normalised_entropy", "peak", "collision",
    "sparsity", "participation", "effective_keys", "visible",
)  # fmt: skip
LONGEST_MATRIX = 16384


def inputs(batch, n, d, kv_heads=HEADS, n_q=None, heads=HEADS, grad=False):
    draw = lambda heads, n: torch.randn(batch, heads, n, d, device="cuda", dtype=torch.bfloat16, requires_grad=grad)
    return draw(heads, n_q or n), draw(kv_heads, n), draw(kv_heads, n)


# ---- the works ----


def flash(q, k, v, causal):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def matrix(q, k, v, causal):
    """What one writes without a kernel; one batch entry at a time if all of them would not fit."""
    if q.shape[0] > 1 and q.shape[2] > 4096:
        entries = [matrix(*(x[b : b + 1] for x in (q, k, v)), causal) for b in range(q.shape[0])]
        return tuple(torch.cat(parts) for parts in zip(*entries))
    scores = (q @ k.mT).mul_(q.shape[-1] ** -0.5)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill_(hidden, float("-inf"))
    weights = scores.softmax(-1, dtype=torch.float32)
    return weights.to(v.dtype) @ v, torch.special.entr(weights).sum(-1)


def two_passes(q, k, v, causal):
    operator = torch.ops.aten._scaled_dot_product_flash_attention
    output, log_partition = operator(q, k, v, 0.0, causal)[:2]
    mean_key = operator(q, k, k, 0.0, causal)[0]
    return output, log_partition - (q.float() * mean_key.float()).sum(-1) * q.shape[-1] ** -0.5


def ours(q, k, v, causal, wanted=None):
    if wanted is None:
        return isentropic.attention(q, k, v, is_causal=causal, backend="isentropic")
    return isentropic.attention(q, k, v, is_causal=causal, statistics=wanted, return_aux=True)


def forward_works(q, k, v, causal):
    works = {
        "FA-2": lambda: flash(q, k, v, causal),
        "default": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        "none": lambda: ours(q, k, v, causal),
        "entropy": lambda: ours(q, k, v, causal, "entropy"),
        "every": lambda: ours(q, k, v, causal, EVERY),
    }
    if triton_attention is not None and q.shape[-1] in (16, 32, 64, 128, 256):
        works["Triton"] = lambda: triton_attention.attention(q, k, v, causal)
    if q.shape[2] <= LONGEST_MATRIX:
        works["matrix"] = lambda: matrix(q, k, v, causal)
    works["two passes"] = lambda: two_passes(q, k, v, causal)
    return {name: lambda work=work: work for name, work in works.items()}


def backward_works(q, k, v, causal):
    """Each prepares its forward pass; only the backward pass is timed, repeatedly."""
    of_output, of_entropy = torch.randn_like(q), torch.randn(q.shape[:-1], device=q.device)

    def theirs(attention):
        output = attention()
        return lambda: torch.autograd.grad(output, (q, k, v), of_output, retain_graph=True)

    def mine():
        output, aux = ours(q, k, v, causal, "entropy")
        return lambda: torch.autograd.grad(
            (output, aux.entropy), (q, k, v), (of_output, of_entropy), retain_graph=True
        )  # fmt: skip

    def mine_in_order():
        backward = mine()

        def work():
            with deterministic():
                return backward()

        return work

    return {
        "FA-2": lambda: theirs(lambda: flash(q, k, v, causal)),
        "default": lambda: theirs(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)),
        "ours": mine,
        "deterministic": mine_in_order,
    }


# ---- correct answers ----


def require(holds, what):
    if not bool(holds):
        raise SystemExit(f"not timed: {what}")


def near(found, expected, tolerance):
    return (found - expected).norm() <= tolerance * expected.norm()


def exact(q, k, v, causal):
    q, k, v = (x.detach().double().requires_grad_() for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(group, 1).mT * q.shape[-1] ** -0.5
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    log_weights = scores.log_softmax(-1)
    weights = log_weights.exp()
    entropy = -(weights * log_weights.masked_fill(weights == 0, 0.0)).sum(-1)
    return (q, k, v), weights @ v.repeat_interleave(group, 1), entropy, weights.square().sum(-1)


def verify(d, causal, n=777):
    q, k, v = inputs(1, n, d, grad=True)
    leaves, expected, entropy, collision = exact(q, k, v, causal)
    with torch.no_grad():
        answers = {name: prepare()() for name, prepare in forward_works(q, k, v, causal).items()}
    for name, found in answers.items():
        output = found[0] if isinstance(found, tuple) else found
        require(near(output, expected, 8e-3 if name == "matrix" else 4e-3), f"{name}: another output")
    aux = answers["every"][1]
    for name, entropies, error in (
        ("entropy", answers["entropy"][1].entropy, 1e-4),
        ("every", aux.entropy, 1e-4),
        ("Triton", answers["Triton"][2] if "Triton" in answers else entropy, 1e-4),
        ("matrix", answers["matrix"][1], 5e-2),
        ("two passes", answers["two passes"][1], 5e-2),
    ):
        require((entropies - entropy).abs().max() < error, f"{name}: other entropies")
    require((aux.collision - collision).abs().max() < 1e-4, "every: other collisions")
    of_output, of_entropy = torch.randn_like(q), torch.randn(q.shape[:-1], device=q.device)
    loss = (expected * of_output.double()).sum() + (entropy * of_entropy.double()).sum()
    gradients = torch.autograd.grad(loss, leaves)
    for name in ("ours", "deterministic"):
        with deterministic() if name == "deterministic" else torch.enable_grad():
            output, aux = ours(q, k, v, causal, "entropy")
            found = torch.autograd.grad((output, aux.entropy), (q, k, v), (of_output, of_entropy))
        for one, gradient, which in zip(found, gradients, "qkv"):
            require(near(one, gradient, 1e-2), f"{name}: another gradient of {which}")


# ---- output ----


def compare(n, d, causal, backward, rounds):
    batch = max(1, 32768 // n)
    q, k, v = inputs(batch, n, d, grad=backward)
    works = (backward_works if backward else forward_works)(q, k, v, causal)
    with torch.set_grad_enabled(backward):
        times = measure(works, rounds)
    floating = 4.0 * n * n * d * HEADS * batch * (0.5 if causal else 1.0) * (2.5 if backward else 1.0)
    return dict(n=n, d=d, mask="causal" if causal else "full", batch=batch, operations=floating, milliseconds=times)


def rows_of(results, backward):
    mine = ("ours", "deterministic") if backward else ("none", "entropy", "every")
    for result in results:
        times = result["milliseconds"]
        rate = lambda name: result["operations"] / times[name] / 1e9 if name in times else None
        ratio = lambda name: times["FA-2"] / times[name] if {"FA-2", name} <= times.keys() else None
        row = {name: result[name] for name in ("n", "d", "mask")} | times
        row |= {f"TFLOP/s {name}": rate(name) for name in ("FA-2", "default", mine[-2])}
        yield row | {f"FA-2 / {name}": ratio(name) for name in mine}


def passes(given, backward):
    results = []
    for d in given.d:
        for causal in given.masks:
            for n in given.n:
                results.append(compare(n, d, causal, backward, given.rounds))
                times = ", ".join(f"{name} {value:.3f}" for name, value in results[-1]["milliseconds"].items())
                print(f"n = {n}, d = {d}, {results[-1]['mask']}: {times}", flush=True)
    rows = list(rows_of(results, backward))
    columns = list(dict.fromkeys(column for row in rows for column in row))
    print(f"\n{'Backward' if backward else 'Forward'}, milliseconds\n")
    table(columns, rows)
    return results


def decode(given, n=131072):
    results = []
    for d in given.d:
        q, k, v = inputs(1, n, d, kv_heads=8, n_q=1, heads=32)
        call = lambda: isentropic.attention(q, k, v, enable_gqa=True, statistics=EVERY, return_aux=True)
        sdpa = lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

        def flash_only():
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return sdpa()

        with torch.no_grad():
            output, aux = call()
            _, expected, entropy, _ = exact(q, k, v, False)
            require(near(output, expected, 1e-2), "decoding: another output")
            require((aux.entropy - entropy).abs().max() < 1e-3, "decoding: other entropies")
            plain = lambda: isentropic.attention(q, k, v, enable_gqa=True, backend="isentropic")
            works = {"FA-2": flash_only, "default": sdpa, "none": plain, "every": call}
            times = measure({name: lambda work=work: work for name, work in works.items()}, given.rounds)
        read = k.numel() * 2 * k.element_size()
        rates = {f"TB/s {name}": read / time / 1e9 for name, time in times.items()}
        results.append(dict(n=n, d=d) | times | rates)
    print("Decoding, 1 query, 32 heads of 8 of keys, milliseconds\n")
    table(list(dict.fromkeys(column for row in results for column in row)), results)
    return results


@torch.no_grad()
def host_cost(n=128, calls=100, bursts=10):
    """Host microseconds per call, from bursts that fit into the device's queue."""
    q, k, v = inputs(1, n, 64)
    works = {
        "default": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "none": lambda: ours(q, k, v, True),
        "entropy": lambda: ours(q, k, v, True, "entropy"),
        "every": lambda: ours(q, k, v, True, EVERY),
    }
    times = {name: [] for name in works}
    for _ in range(bursts + 1):
        for name, work in works.items():
            torch.cuda.synchronize()
            times[name].append(seconds_of_host(work, calls) / calls * 1e6)
    row = {name: statistics.median(values[1:]) for name, values in times.items()}
    print(f"Host, microseconds for a call, n = {n}, d = 64, eager, without gradients\n")
    table(list(row), [row])
    return row


def seconds_of_host(work, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    taken = time.perf_counter() - begin
    torch.cuda.synchronize()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--d", type=int, nargs="+", default=(64, 128))
    parser.add_argument("--causal", action="store_true", help="causal alone")
    parser.add_argument("--full", action="store_true", help="full alone")
    parser.add_argument("--only", choices=("verify", "forward", "backward", "decode", "host"), nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    given = parser.parse_args()
    given.masks = [mask for mask, asked in ((False, given.full), (True, given.causal)) if asked] or [False, True]
    introduce()
    torch.manual_seed(0)
    for d in given.d:
        for causal in given.masks:
            verify(d, causal)
    print("verified against float64\n", flush=True)
    parts = {
        "forward": lambda: passes(given, backward=False),
        "backward": lambda: passes(given, backward=True),
        "decode": lambda: decode(given),
        "host": host_cost,
    }
    results = {}
    for part, measured in parts.items():
        if given.only is None or part in given.only:
            results[part] = measured()
            write_json(given.json, "gpu_attention", results)


if __name__ == "__main__":
    main()
