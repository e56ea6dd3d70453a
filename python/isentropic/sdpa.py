"""Redirects PyTorch's attention call to this library."""

from __future__ import annotations

import contextlib

import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from .distributed import _plan
from ._problem import TYPES
from .attention import attention


def replace_sdpa() -> contextlib.AbstractContextManager:
    """Context manager that redirects PyTorch's ``scaled_dot_product_attention`` to :func:`isentropic.attention`.

        with isentropic.replace_sdpa(), isentropic.Monitor(model) as monitor:
            model(x)

    This includes PyTorch's own layers: ``nn.MultiheadAttention`` called with ``need_weights=False``, and transformer
    layers in training mode (in evaluation mode they take a fused path that makes no such call). Calls whose dtype,
    device or layout this library has no kernel for are left to PyTorch. With activation checkpointing, run the backward
    pass inside as well: it repeats the forward pass.
    """
    return _Route()


def is_replaced() -> bool:
    """Whether the caller is inside :func:`replace_sdpa`."""
    return any(isinstance(mode, _Route) for mode in _get_current_function_mode_stack())


class _Route(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is scaled_dot_product_attention:
            return _routed(*args, **kwargs)
        if function in _CALLERS:
            return _with_the_name_replaced(function, *args, **kwargs)
        return function(*args, **kwargs)


def _routed(*args, **kwargs):
    # Inside context_parallel PyTorch's own would attend within the shard: what is not ours gets a named error instead.
    if _plan.in_force() is not None or _is_ours(*args, **kwargs):
        return attention(*args, **{**kwargs, "enable_gqa": True})  # PyTorch repeats a single head without it
    return scaled_dot_product_attention(*args, **kwargs)


# What calls attention itself: nn.MultiheadAttention, and backward passes that repeat a checkpointed forward pass.
_CALLERS = (F.multi_head_attention_forward, torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad)


def _with_the_name_replaced(function, *args, **kwargs):
    """No mode is active inside the function, so the attention that it calls is replaced by name."""
    F.scaled_dot_product_attention = _routed
    try:
        return function(*args, **kwargs)
    finally:
        F.scaled_dot_product_attention = scaled_dot_product_attention


def _is_ours(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False) -> bool:
    tensors = (query, key, value)
    if any(tensor.layout != torch.strided or tensor.dim() < 3 or tensor.numel() == 0 for tensor in tensors):
        return False
    if query.dtype not in TYPES or any(t.dtype != query.dtype or t.device != query.device for t in tensors):
        return False
    if not 0.0 <= dropout_p < 1.0:  # PyTorch drops everything at 1
        return False
    if attn_mask is not None and (is_causal or not (attn_mask.dtype == torch.bool or attn_mask.is_floating_point())):
        return False
    same = query.shape[:-3] == key.shape[:-3] == value.shape[:-3] and key.shape[-3] == value.shape[-3]
    heads, kv_heads = query.shape[-3], key.shape[-3]
    heads_fit = heads % kv_heads == 0 if enable_gqa else kv_heads in (heads, 1)
    return same and heads_fit and _has_kernel(query.device)


def _has_kernel(device: torch.device) -> bool:
    key = torch._C._dispatch_key_for_device(device.type)
    return key != "Meta" and torch._C._dispatch_has_kernel_for_dispatch_key("isentropic::attention", key)
