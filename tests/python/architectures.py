"""isentropic.scan against the attention matrices of every transformers architecture that predicts tokens.

    make architectures                                       (two minutes)
    python tests/python/architectures.py [TYPE ...]          some of them, by model type

A small random model of each is scanned, and run with its eager attention. They agree if the entropies of all rows, the
sinks' shares and the loss do. Fails if an architecture listed in architectures.txt no longer agrees.
"""

import collections
import copy
import pathlib
import signal
import sys
import warnings

import torch
import transformers

import isentropic
from small_models import VOCABULARY, architectures, small_model

LENGTH = 40
ENTROPY_TOLERANCE, LOSS_TOLERANCE = 2e-4, 1e-3
SECONDS = 60  # of CPU time for each
KNOWN = pathlib.Path(__file__).with_name("architectures.txt")


class NotCompared(Exception):
    """Why there is nothing to compare."""


def compare(name):
    """``(outcome, details)`` for one class of transformers."""
    ids = torch.randint(3, VOCABULARY, (1, LENGTH), generator=torch.Generator().manual_seed(1))
    try:
        model = small_model(name)
        logits, matrices = run_eager(model, ids)
    except Exception as error:
        return "not compared", one_line(error)
    try:
        found = isentropic.scan(model, inputs={"input_ids": ids}, per_row=True)
    except ValueError as error:
        return "refused", one_line(error)
    except Exception as error:
        return "differs", f"the scan fails: {one_line(error)}"
    try:
        entropy, sinks = differences(found, matrices)
    except NotCompared as why:
        return "not compared", str(why)
    loss = loss_difference(found, logits, ids)
    agrees = entropy < ENTROPY_TOLERANCE and sinks < ENTROPY_TOLERANCE and loss < LOSS_TOLERANCE
    said = f"{len(found.data['layers'])} layers, entropy {entropy:.0e}"
    said += f", loss {loss:.0e}" if found.data["loss"] else ", no loss"
    said += f", sinks {sinks:.0e}" if sinks > 0 else ""
    said += f"; other layers: {found.other_layers[0]}" if found.other_layers else ""
    return "agrees" if agrees else "differs", said


def run_eager(model, ids):
    """The logits, and the matrices ``[1, heads, n, keys]`` each module returned: ``{module: [one for each call]}``."""
    eager = copy.deepcopy(model)
    if eager._can_set_attn_implementation():
        eager.set_attn_implementation("eager")
    else:  # they only have eager, but some still branch on the setting
        eager.config._attn_implementation = "eager"
    matrices = collections.defaultdict(list)

    def keep(name, output):
        if isinstance(output, tuple):
            matrices[name] += [x for x in output[1:] if isinstance(x, torch.Tensor) and x.dim() == 4][:1]

    for name, module in eager.named_modules():
        module.register_forward_hook(lambda _, __, output, name=name: keep(name, output))
    with torch.no_grad():
        return eager(ids, output_attentions=True, use_cache=False).logits, matrices


def differences(found, matrices):
    """The largest difference of entropies, and of the mean shares of sinks."""
    entropy = sinks = 0.0
    calls = collections.Counter()
    for layer, module in enumerate(layer["module"].partition("#")[0] for layer in found.data["layers"]):
        own = matrices[module]
        if not own:
            raise NotCompared(f"{module} returns no matrix")
        weights = own[min(calls[module], len(own) - 1)][0].double()  # two calls may share one
        calls[module] += 1
        total = weights.sum(-1)
        if (total - 1).abs().max() > 1e-3:  # the sinks' column is omitted; entropies are over the keys alone
            weights = weights / total[..., None]
            heads = [head["statistics"] for head in found.data["heads"] if head["layer"] == layer]
            shares = [statistics.get("sink_mass", {"mean": 0.0})["mean"] for statistics in heads]
            rows = (1 - total)[:, 1:]  # means are over rows that see at least two keys
            sinks = max(sinks, largest(rows.mean(1) - torch.tensor(shares, dtype=torch.float64)))
        rows = torch.tensor(found.rows["entropy"][layer], dtype=torch.float64)
        if rows.shape != weights.shape[:-1]:
            raise NotCompared(f"{module} has rows {tuple(rows.shape)}, its matrix {tuple(weights.shape)}")
        entropy = max(entropy, largest(rows - torch.special.entr(weights).sum(-1)))
    return entropy, sinks


def loss_difference(found, logits, ids):
    if not found.data["loss"]:
        return 0.0
    expected = torch.nn.functional.cross_entropy(logits[0, :-1].float(), ids[0, 1:]).item()
    return abs(found.data["loss"]["mean"] - expected)


def largest(x):
    """The largest absolute value; NaN counts as larger than any."""
    return float("inf") if x.isnan().any() else x.abs().max().item()


def one_line(error):
    return " ".join(str(error).split()) or type(error).__name__


def give_up(*_):
    raise TimeoutError(f"took more than {SECONDS} seconds")


def main():
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, give_up)
    known = set(KNOWN.read_text().split())
    every = architectures()
    wanted = sys.argv[1:] or list(every)
    unknown = [kind for kind in wanted if kind not in every]
    if unknown:
        sys.exit(f"{unknown[0]} is no model type that predicts tokens; expected some of {' '.join(every)}")
    outcomes = {}
    for kind in wanted:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        outcomes[kind], said = compare(every[kind])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(f"{kind:28} {outcomes[kind]:12} {said}", flush=True)
    counts = collections.Counter(outcomes.values())
    print(f"{len(outcomes)} architectures of transformers {transformers.__version__}:", end=" ")
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in ("agrees", "differs", "refused", "not compared")))
    no_longer = [kind for kind in wanted if kind in known and outcomes[kind] != "agrees"]
    new = [kind for kind in wanted if kind not in known and outcomes[kind] == "agrees"]
    if new:
        print(f"agree and are not in {KNOWN.name}: {' '.join(new)}")
    if no_longer:
        sys.exit(f"no longer agree: {' '.join(no_longer)}")


if __name__ == "__main__":
    main()
