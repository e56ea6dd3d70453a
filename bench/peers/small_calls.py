"""What a call costs when there is next to nothing to compute: 16 queries, 16 keys, against PyTorch's own attention.

    make peers

Calls take turns in short bursts; the tenth percentile of each counts, since other load on the machine only adds time.
"""

import time

import torch
import torch.nn.functional as F

import isentropic

BURSTS, CALLS = 400, 20


def main():
    query, key, value = (torch.randn(1, 1, 16, 16) for _ in range(3))
    torch.testing.assert_close(
        isentropic.attention(query, key, value), F.scaled_dot_product_attention(query, key, value)
    )
    calls = {
        "PyTorch": lambda: F.scaled_dot_product_attention(query, key, value),
        "ours": lambda: isentropic.attention(query, key, value),
        "ours, causal": lambda: isentropic.attention(query, key, value, is_causal=True),
        "ours, with entropy": lambda: isentropic.attention(query, key, value, statistics="entropy", return_aux=True),
    }
    seconds = {name: [] for name in calls}
    for burst in range(BURSTS + 20):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            if burst >= 20:  # the first are warm-up
                seconds[name].append((time.perf_counter() - start) / CALLS)
    low = {name: sorted(times)[BURSTS // 10] for name, times in seconds.items()}
    for name, one in low.items():
        print(f"16 x 16, {name:<20}{one * 1e6:8.1f} us   {one / low['PyTorch']:5.2f} x PyTorch")


if __name__ == "__main__":
    main()
