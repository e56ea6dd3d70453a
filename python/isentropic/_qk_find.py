"""Finds the parameters that produce the queries and keys of a model's attention, for known modules."""

from __future__ import annotations

import dataclasses
import re
from typing import Mapping, Optional

from torch import Tensor, nn

from . import _unseen
from ._checks import integer
from ._qk_weights import HeadRows, QKWeights, rows_of
from .nn import GatedAttentionUnit, HierarchicalAttention, MultiHeadAttention


def find(model: nn.Module, given: Optional[Mapping[str, Optional[QKWeights]]]) -> dict[str, QKWeights]:
    """``{layer: QKWeights}`` of all attention in the model; ValueError names what is not found.

    ``given`` takes precedence; None in it leaves a layer out.
    """
    found: dict[str, QKWeights] = {}
    modules = dict(model.named_modules())
    given = dict(given or {})
    for name, weights in given.items():
        if name not in modules:
            raise ValueError(f"layers has {name!r}; expected names of modules, as in model.named_modules()")
        if weights is not None and not isinstance(weights, QKWeights):
            raise TypeError(f"layers[{name!r}] is a {type(weights).__name__}; expected QKWeights, or None")
    for name, module in modules.items():
        if name in given:
            if given[name] is not None:
                found[name] = given[name]
        elif _is_innermost_attention(module):
            _refuse_unseen(model, name)
            found[name] = _weights_of(name or type(module).__name__, module)
    if not found:
        raise ValueError(
            f"{type(model).__name__} has no attention whose weights are known; expected some, or layers={{name: QKWeights}}"
        )
    return found


def _is_innermost_attention(module: nn.Module) -> bool:
    if not (_unseen.is_attention(module) or isinstance(module, (MultiHeadAttention, GatedAttentionUnit))):
        return False
    return not any(part is not module and _unseen.is_attention(part) for part in module.modules())


def _refuse_unseen(model: nn.Module, name: str) -> None:
    reason = _unseen.why_never_seen(model, name)
    if reason is not None:
        raise ValueError(f"isentropic.QKClip sees no attention in {name or type(model).__name__}: {reason}")


def _weights_of(name: str, module: nn.Module) -> QKWeights:
    for known in (_own, _of_pytorch, _latent, _separate, _fused):
        weights = known(name, module)
        if weights is not None:
            return weights
    raise ValueError(
        f"the projections of {name}, a {type(module).__name__}, are not known; expected layers={{{name!r}: QKWeights(...)}}, "
        "or None there to leave it out"
    )


# ---- kinds of modules ----

_PAIRS = (("q_proj", "k_proj"), ("query", "key"), ("q", "k"), ("q_lin", "k_lin"), ("wq", "wk"), ("W_Q", "W_K"))
_NORMS = (("q_norm", "k_norm"), ("q_layernorm", "k_layernorm"), ("query_layernorm", "key_layernorm"), ("q_ln", "k_ln"))
_NORM_NAME = re.compile(r"(q|k|qk|kv|query|key)_?(layer)?_?(norm|ln)")
_HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads")
_HEAD_SIZES = ("head_dim", "head_size", "attention_head_size", "key_value_proj_dim")
# Queries, then keys, then values:
_BLOCKS = {
    "GPT2Attention": "c_attn",
    "ModernBertAttention": "Wqkv",
    "Phi3Attention": "qkv_proj",
    "Phi4MultimodalAttention": "qkv_proj",
}
_BY_HEAD = {"GPTNeoXAttention": "query_key_value"}  # the three of each head


def _own(name: str, module: nn.Module) -> Optional[QKWeights]:
    if isinstance(module, HierarchicalAttention):
        raise ValueError(
            f"{name} is attention in two levels, which does not report; expected layers={{{name!r}: None}}"
        )
    if isinstance(module, GatedAttentionUnit):
        sides = [(getattr(module, f"{side}_gain"), getattr(module, f"{side}_offset")) for side in ("query", "key")]
        query, key = ([HeadRows(part, 1, part.numel()) for part in side] for side in sides)
        return QKWeights(1, query, key)
    return QKWeights(module.num_heads, module.W_Q, module.W_K) if isinstance(module, MultiHeadAttention) else None


def _of_pytorch(name: str, module: nn.Module) -> Optional[QKWeights]:
    if not isinstance(module, nn.MultiheadAttention):
        return None
    size, heads = module.head_dim, module.num_heads
    if module.in_proj_weight is None:
        sides = (HeadRows(module.q_proj_weight, heads, size), HeadRows(module.k_proj_weight, heads, size))
    else:
        sides = tuple(HeadRows(module.in_proj_weight, heads, size, start) for start in (0, module.embed_dim))
    query, key = ([side] for side in sides)
    if module.in_proj_bias is not None:
        query.append(HeadRows(module.in_proj_bias, heads, size))
        key.append(HeadRows(module.in_proj_bias, heads, size, module.embed_dim))
    return QKWeights(heads, query, key)


def _latent(name: str, module: nn.Module) -> Optional[QKWeights]:
    """Multi-head latent attention: the rotated part of the keys is shared by all heads, and is left alone."""
    if not (hasattr(module, "kv_b_proj") and hasattr(module, "qk_nope_head_dim")):
        return None
    heads, plain, rotated = _heads_of(name, module), module.qk_nope_head_dim, module.qk_rope_head_dim
    queries = getattr(module, "q_b_proj", None) or module.q_proj
    query, alone, key = [], [], []
    for rows in rows_of(queries, plain + rotated):
        query.append(dataclasses.replace(rows, size=plain, stride=plain + rotated))
        alone.append(dataclasses.replace(rows, size=rotated, start=plain, stride=plain + rotated))
    for rows in rows_of(module.kv_b_proj, plain + module.v_head_dim):
        key.append(dataclasses.replace(rows, size=plain, stride=plain + module.v_head_dim))
    return QKWeights(heads, query, key, alone)


def _separate(name: str, module: nn.Module) -> Optional[QKWeights]:
    pair = next(((q, k) for q, k in _PAIRS if isinstance(_part(module, q), nn.Module) and _part(module, k)), None)
    if pair is None:
        return None
    heads, size = _heads_of(name, module), _head_size_of(module)
    sides = []
    for part, norm in zip(pair, _norms_of(name, module)):
        source = norm or _part(module, part)
        try:
            rows = list(rows_of(source, size or _part(module, pair[0]).weight.shape[0] // heads))
        except ValueError as error:
            raise ValueError(f"the projections of {name} cannot be scaled: {error}") from None
        if part == pair[0] and norm is None and rows[0].heads != heads:
            raise ValueError(
                f"{part} of {name} makes {rows[0].heads} heads of {rows[0].size} numbers; expected {heads}, as it has"
            )
        sides.append(rows)
    return QKWeights(heads, *sides)


def _fused(name: str, module: nn.Module) -> Optional[QKWeights]:
    kind = type(module).__name__
    layer = getattr(module, _BLOCKS.get(kind) or _BY_HEAD.get(kind) or "", None)
    if layer is None or getattr(module, "is_cross_attention", False):
        return None
    _norms_of(name, module)
    heads, size = _heads_of(name, module), _head_size_of(module)
    kv_heads = getattr(module, "num_key_value_heads", heads)
    query, key = [], []
    for rows in rows_of(layer, size):
        if kind in _BLOCKS:
            query.append(dataclasses.replace(rows, heads=heads))
            key.append(dataclasses.replace(rows, heads=kv_heads, start=heads * size))
        else:
            query.append(dataclasses.replace(rows, heads=heads, stride=3 * size))
            key.append(dataclasses.replace(rows, heads=heads, start=size, stride=3 * size))
    return QKWeights(heads, query, key)


# ---- parts of modules ----


def _part(module: nn.Module, name: str) -> Optional[nn.Module]:
    return module._modules.get(name)


def _heads_of(name: str, module: nn.Module) -> int:
    for owner in (module, getattr(module, "config", None)):
        for attribute in _HEADS:
            if isinstance(getattr(owner, attribute, None), int):
                return integer(attribute, getattr(owner, attribute))
    raise ValueError(
        f"{name} does not say how many heads it has; expected an attribute num_heads, or QKWeights in layers"
    )


def _head_size_of(module: nn.Module) -> Optional[int]:
    sizes = (getattr(module, name, None) for name in _HEAD_SIZES)
    return next((size for size in sizes if isinstance(size, int)), None)


def _norms_of(name: str, module: nn.Module) -> tuple[Optional[nn.Module], Optional[nn.Module]]:
    """The norms of queries and keys, after which the size of a projection makes no difference."""
    there = {part for part, layer in module.named_children() if not isinstance(layer, nn.Identity)}
    for pair in _NORMS:
        if there & {*pair}:
            norms = tuple(_part(module, part) if part in there else None for part in pair)
            for norm in filter(None, norms):
                if not isinstance(getattr(norm, "weight", None), Tensor):
                    raise ValueError(
                        f"the norms of {name} ({type(norm).__name__}) have no weight; expected one, since the size of its "
                        "projections makes no difference"
                    )
            return norms
    odd = sorted(part for part in there if _NORM_NAME.fullmatch(part))
    if odd:
        raise ValueError(
            f"{name} has {', '.join(odd)}; expected no norms of queries and keys, or a q_norm and a k_norm"
        )
    return None, None
