"""The operator for a weighted sum of losses, against its rows: values, gradients formed early or late, and errors."""

import pytest
import torch

import isentropic

FACTORS = (0.9, 0.2, 0.05)


def inputs(dtype=torch.float64):
    generator = torch.Generator().manual_seed(5)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([3, 0, -1, 7, 2, 2])
    weights = torch.tensor([0.5, 0.0, 1.0, 2.0, 0.25, 1.5], dtype=torch.float64)
    return draw(6, 4), draw(8, 4), target, scale, draw(8), weights


def total_of(query, key, target, scale, bias, weights, form_gradients, soft_cap=1.7, exclude_self=False):
    return torch.ops.isentropic.softmax_loss_total(
        query, key, target, scale, bias, weights, soft_cap, exclude_self, *FACTORS, form_gradients
    )


def expected_total(query, key, target, scale, bias, weights):
    loss, log_partition, entropy, _ = torch.ops.isentropic.softmax_loss(query, key, target, scale, bias, 1.7, False)
    a, b, c = FACTORS
    return (weights * (a * loss + b * log_partition + c * log_partition.square())).sum(), loss, log_partition, entropy


@pytest.mark.parametrize("form_gradients", [False, True])
@pytest.mark.parametrize("used", [(0,), (0, 3), (0, 1, 2), (1, 3)], ids=["total", "entropy too", "rows too", "rows"])
def test_a_total_is_the_sum_of_its_rows(form_gradients, used):
    query, key, target, scale, bias, weights = inputs()
    leaves = (query, key, scale, bias)
    found = total_of(query, key, target, scale, bias, weights, form_gradients)
    wanted = expected_total(query, key, target, scale, bias, weights)
    assert found[5].shape == (query.shape if form_gradients else (0,))
    sums = []
    for outputs in (found, wanted):
        sums.append(sum((x * torch.linspace(-1, 2, x.numel()).reshape(x.shape)).sum() * 3 for x in (outputs[i] for i in used)))  # fmt: skip
    torch.testing.assert_close(sums[0], sums[1])
    for ours, theirs in zip(*(torch.autograd.grad(x, leaves) for x in sums)):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-10)


def test_formed_gradients_serve_twice():
    query, key, *rest = inputs()
    total = total_of(query, key, *rest, True)[0]
    first, second = (torch.autograd.grad(total, (query, key), upstream, retain_graph=True) for upstream in (torch.tensor(1.0).double(), torch.tensor(-2.0).double()))  # fmt: skip
    for one, other in zip(first, second):
        torch.testing.assert_close(other, -2 * one)


@pytest.mark.parametrize("form_gradients", [False, True])
def test_a_row_of_weight_zero_may_hold_anything(form_gradients):
    query, key, *rest = inputs()
    poisoned = query.detach().clone()
    poisoned[1] = float("nan")
    poisoned.requires_grad_()
    clean, dirty = (total_of(x, key, *rest, form_gradients)[0] for x in (query, poisoned))
    torch.testing.assert_close(dirty, clean)
    wanted, found = torch.autograd.grad(clean, (query, key)), torch.autograd.grad(dirty, (poisoned, key))
    torch.testing.assert_close(found[1], wanted[1])
    assert (found[0][1] == 0).all() and found[0].isfinite().all()


def test_an_upstream_gradient_is_not_rounded_to_the_inputs_type():
    """A third in bfloat16 is 0.1% off, which would affect every entry of the gradient equally."""
    query, key, target, scale, bias, weights = inputs(torch.bfloat16)
    total = total_of(query, key, target, scale, bias, weights.float(), True)
    wanted = (total[6].double() / 3).bfloat16()
    (gradient,) = torch.autograd.grad(total[0] / 3, key)
    assert gradient.data_ptr() == total[6].data_ptr()  # scaled in place
    assert gradient.dtype == torch.bfloat16
    assert ((gradient.double() - wanted.double()).abs() <= 2**-8 * wanted.double().abs()).all()
    assert (gradient == wanted).double().mean() > 0.9


def test_no_second_derivative():
    query, key, *rest = inputs()
    total = total_of(query, key, *rest, True)[0]
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(total, query, create_graph=True)


@pytest.mark.parametrize("form_gradients", [False, True])
def test_opcheck_of_a_total(form_gradients):
    query, key, target, scale, bias, weights = inputs()
    arguments = (query, key, target, scale, bias, weights, 3.0, False, *FACTORS, form_gradients)
    torch.library.opcheck(torch.ops.isentropic.softmax_loss_total, arguments)


def test_a_learnt_weight_of_examples_gets_a_gradient():
    query, key, target, _, _, weights = inputs()
    weights = weights.clamp(min=0.1).requires_grad_()  # a weight of 0 omits its row for good
    target = target.clamp(min=0)
    found = isentropic.linear_cross_entropy(query, key, target, example_weight=weights).loss
    each = torch.nn.functional.cross_entropy(query @ key.T, target, reduction="none")
    wanted = (each * weights).sum() / weights.sum()
    torch.testing.assert_close(found, wanted)
    for ours, theirs in zip(*(torch.autograd.grad(x, (query, weights)) for x in (found, wanted))):
        torch.testing.assert_close(ours, theirs)
