"""Encouraged entropy grows, information bounds are correct, controllers reach their targets."""

import copy
import math

import pytest
import torch
from isentropic import Aux, Scale, attention
from isentropic.nn import EntropyInvariantAttention, MultiHeadAttention
from isentropic.regularisers import (
    EntropyRegulariser,
    MutualInformationRegulariser,
    TargetEntropyController,
    gaussian_information_upper_bound,
    information_bottleneck_loss,
    mean_over_rows,
)

D_MODEL, HEADS = 32, 4


def aux_of(n=8, **options):
    query, key = 2 * torch.randn(2, 2, n, 4, requires_grad=True), torch.randn(2, 2, n, 4)
    return attention(query, key, key, return_aux=True, **options)[1]


# ---- Entropy ----


def test_rows_without_a_choice_do_not_count():
    aux = aux_of(causal="start")
    expected = aux.entropy[:, :, 1:].mean((0, 2))
    torch.testing.assert_close(mean_over_rows(aux, aux.entropy), expected)


def test_no_row_counts_at_all():
    aux = aux_of(n=1)
    assert EntropyRegulariser(1.0)(aux) == 0


@pytest.mark.parametrize("direction, sign", [("encourage", -1), ("discourage", 1)])
@pytest.mark.parametrize("normalised", [True, False])
def test_entropy_regulariser(direction, sign, normalised):
    first, second = aux_of(), aux_of(causal="start")

    def mean(aux, rows):
        bits = aux.entropy / aux.visible.clamp(min=2).log() if normalised else aux.entropy
        return bits[:, :, rows].mean()

    regulariser = EntropyRegulariser(0.3, direction, normalised)
    torch.testing.assert_close(regulariser(first), sign * 0.3 * mean(first, slice(0, None)))
    both = (mean(first, slice(0, None)) + mean(second, slice(1, None))) / 2
    torch.testing.assert_close(regulariser([first, second]), sign * 0.3 * both)


@pytest.mark.parametrize("direction, sign", [("encourage", 1), ("discourage", -1)])
def test_a_gradient_step_moves_entropy_as_asked(direction, sign):
    module = EntropyInvariantAttention(D_MODEL, HEADS, kappa=4.0)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    x = torch.randn(2, 12, D_MODEL)
    _, aux = module(x)
    EntropyRegulariser(1.0, direction)(aux).backward()
    optimiser.step()
    change = module(x)[1].entropy.mean() - aux.entropy.mean()
    assert change * sign > 1e-3


def test_wrong_entropy_regularisers():
    with pytest.raises(ValueError, match="direction is 'up'; expected 'encourage' or 'discourage'"):
        EntropyRegulariser(1.0, "up")
    with pytest.raises(ValueError, match="weight is -1.0; expected a number >= 0"):
        EntropyRegulariser(-1.0)
    with pytest.raises(ValueError, match="aux is an empty list"):
        EntropyRegulariser(1.0)([])
    with pytest.raises(TypeError, match="aux has a str; expected the Aux"):
        EntropyRegulariser(1.0)(["layers.0"])
    with pytest.raises(AttributeError, match="'visible' was not asked for"):
        EntropyRegulariser(1.0)(aux_of(statistics="normalised_entropy"))


# ---- Information ----


def test_information_bottleneck():
    task, xz, zy = (torch.tensor(number, requires_grad=True) for number in (2.0, 3.0, 5.0))
    assert information_bottleneck_loss(task, xz, zy, 0.1, 0.2).item() == pytest.approx(2 + 0.3 - 1.0)
    assert MutualInformationRegulariser(0.1, 0.2)(task, xz, zy).item() == pytest.approx(2 + 0.3 - 1.0)
    with pytest.raises(ValueError, match="lambda_y is -1.0"):
        information_bottleneck_loss(task, xz, zy, 0.1, -1.0)
    with pytest.raises(ValueError, match="information_zy has no gradient; expected an estimate that depends on"):
        information_bottleneck_loss(task, xz, zy.detach(), 0.1, 0.2)
    assert information_bottleneck_loss(task, xz, zy.detach(), 0.1, 0.0).item() == pytest.approx(2 + 0.3)
    with torch.no_grad():
        assert information_bottleneck_loss(task, xz, zy, 0.1, 0.2).item() == pytest.approx(2 + 0.3 - 1.0)


def test_gaussian_bound_is_the_divergence():
    mean, log_variance = torch.randn(3, 4, 5).double(), torch.randn(3, 4, 5).double()
    codes = torch.distributions.Normal(mean, (log_variance / 2).exp())
    standard = torch.distributions.Normal(torch.zeros(()).double(), torch.ones(()).double())
    expected = torch.distributions.kl_divergence(codes, standard).sum(-1).mean()
    torch.testing.assert_close(gaussian_information_upper_bound(mean, log_variance), expected)
    with pytest.raises(ValueError, match=r"log_variance has shape \[5\]; expected \[3, 4, 5\]"):
        gaussian_information_upper_bound(mean, log_variance[0, 0])


def test_gaussian_bound_is_above_the_information():
    # X = +a or -a with equal probability, Z = X + noise of variance v: I(X;Z) by integration.
    a, variance = 0.8, 0.5
    z = torch.linspace(-12, 12, 20001).double()
    given = torch.distributions.Normal(torch.tensor([[a], [-a]]).double(), math.sqrt(variance))
    density = given.log_prob(z).exp()
    mixture = density.mean(0)
    information = torch.trapezoid((density * (density.log() - mixture.log())).nan_to_num(), z).mean()
    mean = torch.tensor([[a], [-a]]).double()
    bound = gaussian_information_upper_bound(mean, torch.full_like(mean, math.log(variance)))
    assert 0.3 < information < bound < information + 0.5


def test_gaussian_bound_keeps_small_differences():
    log_variance = torch.full((1, 1), 1e-4)
    bound = gaussian_information_upper_bound(torch.zeros(1, 1), log_variance)
    assert bound == pytest.approx(0.25e-8, rel=0.02)


# ---- Controller ----


def controlled(target, **options):
    attention = EntropyInvariantAttention(D_MODEL, HEADS, **options)
    x = 4 * torch.randn(1, 48, D_MODEL)
    return attention, x, TargetEntropyController(HEADS, target).attach(attention)


def steer(attention, x, controller, steps):
    for _ in range(steps):
        attention(x)
        controller.step()
    aux = attention.eval()(x)[1]
    attention.train()
    return mean_over_rows(aux, aux.entropy)


@pytest.mark.parametrize("options", [{}, {"causal": "start"}, {"scale": Scale.frozen(1, 64)}, {"scale": "sqrt_log_n"}])
def test_controller_arrives(options):
    target = [0.6, 1.2, 2.0, 2.5]
    entropy = steer(*controlled(target, **options), steps=50)
    torch.testing.assert_close(entropy, torch.tensor(target), rtol=0.02, atol=0)


@pytest.mark.parametrize("target, bound", [(50.0, 1e-2), (0.0, 1e2)])
def test_controller_stops_at_a_bound(target, bound):
    attention, x, controller = controlled(target)
    entropy = steer(attention, x, controller, steps=60)
    assert entropy.isfinite().all()
    torch.testing.assert_close(controller.kappa(), torch.full((HEADS,), bound))


def test_controller_comes_back_from_a_bound():
    attention, x, controller = controlled(50.0)
    steer(attention, x, controller, steps=40)
    controller.target.fill_(2.0)
    torch.testing.assert_close(steer(attention, x, controller, 80), torch.full((HEADS,), 2.0), rtol=0.02, atol=0)


def test_controller_averages_what_it_sees():
    attention, x, controller = controlled(2.0)
    first, second = (mean_over_rows(aux, aux.entropy) for aux in (attention(x)[1], attention(x / 2)[1]))
    torch.testing.assert_close(controller.entropy, 0.8 * first + 0.2 * second)
    attention.eval()(x / 4)
    assert controller.passes.tolist() == [2] * HEADS


def test_kappa_stays_within_a_pass():
    attention, x, controller = controlled(2.0)
    output = attention(x)[0]
    assert torch.equal(attention(x)[0], output) and controller.kappa().eq(1).all()
    controller.step()
    assert not torch.allclose(attention(x)[0], output)


@pytest.mark.parametrize("entropy, variance", [(math.nan, 1.0), (1.0, math.inf), (math.nan, math.nan)])
def test_controller_passes_over_numbers_that_are_not_finite(entropy, variance):
    rows = torch.ones(1, HEADS, 5)
    controller = TargetEntropyController(HEADS, 2.0)
    controller.observe(Aux({"entropy": rows, "score_variance": rows, "visible": rows * 9}))
    odd = {"entropy": rows * entropy, "score_variance": rows * variance, "visible": rows * 9}
    controller.observe(Aux(odd))
    assert controller.entropy.eq(1).all() and controller.variance.eq(1).all() and controller.passes.eq(1).all()


def test_heads_without_an_answer_stay():
    attention, x, controller = controlled(2.0)
    attention(x[:, :1])
    attention(torch.ones_like(x))
    controller.step()
    assert controller.kappa().eq(1).all() and controller.passes.eq(0).all()


def test_a_step_is_bounded():
    attention, x, controller = controlled(2.0)
    attention(x / 100)
    controller.step()
    torch.testing.assert_close(controller.log_kappa, torch.full((HEADS,), controller.largest_step))


def test_controller_is_state_of_the_attention():
    attention, x, controller = controlled(2.0)
    steer(attention, x, controller, 5)
    assert {"controller.log_kappa", "controller.entropy", "controller.passes"} <= set(attention.state_dict())
    other, _, _ = controlled(1.0)
    other.load_state_dict(attention.state_dict())
    assert torch.equal(other(x)[0], attention(x)[0])
    twin = copy.deepcopy(attention)
    twin.controller.log_kappa += 1
    assert not torch.equal(twin.controller.kappa(), controller.kappa())


def test_controller_stays_precise_in_half_precision():
    attention, x, controller = controlled(2.0)
    attention.bfloat16()
    assert controller.log_kappa.dtype == torch.float32 and controller.passes.dtype == torch.int64
    entropy = steer(attention, x.bfloat16(), controller, 60)
    torch.testing.assert_close(entropy, torch.full((HEADS,), 2.0), rtol=0.02, atol=0)


def test_controller_under_compile():
    torch._dynamo.reset()
    attention, x, controller = controlled(2.0)
    compiled = torch.compile(attention, backend="aot_eager", fullgraph=True)
    for _ in range(40):
        compiled(x)
        controller.step()
    torch.testing.assert_close(controller.entropy, torch.full((HEADS,), 2.0), rtol=0.02, atol=0)


def test_attach_says_what_it_expects():
    controller = TargetEntropyController(HEADS, 2.0)
    with pytest.raises(TypeError, match="attention is a MultiHeadAttention; expected an EntropyInvariantAttention"):
        controller.attach(MultiHeadAttention(D_MODEL, HEADS))
    with pytest.raises(ValueError, match="attention has 2 heads; expected 4"):
        controller.attach(EntropyInvariantAttention(D_MODEL, 2))
    with pytest.raises(ValueError, match="attention learns its kappa"):
        controller.attach(EntropyInvariantAttention(D_MODEL, HEADS, learn_kappa=True))
    for scale in ("inverse_sqrt_d", "hybrid", Scale.target_entropy(1.0)):
        with pytest.raises(ValueError, match="expected a law with one kappa"):
            controller.attach(EntropyInvariantAttention(D_MODEL, HEADS, scale=scale))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"target": -1.0}, "target is -1.0; expected entropies >= 0"),
        ({"target": [1.0, 2.0]}, "one or num_heads = 4"),
        ({"kappa": 1000.0}, "kappa 1000.0; expected 0 < smallest <= kappa <= largest"),
        ({"rate": 0.0}, "rate is 0.0"),
        ({"momentum": 1.0}, "momentum is 1.0"),
        ({"largest_step": 0.0}, "largest_step is 0.0"),
    ],
)
def test_wrong_controllers(options, message):
    with pytest.raises(ValueError, match=message):
        TargetEntropyController(HEADS, **{"target": 2.0, **options})
