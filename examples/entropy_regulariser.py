"""A causal transformer learns to copy from its past, with and without a term that keeps the entropy of its heads up.

python examples/entropy_regulariser.py            (on a GPU if there is one)
"""

import argparse
import sys

import torch
import torch.nn.functional as F
from torch import nn

import isentropic
from isentropic.regularisers import EntropyRegulariser

TOKENS = 16


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = isentropic.nn.MultiHeadAttention(
            width, heads, causal="start", positions="rotary", statistics=("normalised_entropy", "visible")
        )
        self.before_attention, self.before_mixing = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixing = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        output, aux = self.attention(self.before_attention(x))
        x = x + output
        return x + self.mixing(self.before_mixing(x)), aux


class Transformer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.token = nn.Embedding(TOKENS, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.logits = nn.Linear(width, TOKENS)

    def forward(self, tokens):
        x, layers = self.token(tokens), []
        for block in self.blocks:
            x, aux = block(x)
            layers.append(aux)
        return self.logits(x), layers


def sequences(given, device):
    """A repeating random text: the next token appeared one period earlier."""
    period = given.length // 3
    text = torch.randint(TOKENS, (given.batch, period), device=device)
    return text.repeat(1, 4)[:, : given.length + 1]


def train(given, device, regulariser):
    """Returns the last loss, and the mean of H / log n over rows, heads and layers."""
    torch.manual_seed(1)
    model = Transformer(given.width, given.heads).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    dtype = getattr(torch, given.dtype)
    for step in range(given.steps):
        tokens = sequences(given, device)
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            logits, layers = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        (loss + regulariser(layers)).backward()  # entropies have gradients
        optimizer.step()
        if step % (given.steps // 4) == 0 or step == given.steps - 1:
            entropy = -EntropyRegulariser(1.0)(layers).item()
            print(f"  step {step:4d}  loss {loss.item():.3f}  entropy over its largest {entropy:.3f}")
    return loss.item(), entropy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in dict(steps=120, width=32, heads=2, length=48, batch=16).items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--weight", type=float, default=0.5, help="of the entropy, in the loss")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)  # too little work for more
    found = {}
    for weight in (0.0, given.weight):
        print(f"on {device}, entropy encouraged with weight {weight}")
        found[weight] = train(given, device, EntropyRegulariser(weight))
    (one_loss, without), (other_loss, kept) = found.values()
    print(f"entropy over its largest: {without:.3f} without the term, {kept:.3f} with it")
    return 0 if max(one_loss, other_loss) < 2.0 and kept > without + 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
