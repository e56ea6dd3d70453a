"""Which problems PyTorch's own attention computes: those on a GPU that it supports, with nothing measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention  # the function itself: replace_sdpa changes the attribute

from . import _observe

if TYPE_CHECKING:
    from ._problem import Problem

BACKENDS = ("auto", "isentropic")

_HALVES = frozenset((torch.bfloat16, torch.float16))
_KNOWN_OPTIONS = frozenset(("causal", "align", "scale"))
_LARGEST_SCALE = 1e30  # of those that float32 holds
_WIDEST_GROUPED_HEAD = 192  # whose gradients have a fused kernel on every GPU since sm_80
_LARGEST_BATCH = 65535  # CUDA's limit for the axes of a grid


def goes_to_pytorch(problem: Problem) -> bool:
    """Whether PyTorch's kernel is used instead of this library's. On the CPU ours is the faster one."""
    return (
        problem.plan is None
        and problem.query.is_cuda
        and not _observe.is_watched()
        and not _keeps_by_hooks()
        and is_known(problem)
    )


def run(problem: Problem) -> Tensor:
    """The output of a problem for which ``is_known`` holds."""
    options, query, key = problem.options(), problem.query, problem.key
    scale = options.get("scale")
    output = scaled_dot_product_attention(
        query,
        key,
        problem.value,
        is_causal="causal" in options,
        scale=None if scale is None else dict(scale)["value"],
        enable_gqa=True if query.shape[1] != key.shape[1] else False,  # a bool where sizes are symbols
    )
    return problem.with_leading_axes(output)


def is_known(problem: Problem) -> bool:
    """Whether ``scaled_dot_product_attention`` computes the same function by a kernel without n x n memory.

    Every row of such a problem sees a key. False for invalid arguments: this library reports them.
    """
    options = problem.options()
    return (
        not problem.has_terms()
        and options.keys() <= _KNOWN_OPTIONS
        and _has_known_scale(options.get("scale"))
        and _has_known_shape(problem)
        # PyTorch counts from the start; elsewhere its fused kernels take only square causal masks.
        and ("causal" not in options or problem.query.shape[2] == problem.key.shape[2])
    )


def _has_known_scale(scale) -> bool:
    if scale is None:
        return True
    items = dict(scale)
    value = items.get("value")
    # One number: kernels that look for the largest q.k before they scale need a positive one.
    return items["law"] == "constant" and isinstance(value, float) and 0.0 < value < _LARGEST_SCALE


def _has_known_shape(problem: Problem) -> bool:
    query, key, value = problem.query, problem.key, problem.value
    if value is None or not (query.dtype == key.dtype == value.dtype):
        return False
    (batch, heads, n_q, d), (key_batch, kv_heads, n_k, key_d), d_v = query.shape, key.shape, value.shape[3]
    if key_batch != batch or key_d != d or key.shape[:3] != value.shape[:3]:
        return False
    if not (0 < batch <= _LARGEST_BATCH and 0 < heads <= _LARGEST_BATCH and n_q > 0 and n_k > 0):
        return False
    if d == 0 or d % 8 != 0 or d_v == 0 or d_v % 8 != 0 or not all(map(_is_aligned, (query, key, value))):
        return False
    if kv_heads == heads:
        return query.dtype in _HALVES or query.dtype == torch.float32
    return kv_heads > 0 and heads % kv_heads == 0 and query.dtype in _HALVES and d == d_v and d <= _WIDEST_GROUPED_HEAD


def _is_aligned(tensor: Tensor) -> bool:
    """Whether rows are contiguous and begin at multiples of eight: PyTorch forms n x n for others, or refuses."""
    batch, head, row, column = tensor.stride()
    # A graph does not know where a tensor begins; its compiler takes care of that.
    offset = 0 if torch.compiler.is_compiling() else tensor.storage_offset()
    return column == 1 and batch % 8 == head % 8 == row % 8 == offset % 8 == 0


def _keeps_by_hooks() -> bool:
    """Whether hooks keep what the backward pass needs, as those of checkpointing do.

    A checkpointed forward pass may be repeated after an observer has come or gone, and must save the same tensors then.
    """
    if torch.compiler.is_compiling():
        return False
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
