"""The scale law and score map of a layer: from the section "isentropic" of its config.json, or as adapted."""

from __future__ import annotations

from torch import nn

from ._hf_adapt import options_of
from .maps import ScoreMap
from .scales import Scale


def own_options(module: nn.Module, scaling: object) -> dict:
    """``scale`` and ``map`` for a layer that was adapted or whose config names them; else ``scaling`` and softmax.

    {"scale": {"law": "log_n", "kappa": 2.0}, "map": {"name": "top_k", "k": 64}, "scale_values": [[...], ...]}, where
    the last holds the learnt parameter of the law by layer and head.
    """
    section = getattr(getattr(module, "config", None), "isentropic", None) or {}
    options: dict = {"scale": scaling}
    if "scale" in section:
        parameters = dict(section["scale"])
        scale = getattr(Scale, parameters.pop("law"))(**parameters)
        values = section.get("scale_values")
        options["scale"] = (
            scale.replaced(**{next(iter(scale.learnable())): values[module.layer_idx]}) if values else scale
        )
    if "map" in section:
        parameters = dict(section["map"])
        options["map"] = getattr(ScoreMap, parameters.pop("name"))(**parameters)
    return options | options_of(module)
