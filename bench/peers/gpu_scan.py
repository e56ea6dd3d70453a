"""A scan of a model shaped as Llama 8B on a GPU, against its own forward pass without statistics.

    python bench/peers/gpu_scan.py                     (isentropic installed with its CUDA kernels, and transformers)

Random bfloat16 weights made on the GPU (speed does not depend on them), width 4096, 32 layers of 32 heads, 8 of keys,
n = 32768. A forward pass ends with the loss, as a scan does: without a matrix of logits. There are three, with
PyTorch's attention, with this library's kernel but no statistics, and with this library's automatic choice of
attention. Entropies of the first rows and the loss are compared with eager attention's before anything is timed.
"""

import argparse

import torch
import transformers
from gpu_timing import introduce, measure, peak_bytes, table, write_json

import isentropic


def make_model(given):
    config = transformers.LlamaConfig(
        vocab_size=given.vocabulary, hidden_size=given.width, intermediate_size=given.width * 7 // 2,
        num_hidden_layers=given.layers, num_attention_heads=given.heads, num_key_value_heads=given.heads // 4,
        max_position_embeddings=131072, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            return transformers.LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(before)


def verify(model, ids):
    few = ids[:, :256]
    scan = isentropic.scan(model, inputs={"input_ids": few}, fast=True).data
    found = torch.tensor([head["statistics"]["entropy"]["mean"] for head in scan["heads"]])
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(few, labels=few, use_cache=False, output_attentions=True)
    weights = out.attentions
    expected = [torch.special.entr(layer[0].double()).sum(-1)[:, 1:].mean(-1).cpu() for layer in weights]
    error = (found - torch.cat(expected)).abs().max().item()
    if not error < 2e-2:  # eager weights are rounded to bfloat16
        raise SystemExit(f"not timed: entropies differ by {error}")
    if not abs(scan["loss"]["mean"] - out.loss.item()) < 2e-2:  # its logits are rounded too
        raise SystemExit(f"not timed: the loss is {scan['loss']['mean']}, eager attention's {out.loss.item()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in dict(layers=32, width=4096, heads=32, n=32768, vocabulary=128256, rounds=5).items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--json")
    given = parser.parse_args()
    introduce()
    transformers.logging.set_verbosity_error()
    isentropic.hf.register()
    model = make_model(given)
    ids = torch.randint(3, given.vocabulary, (1, given.n), device="cuda")
    verify(model, ids)

    def forward(implementation, backend="auto"):
        isentropic.hf.register(backend)
        model.set_attn_implementation(implementation)
        with torch.no_grad():
            hidden = model.model(ids, use_cache=False).last_hidden_state[:, :-1]
            return isentropic.linear_cross_entropy(hidden, model.lm_head.weight, ids[:, 1:]).loss

    works = {
        "forward, sdpa": lambda: forward("sdpa"),
        "forward, own kernel": lambda: forward("isentropic", "isentropic"),
        "forward, isentropic": lambda: forward("isentropic"),
        "scan(fast=True)": lambda: isentropic.scan(model, inputs={"input_ids": ids}, fast=True),
        "scan": lambda: isentropic.scan(model, inputs={"input_ids": ids}),
    }
    memory = {name: peak_bytes(work) / 2**30 for name, work in works.items()}
    times = measure({name: lambda work=work: work for name, work in works.items()}, given.rounds, graphs=False)
    rows = [
        {"what": name, "ms": time}
        | {f"over {other.removeprefix('forward, ')}": time / times[other] for other in times if "forward" in other}
        | {"extra GiB": memory[name]}
        for name, time in times.items()
    ]
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{parameters / 1e9:.2f} G parameters in {given.layers} layers, n = {given.n}\n")
    table(list(rows[0]), rows)
    write_json(given.json, "gpu_scan", {"parameters": parameters, "rows": rows})


if __name__ == "__main__":
    main()
