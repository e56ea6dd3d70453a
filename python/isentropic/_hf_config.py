"""The scale law and score map of a layer: from the section "isentropic" of its config.json, or as adapted."""

from __future__ import annotations

from torch import nn

from ._hf_adapt import map_of, options_of, scale_of, with_values


def own_options(module: nn.Module, scaling: object) -> dict:
    """``scale`` and ``map`` for a layer that was adapted or whose config names them; else ``scaling`` and softmax.

    {"scale": {"law": "log_n", "kappa": 2.0}, "map": {"name": "top_k", "k": 64}, "scale_values": [[...], ...]}, where
    the last holds the learnt parameter of the law by layer and head.
    """
    section = getattr(getattr(module, "config", None), "isentropic", None) or {}
    options: dict = {"scale": scaling}
    if "scale" in section:
        scale, values = scale_of(section["scale"]), section.get("scale_values")
        if values and not module.layer_idx < len(values):
            raise ValueError(f"scale_values of the config has {len(values)} entries; expected one for each layer")
        options["scale"] = with_values(scale, values[module.layer_idx]) if values else scale
    if "map" in section:
        options["map"] = map_of(section["map"])
    return options | options_of(module)
