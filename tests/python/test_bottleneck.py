"""The variational bottleneck and noisy attention: rates against closed forms and samples, gradients, mistakes."""

import pytest
import torch
from isentropic.nn import MultiHeadAttention, NoisyAttention, VariationalBottleneck, gaussian_rate
from torch.distributions import Normal, kl_divergence

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_rate_is_the_divergence_from_the_prior():
    mean, deviation = torch.randn(4, 3, 5, dtype=torch.float64), torch.rand(4, 3, 5, dtype=torch.float64) + 0.01
    expected = kl_divergence(Normal(mean, deviation), Normal(torch.zeros(()), torch.ones(()))).sum(-1)
    torch.testing.assert_close(gaussian_rate(mean, deviation), expected)
    assert gaussian_rate(torch.ones(1), torch.ones(1)).item() == 0.5


@pytest.mark.parametrize("features", [None, 7])
def test_codes_have_their_mean_and_deviation(features):
    layer = VariationalBottleneck(2, features).double()
    x = 3 * torch.randn(features or 4, dtype=torch.float64)
    z, rate = layer(x.expand(100_000, -1))
    mean, raw = (x if features is None else layer.W(x)).chunk(2)
    deviation = torch.nn.functional.softplus(raw - 5)
    assert ((z.mean(0) - mean).abs() < 5 * deviation / 300).all()
    torch.testing.assert_close(z.std(0), deviation, rtol=0.02, atol=0)
    torch.testing.assert_close(rate[0], kl_divergence(Normal(mean, deviation), Normal(0.0, 1.0)).sum())


def test_evaluation_is_without_noise_unless_asked():
    layer = VariationalBottleneck(3, 5)
    x = torch.randn(2, 4, 5)
    assert not torch.equal(layer(x)[0], layer(x)[0])
    assert torch.equal(layer(x, sample=False)[0], layer.W(x)[..., :3])
    layer.eval()
    assert torch.equal(layer(x)[0], layer.W(x)[..., :3]) and layer(x)[1].shape == (2, 4)
    assert not torch.equal(layer(x, sample=True)[0], layer(x, sample=True)[0])


def seeded_call(module, x):
    torch.manual_seed(3)
    return module(x)


def test_gradients_of_the_bottleneck():
    layer = VariationalBottleneck(2, 3).double()
    assert torch.autograd.gradcheck(
        lambda x: seeded_call(layer, x), torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    )


def noisy_and_plain(**options):
    noisy = NoisyAttention(8, 2, **options).double()
    plain = MultiHeadAttention(8, 2, causal=options.get("causal")).double()
    plain.load_state_dict({name: value for name, value in noisy.state_dict().items() if name != "raw_deviation"})
    return noisy, plain


def test_noisy_attention_is_attention_in_evaluation():
    noisy, plain = noisy_and_plain(causal="start")
    x = torch.randn(3, 6, 8, dtype=torch.float64)
    assert not torch.equal(noisy(x)[0], noisy(x)[0])
    torch.testing.assert_close(noisy.eval()(x)[0], plain(x)[0])
    torch.testing.assert_close(noisy(x)[1].entropy, plain(x)[1].entropy)


def test_noise_and_rate_of_noisy_attention():
    """An identity W_O exposes the heads' outputs."""
    noisy, plain = noisy_and_plain(deviation=0.3)
    for module in (noisy, plain):
        torch.nn.init.eye_(module.W_O.weight)
        torch.nn.init.zeros_(module.W_O.bias)
    x = torch.randn(1, 4, 8, dtype=torch.float64)
    heads = plain(x)[0].unflatten(-1, (2, 4)).transpose(1, 2)
    output, aux = noisy(x.expand(20_000, -1, -1))
    expected = kl_divergence(Normal(heads, 0.3), Normal(0.0, 1.0)).sum(-1)
    torch.testing.assert_close(aux.rate[:1], expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(output.std(0), torch.full((4, 8), 0.3, dtype=torch.float64), rtol=0.05, atol=0)


def test_gradients_of_noisy_attention():
    noisy, _ = noisy_and_plain(deviation=0.5)

    def outcome(x, raw):
        torch.manual_seed(3)
        output, aux = torch.func.functional_call(noisy, {"raw_deviation": raw}, (x,))
        return output, aux.rate

    raw = noisy.raw_deviation.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(outcome, (torch.randn(1, 3, 8, dtype=torch.float64, requires_grad=True), raw))


def test_mistakes():
    for work, message in (
        (lambda: VariationalBottleneck(0), "code is 0; expected at least 1"),
        (lambda: VariationalBottleneck(2, 0), "features is 0; expected at least 1"),
        (lambda: VariationalBottleneck(2)(torch.zeros(3, 5)), "x has shape [3, 5]; expected [..., 4]"),
        (lambda: NoisyAttention(8, 2, deviation=0), "deviation is 0; expected a positive number"),
    ):
        with pytest.raises(ValueError) as caught:
            work()
        assert str(caught.value) == message
