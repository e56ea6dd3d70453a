"""What the ranks of a group must agree on: checked before they communicate, with the same error on all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.distributed as dist

_debug = os.environ.get("ISENTROPIC_DISTRIBUTED_DEBUG", "0") not in ("", "0")


def set_debug(on: bool) -> None:
    """Sets whether calls over ranks first compare their arguments, by one small collective each.

    Otherwise ranks that disagree (about a type, an option, what requires a gradient) wait for each other until the
    group's timeout. The environment variable ISENTROPIC_DISTRIBUTED_DEBUG=1 turns it on from the start. All ranks must
    use the same setting.
    """
    global _debug
    _debug = bool(on)


def agree(group: dist.ProcessGroup, what: str, description: Callable[[], Mapping[str, object]]) -> None:
    """In debug mode: ValueError, the same on every rank, unless all of them describe the call ``what`` identically.

    ``description`` is called only then: it may read numbers from a device.
    """
    if not _debug:
        return
    told: list = [None] * dist.get_world_size(group)
    dist.all_gather_object(told, {"the call": what, **description()}, group=group)
    for name in dict.fromkeys(name for one in told for name in one):
        require_same(f"{what}: {name}", [one.get(name) for one in told])


def require_same(name: str, values: Sequence[object]) -> None:
    """ValueError unless the values, one from each rank, are equal."""
    for rank, value in enumerate(values):
        if value != values[0]:
            raise ValueError(
                f"{name} is {values[0]} on rank 0 and {value} on rank {rank} of the group;"
                " expected the same on all ranks"
            )


def rank_and_size(group: dist.ProcessGroup) -> tuple[int, int]:
    """The rank of this process in the group, and the size of the group."""
    if not isinstance(group, dist.ProcessGroup):
        shown = repr(group) if isinstance(group, (int, str)) else f"a {type(group).__name__}"
        raise TypeError(f"group is {shown}; expected a process group that this rank is in, as dist.new_group returns")
    return dist.get_rank(group), dist.get_world_size(group)


def gather_numbers(group: dist.ProcessGroup, numbers: Sequence[int], device: torch.device) -> list[list[int]]:
    """The numbers of all ranks, in rank order."""
    own = torch.tensor(numbers, dtype=torch.int64, device=device)
    found = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(found, own, group=group)
    return torch.stack(found).tolist()
