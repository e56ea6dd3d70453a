"""This library's attention in Hugging Face transformers.

isentropic.hf.register()
model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="isentropic")
with isentropic.hf.collect(model) as layers:
    model(**inputs)
layers["model.layers.3.self_attn"].entropy      # [batch, heads, n]

model = isentropic.hf.adapt(model, scale=isentropic.Scale.log_n(0.9))    # another scale law in all its layers
"""

from __future__ import annotations

import inspect
from typing import Optional

import torch
from torch import Tensor, nn

from ._hf_adapt import adapt as adapt, adapted as adapted, restore as restore
from ._hf_config import own_options
from ._routing import BACKENDS
from .distributed import _plan
from .attention import attention, attention_weights
from .collect import collect as collect  # the one for all models

NAME = "isentropic"

_backend = "auto"


def register(backend: Optional[str] = None) -> None:
    """Registers ``attn_implementation="isentropic"`` with transformers.

    Models that use transformers' attention interface then compute what their eager attention computes: masks with
    padding, windows, packed sequences and caches, dropout, soft caps, sinks, position biases, grouped heads and the
    keys chosen by a sparse indexer. Memory stays linear in the sequence length for causal masks, windows, padding and
    packed sequences; other masks, and an indexer's choice, are materialised. Queries that see no key, such as padding,
    give 0. Models without the interface keep their eager attention, which cannot be observed: :func:`collect`
    and :class:`isentropic.Monitor` warn about it. Models that look their attention up in a table of their own cannot be
    built with this implementation, and the error says so.

    Models trained by this project may carry a scale law or a score map in their config.json. These are honoured only
    here: other attention implementations do not know them.

    Args:
        backend: that of :func:`isentropic.attention`, for all models from now on; None leaves it as it is (initially
            "auto").
    """
    global _backend
    if backend is not None:
        if backend not in BACKENDS:
            raise ValueError(f"backend is {backend!r}; expected 'auto' or 'isentropic'")
        _backend = backend
    try:
        from transformers import AttentionInterface, AttentionMaskInterface, __version__, masking_utils
    except ImportError as error:
        raise ImportError("isentropic.hf needs transformers 5.17 or newer: pip install transformers") from error
    if "q_offset" not in inspect.signature(masking_utils.sdpa_mask).parameters:
        raise ImportError(f"isentropic.hf needs transformers 5.17 or newer; this environment has {__version__}.")
    from . import _hf_masks, _hf_models

    _hf_models.explain_refusals(NAME)
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, _hf_masks.mask)


# ---- what transformers calls ----


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Optional[Tensor],
    dropout: float = 0.0,
    scaling: Optional[float] = None,
    is_causal: Optional[bool] = None,
    softcap: Optional[float] = None,
    s_aux: Optional[Tensor] = None,
    position_bias: Optional[Tensor] = None,
    indices: Optional[Tensor] = None,
    output_attentions: bool = False,
    **kwargs,
) -> tuple[Tensor, Optional[Tensor]]:
    """Attention of a transformers module: query ``[batch, heads, n_q, d]`` to output ``[batch, n_q, heads, d_v]``.

    With ``output_attentions`` the weights ``[batch, heads, n_q, n_k]`` are returned as well: exact, before dropout,
    without gradient. The window, which models also pass, is already in the mask.
    """
    _refuse_what_chooses_keys(module, kwargs)
    options = _mask_options(module, query, attention_mask, is_causal)
    if indices is not None:
        options["attn_mask"] = _chosen_keys(query, key, indices, options.get("attn_mask"))
    options |= dict(soft_cap=softcap, bias=position_bias, enable_gqa=True) | own_options(module, scaling)
    if s_aux is not None:
        options["sink"] = s_aux.reshape(-1)
    dropout_p = dropout if module.training else 0.0
    output = attention(query, key, value, dropout_p=dropout_p, backend=_backend, **options)
    weights = None
    if output_attentions or _weights_are_captured():
        weights = attention_weights(query, key, range(query.shape[-2]), **options).to(query.dtype)
    return output.transpose(1, 2).contiguous(), weights


def _weights_are_captured() -> bool:
    """Whether transformers captures the weights that modules return, without passing ``output_attentions`` to them."""
    from transformers.utils import output_capturing

    captured = output_capturing._active_collector.get() or {}
    return any("attentions" in name for name in captured)


def _mask_options(module: nn.Module, query: Tensor, mask: Optional[Tensor], is_causal: Optional[bool]) -> dict:
    from ._hf_masks import RuleMask

    if isinstance(mask, RuleMask):
        options = dict(mask.options())
        if _plan.in_force() is not None:
            # transformers mistakes the jump between two runs of positions for a border between packed documents; the
            # plan knows the real ones.
            options.pop("documents", None)
        if "keys" in options:
            options["key_lengths"] = [options.pop("keys")] * query.shape[0]
        return options
    if mask is not None:
        return {"attn_mask": mask}
    # Without a mask the module decides whether attention is causal, as with PyTorch's attention.
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    return {"causal": "start"} if causal and query.shape[-2] > 1 else {}


def _chosen_keys(query: Tensor, key: Tensor, indices: Tensor, mask: Optional[Tensor]) -> Tensor:
    """Restricts the mask to the keys chosen by a sparse indexer: ``indices`` ``[batch, n_q, chosen]``."""
    shape = (query.shape[0], query.shape[-2], key.shape[-2])
    if indices.dim() != 3 or indices.shape[:2] != shape[:2]:
        raise ValueError(f"indices has shape {tuple(indices.shape)}; expected ({shape[0]}, {shape[1]}, chosen keys)")
    hidden = torch.ones(shape, dtype=torch.bool, device=query.device).scatter(-1, indices.long(), False)[:, None]
    if mask is None:
        return ~hidden
    return mask & ~hidden if mask.dtype == torch.bool else mask.masked_fill(hidden, -torch.inf)


def _refuse_what_chooses_keys(module: nn.Module, arguments: dict) -> None:
    """Arguments that determine the keys must not be ignored silently, unlike those meant for other kernels."""
    for name in ("block_indices", "cache"):
        if arguments.get(name) is not None:
            raise ValueError(
                f"{type(module).__name__} passes '{name}'; expected none: isentropic attention has no blocks of keys by "
                'number and no paged cache (use attn_implementation="eager" there)'
            )
