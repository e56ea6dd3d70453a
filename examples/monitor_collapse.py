"""A tiny transformer learns to continue a sequence while its attention is monitored; then one head is made to collapse.

python examples/monitor_collapse.py
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import isentropic

HEADS, WIDTH, LENGTH, TOKENS = 4, 32, 48, 16
STEPS, EVERY = 100, 20
VICTIM_BLOCK, VICTIM_HEAD = 1, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x):
        heads = [layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)]
        return self.out(isentropic.attention(*heads, is_causal=True).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.before_attention, self.before_mixing = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mixing = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.mixing(self.before_mixing(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.logits = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.logits(x)


def sequences(count=16):
    """Counting up from a random token with a random stride, which must be looked up in the past."""
    start, stride = torch.randint(TOKENS, (2, count, 1))
    return (start + stride * torch.arange(LENGTH + 1)) % TOKENS


def show(monitor, step, loss):
    print(f"step {step:3d}  loss {loss:.3f}  entropy of the heads, in nats")
    for layer, record in monitor.last.items():
        print(f"    {layer}  " + "  ".join(f"{entropy:.2f}" for entropy in record["entropy"]))


def main() -> int:
    torch.manual_seed(1)
    torch.set_num_threads(1)  # too little work for more
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    # Untrained attention is nearly uniform, which is no reason for an alarm here.
    monitor = isentropic.Monitor(
        model, optimizer=optimizer, dispersion=None, on_alarm=lambda alarm: print("ALARM", alarm)
    )
    with monitor:
        for step in range(STEPS):
            tokens = sequences()
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % EVERY == 0 or step == STEPS - 1:
                show(monitor, step, loss.item())
        early = len(monitor.alarms)

        print(f"now the queries of block {VICTIM_BLOCK}, head {VICTIM_HEAD} grow a hundredfold")
        size = WIDTH // HEADS
        with torch.no_grad():
            victim = model.blocks[VICTIM_BLOCK].attention.query.weight
            victim[VICTIM_HEAD * size : (VICTIM_HEAD + 1) * size] *= 100
            model(sequences()[:, :-1])
        monitor.step()
    where = [(alarm.kind, alarm.layer, alarm.head) for alarm in monitor.alarms[early:]]
    return 0 if ("collapse", f"blocks.{VICTIM_BLOCK}.attention", VICTIM_HEAD) in where else 1


if __name__ == "__main__":
    sys.exit(main())
