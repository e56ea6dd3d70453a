"""Every rank computes some of the heads over the whole sequence: heads are exchanged for positions, and back."""

from __future__ import annotations

import torch
from torch import Tensor

from . import _exchange

_operators = torch.ops.isentropic


def forward(call, query, key, value, terms):
    _check(call, query, key, terms)
    own_terms = _of_own_heads(call, terms, query.shape[1])
    given = [x for x in (query, key, value) if x is not None]
    inside = _to_heads(call, given)
    q, k, v = (*inside, None)[:3]
    found = _operators.attention(call.text, q, k, v, own_terms)
    output, statistics, measures, counts, rows, row_counts, selected = found
    outside = output if value is None else _to_positions(call, [output])[0]
    stacks = [_statistics_to_positions(call, stack, query) for stack in (statistics, measures, counts)]
    nothing = query.new_empty(0)  # the state of rows stays where the heads are
    return (outside, *stacks, nothing, nothing.clone()), (q, k, v, output, rows, row_counts, selected)


def backward(call, kept, terms, output_gradient, statistics_gradient, places):
    q, k, v, output, rows, row_counts, selected = kept
    heads = q.shape[1] * call.size
    given = [] if output_gradient is None else [output_gradient]
    if statistics_gradient is not None and len(statistics_gradient):
        given.append(_as_heads(statistics_gradient))
    inside = _to_heads(call, given)
    of_output = inside.pop(0) if output_gradient is not None else None
    of_statistics = _as_statistics(inside.pop(0), len(statistics_gradient)) if inside else None
    own_terms = _of_own_heads(call, terms, heads)
    found = _operators.attention_backward(
        call.text, q, k, v, own_terms, output, rows, row_counts, selected, of_output, of_statistics, call.needs_bias
    )
    inputs = _to_positions(call, list(found[: 2 if v is None else 3]))
    of_own = _operators.attention_term_gradients(call.text, own_terms, *found[3:], places)
    return *inputs, *([None] if v is None else []), _over_all_heads(call, terms, of_own, heads, places)


def key_mass(call, query, key, terms) -> Tensor:
    _check(call, query, key, terms)
    own_terms = _of_own_heads(call, terms, query.shape[1])
    q, k = _to_heads(call, [query, key])
    *_, rows, row_counts, selected = _operators.attention(call.text, q, k, None, own_terms)
    mass = _operators.attention_key_mass(call.text, q, k, own_terms, rows, row_counts, selected)
    return _to_positions(call, [mass.unsqueeze(-1)])[0].squeeze(-1)


# ---- exchanges, one for all tensors ----


def _to_heads(call, tensors: list[Tensor]) -> list[Tensor]:
    """``[batch, heads, n of this rank, width]`` each to ``[batch, heads of this rank, n, width]``."""
    pieces = [[x.chunk(call.size, 1)[rank] for x in tensors] for rank in range(call.size)]
    shapes = [
        [torch.Size((*x.shape[:2], length, x.shape[3])) for x in pieces[call.rank]] for length in call.layout.lengths
    ]
    received = _packed_exchange(call, pieces, shapes)
    return [call.layout.join([of_rank[i] for of_rank in received], 2) for i in range(len(tensors))]


def _to_positions(call, tensors: list[Tensor]) -> list[Tensor]:
    """The inverse of ``_to_heads``."""
    if not tensors:
        return []
    pieces = [[call.layout.shard(x, rank, 2) for x in tensors] for rank in range(call.size)]
    shapes = [[x.shape for x in pieces[call.rank]]] * call.size
    received = _packed_exchange(call, pieces, shapes)
    return [torch.cat([of_rank[i] for of_rank in received], 1) for i in range(len(tensors))]


def _packed_exchange(call, pieces: list[list[Tensor]], shapes: list[list[torch.Size]]) -> list[list[Tensor]]:
    if not pieces[0]:
        return [[] for _ in shapes]
    kind = pieces[0][0].dtype
    for of_rank in pieces:
        for x in of_rank:
            kind = torch.promote_types(kind, x.dtype)
    flat = [torch.cat([x.reshape(-1).to(kind) for x in of_rank]) for of_rank in pieces]
    sizes = [[shape.numel() for shape in of_rank] for of_rank in shapes]
    received = _exchange.all_to_all(flat, [torch.Size((sum(of_rank),)) for of_rank in sizes], call.group)
    return [
        [x.view(shape).to(like.dtype) for x, shape, like in zip(buffer.split(counts), of_rank, pieces[0])]
        for buffer, counts, of_rank in zip(received, sizes, shapes)
    ]


def _statistics_to_positions(call, stack: Tensor, query: Tensor) -> Tensor:
    if len(stack) == 0:
        return stack.new_empty(0, *query.shape[:3])
    return _as_statistics(_to_positions(call, [_as_heads(stack)])[0], len(stack))


def _as_heads(statistics: Tensor) -> Tensor:
    """``[count, batch, heads, n]`` in the form of heads, ``[count * batch, heads, n, 1]``."""
    return statistics.flatten(0, 1).unsqueeze(-1)


def _as_statistics(of_heads: Tensor, count: int) -> Tensor:
    return of_heads.squeeze(-1).unflatten(0, (count, -1))


# ---- terms per head ----


def _check(call, query, key, terms) -> None:
    for name, heads in (("query", query.shape[1]), ("key", key.shape[1])):
        if heads % call.size:
            raise ValueError(
                f"{name} has {heads} heads; expected a multiple of {call.size}, the ranks, for method='ulysses' "
                "(others: 'allgather', 'ring')"
            )
    for part in ("scale", "map"):
        for option, number in call.options.get(part, {}).items():
            if isinstance(number, list):
                raise ValueError(f"{option} of the {part} is a list; expected a tensor for method='ulysses'")
    # Noise depends on the index of the head, which is a different one here.
    if call.options.get("dropout"):
        raise ValueError("dropout_p is given; expected 0 for method='ulysses' (others: 'allgather', 'ring')")
    if call.options.get("map", {}).get("name") == "gumbel":
        raise ValueError("map is 'gumbel'; expected another for method='ulysses' (others: 'allgather', 'ring')")
    for name, term in zip(call.names, terms):
        per_query = name in ("mask", "bias") and term.dim() == 4 and term.shape[2] != 1
        if per_query or name == "layout" or (name == "scale" and term.dim() > 1):
            raise ValueError(
                f"{name} has a number for each query; expected method='allgather' or 'ring', where a rank has those of "
                "its own queries"
            )


def _head_axis(name: str, term: Tensor, heads: int):
    """The axis of a term that has an entry for each head; None: it is the same for all."""
    axis = {"sink": 0, "scale": 0, "map": 0, "mask": 1, "bias": 1 if term.dim() == 4 else 0}.get(name)
    if axis is None or term.dim() <= axis or heads == 1 or term.shape[axis] != heads:
        return None
    return axis


def _of_own_heads(call, terms, heads: int) -> list[Tensor]:
    axes = [_head_axis(name, term, heads) for name, term in zip(call.names, terms)]
    return [term if axis is None else term.chunk(call.size, axis)[call.rank] for axis, term in zip(axes, terms)]


def _over_all_heads(call, terms, of_own: list[Tensor], heads: int, places) -> list[Tensor]:
    """Gradients of whole terms, 0 except for this rank's heads."""
    found = []
    for place, own in zip(places, of_own):
        term = terms[place]
        axis = _head_axis(call.names[place], term, heads)
        if axis is None or own.numel() == 0:
            found.append(own)
            continue
        whole = torch.zeros_like(term)
        whole.chunk(call.size, axis)[call.rank].copy_(own)
        found.append(whole)
    return found
