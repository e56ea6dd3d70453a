"""Attention over a sequence that is sharded over ranks: forward and backward as one step of autograd.

Every method ends in the operators that a single device uses. The ``"shard"`` of a problem's text gives the positions of
queries and keys in the whole sequence, so that masks, scale laws and key groups mean what they mean there.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from . import _attention_decode, _attention_gather, _attention_ring, _attention_ulysses
from ._checks import agree
from ._layout import Layout
from ._plan import ContextParallel
from ._ring import Ring

if TYPE_CHECKING:
    from .._problem import Problem

_METHODS = {"allgather": _attention_gather, "ring": _attention_ring, "ulysses": _attention_ulysses}


class Call:
    """One attention problem of one rank: what autograd keeps of it."""

    def __init__(self, plan: ContextParallel, layout: Layout, text: str, names: list[str]):
        self.plan, self.layout, self.text, self.names = plan, layout, text, tuple(names)
        self.group, self.rank, self.size = plan.group, plan.rank, plan.size
        self.ring = Ring(plan.group, layout.lengths)
        self.options = json.loads(text)
        self.needs_bias = False

    @property
    def own_runs(self):
        return self.layout.runs[self.rank]

    def shard_text(self, query_runs, key_runs) -> str:
        """The text of the problem for these queries and keys; None: all of them."""
        return _text_of_shard(self.text, self.layout.total, query_runs, key_runs)

    def has_keys(self, place: int, term: Tensor) -> bool:
        """Whether a term has an entry for each key of the whole."""
        name = self.names[place]
        dense = name == "mask" or (name == "bias" and self.options.get("bias") == "dense")
        return dense and term.shape[-1] == self.layout.total

    def term_gradients(self, terms, bias, sink, scale, map, places):
        return torch.ops.isentropic.attention_term_gradients(self.text, terms, bias, sink, scale, map, places)


@functools.lru_cache(maxsize=4096)
def _text_of_shard(text: str, total: int, query_runs, key_runs) -> str:
    problem = json.loads(text)
    shard = {"total_queries": total, "total_keys": total}
    if query_runs is not None:
        shard["query_runs"] = query_runs
    if key_runs is not None:
        shard["key_runs"] = key_runs
    return json.dumps(problem | {"shard": shard})


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call: Call, query, key, value, *terms):
        ctx.set_materialize_grads(False)
        found, kept = _METHODS[call.plan.method].forward(call, query, key, value, terms)
        ctx.call, ctx.terms = call, len(terms)
        ctx.save_for_backward(*terms, *kept)
        ctx.mark_non_differentiable(*found[2:])
        return found

    @staticmethod
    def backward(ctx, output_gradient, statistics_gradient, *_):
        call, saved = ctx.call, ctx.saved_tensors
        if output_gradient is None and statistics_gradient is None:
            return (None,) * (4 + ctx.terms)
        terms, kept = saved[: ctx.terms], saved[ctx.terms :]
        call.needs_bias = any(name == "bias" and needed for name, needed in zip(call.names, ctx.needs_input_grad[4:]))
        places = [i for i in range(ctx.terms) if ctx.needs_input_grad[4 + i]]
        *inputs, found = _METHODS[call.plan.method].backward(
            call, kept, terms, output_gradient, statistics_gradient, places
        )
        of_terms: list = [None] * ctx.terms
        for place, gradient in zip(places, found):
            of_terms[place] = gradient if gradient.numel() else None
        return None, *inputs, *of_terms


# Breaks graphs: what one rank does next depends on what the others have sent.
@torch.compiler.disable
def run(problem: Problem, plan: ContextParallel, text: str):
    """What the operator ``attention`` returns, for the queries of this rank."""
    plan.calls += 1
    if plan.method == "decode":
        _refuse_whole_rows(problem, plan)
        return _attention_decode.run(problem, plan, text)
    layout = plan.layout(problem.query.shape[2])
    _check(problem, plan, layout)
    call = Call(plan, layout, text, problem.term_names())
    return (*_Attention.apply(call, problem.query, problem.key, problem.value, *problem.terms()), None)


@torch.compiler.disable
def key_mass(problem: Problem, plan: ContextParallel, text: str) -> Tensor:
    """The weight that the keys of this rank receive from the queries of all ranks, ``[batch, heads, n]``."""
    layout = plan.layout(problem.query.shape[2])
    _check(problem, plan, layout)
    call = Call(plan, layout, text, problem.term_names())
    method = _attention_gather if plan.method == "decode" else _METHODS[plan.method]
    return method.key_mass(call, problem.query, problem.key, problem.terms())


def _refuse_whole_rows(problem: Problem, plan: ContextParallel) -> None:
    """ValueError for what needs all keys of a row at once, with methods that never have them."""
    if plan.method not in ("ring", "decode"):
        return
    options = problem.options()
    law, map = dict(options.get("scale", ())).get("law"), dict(options.get("map", ())).get("name", "softmax")
    what = "scale is 'target_entropy'" if law == "target_entropy" else f"map is '{map}'"
    if law == "target_entropy" or map not in ("softmax", "gumbel"):
        raise ValueError(
            f"{what}, which needs whole rows; expected method 'allgather' or 'ulysses', not '{plan.method}'"
        )


def _check(problem: Problem, plan: ContextParallel, layout: Layout) -> None:
    agree(plan.group, "attention", lambda: _description(problem, plan, layout))
    _refuse_whole_rows(problem, plan)
    here, keys = layout.lengths[plan.rank], problem.key.shape[2]
    if keys != here:
        raise ValueError(f"key has {keys} positions; expected {here}, as the query: its rank's shard of the sequence")


def _description(problem: Problem, plan: ContextParallel, layout: Layout) -> dict[str, object]:
    """What must be the same on all ranks."""
    shape = lambda x: None if x is None else (x.dtype, x.shape[0], x.shape[1], x.shape[3], x.requires_grad)
    return {
        "method": plan.method,
        "runs": layout.runs,
        "problem": problem.text(),
        "query": shape(problem.query),
        "key": shape(problem.key),
        "value": shape(problem.value),
    }
