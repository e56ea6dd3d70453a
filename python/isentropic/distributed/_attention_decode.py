"""Few queries, the same on all ranks, and sharded keys: only the results for the queries are communicated."""

from __future__ import annotations

import json

import torch
import torch.distributed as dist

_operators = torch.ops.isentropic


def run(problem, plan, text: str):
    """What the operator ``attention`` returns, the same on all ranks.

    One collective for the largest score, one for the sum of outputs and records relative to it, and a third for the
    position of the maximum.
    """
    _check(problem)
    layout = plan.layout(problem.key.shape[2])
    shard = {"key_runs": layout.runs[plan.rank], "total_keys": layout.total, "total_queries": problem.query.shape[2]}
    text = json.dumps(json.loads(text) | {"shard": shard})
    given = (text, problem.query, problem.key, problem.value, problem.terms())
    output, rows, row_counts, groups = _operators.attention_partial(*given)
    highest = rows[1].clone()
    dist.all_reduce(highest, dist.ReduceOp.MAX, plan.group)
    argmax = _first_highest(rows[1], row_counts[1], highest, plan) if "argmax" in problem.statistics_of(text) else None
    output, rows, row_counts = _seen_from(highest, output, rows, row_counts, groups)
    output, rows, row_counts = _added_up(output, rows, row_counts, plan)
    if argmax is not None:
        row_counts[1] = argmax
    return _operators.attention_finish(*given, output, rows, row_counts, groups)


def _seen_from(highest, output, rows, row_counts, groups):
    """Rebases the sums: merging with a part without keys, but with a maximum, moves them to that maximum."""
    nothing = torch.zeros_like(rows)
    nothing[0], nothing[1] = rows[0], highest
    empty_counts = torch.zeros_like(row_counts)
    empty_counts[1] = -1
    found = _operators.attention_merge(
        output, rows, row_counts, groups, torch.zeros_like(output), nothing, empty_counts, groups
    )
    return found[:3]


def _added_up(output, rows, row_counts, plan):
    # Counts are exact in float64, and few queries make a small message.
    packed = torch.cat([output, rows[2:].movedim(0, -1), row_counts[:1].movedim(0, -1)], -1).double()
    dist.all_reduce(packed, group=plan.group)
    width, sums = output.shape[-1], rows.shape[0] - 2
    rows, row_counts = rows.clone(), row_counts.clone()
    rows[2:] = packed[..., width : width + sums].movedim(-1, 0)
    row_counts[0] = packed[..., -1]
    return packed[..., :width].to(output.dtype), rows, row_counts


def _first_highest(own, places, highest, plan):
    """The lowest index among the keys with the largest score."""
    none = torch.iinfo(torch.int64).max
    found = torch.where((own == highest) & (places >= 0), places, none)
    dist.all_reduce(found, dist.ReduceOp.MIN, plan.group)
    return torch.where(found == none, -1, found)


def _check(problem) -> None:
    tensors = (problem.query, problem.key, problem.value, *problem.terms())
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors):
        raise ValueError("method is 'decode' and a gradient is wanted; expected torch.no_grad(), or another method")
    if problem.value is None:
        raise ValueError("method is 'decode' without a value; expected one, or method='allgather'")
    if problem.groups is not None:
        raise ValueError("groups is given with method 'decode'; expected none (others: 'allgather', 'ring', 'ulysses')")
    if problem.options().get("dropout"):
        raise ValueError("dropout_p is given with method 'decode'; expected 0")
