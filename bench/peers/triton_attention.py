"""A peer: attention in Triton that returns every row's statistics with its output, from a single pass over the keys.

Plain streaming softmax with four more sums per row. With t = s - m in bits, m the running maximum,

    z = sum 2^t,   u = sum t 2^t,   w = sum t^2 2^t,   c = sum 4^t,

and when the maximum moves by delta = old m - new m, every t of the past becomes t + delta:

    z <- a z,   u <- a (u + delta z),   w <- a (w + 2 delta u + delta^2 z),   c <- a^2 c,   a = 2^delta.

Then H = log z - mean t, Var s = mean t^2 - (mean t)^2, collision = c / z^2.
"""

import math

import torch
import triton
import triton.language as tl

# Stands for -infinity: it and its square are finite, so that 0 is never multiplied by infinity.
HIDDEN = tl.constexpr(-1e15)
LN_2 = tl.constexpr(0.6931471805599453)

CONFIGS = [
    triton.Config({"ROWS": 128, "KEYS": 128}, num_warps=8, num_stages=2),
    triton.Config({"ROWS": 128, "KEYS": 128}, num_warps=8, num_stages=3),
    triton.Config({"ROWS": 128, "KEYS": 64}, num_warps=8, num_stages=3),
    triton.Config({"ROWS": 64, "KEYS": 64}, num_warps=4, num_stages=3),
]


@triton.jit
def _take_keys(
    q, k_pointer, v_pointer, output, m, z, u, w, c, start, rows, n, scale_in_bits,
    D: tl.constexpr, KEYS: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Merges the keys [start, start + KEYS) into the rows; all of them are visible unless MASKED."""
    keys = start + tl.arange(0, KEYS)
    features = tl.arange(0, D)
    offsets = keys[:, None] * D + features[None, :]
    if MASKED:
        there = (keys < n)[:, None]
        k = tl.load(k_pointer + offsets, mask=there, other=0.0)
        v = tl.load(v_pointer + offsets, mask=there, other=0.0)
    else:
        k = tl.load(k_pointer + offsets)
        v = tl.load(v_pointer + offsets)
    s = tl.dot(q, tl.trans(k)) * scale_in_bits
    if MASKED:
        seen = (keys < n)[None, :]
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, HIDDEN)
    highest = tl.maximum(m, tl.max(s, 1))
    delta = m - highest
    shrink = tl.exp2(delta)
    t = s - highest[:, None]
    e = tl.exp2(t)
    te = t * e
    w = shrink * (w + delta * (2 * u + delta * z)) + tl.sum(t * te, 1)
    u = shrink * (u + delta * z) + tl.sum(te, 1)
    z = shrink * z + tl.sum(e, 1)
    c = shrink * shrink * c + tl.sum(e * e, 1)
    output = tl.dot(e.to(v.dtype), v, output * shrink[:, None])
    return output, highest, z, u, w, c


def _briefly(call, quantiles):
    return triton.testing.do_bench(call, warmup=5, rep=30, quantiles=quantiles)


@triton.autotune(configs=CONFIGS, key=["n", "D", "CAUSAL"], do_bench=_briefly)
@triton.jit
def _forward(
    q_pointer, k_pointer, v_pointer, output_pointer, statistics_pointer, rows_of_all, n, scale_in_bits,
    D: tl.constexpr, CAUSAL: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * ROWS  # under a causal mask the long rows go first
    rows = first + tl.arange(0, ROWS)
    features = tl.arange(0, D)
    begin = head * n * D
    is_row = rows < n
    offsets = begin + rows[:, None] * D + features[None, :]
    q = tl.load(q_pointer + offsets, mask=is_row[:, None], other=0.0)
    output = tl.zeros((ROWS, D), dtype=tl.float32)
    m = tl.full((ROWS,), HIDDEN, dtype=tl.float32)
    z = tl.zeros((ROWS,), dtype=tl.float32)
    u = tl.zeros((ROWS,), dtype=tl.float32)
    w = tl.zeros((ROWS,), dtype=tl.float32)
    c = tl.zeros((ROWS,), dtype=tl.float32)
    if CAUSAL:
        whole = (first + 1) // KEYS * KEYS
        end = tl.minimum(first + ROWS, n)
    else:
        whole = n // KEYS * KEYS
        end = n
    k_pointer += begin
    v_pointer += begin
    for start in tl.range(0, whole, KEYS):
        output, m, z, u, w, c = _take_keys(
            q, k_pointer, v_pointer, output, m, z, u, w, c, start, rows, n, scale_in_bits, D, KEYS, CAUSAL, False
        )
    for start in tl.range(whole, end, KEYS):
        output, m, z, u, w, c = _take_keys(
            q, k_pointer, v_pointer, output, m, z, u, w, c, start, rows, n, scale_in_bits, D, KEYS, CAUSAL, True
        )
    mean = u / z
    to = statistics_pointer + head * n + rows
    tl.store(to, (m + tl.log2(z)) * LN_2, mask=is_row)
    tl.store(to + rows_of_all, (tl.log2(z) - mean) * LN_2, mask=is_row)
    tl.store(to + 2 * rows_of_all, (w / z - mean * mean) * LN_2 * LN_2, mask=is_row)
    tl.store(to + 3 * rows_of_all, c / (z * z), mask=is_row)
    tl.store(output_pointer + offsets, (output / z[:, None]).to(output_pointer.dtype.element_ty), mask=is_row[:, None])


def attention(q, k, v, is_causal=False):
    """Output, log-partition, entropy, variance of the scores, collision; contiguous [batch, heads, n, d], d a power of 2."""
    batch, heads, n, d = q.shape
    assert k.shape == v.shape == q.shape and all(x.is_contiguous() for x in (q, k, v))
    output = torch.empty_like(q)
    statistics = q.new_empty(4, batch, heads, n, dtype=torch.float32)
    grid = lambda config: (triton.cdiv(n, config["ROWS"]), batch * heads)
    _forward[grid](
        q, k, v, output, statistics, batch * heads * n, n, d**-0.5 / math.log(2), D=d, CAUSAL=is_causal
    )  # fmt: skip
    return output, *statistics.unbind(0)
