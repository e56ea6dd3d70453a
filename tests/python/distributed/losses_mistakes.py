"""Ranks that disagree, and what losses over ranks reject."""

import torch
import torch.distributed as dist
from distributed.loss_cases import expect, expect_raises, numbers

import isentropic


def check_ranks_that_disagree():
    """Every rank reports the same error, and none hangs."""
    rank = dist.get_rank()
    x = numbers(3, 4 + (rank == 1))
    expect_raises(
        ValueError,
        "the width of query and key is 4 on rank 0 and 5 on rank 1 of the group; expected the same on all ranks",
        lambda: isentropic.info_nce(x, x, group=dist.group.WORLD),
    )
    same = numbers(3, 4)
    isentropic.distributed.set_debug(True)
    try:
        for name, values in (("reduction", ("mean", "sum")), ("symmetric", (False, True))):
            expect_raises(
                ValueError,
                f"info_nce: {name} is {values[0]} on rank 0 and {values[1]} on rank 1 of the group",
                lambda: isentropic.info_nce(same, same, group=dist.group.WORLD, **{name: values[rank == 1]}),
            )
        target = torch.tensor([0, 1, rank])
        expect_raises(
            ValueError,
            "linear_cross_entropy: the digest of target is",
            lambda: isentropic.linear_cross_entropy(same, same, target, group=dist.group.WORLD),
        )
        gradient = same.clone().requires_grad_(rank == 0)
        expect_raises(
            ValueError,
            "info_nce: whether key requires a gradient is True on rank 0 and False on rank 1",
            lambda: isentropic.info_nce(same, gradient, group=dist.group.WORLD),
        )
        isentropic.info_nce(same, same, group=dist.group.WORLD)  # ranks that agree can continue
    finally:
        isentropic.distributed.set_debug(False)
    rows = numbers(3 + rank, 4)
    expect_raises(
        ValueError,
        "the number of rows of input is 3 on rank 0 and 4 on rank 1",
        lambda: isentropic.linear_cross_entropy(rows, same, torch.zeros(3 + rank).long(), group=dist.group.WORLD),
    )


def check_what_is_refused():
    x, group = numbers(3, 4), dist.group.WORLD
    for name, value in (("negatives", numbers(2, 4)), ("labels", torch.arange(3))):
        expect_raises(
            ValueError, f"{name} is given with group", lambda: isentropic.info_nce(x, x, group=group, **{name: value})
        )
    expect_raises(
        TypeError, "group is 'world'; expected a process group", lambda: isentropic.info_nce(x, x, group="world")
    )
    one = dist.new_group([0])
    if dist.get_rank() > 0:
        expect_raises(TypeError, "that this rank is in", lambda: isentropic.info_nce(x, x, group=one))
    else:
        expect(isentropic.info_nce(x, x, group=one), isentropic.info_nce(x, x))
    classes = 3 * dist.get_world_size()
    expect_raises(
        ValueError,
        f"target is {classes}; expected [0, {classes})",
        lambda: isentropic.linear_cross_entropy(x, x, torch.tensor([0, classes, 1]), group=group),
    )


def check_no_second_derivative():
    x, target, group = numbers(3, 4).requires_grad_(), torch.arange(3), dist.group.WORLD
    for loss in (
        isentropic.info_nce(x, x, group=group).loss,
        isentropic.linear_cross_entropy(x, x, target, group=group).loss,
    ):
        expect_raises(
            NotImplementedError, "no second derivative", lambda: torch.autograd.grad(loss, x, create_graph=True)
        )
