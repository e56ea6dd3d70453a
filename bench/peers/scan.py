"""Scanning a model of 31 million parameters: against its plain forward pass, eager attention, bertviz and transformer-lens.

    make peers-scan        (about ten minutes; installs the peers into an environment of their own)

The model is random (its speed does not depend on the weights), the text the bundled one. Statistics are compared before
anything is timed. Ratios are medians of paired rounds in one process; each peer runs in its own process, whose time and
peak memory are measured without startup and loading.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import transformers

ROOT = pathlib.Path(__file__).parents[2]
BOOKS = ROOT / "models" / "books"
TEXT = ROOT / "models" / "northanger.txt"


def make_model(folder):
    config = transformers.LlamaConfig(
        vocab_size=4096, hidden_size=512, intermediate_size=1536, num_hidden_layers=8, num_attention_heads=8,
        max_position_embeddings=65536, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


def load(folder, implementation):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation=implementation).eval()


def ids_of(n):
    tokenizer = transformers.AutoTokenizer.from_pretrained(BOOKS)
    ids = tokenizer(TEXT.read_text(), verbose=False)["input_ids"]
    return torch.tensor([(ids * (1 + n // len(ids)))[:n]])


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


# ---- against plain and eager attention, in one process ----


def eager_with_entropies(module, query, key, value, mask, scaling, entropies, **_):
    """What a careful user does: eager attention that keeps the entropies and releases each layer's weights."""
    scores = (query @ key.transpose(2, 3)) * scaling
    scores += torch.full(scores.shape[-2:], float("-inf")).triu(1)
    weights = scores.softmax(-1)
    entropies.append(torch.special.entr(weights).sum(-1))
    return (weights @ value).transpose(1, 2).contiguous(), None


def against_forward(folder, n, rounds, with_eager):
    import isentropic

    isentropic.hf.register()
    model, ids, entropies = load(folder, "isentropic"), ids_of(n), []
    transformers.AttentionInterface.register(
        "entropies", lambda *args, **kwargs: eager_with_entropies(*args[:4], None, kwargs["scaling"], entropies)
    )

    def forward(implementation):
        model.set_attn_implementation(implementation)
        with torch.no_grad():
            model(ids, use_cache=False)

    def scan(**options):
        return isentropic.scan(model, inputs={"input_ids": ids}, **options)

    if with_eager:
        forward("entropies")
        found = torch.tensor([head["statistics"]["entropy"]["mean"] for head in scan(fast=True).data["heads"]])
        expected = torch.cat([entropy[0, :, 1:].mean(1) for entropy in entropies])  # rows with two keys or more
        assert (found - expected).abs().max() < 1e-4, "the same entropies"
        entropies.clear()
    works = {
        "plain forward": lambda: forward("isentropic"),
        "scan --fast": lambda: scan(fast=True),
        "scan": scan,
        "PyTorch's forward": lambda: forward("sdpa"),
    }
    if with_eager:
        works["eager with entropies"] = lambda: (forward("entropies"), entropies.clear())
    times = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    for name, values in times.items():
        print(f"n = {n}, {name}: {statistics.median(values):.2f} s")
    pairs = [("scan --fast", "plain forward"), ("scan", "plain forward"), ("scan", "PyTorch's forward")]
    pairs += [("scan", "eager with entropies")] if with_eager else []
    for one, other in pairs:
        ratios = sorted(a / b for a, b in zip(times[one], times[other]))
        print(f"  {one} over {other}: {statistics.median(ratios):.2f} ({ratios[0]:.2f} ... {ratios[-1]:.2f})")


# ---- each tool in its own process ----


def ours(folder, ids):
    import isentropic

    model = load(folder, "sdpa")
    return lambda: isentropic.scan(model, inputs={"input_ids": ids}).page()


def bertviz(folder, ids):
    from bertviz import model_view

    model = load(folder, "eager")
    tokens = [str(token) for token in ids[0].tolist()]

    def work():
        with torch.no_grad():
            attention = model(ids, use_cache=False, output_attentions=True).attentions
        return model_view(attention, tokens, html_action="return").data

    return work


def transformer_lens(folder, ids):
    from transformer_lens import TransformerBridge

    tokenizer = transformers.AutoTokenizer.from_pretrained(BOOKS)
    model = TransformerBridge.boot_transformers(str(folder), hf_model=load(folder, "eager"), tokenizer=tokenizer)

    def work():
        with torch.no_grad():
            _, cache = model.run_with_cache(ids)
        entropies = [torch.special.entr(cache["pattern", layer]).sum(-1).mean() for layer in range(8)]
        return f"{sum(entropies):.3f}"  # it renders no page

    return work


TOOLS = {"isentropic": ours, "bertviz": bertviz, "transformer-lens": transformer_lens}


def run_tool(tool, folder, n):
    work = TOOLS[tool](folder, ids_of(n))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    page = work()
    taken = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": taken, "memory": (after - before) / 1024, "page": len(page) / 1e6}))


def tools(folder, lengths, peers_python):
    print("tool, n: seconds, MiB above the loaded model, MB of page")
    for n in lengths:
        for tool in TOOLS:
            python = sys.executable if tool == "isentropic" else peers_python
            command = [python, __file__, "--tool", tool, "--folder", str(folder), "--n", str(n)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                why = "out of memory" if done.returncode == -9 else done.stderr.strip().splitlines()[-1][:120]
                print(f"  {tool}, {n}: {why}")
                continue
            found = json.loads(done.stdout.strip().splitlines()[-1])
            print(f"  {tool}, {n}: {found['seconds']:.2f} s, {found['memory']:.0f} MiB, {found['page']:.1f} MB")


def main():
    transformers.logging.set_verbosity_error()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", help="a Python that has bertviz and transformer-lens")
    parser.add_argument("--tool", choices=TOOLS)
    parser.add_argument("--folder")
    parser.add_argument("--n", type=int, default=8192)
    given = parser.parse_args()
    if given.tool:
        return run_tool(given.tool, given.folder, given.n)
    with tempfile.TemporaryDirectory() as folder:
        make_model(folder)
        against_forward(folder, given.n, given.rounds, with_eager=given.n <= 8192)
        if given.peers:
            tools(folder, (512, 1024, 2048), given.peers)


if __name__ == "__main__":
    main()
