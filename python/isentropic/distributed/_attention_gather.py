"""All keys and values gathered on every rank; gradients are sent back and summed there."""

from __future__ import annotations

import torch
from torch import Tensor

from . import _exchange


def forward(call, query, key, value, terms):
    keys, values = _collected(call, key, value)
    found = torch.ops.isentropic.attention(_text(call), query, keys, values, terms)
    output, _, _, _, rows, row_counts, selected = found
    # The backward pass gathers again: keys and values kept here would be all keys of all layers.
    return found[:6], (query, key, value, output, rows, row_counts, selected)


def backward(call, kept, terms, output_gradient, statistics_gradient, places):
    query, key, value, output, rows, row_counts, selected = kept
    keys, values = _collected(call, key, value)
    own, of_keys, of_values, *shares = torch.ops.isentropic.attention_backward(
        _text(call), query, keys, values, terms, output, rows, row_counts, selected, output_gradient,
        statistics_gradient, call.needs_bias,
    )  # fmt: skip
    packed = of_keys if value is None else torch.cat([of_keys, of_values], -1)
    home = _added_up_at_home(call, packed, dim=2)
    of_key, of_value = home.split([key.shape[-1], home.shape[-1] - key.shape[-1]], -1)
    of_value = None if value is None else of_value.to(value.dtype)
    return own.to(query.dtype), of_key.to(key.dtype), of_value, call.term_gradients(terms, *shares, places)


def key_mass(call, query, key, terms) -> Tensor:
    keys, _ = _collected(call, key, None)
    *_, rows, row_counts, selected = torch.ops.isentropic.attention(_text(call), query, keys, None, terms)
    mass = torch.ops.isentropic.attention_key_mass(_text(call), query, keys, terms, rows, row_counts, selected)
    return _added_up_at_home(call, mass, dim=2)


def _text(call) -> str:
    return call.shard_text(call.own_runs, None)


def _collected(call, key, value):
    """Keys and values of the whole sequence, in order of position, by one collective for both."""
    packed = key if value is None else torch.cat([key, value], -1)
    shards = _exchange.all_gather(packed, call.layout.lengths, 2, call.group)
    whole = call.layout.join(shards, 2)
    if value is None:
        return whole, None
    keys, values = whole.split([key.shape[-1], value.shape[-1]], -1)
    return keys.contiguous(), values.contiguous()


def _added_up_at_home(call, whole: Tensor, dim: int) -> Tensor:
    """The sum of what all ranks found for the positions of this one, in the type of sums."""
    wide = whole.to(torch.promote_types(whole.dtype, torch.float32))
    pieces = [call.layout.shard(wide, rank, dim) for rank in range(call.size)]
    return _exchange.sum_in_order(_exchange.all_to_all(pieces, [pieces[call.rank].shape] * call.size, call.group))
