"""Which models of Hugging Face transformers cannot use this library's attention, and why.

Imports transformers: only :mod:`isentropic.hf` imports this, on registration.
"""

from __future__ import annotations

import functools
import sys
from typing import Callable, Iterator

from transformers import PreTrainedModel


def explain_refusals(name: str) -> None:
    """Makes a layer that looks ``name`` up in a table of its model's own raise a reason instead of a bare KeyError."""
    choose = PreTrainedModel.get_correct_attn_implementation
    if hasattr(choose, "__wrapped__"):
        return

    @functools.wraps(choose)
    def get_correct_attn_implementation(self, requested_attention, *args, **kwargs):
        # By now the model's file is loaded, and none of its layers is built yet.
        for table in own_tables(type(self)):
            table.setdefault(name, _refusal(name, dict(table)))
        return choose(self, requested_attention, *args, **kwargs)

    PreTrainedModel.get_correct_attn_implementation = get_correct_attn_implementation


def own_tables(architecture: type[PreTrainedModel]) -> Iterator[dict[str, type]]:
    """Attention classes by implementation, as the architecture's file keeps them."""
    for name, value in list(vars(sys.modules[architecture.__module__]).items()):
        if name.endswith("_ATTENTION_CLASSES") and isinstance(value, dict) and "eager" in value:
            yield value


def _refusal(name: str, known: dict[str, type]) -> Callable:
    """Takes the place of the missing class in the table."""

    def refuse(config, *args, **kwargs):
        sdpa = '; with "sdpa" it is seen inside isentropic.replace_sdpa()' if "sdpa" in known else ""
        raise ValueError(
            f'attn_implementation is "{name}"; expected one of {", ".join(known)}: {config.model_type} has attention '
            f"classes of its own ({known['eager'].__name__}) and does not use transformers' attention interface{sdpa}"
        )

    return refuse
