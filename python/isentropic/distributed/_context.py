"""A context in which one sequence is sharded over several ranks."""

from __future__ import annotations

import contextlib
from typing import Iterator, Optional, Sequence

import torch
import torch.nn.modules.module as module_hooks
from torch import Tensor, nn

from .. import _unseen
from . import _plan
from ._plan import ContextParallel


@contextlib.contextmanager
def context_parallel(
    mesh,
    *,
    buffers: Optional[Sequence[Tensor]] = None,
    buffer_seq_dims: Optional[Sequence[int]] = None,
    no_restore_buffers: Optional[set[Tensor]] = None,
    method: str = "allgather",
    balance: str = "head_tail",
    documents: Optional[Sequence[int]] = None,
) -> Iterator[ContextParallel]:
    """Context manager in which all attention is over the whole sequence, of which this rank holds a shard.

        with isentropic.distributed.context_parallel(mesh, buffers=[ids, labels, positions], buffer_seq_dims=[1, 1, 1]):
            model(ids, position_ids=positions, labels=labels, shift_labels=labels).loss.backward()

    Takes the arguments of ``torch.distributed.tensor.experimental.context_parallel``, and ``method``, ``balance`` and
    ``documents`` of :class:`ContextParallel`. It covers calls of :func:`isentropic.attention`, of Hugging Face models
    with ``attn_implementation="isentropic"`` and of PyTorch's ``scaled_dot_product_attention``; a module that by its
    name computes attention, but makes no such call, raises an error.

    Args:
        mesh: a process group, or a one-dimensional device mesh.
        buffers: tensors with the whole sequence; inside they hold this rank's shard (they are changed in place), and
            afterwards the whole again.
        buffer_seq_dims: the sequence dimension of each buffer.
        no_restore_buffers: buffers that keep the shard.
    """
    from ..sdpa import replace_sdpa

    plan = ContextParallel(mesh, method=method, balance=balance, documents=documents)
    if plan.method == "decode":
        raise ValueError("method is 'decode'; expected 'allgather', 'ring' or 'ulysses' (decode belongs to a call)")
    buffers, dims = list(buffers or ()), list(buffer_seq_dims or ())
    if len(buffers) != len(dims):
        raise ValueError(f"buffer_seq_dims has {len(dims)} entries; expected {len(buffers)}, one for each buffer")
    kept = {id(buffer) for buffer in no_restore_buffers or ()}
    shards = [_shard(plan, buffer, dim) for buffer, dim in zip(buffers, dims)]
    whole = [None if id(buffer) in kept else buffer.clone() for buffer in buffers]
    with torch.no_grad():
        for buffer, shard in zip(buffers, shards):
            buffer.resize_(shard.shape).copy_(shard)
    _plan.enter(plan)
    try:
        with replace_sdpa(), _unseen_attention_refused(plan):
            yield plan
    finally:
        _plan.leave()
        with torch.no_grad():
            for buffer, before in zip(buffers, whole):
                if before is not None:
                    buffer.resize_(before.shape).copy_(before)


def _shard(plan: ContextParallel, buffer: Tensor, dim: int) -> Tensor:
    if buffer.requires_grad:
        raise ValueError("a buffer requires a gradient; expected inputs, labels and positions")
    return plan.layout_of_whole(buffer.shape[dim]).shard(buffer, plan.rank, dim).clone()


@contextlib.contextmanager
def _unseen_attention_refused(plan: ContextParallel) -> Iterator[None]:
    """Attention that bypasses this library would see a rank's shard alone: an error, rather than different training."""
    calls_before: list[int] = []

    def enter(module: nn.Module, *_) -> None:
        if _unseen.is_attention(module):
            calls_before.append(plan.calls)

    def leave(module: nn.Module, *_) -> None:
        if _unseen.is_attention(module) and calls_before.pop() == plan.calls:
            raise RuntimeError(
                f"{type(module).__name__} made no call of isentropic.attention inside context_parallel; its attention "
                'would stay within a shard: expected attn_implementation="isentropic", or PyTorch\'s '
                "scaled_dot_product_attention"
            )

    handles = [module_hooks.register_module_forward_pre_hook(enter), module_hooks.register_module_forward_hook(leave)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
