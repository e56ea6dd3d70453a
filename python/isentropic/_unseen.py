"""Attention that runs and cannot be observed: which modules, why, and what to do about it."""

from __future__ import annotations

import sys
import warnings
from typing import Iterator, Mapping, Optional

from torch import nn

COMPILED = "_orig_mod"  # what torch.compile calls the module that it wraps

_MOST_NAMES = 3  # in one message


def compiled(model: nn.Module) -> dict[str, str]:
    """Modules under torch.compile, which cannot report from inside their graph: ``{name: reason}``."""
    return {
        name: "it is compiled, and a compiled graph cannot report rows; collect before compiling, or watch with isentropic.Monitor"
        for name, module in model.named_modules()
        if is_compiled(module)
    }


def is_compiled(module: nn.Module) -> bool:
    return COMPILED in module._modules or module._compiled_call_impl is not None


def in_graphs(model: nn.Module) -> dict[str, nn.Module]:
    """The modules inside compiled modules: ``{name: module}``."""
    inside = {}
    for name, module in model.named_modules():
        if is_compiled(module):
            inside |= dict(module.named_modules(prefix=name))
    return inside


def attention(model: nn.Module, ran: Mapping[str, nn.Module], reported: set[str]) -> dict[str, str]:
    """Modules that ran and by their name compute attention, but did not report any: ``{name: reason}``."""
    silent = [name for name, module in ran.items() if is_attention(module) and name not in reported]
    seen = [name for name in reported if name in ran and is_attention(ran[name])]
    reasons = {}
    for name in silent:
        inside = f"{name}." if name else ""
        is_part_of_one_seen = any(name.startswith(f"{whole}.") for whole in seen)
        if not is_part_of_one_seen and not any(other != name and other.startswith(inside) for other in silent):
            reasons[name] = _reason(model, name)
    return reasons


def nothing(model: nn.Module, ran: bool) -> str:
    """The reason for a model without a module to name."""
    if not ran:
        return (
            "no forward pass of it was seen: it was not called, or runs in a compiled graph without isentropic.attention "
            "(what a graph computes is seen by isentropic.Monitor alone)"
        )
    if _implementation(model) == "isentropic":
        return "none of its attention was called as a module; if it runs compiled, collect before compiling it"
    return _reason(model, "")


def warn(observer: str, model: nn.Module, reasons: Mapping[str, str]) -> None:
    """One warning for each reason."""
    for reason in dict.fromkeys(reasons.values()):
        names = [name or type(model).__name__ for name, why in reasons.items() if why == reason]
        shown = ", ".join(names[:_MOST_NAMES])
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        warnings.warn(f"{observer} sees no attention in {shown}{more}: {reason}", stacklevel=_callers_level())


def is_attention(module: nn.Module) -> bool:
    return "attention" in type(module).__name__.lower()


def why_never_seen(model: nn.Module, name: str) -> Optional[str]:
    """The reason why attention cannot report as things are; None where it may."""
    from .sdpa import is_replaced

    implementation = next(filter(None, map(_implementation, _from_inside(model, name))), None)
    is_pytorchs = implementation == "sdpa" or isinstance(model.get_submodule(name), nn.MultiheadAttention)
    if is_pytorchs and is_replaced():
        return None
    return _reason(model, name) if is_pytorchs or implementation not in (None, "isentropic") else None


def _reason(model: nn.Module, name: str) -> str:
    kind = type(model.get_submodule(name)).__name__
    around = list(_from_inside(model, name))
    implementation = next(filter(None, map(_implementation, around)), None)
    if implementation is None:
        if isinstance(around[0], nn.MultiheadAttention):
            return f"{kind} is seen inside isentropic.replace_sdpa(), when it is called with need_weights=False"
        if type(around[0]).__module__.startswith("isentropic."):
            return f"attention in two levels does not report; {kind} returns its entropies itself, in aux"
        return (
            f"{kind} does not call isentropic.attention; if it calls PyTorch's scaled_dot_product_attention, "
            "run it inside isentropic.replace_sdpa()"
        )
    architecture = next(module for module in around if hasattr(module, "_can_set_attn_implementation"))
    if implementation == "isentropic" or not architecture._can_set_attn_implementation():
        return (
            f"{kind} is an attention of the architecture's own, outside of transformers' attention interface; "
            'it is seen only if it has attn_implementation="sdpa", inside isentropic.replace_sdpa()'
        )
    hint = ", or run it inside isentropic.replace_sdpa()" if implementation == "sdpa" else ""
    return (
        f'{type(architecture).__name__} runs with attn_implementation="{implementation}"; call '
        f'isentropic.hf.register() and model.set_attn_implementation("isentropic"){hint}'
    )


def _from_inside(model: nn.Module, name: str) -> Iterator[nn.Module]:
    """The module of that name and those around it, innermost first."""
    parts = name.split(".") if name else []
    for depth in range(len(parts), -1, -1):
        yield model.get_submodule(".".join(parts[:depth]))


def _implementation(module: nn.Module) -> Optional[str]:
    """The name of the attention implementation of a transformers model."""
    if not hasattr(module, "_can_set_attn_implementation"):
        return None
    return getattr(getattr(module, "config", None), "_attn_implementation", None)


def _callers_level() -> int:
    """The stack level of the first frame outside this package, PyTorch and transformers: the line to change."""
    level, frame = 1, sys._getframe(1)
    packages = ("torch.", "transformers.", "contextlib", "isentropic.")
    while frame.f_back is not None and (frame.f_globals.get("__name__", "") + ".").startswith(packages):
        level, frame = level + 1, frame.f_back
    return level
