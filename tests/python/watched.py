"""Small models to watch, and what their attention computes on its own."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import isentropic
from isentropic import _observe

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 24, 12


class Attention(nn.Module):
    """Causal self-attention; ``options`` are passed to each of its ``calls``."""

    def __init__(self, calls=1, **options):
        super().__init__()
        self.projections = nn.Linear(WIDTH, 3 * WIDTH)
        self.calls = calls
        self.options = options

    def project(self, x):
        heads = self.projections(x).unflatten(-1, (3, HEADS, -1))
        return heads.permute(2, 0, 3, 1, 4)

    def forward(self, x):
        for _ in range(self.calls):
            y = isentropic.attention(*self.project(x), is_causal=True, **self.options)
            x = x + y.transpose(1, 2).flatten(2)
        return x


class Model(nn.Module):
    def __init__(self, *layers, checkpointed=None):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.checkpointed = checkpointed

    def forward(self, x):
        for layer in self.layers:
            # An operation after attention makes checkpointing repeat all of it.
            part = nn.Sequential(layer, nn.Tanh())
            x = part(x) if self.checkpointed is None else checkpoint(part, x, use_reentrant=self.checkpointed)
        return x


class Watcher:
    detach = True
    groups = _observe.USUAL_GROUPS

    def __init__(self, *statistics):
        self.statistics = statistics if statistics != ("all",) else "all"
        self.reports = []

    def observe(self, aux, call):
        self.reports.append(aux)

    def __enter__(self):
        _observe.watch(self)
        return self

    def __exit__(self, *_):
        _observe.unwatch(self)


def inputs(seed=1):
    return torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(seed))


def tensors():
    return [torch.randn(BATCH, HEADS, LENGTH, 4, requires_grad=True) for _ in range(3)]


def masks(seed=2):
    return torch.randn(BATCH, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(seed))


def rows_of(layer, x, statistics="all", **options):
    """The statistics of the layer's attention, computed directly."""
    with torch.no_grad():
        query, key, _ = layer.project(x)
        return isentropic.attention_statistics(query, key, is_causal=True, statistics=statistics, **options)


def means(rows, kept=slice(None)):
    return rows[..., kept].double().mean((0, 2)).tolist()
