"""A cost model of attention over ranks: time to compute against time to move bytes. It measures nothing.

    python bench/peers/context_parallel_model.py --markdown
    python bench/peers/context_parallel_model.py --bytes      (what 8 ranks send of 131,072 positions)

One layer of attention shaped like Llama 8B's, one causal sequence of n positions over W ranks, evenly balanced. Bytes
are those counted by tests/python/distributed/attention_travel.py. Every byte travels at the full rate of the slowest
link; latency, contention and the rest of the layer are ignored.
"""

import argparse
import dataclasses

# docs/performance.md, one NVIDIA H200, 2026-11-18: 16 heads of 128, n = 65,536, causal, bfloat16, every statistic forward.
MEASURED_OPERATIONS = 4 * 128 * 65536**2 / 2 * 16
FORWARD_RATE = MEASURED_OPERATIONS / 50.53e-3
BACKWARD_RATE = 2.5 * MEASURED_OPERATIONS / 146.3e-3

NVLINK = 900e9 / 2  # NVLink 4, H100 and H200: 900 GB/s per GPU, both directions combined
NETWORK = 400e9 / 8  # NDR InfiniBand: 400 Gb/s per port; one port per GPU
HOST = 8  # GPUs connected by NVLink

RANKS = (8, 64, 256, 1024)
POSITIONS = {"128k": 2**17, "1M": 2**20, "10M": 10 * 2**20}


@dataclasses.dataclass
class Layer:
    heads: int = 32
    kv_heads: int = 8
    width: int = 128
    number: int = 2  # bytes of bfloat16
    total: int = 4  # bytes of float32, in which gradients are accumulated

    @property
    def packed(self):
        """Number of elements per position in keys and values."""
        return self.kv_heads * 2 * self.width

    def operations(self, n, ranks):
        """Operations of the forward pass on each rank: half of the pairs are visible."""
        return 4 * n * n * self.heads * self.width / 2 / ranks

    def bytes_sent(self, method, n, ranks):
        """(forward, backward) for each rank; None if the method does not divide these heads."""
        others = (ranks - 1) / ranks
        around = others * n * self.packed * self.number
        if method == "allgather":
            return around, around + others * n * self.packed * self.total
        if method == "ring":
            return around, around + n * self.packed * self.total
        if self.kv_heads % ranks:
            return None
        query = self.heads * self.width
        exchanged = others * n / ranks * (query + self.packed + query) * self.number
        return exchanged, exchanged


def rate(ranks):
    return NVLINK if ranks <= HOST else NETWORK


def compute_seconds(layer, n, ranks):
    forward = layer.operations(n, ranks)
    return forward / FORWARD_RATE, 2.5 * forward / BACKWARD_RATE


def least_positions(layer, bandwidth):
    """Positions per rank above which the ring's bytes take less time than the attention, forward and backward."""
    query = layer.heads * layer.width
    forward = layer.packed * layer.number * FORWARD_RATE / (2 * query * bandwidth)
    backward = layer.packed * (layer.number + layer.total) * BACKWARD_RATE / (5 * query * bandwidth)
    return forward, backward


def shown(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.1e} s"


def table(layer):
    yield ("W", "n", "positions of a rank", "compute", "allgather", "ring", "ulysses", "ring hidden behind compute")
    for ranks in RANKS:
        for name, n in POSITIONS.items():
            computing = compute_seconds(layer, n, ranks)
            cells, moving = [], {}
            for method in ("allgather", "ring", "ulysses"):
                sent = layer.bytes_sent(method, n, ranks)
                moving[method] = None if sent is None else [given / rate(ranks) for given in sent]
                cells.append("" if sent is None else both(moving[method]))
            verdict = hidden(computing, moving["ring"])
            yield str(ranks), name, f"{n // ranks:,}", both(computing), *cells, verdict


def both(pair):
    return " / ".join(map(shown, pair))


def hidden(computing, moving):
    ratios = [there / here for here, there in zip(computing, moving)]
    worst = max(ratios)
    return f"{'yes' if worst < 1 else 'no'} ({worst:.2g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="the table of docs/scale.md")
    parser.add_argument("--bytes", action="store_true", help="bytes of one example instead of times")
    options, layer = parser.parse_args(), Layer()
    if options.bytes:
        print_bytes(layer, n=2**17, ranks=8)
    else:
        print_times(layer, options.markdown)


def print_bytes(layer, n, ranks):
    for method in ("allgather", "ring", "ulysses"):
        forward, backward = layer.bytes_sent(method, n, ranks)
        print(f"{method}: {forward / 1e6:,.0f} MB forward, {backward / 1e6:,.0f} MB backward")


def print_times(layer, markdown):
    print(f"kernel: {FORWARD_RATE / 1e12:.0f} TFLOP/s forward, {BACKWARD_RATE / 1e12:.0f} backward")
    for name, bandwidth in (("NVLink", NVLINK), ("InfiniBand", NETWORK)):
        forward, backward = least_positions(layer, bandwidth)
        print(f"{name}: ring hidden from {forward:,.0f} positions of a rank on forward, {backward:,.0f} backward")
    print()
    for index, row in enumerate(table(layer)):
        print("| " + " | ".join(row) + " |" if markdown else "\t".join(row))
        if markdown and index == 0:
            print("|---" * len(row) + "|")


if __name__ == "__main__":
    main()
