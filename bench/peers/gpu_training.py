"""A training step of a GPT of 125 million parameters on a GPU, its attention by PyTorch's backends or this library.

    python bench/peers/gpu_training.py                 (isentropic installed with its CUDA kernels)

12 layers of 12 heads, width 768, n = 2048, bfloat16 autocast over float32 weights, torch.compile, fused AdamW. Ours also
returns the mean entropy of every head, [layers, heads], from inside the compiled graph. The first losses are compared
before anything is timed; the models then take turns of half a second.
"""

import argparse

import torch
from gpu_timing import introduce, measure, table, write_json
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import isentropic


def default(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True), None


def flash(q, k, v):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return default(q, k, v)


def with_entropy(q, k, v):
    output, aux = isentropic.attention(q, k, v, is_causal=True, statistics=("entropy",), return_aux=True)
    return output, aux.entropy.mean((0, 2))


def without_statistics(q, k, v):
    return isentropic.attention(q, k, v, is_causal=True), None


ATTENTIONS = {"FA-2": flash, "default": default, "ours": without_statistics, "ours, entropy": with_entropy}


class Block(nn.Module):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        output, entropy = self.attention(*heads.unbind(0))
        x = x + self.out(output.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x)), entropy


class Gpt(nn.Module):
    def __init__(self, given, attention):
        super().__init__()
        self.token, self.position = nn.Embedding(given.vocabulary, given.width), nn.Embedding(given.n, given.width)
        self.blocks = nn.ModuleList(Block(given.width, given.heads, attention) for _ in range(given.layers))
        self.norm = nn.LayerNorm(given.width)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        entropies = []
        for block in self.blocks:
            x, entropy = block(x)
            entropies.append(entropy)
        logits = self.norm(x) @ self.token.weight.T
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())
        return loss, None if entropies[0] is None else torch.stack(entropies)


def training_step(given, attention, tokens):
    torch.manual_seed(0)
    model = Gpt(given, attention).to(tokens.device)
    nn.init.normal_(model.token.weight, std=0.02)
    compiled = torch.compile(model) if given.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=tokens.is_cuda)

    def step():
        with torch.autocast(tokens.device.type, torch.bfloat16):
            loss, entropies = compiled(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach(), entropies

    return step, sum(parameter.numel() for parameter in model.parameters())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in dict(layers=12, width=768, heads=12, n=2048, batch=8, vocabulary=50304, rounds=7).items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--eager", dest="compile", action="store_false", help="without torch.compile")
    parser.add_argument("--json")
    given = parser.parse_args()
    introduce()
    torch.set_float32_matmul_precision("high")
    tokens = torch.randint(given.vocabulary, (given.batch, given.n), device="cuda")
    steps = {}
    for name, attention in ATTENTIONS.items():
        step, parameters = training_step(given, attention, tokens)
        losses = [step()[0].item() for _ in range(3)]
        first = steps.setdefault("first", losses)
        if max(abs(one - other) for one, other in zip(losses, first)) > 2e-2:
            raise SystemExit(f"not timed: {name} learns otherwise, {losses} and {first}")
        steps[name] = step
        print(f"{name}: losses {', '.join(f'{loss:.4f}' for loss in losses)}", flush=True)
    del steps["first"]
    # Several steps in a row, as in training: after a single one the host would have to catch up with the device.
    times = measure(
        {name: lambda step=step: step for name, step in steps.items()}, given.rounds, graphs=False, turn=0.5
    )
    tokens_per_second = lambda time: tokens.numel() / time * 1e3
    rows = [
        {"attention": name, "ms": time, "tokens/s": tokens_per_second(time)}
        | {f"{other} / this": times[other] / time for other in ("FA-2", "default") if other in times}
        for name, time in times.items()
    ]
    print(f"\nA step of {parameters / 1e6:.0f} M parameters, batch {given.batch}, n = {given.n}\n")
    table(list(rows[0]), rows)
    write_json(given.json, "gpu_training", {"parameters": parameters, "rows": rows})


if __name__ == "__main__":
    main()
