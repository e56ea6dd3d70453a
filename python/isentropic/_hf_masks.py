"""Masks of Hugging Face transformers as rules, so that no ``[n_q, n_k]`` matrix is formed where a rule suffices.

Imports transformers: only :mod:`isentropic.hf` imports this, on registration.
"""

from __future__ import annotations

import functools
from typing import Callable, Optional

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only
from transformers import masking_utils
from transformers.utils.import_utils import is_tracing

from .distributed import _plan

# What a mask can be asked for without its values.
_OUTSIDE = {
    *(getattr(Tensor, name).__get__ for name in ("device", "dtype", "layout", "ndim", "requires_grad", "shape")),
    *(getattr(Tensor, name) for name in ("dim", "is_floating_point", "numel", "size")),
}


class RuleMask(Tensor):
    """An additive mask ``[batch, 1, n_q, n_k]`` that is represented by its rule.

    A model that passes it on unchanged never forms the matrix: :meth:`options` gives :func:`isentropic.attention` the
    rule. A model that does anything else with it gets the matrix it would get for its eager attention, and in-place
    changes of that matrix are kept.
    """

    @staticmethod
    def __new__(cls, shape, dtype, device, options: dict, write: Callable[[], Tensor]):
        # Stands for the matrix: its shape, but the memory of one number.
        return torch.Tensor._make_subclass(cls, torch.zeros((), dtype=dtype, device=device).expand(shape))

    def __init__(self, shape, dtype, device, options: dict, write: Callable[[], Tensor]):
        self._options = options
        self._write = write
        self._matrix: Optional[Tensor] = None

    def options(self) -> dict:
        """The arguments of :func:`isentropic.attention` that are equivalent to the mask."""
        return self._options if self._matrix is None else {"attn_mask": self._matrix}

    def matrix(self) -> Tensor:
        if self._matrix is None:
            self._matrix = self._write()
        return self._matrix

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in _OUTSIDE:
            return super().__torch_function__(function, types, args, kwargs)
        if function is Tensor.contiguous:  # called on masks for static caches
            return args[0]
        args, kwargs = tree_map_only(RuleMask, RuleMask.matrix, (tuple(args), kwargs or {}))
        return function(*args, **kwargs)


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function: Callable = masking_utils.causal_mask_function,
    attention_mask: Optional[Tensor] = None,
    dtype: torch.dtype = torch.float32,
    device="cpu",
    allow_is_causal_skip: bool = True,
    allow_is_bidirectional_skip: bool = False,
    local_size: Optional[int] = None,
    **kwargs,
) -> Tensor:
    """Called by transformers when a model needs a mask, with the arguments of ``masking_utils.sdpa_mask``.

    Key j, at position ``j + kv_offset``, is seen by query i, at position ``i + q_offset``, if ``mask_function`` and the
    padding ``attention_mask`` ``[batch, keys so far]`` allow it. A mask is returned even where it may be skipped: it
    says how causal attention is aligned, which None does not.
    """
    matrix = dict(
        batch_size=batch_size, q_length=q_length, kv_length=kv_length, kv_offset=kv_offset, mask_function=mask_function,
        attention_mask=attention_mask, device=device, **kwargs,
    )  # fmt: skip
    if is_tracing(attention_mask):  # a graph cannot inspect values to find a rule
        return masking_utils.eager_mask(q_offset=q_offset, dtype=dtype, **matrix)
    matrix["q_offset"] = int(q_offset)  # a static cache keeps counting in the tensor it gave
    options = _position_rule(mask_function, q_length, kv_length, matrix["q_offset"] - kv_offset)
    if options is None:
        options = {"attn_mask": masking_utils.sdpa_mask(allow_is_causal_skip=False, **matrix)}
    elif attention_mask is not None:
        options |= _padding(attention_mask, kv_length, kv_offset)
    shape = (batch_size, 1, q_length, kv_length)
    return RuleMask(shape, dtype, device, options, functools.partial(masking_utils.eager_mask, dtype=dtype, **matrix))


def _padding(attention_mask: Tensor, kv_length: int, kv_offset: int) -> dict:
    padded = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    visible = padded[:, kv_offset : kv_offset + kv_length]
    plan = _plan.in_force()
    if plan is not None:  # of all keys, and the same on all ranks
        visible = plan.gathered(visible, 1)
    return {} if visible.all() else {"attn_mask": visible[:, None, None, :]}


# ---- rules of position ----


def _position_rule(mask_function: Callable, n_q: int, n_k: int, shift: int) -> Optional[dict]:
    """Options of attention for a mask in which query i has the position of key ``i + shift``; None if none fit."""
    rule: dict = {}
    for part in _parts(mask_function):
        said = _part_rule(part)
        if said is None or not rule.keys().isdisjoint(said):
            return None
        rule |= said
    causal = rule.pop("causal", False)
    if not causal and not rule:
        return {}  # nothing depends on the position
    if "documents" in rule and n_q != n_k:
        return None  # documents are those of the queries; some keys are in none
    if "window" in rule:
        left, right = rule["window"]
        rule["window"] = (left, n_k if right is None else right)
    return _aligned(rule, causal, n_q, n_k, shift)


def _aligned(rule: dict, causal: bool, n_q: int, n_k: int, shift: int) -> Optional[dict]:
    if shift == 0:
        return {**rule, "causal": "start"} if causal else rule
    if not causal or not 0 <= shift + n_q <= n_k:
        return None
    if shift + n_q < n_k:  # a static cache has room after the newest key
        rule = {**rule, "keys": shift + n_q}
    return {**rule, "causal": "end"}


def _parts(mask_function: Callable) -> tuple[Callable, ...]:
    """The functions that must all allow a key."""
    if _is_made_by(masking_utils.and_masks(), mask_function):
        return tuple(part for one in _inside(mask_function)["mask_functions"] for part in _parts(one))
    return (mask_function,)


def _part_rule(part: Callable) -> Optional[dict]:
    if part is masking_utils.causal_mask_function:
        return {"causal": True}
    if part is masking_utils.bidirectional_mask_function:
        return {}
    if _is_made_by(masking_utils.sliding_window_overlay(1), part):
        return {"window": (_inside(part)["sliding_window"], None)}
    if _is_made_by(masking_utils.sliding_window_bidirectional_overlay(1), part):
        distance = _inside(part)["sliding_window"]
        return {"window": (distance + 1, distance)}
    if _is_made_by(masking_utils.packed_sequence_mask_function(None), part):
        return {"documents": _offsets(_inside(part)["packed_sequence_mask"])}
    return None


def _is_made_by(example: Callable, function: Callable) -> bool:
    """Whether the same ``def`` made both: such functions share their code and differ in their closures."""
    return getattr(function, "__code__", None) is example.__code__


def _inside(function: Callable) -> dict:
    """The variables in a function's closure, by name."""
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__)}


def _offsets(documents: Tensor) -> Tensor:
    """``[batch, n]`` numbers of packed documents, rising from 0, as offsets ``[batch, documents + 1]``."""
    numbers = torch.arange(int(documents.max()) + 2, device=documents.device)
    return torch.searchsorted(documents.contiguous(), numbers.expand(documents.shape[0], -1).contiguous())
