"""Cross-entropy with the vocabulary sliced over ranks, against one process that has all of it."""

import torch
import torch.distributed as dist
from distributed.loss_cases import D, Watch, expect, leaf, numbers, of_rank

import isentropic

SLICES = {2: [7, 4], 4: [5, 1, 0, 5]}  # of 11 classes
TARGET = torch.tensor([[0, 10, 4, 5], [6, 7, 3, 10]])


def compare(input=None, with_bias=False, weighted=False, target=TARGET, **options):
    """Every output, and gradients of a loss that uses all differentiable outputs."""
    slices = SLICES[dist.get_world_size()]
    whole = {"input": leaf(numbers(2, 4, D, seed=1) if input is None else input)}
    whole["weight"] = leaf(numbers(11, D, seed=2) / 3)
    if with_bias:
        whole["bias"] = leaf(numbers(11, seed=3))
    if weighted:
        whole["example_weight"] = leaf(numbers(2, 4, seed=4).abs())

    def part(name, x):
        return of_rank(x, slices) if name in ("weight", "bias") else x

    mine = {name: leaf(part(name, x)) for name, x in whole.items()}
    ours = isentropic.linear_cross_entropy(**mine, target=target, group=dist.group.WORLD, **options)
    theirs = isentropic.linear_cross_entropy(**whole, target=target, **options)
    expect(ours, theirs)
    for found in (ours, theirs):
        of_loss, of_entropy = numbers(*found.loss.shape, seed=5), numbers(2, 4, seed=6)
        entropy = torch.where(target == -100, 0.0, found.entropy)
        ((found.loss * of_loss).sum() + (entropy * of_entropy).sum()).backward()
    for name, x in whole.items():
        expect(mine[name].grad, part(name, x.grad))


def check_cross_entropy_equals_one_process():
    for reduction in ("mean", "sum", "none"):
        compare(reduction=reduction)
    compare(with_bias=True, source_entropy=1.0)


def check_options_of_cross_entropy():
    compare(with_bias=True, soft_cap=1.5)
    compare(with_bias=True, z_loss=0.1)
    compare(with_bias=True, label_smoothing=0.2)
    compare(with_bias=True, label_smoothing=0.2, z_loss=0.1, soft_cap=1.5, reduction="none")
    compare(weighted=True, label_smoothing=0.2)


def check_rows_that_do_not_count():
    """They may contain anything."""
    ignored = TARGET.clone()
    ignored[0, 1] = ignored[1, 2] = -100
    input = numbers(2, 4, D, seed=1)
    input[0, 1] = torch.nan
    input[1, 2] = torch.inf
    compare(input, target=ignored, with_bias=True, label_smoothing=0.2, z_loss=0.1)
    compare(target=torch.full_like(TARGET, -100))


def check_a_nan_on_one_rank():
    """It must reach all ranks: a maximum over ranks may drop it."""
    slices = SLICES[dist.get_world_size()]
    for place in (0, 10):
        weight = numbers(11, D, seed=2)
        weight[place] = torch.nan
        options = dict(input=numbers(2, 4, D, seed=1), target=TARGET, reduction="none")
        ours = isentropic.linear_cross_entropy(weight=of_rank(weight, slices), group=dist.group.WORLD, **options)
        assert ours.loss.isnan().all() and ours.entropy.isnan().all()


def losses_with_bias(bias, target):
    """The losses with slices and with the whole vocabulary."""
    slices, input, weight = SLICES[dist.get_world_size()], numbers(2, 4, D, seed=1), numbers(11, D, seed=2)
    options = dict(input=input, target=torch.full_like(TARGET, target), reduction="none")
    ours = isentropic.linear_cross_entropy(
        weight=of_rank(weight, slices), bias=of_rank(bias, slices), group=dist.group.WORLD, **options
    )
    theirs = isentropic.linear_cross_entropy(weight=weight, bias=bias, **options)
    torch.testing.assert_close(ours, theirs, atol=0.0, rtol=1e-12)
    return theirs.loss


def check_a_slice_that_a_bias_hides():
    bias = torch.zeros(11, dtype=torch.float64)
    bias[: SLICES[dist.get_world_size()][0]] = -torch.inf
    losses_with_bias(bias, 10)


def check_slices_far_apart():
    """No digit is lost if the target's slice has nearly all of the mass, or less than a double can represent."""
    bias = torch.zeros(11, dtype=torch.float64)
    bias[0] = 150.0
    assert 0 < float(losses_with_bias(bias, 0).max()) < 1e-50
    bias[0] = 6000.0
    assert 5900 < float(losses_with_bias(bias, 10).min())


def check_the_same_bits_on_all_ranks():
    slices = SLICES[dist.get_world_size()]
    input, weight = leaf(numbers(2, 4, D, seed=1), torch.float32), numbers(11, D, seed=2).float()
    found = isentropic.linear_cross_entropy(input, of_rank(weight, slices), TARGET, group=dist.group.WORLD)
    (gradient,) = torch.autograd.grad(found.loss, input)
    for mine in (found.loss.detach(), found.entropy.detach(), gradient):
        of_all = [torch.empty_like(mine) for _ in slices]
        dist.all_gather(of_all, mine)
        assert all(torch.equal(x, of_all[0]) for x in of_all)


def check_what_cross_entropy_sends():
    """docs/scale.md has the numbers: rows, whatever the vocabulary."""
    slices = SLICES[dist.get_world_size()]
    weight = of_rank(numbers(11, D, seed=2), slices).bfloat16()
    for smoothing in (0.0, 0.1):
        input = leaf(numbers(2, 4, D, seed=1), torch.bfloat16)
        with Watch() as watch:
            loss = isentropic.linear_cross_entropy(
                input, weight, TARGET, label_smoothing=smoothing, group=dist.group.WORLD
            ).loss
        smoothed = [("allreduce_", 8 * 4)] if smoothing else []
        assert watch.collectives == [("allgather_", 24), *smoothed, ("allreduce_", 8 * 8), ("allreduce_", 8 * 48)]
        with Watch() as watch:
            loss.backward()
        assert watch.collectives == [("allreduce_", 8 * D * 4)]
