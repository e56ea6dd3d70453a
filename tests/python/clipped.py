"""A small attention layer to clip, and one step of clipping it."""

import pytest
import torch
from torch import nn
from watched import HEADS, WIDTH, inputs

import isentropic
from isentropic import QKClip

THRESHOLD = 0.02


class OwnAttention(nn.Module):
    """A user's own, with projections of known names; ``options`` are passed to its call."""

    def __init__(self, kv_heads=HEADS, **options):
        super().__init__()
        self.num_heads = HEADS
        size = WIDTH // HEADS
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(WIDTH, size * n) for n in (HEADS, kv_heads, kv_heads))
        self.options = options

    def forward(self, x):
        heads = (layer(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
                 for layer in (self.q_proj, self.k_proj, self.v_proj))  # fmt: skip
        options = {"is_causal": True, "enable_gqa": True, **self.options}
        return x + isentropic.attention(*heads, **options).transpose(1, 2).flatten(2)


def optimizer_of(model, lr=0.0):
    return torch.optim.SGD(model.parameters(), lr=lr)


def clip_once(model, x=None, optimizer=None, run=None, **options):
    """What clipping reports for one step that changes nothing itself."""
    optimizer = optimizer or optimizer_of(model)
    with QKClip(model, optimizer, **{"threshold": THRESHOLD, **options}) as clip:
        (model if run is None else run)(inputs() if x is None else x)
        optimizer.step()
    return clip.last


def by_head(weight, heads=HEADS):
    return weight.detach().clone().unflatten(0, (heads, -1))


def largest(model, run=None):
    """The largest score of each head and layer."""
    with isentropic.Monitor(model) as monitor, torch.no_grad():
        (model if run is None else run)(inputs())
    return {layer: record["max_score"] for layer, record in monitor.last.items()}


def hugging_face_model(name, options, implementation="isentropic"):
    transformers = pytest.importorskip("transformers")
    from small_models import small_config

    isentropic.hf.register()
    made = getattr(transformers, name)
    config = small_config(made.config_class)
    for option, value in {**options, "num_hidden_layers": 2}.items():
        if hasattr(config, option):
            setattr(config, option, value)
    config._attn_implementation = implementation
    model = made(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.2) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    return model
