"""Cross-entropy with soft targets: values and gradients against PyTorch's with explicit logits."""

import pytest
import torch
import torch.nn.functional as F
from test_losses import expect_same, rows

import isentropic
from isentropic import soft_cross_entropy


def student():
    return rows(6, 5), rows(11, 5, 1), rows(11, 1, 2)[:, 0].detach().requires_grad_()


def log_p(x, w, b, temperature=1.0):
    return ((3 * (x @ w.T / 3).tanh() + b) / temperature).log_softmax(-1)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("few", [False, True], ids=["all classes", "top 3"])
@pytest.mark.parametrize("logits", [False, True], ids=["probabilities", "logits"])
def test_values_and_gradients(reduction, few, logits):
    x, w, b = student()
    teacher, ids = (2 * rows(6, 11, 3, grad=False)).topk(3) if few else (2 * rows(6, 11, 3, grad=False), None)
    t = (teacher / 2).softmax(-1)
    ours = soft_cross_entropy(
        x, w, teacher if logits else t, ids=ids, logits=logits, temperature=2.0, bias=b, soft_cap=3.0,
        reduction=reduction,
    )  # fmt: skip
    log_probabilities = log_p(x, w, b, 2.0)
    losses = -(t * (log_probabilities.gather(1, ids) if few else log_probabilities)).sum(-1)
    expect_same(ours.loss, losses if reduction == "none" else getattr(losses, reduction)(), (x, w, b))


def test_one_hot_targets_are_plain_cross_entropy():
    x, w, b = student()
    y = torch.tensor([0, 10, 3, 4, 3, 7])
    plain = isentropic.linear_cross_entropy(x, w, y, bias=b)
    for found in (
        soft_cross_entropy(x, w, F.one_hot(y, 11).double(), bias=b),
        soft_cross_entropy(x, w, torch.ones(6, 1).double(), ids=y[:, None], bias=b),
    ):
        expect_same(found.loss, plain.loss, (x, w, b))
        torch.testing.assert_close(found.bound, plain.bound)
        torch.testing.assert_close(found.ceiling, plain.ceiling)
        torch.testing.assert_close(found.entropy, plain.entropy)


def test_rows_of_weight_zero_count_for_nothing_and_weights_learn():
    x, w, b = student()
    t = rows(6, 11, 3, grad=False).softmax(-1)
    weight = torch.tensor([1.0, 0, 2, 1, 0, 0.5], dtype=torch.float64)
    theirs = -((t * log_p(x, w, b)).sum(-1) * weight).sum() / 4.5
    spoilt = torch.where(weight[:, None] == 0, torch.nan, x)
    spoilt_targets = torch.where(weight[:, None] == 0, torch.nan, t)
    for learnt in (False, True):
        ours = soft_cross_entropy(
            spoilt, w, spoilt_targets, bias=b, soft_cap=3.0, example_weight=weight.clone().requires_grad_(learnt)
        )
        expect_same(ours.loss, theirs, (w, b))


def test_a_class_without_target_may_be_out_of_reach():
    x, w, _ = student()
    t = rows(6, 11, 3, grad=False).softmax(-1)
    t[:, 4] = 0
    hidden = torch.zeros(11, dtype=torch.float64).index_fill(0, torch.tensor([4]), -torch.inf)
    found = soft_cross_entropy(x, w, t, bias=hidden)
    others = [c for c in range(11) if c != 4]
    expect_same(found.loss, -(t[:, others] * (x @ w[others].T).log_softmax(-1)).sum(-1).mean(), (x, w))


def test_rows_in_several_blocks():
    """More numbers than fit in a block: 3000 rows of 2000 classes are 6e6."""
    x, w = rows(3000, 4), rows(2000, 4, 1)
    t = rows(3000, 2000, 2, grad=False).softmax(-1)
    expect_same(soft_cross_entropy(x, w, t).loss, -(t * (x @ w.T).log_softmax(-1)).sum(-1).mean(), (x, w))


def test_no_matrix_is_formed_beside_the_targets():
    x, w = rows(3000, 4).float().detach().requires_grad_(), rows(2000, 4, 1).float().detach().requires_grad_()
    t = rows(3000, 2000, 2, grad=False).float().softmax(-1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        soft_cross_entropy(x, w, t).loss.backward()
    events = profile.events()
    assert max(event.self_cpu_memory_usage for event in events) < t.nbytes
    assert [event.name for event in events].count("aten::amin") == 1  # for negative targets, before the forward pass


def test_the_bound_stays_below_what_the_targets_can_tell():
    x, w, _ = student()
    t = (3 * rows(6, 11, 3, grad=False)).softmax(-1)
    found = soft_cross_entropy(x, w, t)
    assert found.bound <= found.ceiling
    perfect = soft_cross_entropy(t.log(), torch.eye(11).double(), t)
    torch.testing.assert_close(perfect.bound, perfect.ceiling)
    assert perfect.ceiling > 0.5


def test_the_bound_is_of_distributions_whatever_mass_the_targets_have():
    """An uninformed classifier carries no information, and scaling all masses equally changes nothing."""
    x, _, _ = student()
    t, ids = rows(6, 11, 3, grad=False).softmax(-1).topk(3)
    blind = torch.zeros(11, 5, dtype=torch.float64)
    for mass in (1.0, 0.1):
        assert soft_cross_entropy(x, blind, mass * t, ids=ids).bound <= 1e-12
    x, w, b = student()
    whole, half = (soft_cross_entropy(x, w, mass * t / t.sum(-1, keepdim=True), ids=ids, bias=b) for mass in (1.0, 0.5))
    torch.testing.assert_close(half.loss, whole.loss / 2)
    torch.testing.assert_close(half.bound, whole.bound)
    torch.testing.assert_close(half.ceiling, whole.ceiling)
    assert whole.bound < whole.ceiling


def test_the_operators_pass_opcheck():
    x, w, b = (t.float().detach().requires_grad_() for t in student())
    t, ids = rows(6, 11, 3, grad=False).float().softmax(-1).topk(3)
    counted = torch.ones(6, dtype=torch.bool)
    torch.library.opcheck(torch.ops.isentropic.target_score, (x, w, t, ids, b, counted, 3.0, 2.0, False))
    noise = (x.detach().requires_grad_(), w.detach().requires_grad_(), b.detach(), torch.zeros(6), 0.5, 0)
    torch.library.opcheck(torch.ops.isentropic.softplus_sum, noise)


def test_autocast_takes_the_type_of_the_region():
    x, w, b = (t.float().detach().requires_grad_() for t in student())
    t = rows(6, 11, 3, grad=False).float().softmax(-1)
    with torch.autocast("cpu", torch.bfloat16):
        found = soft_cross_entropy(x, w, t, bias=b)
    expected = -(t * (x.bfloat16().float() @ w.bfloat16().float().T + b).log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(found.loss, expected)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(target=torch.rand(6, 10)), "target has shape"),
        (dict(target=torch.rand(5, 11)), "target has shape"),
        (dict(ids=torch.zeros(6, 3).long()), "ids has shape"),
        (dict(ids=torch.full((6, 11), 11)), "ids has 11"),
        (dict(target=torch.full((6, 11), -0.1)), "target has a negative number"),
        (dict(temperature=0.0), "temperature is 0"),
        (dict(target=torch.rand(6, 11, requires_grad=True)), "target requires a gradient"),
        (dict(reduction="all"), "reduction is 'all'"),
        (dict(example_weight=torch.ones(5)), "example_weight has shape"),
    ],
)
def test_mistakes(change, message):
    arguments = dict(input=torch.rand(6, 5), weight=torch.rand(11, 5), target=torch.rand(6, 11)) | change
    with pytest.raises(ValueError, match=message):
        soft_cross_entropy(**arguments)
