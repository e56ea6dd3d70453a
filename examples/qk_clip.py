"""A transformer whose queries and keys learn too fast: its attention scores run away, but not with QK-clip.

python examples/qk_clip.py --svg qk_clip.svg

Large scores make attention look at a single key. Its softmax then has no gradient left, and the model stays at chance.
QK-clip scales queries and keys back whenever a score exceeds the threshold; entropy stays up, and the model learns.
"""

import argparse
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

import isentropic

HEADS, WIDTH, LENGTH, TOKENS = 4, 32, 48, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.num_heads = HEADS  # required by QKClip
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
        self.logits = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS))

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.logits(x)


def sequences(count=16):
    """A repeating random text: the next token appeared one period earlier."""
    return torch.randint(TOKENS, (count, LENGTH // 3)).repeat(1, 4)[:, : LENGTH + 1]


def optimizer_of(model, rate):
    """Queries and keys learn at ``rate``, everything else at a thirtieth of it."""
    fast = [p for name, p in model.named_parameters() if ".query." in name or ".key." in name]
    slow = [p for name, p in model.named_parameters() if not (".query." in name or ".key." in name)]
    return torch.optim.AdamW([{"params": fast, "lr": rate}, {"params": slow, "lr": rate / 30}], weight_decay=0.0)


def train(given, threshold):
    """Returns for each step the loss, the largest score of any head, and the mean of H / log n over heads."""
    torch.manual_seed(1)
    model = Transformer()
    optimizer = optimizer_of(model, given.rate)
    clip = isentropic.QKClip(model, optimizer, threshold=threshold) if threshold else None
    losses = []
    with isentropic.Monitor(model, optimizer=optimizer, collapse=None, dispersion=None) as monitor:
        for _ in range(given.steps):
            tokens = sequences()
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    if clip is not None:
        clip.stop()
    heads = [list(layers.values()) for layers in monitor.history.values()]
    scores = [max(max(record["max_score"]) for record in layers) for layers in heads]
    entropy = [sum(sum(record["normalised_entropy"]) for record in layers) / (len(layers) * HEADS) for layers in heads]
    return {"loss": losses, "largest score": scores, "entropy over its largest": entropy}


# ---- the picture ----

PANEL, GAP, LEFT = 190, 66, 60
COLOURS = {"without": "#d55e00", "with QK-clip": "#0072b2"}


def panel(name, curves, left, threshold):
    """Plots one quantity against the step, as SVG; scores on a logarithmic scale."""
    is_log = name == "largest score"
    scale = math.log10 if is_log else float
    values = {run: [scale(max(value, 1e-3)) for value in curve] for run, curve in curves.items()}
    low, high = (0.0, 1.0) if name.startswith("entropy") else (0.0, max(map(max, values.values())) * 1.05)
    y = lambda value: 60 + PANEL * (1 - (value - low) / (high - low))
    ticks = range(int(high) + 1) if is_log or high > 1 else (0.0, 0.5, 1.0)
    parts = [f'<text x="{left}" y="44" class="title">{name}</text>']
    for tick in ticks:
        shown = f"{10**tick:,}" if is_log else f"{tick:g}"
        parts.append(f'<path d="M{left} {y(tick):.1f}h{PANEL}" class="grid"/>')
        parts.append(f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{shown}</text>')
    if is_log:
        parts.append(f'<path d="M{left} {y(scale(threshold)):.1f}h{PANEL}" class="threshold"/>')
    for run, curve in values.items():
        points = " ".join(f"{left + PANEL * i / (len(curve) - 1):.1f},{y(v):.1f}" for i, v in enumerate(curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[run]}" stroke-width="1.8"/>')
    return parts


def picture(found, threshold):
    names = list(next(iter(found.values())))
    width = LEFT + len(names) * (PANEL + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 300" width="{width}" height="300" role="img">',
        "<title>Training with and without QK-clip</title>",
        "<style>text{font:12px system-ui,sans-serif;fill:#59636e}.title{font-weight:600;fill:#1f2328}"
        ".grid{stroke:#e6e9ed}.threshold{stroke:#8b949e;stroke-dasharray:2 4}</style>",
        f'<rect width="{width}" height="300" fill="#fff"/>',
    ]
    for number, name in enumerate(names):
        curves = {run: of_run[name] for run, of_run in found.items()}
        parts += panel(name, curves, LEFT + number * (PANEL + GAP), threshold)
    for number, (run, colour) in enumerate(COLOURS.items()):
        parts.append(f'<text x="{LEFT + 110 * number}" y="20" style="fill:{colour};font-weight:600">{run}</text>')
    parts.append(
        f'<text x="{LEFT}" y="284">steps, 1 to {len(curves["without"])}; the broken line is the threshold</text>'
    )
    return "\n".join([*parts, "</svg>"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.1, help="at which queries and keys learn")
    parser.add_argument("--threshold", type=float, default=10.0)
    parser.add_argument("--svg", help="where to draw the two runs")
    given = parser.parse_args()
    torch.set_num_threads(1)  # too little work for more
    found = {"without": train(given, None), "with QK-clip": train(given, given.threshold)}
    chance, last = math.log(TOKENS), given.steps // 10
    for run, curves in found.items():
        loss, score, entropy = (sum(curve[-last:]) / last for curve in curves.values())
        print(f"{run:<13} loss {loss:.2f} (chance {chance:.2f})  largest score {score:7.1f}  H / log n {entropy:.3f}")
    if given.svg:
        with open(given.svg, "w") as file:
            file.write(picture(found, given.threshold))
        print(f"drawn in {given.svg}")
    without, clipped = (curves["loss"][-1] for curves in found.values())
    return 0 if without > chance - 0.2 and clipped < chance - 1 else 1


if __name__ == "__main__":
    sys.exit(main())
