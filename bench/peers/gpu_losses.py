"""Losses on a GPU: cross-entropy over a vocabulary and InfoNCE, forward and backward, time and memory.

    python bench/peers/gpu_losses.py                    (isentropic installed with its CUDA kernels)
    PYTHONPATH=<where they are> python bench/peers/gpu_losses.py         with liger-kernel and cut-cross-entropy

bfloat16, mean loss, gradients of inputs and weights. Loss and gradients are compared with float64 on some rows before
anything is timed. Extra memory is the peak beyond what is allocated before the call, less the gradients. Cut
cross-entropy skips gradients of classes it deems unlikely; "exact" is the same without that.
"""

import argparse
import importlib.util

import torch
from gpu_timing import introduce, measure, peak_bytes, table, write_json
from torch.nn import functional as F

import isentropic

SIZES = ((8192, 4096, 131072), (8192, 2048, 32768))  # rows, features, vocabulary
PAIRS = (65536, 131072, 1048576)
GIB = 2**30


def plain(x, w, y):
    return F.cross_entropy(F.linear(x, w).float(), y)


def cross_entropies():
    """By name: maps (x, w, y) to the mean loss."""
    found = {
        "ours": lambda x, w, y: isentropic.linear_cross_entropy(x, w, y).loss,
        "torch": plain,
        "compiled": torch.compile(plain, dynamic=False),
    }
    if importlib.util.find_spec("liger_kernel"):
        from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction as Liger

        found["Liger"] = lambda x, w, y: Liger.apply(x, w, y)[0]
    if importlib.util.find_spec("cut_cross_entropy"):
        from cut_cross_entropy import linear_cross_entropy as cut

        found["cut"] = lambda x, w, y: cut(x, w, y)
        found["cut, exact"] = lambda x, w, y: cut(x, w, y, filter_eps=None)
    return found


def forward_and_backward(loss, leaves):
    value = loss()
    return value.detach(), *torch.autograd.grad(value, leaves)


def is_right(loss, w, d, rows=256):
    x = torch.randn(rows, d, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    y = torch.randint(len(w), (rows,), device="cuda")
    found = forward_and_backward(lambda: loss(x, w, y), (x, w))
    wide = [t.detach().double().requires_grad_() for t in (x, w)]
    expected = forward_and_backward(lambda: F.cross_entropy(F.linear(*wide), y), wide)
    errors = [((one - other).norm() / other.norm()).item() for one, other in zip(found, expected)]
    return errors[0] < 1e-3 and max(errors[1:]) < 2e-2, errors


def works_of(losses, arguments, leaves):
    return {
        name: lambda loss=loss: lambda: forward_and_backward(lambda: loss(*arguments), leaves)
        for name, loss in losses.items()
    }


def results_of(works, rounds, leaves, about):
    times = measure(works, rounds, graphs=False)
    held = sum(leaf.numel() * leaf.element_size() for leaf in leaves)
    rows = []
    for name, time in times.items():
        call = works[name]()
        extra = (peak_bytes(call) - held) / GIB
        rows.append(about | {"what": name, "ms": time, "over ours": time / times["ours"], "extra GiB": extra})
    return rows


def cross_entropy(rows, d, vocabulary, rounds):
    x = torch.randn(rows, d, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    w = (torch.randn(vocabulary, d, device="cuda") / d**0.5).bfloat16().requires_grad_()
    y = torch.randint(vocabulary, (rows,), device="cuda")
    losses = cross_entropies()
    for name, loss in list(losses.items()):
        try:
            right, errors = is_right(loss, w, d)
        except Exception as error:
            right, errors = False, f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        torch.cuda.empty_cache()
        if not right:
            if name == "ours":
                raise SystemExit(f"not timed: {name} is wrong, {errors}")
            print(f"  {name}: left out, {errors}")
            del losses[name]
    about = dict(M=rows, H=d, V=vocabulary)
    return results_of(works_of(losses, (x, w, y), (x, w)), rounds, (x, w), about)


def info_nce(n, rounds, d=512, temperature=0.07):
    q, k = (
        F.normalize(torch.randn(n, d, device="cuda"), dim=-1).bfloat16().requires_grad_() for _ in range(2)
    )  # fmt: skip
    few, pairs = 64, torch.arange(n, device="cuda")
    scores = (q[:few].detach().double() @ k.detach().double().T) / temperature
    found = isentropic.info_nce(
        q[:few], k, temperature=temperature, positives=pairs[:few], normalise=False, reduction="none"
    ).loss
    error = (found - F.cross_entropy(scores, pairs[:few], reduction="none")).abs().max().item()
    if error > 1e-3:
        raise SystemExit(f"not timed: InfoNCE is wrong by {error}")
    del scores, found
    losses = {
        "ours": lambda q, k: isentropic.info_nce(q, k, temperature=temperature, normalise=False).loss,
        "torch": lambda q, k: F.cross_entropy((q @ k.T).float() / temperature, pairs),
    }
    if 4 * n * n > 40 * GIB:  # the float32 matrix, its gradient, and their copies do not fit
        del losses["torch"]
    return results_of(works_of(losses, (q, k), (q, k)), rounds, (q, k), dict(N=n, d=d))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, nargs="*", default=PAIRS, help="of InfoNCE")
    parser.add_argument("--only", choices=("cross_entropy", "info_nce"))
    parser.add_argument("--json")
    given = parser.parse_args()
    introduce()
    torch.manual_seed(0)
    results = {}
    if given.only != "info_nce":
        results["cross_entropy"] = [row for size in SIZES for row in cross_entropy(*size, given.rounds)]
        table(list(results["cross_entropy"][0]), results["cross_entropy"])
    if given.only != "cross_entropy":
        results["info_nce"] = [row for n in given.pairs for row in info_nce(n, given.rounds)]
        table(list(results["info_nce"][0]), results["info_nce"])
    write_json(given.json, "gpu_losses", results)


if __name__ == "__main__":
    main()
