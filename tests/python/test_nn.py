"""The modules against plain PyTorch: the listing, scales, masks, positions."""

import copy
import math

import pytest
import torch
from isentropic import Scale
from isentropic import nn as attention_nn
from isentropic.nn import EntropyInvariantAttention
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend
from written_modules import D, D_MODEL, HEADS, causal, close, entropy_of, inputs, naive, random_mask, with_positions

# ---- the listing and its mistakes ----


class Listing(nn.Module):
    """Entropy-invariant attention as it is usually written."""

    def __init__(self, d_model, num_heads, kappa=1.0):
        super().__init__()
        self.num_heads, self.kappa = num_heads, kappa
        self.d_k = d_model // num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, Q, K, V, mask=None):
        batch, n, _ = Q.shape
        query, key, value = (
            projection(x).view(batch, n, self.num_heads, self.d_k).transpose(1, 2)
            for projection, x in ((self.W_Q, Q), (self.W_K, K), (self.W_V, V))
        )
        scores = query @ key.transpose(-1, -2) * (self.kappa * math.log(n) / self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = scores.softmax(-1)
        return self.W_O((weights @ value).transpose(1, 2).reshape(batch, n, -1)), weights


def listing_and_ours(kappa=1.0, **options):
    listing = Listing(D_MODEL, HEADS, kappa)
    ours = EntropyInvariantAttention(D_MODEL, HEADS, kappa, **options)
    ours.load_state_dict(listing.state_dict())
    return listing, ours


@pytest.mark.parametrize("kappa", [1.0, 2.5])
def test_self_attention_is_the_listing(kappa):
    listing, ours = listing_and_ours(kappa)
    x = 2 * inputs(n=33)
    output, aux = ours(x, x, x, weights_of_rows=range(33))
    expected, weights = listing(x, x, x)
    close(output, expected)
    close(aux.weights, weights)
    close(aux.entropy, entropy_of(weights), 1e-5)
    assert list(ours.state_dict()) == list(listing.state_dict())


def test_initialisation_is_that_of_linear_layers():
    torch.manual_seed(3)
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    torch.manual_seed(3)
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        expected = nn.Linear(D_MODEL, D_MODEL)
        assert torch.equal(getattr(module, name).weight, expected.weight)
        assert torch.equal(getattr(module, name).bias, expected.bias)


def test_cross_attention_scales_by_the_number_of_keys():
    listing, ours = listing_and_ours()
    Q, K = inputs(n=5), inputs(n=9)
    with pytest.raises(RuntimeError):
        listing(Q, K, K)
    output, aux = ours(Q, K, K)
    close(output, naive(ours, math.log(9) / D, Q, K)[0])
    close(aux.row_scale, torch.full((2, HEADS, 5), math.log(9) / D))


def test_a_causal_row_scales_by_the_keys_it_sees():
    listing, ours = listing_and_ours(causal="start")
    x = 2 * inputs(n=12)
    output, aux = ours(x)
    row_scale = torch.arange(1, 13).log() / D
    close(aux.row_scale, row_scale.expand(2, HEADS, 12))
    close(output, naive(ours, row_scale[:, None], x, visible=causal(12))[0])
    shared_log_n = listing(x, x, x, causal(12))[0]
    close(output[:, -1], shared_log_n[:, -1])
    assert (output - shared_log_n).abs().max() > 1e-3


def test_a_row_that_sees_nothing_gives_nothing():
    listing, ours = listing_and_ours()
    x = inputs(n=5)
    mask = torch.ones(2, 5, 5, dtype=torch.int64)
    mask[0, 3] = 0
    output, aux = ours(x, mask=mask, weights_of_rows=[3])
    close(output[0, 3], ours.W_O.bias)
    assert aux.entropy[0, :, 3].eq(0).all() and aux.weights[0].eq(0).all()
    close(output[1], listing(x, x, x)[0][1])
    attends_to_hidden_keys = listing(x, x, x, mask[:, None])[1][0, :, 3]
    close(attends_to_hidden_keys, torch.full((HEADS, 5), 0.2))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("options", [{}, {"learn_kappa": True, "positions": "relative"}, {"positions": "rotary"}])
def test_a_mask_in_half_precision(dtype, tolerance, options):
    ours = EntropyInvariantAttention(D_MODEL, HEADS, **options).to(dtype)
    wide = copy.deepcopy(ours).float()
    x, mask = inputs(dtype=dtype), torch.ones(2, 6, dtype=torch.bool)
    mask[:, 4:] = False
    output, aux = ours(x, mask=mask)
    assert output.dtype == dtype and aux.entropy.dtype == torch.float32
    close(output.float(), wide(x.float(), mask=mask)[0], tolerance)
    output.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in ours.parameters())


def test_the_listing_overflows_in_float16():
    listing = Listing(D_MODEL, HEADS).half()
    x = inputs(dtype=torch.float16)
    with pytest.raises(RuntimeError, match="overflow"):
        listing(x, x, x, torch.ones(6, 6))


def test_heads_divide_the_features():
    with pytest.raises(ValueError, match="num_heads is 3; expected a divisor of d_model = 16"):
        EntropyInvariantAttention(16, 3)
    with pytest.raises(ValueError, match="num_kv_heads is 3; expected a divisor of num_heads = 4"):
        EntropyInvariantAttention(16, 4, num_kv_heads=3)


# ---- Against PyTorch's module ----


@pytest.mark.parametrize("options", [{}, {"kdim": 10, "vdim": 7}, {"bias": False}])
@pytest.mark.parametrize("law", ["inverse_sqrt_d", "log_n"])
def test_parity_with_multihead_attention(options, law):
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, **options)
    kappa = math.sqrt(D) / math.log(9) if law == "log_n" else 1.0
    ours = EntropyInvariantAttention(D_MODEL, HEADS, kappa, scale=law, **options)
    separate = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    weights = separate if "kdim" in options else theirs.in_proj_weight.chunk(3)
    with torch.no_grad():
        for name, weight in zip(("W_Q", "W_K", "W_V"), weights):
            getattr(ours, name).weight.copy_(weight)
        ours.W_O.weight.copy_(theirs.out_proj.weight)
        if "bias" not in options:
            theirs.in_proj_bias.normal_()
            for name, bias in zip(("W_Q", "W_K", "W_V"), theirs.in_proj_bias.chunk(3)):
                getattr(ours, name).bias.copy_(bias)
            ours.W_O.bias.copy_(theirs.out_proj.bias)
    Q, K, V = inputs(n=5), inputs(n=9, features=ours.kdim), inputs(n=9, features=ours.vdim)
    expected, expected_weights = theirs(Q, K, V, average_attn_weights=False)
    output, aux = ours(Q, K, V, weights_of_rows=range(5))
    close(output, expected)
    close(aux.weights, expected_weights)


# ---- Gradients ----


def test_gradients_are_those_of_the_naive_module():
    module = EntropyInvariantAttention(D_MODEL, HEADS, learn_kappa=True, num_kv_heads=2, causal="start").double()
    x = inputs(dtype=torch.float64).requires_grad_()
    upstream, push = torch.randn(2, 6, D_MODEL).double(), torch.randn(2, HEADS, 6).double()

    def gradients(output, entropy):
        return torch.autograd.grad((output * upstream).sum() + (entropy * push).sum(), [x, *module.parameters()])

    output, aux = module(x)
    row_scale = module.scale.kappa[:, None, None] * torch.arange(1, 7).double().log()[:, None] / D
    expected, weights = naive(module, row_scale, x, visible=causal(6))
    # log(0) of a hidden key must not enter the gradient of an entropy
    entropy = -(weights * weights.where(weights > 0, torch.ones_like(weights)).log()).sum(-1)
    for found, wanted in zip(gradients(output, aux.entropy), gradients(expected, entropy)):
        close(found, wanted, 1e-10)


def test_gradcheck():
    module = EntropyInvariantAttention(4, 2, learn_kappa=True, positions="relative", max_distance=2).double()
    nn.init.normal_(module.positions.table)
    names = [name for name, _ in module.named_parameters()]

    def function(x, *parameters):
        output, aux = torch.func.functional_call(module, dict(zip(names, parameters)), (x,))
        return output, aux.entropy

    assert torch.autograd.gradcheck(function, (inputs(1, 3, 4, torch.float64).requires_grad_(), *module.parameters()))


@pytest.mark.parametrize("law", ["log_n", "log_n_sqrt_d", "sqrt_log_n", "ssmax", "constant", "hybrid"])
def test_learnt_kappa_has_the_gradient_of_finite_differences(law):
    module = EntropyInvariantAttention(D_MODEL, HEADS, 0.7, scale=law, learn_kappa=True).double()
    kappa = module.scale.get_parameter(module.scale.names[-1])
    x = inputs(dtype=torch.float64)

    def loss():
        output, aux = module(x)
        return output.square().sum() + aux.entropy.sum()

    loss().backward()
    assert kappa.shape == (HEADS,)
    for head, gradient in enumerate(kappa.grad.clone()):
        ends = []
        for step in (1e-5, -1e-5):
            with torch.no_grad():
                kappa[head] += step
                ends.append(loss())
                kappa[head] -= step
        close((ends[0] - ends[1]) / 2e-5, gradient, 1e-7)


# ---- Scales ----

N, KAPPA = 6, 1.7
LAWS = {
    "inverse_sqrt_d": ("inverse_sqrt_d", 1 / math.sqrt(D)),
    "log_n": ("log_n", KAPPA * math.log(N) / D),
    "log_n_sqrt_d": ("log_n_sqrt_d", KAPPA * math.log(N) / math.sqrt(D)),
    "sqrt_log_n": ("sqrt_log_n", KAPPA * math.sqrt(math.log(N) / D)),
    "ssmax": ("ssmax", KAPPA * math.log(N)),
    "constant": ("constant", KAPPA),
    "hybrid": ("hybrid", 1 / math.sqrt(D) + KAPPA * math.log(N) / D),
    "llama4": ("llama4", 1 / math.sqrt(D)),
    "llama4 of step 2": (
        Scale.llama4(2, 0.5),
        (1 + 0.5 * torch.log1p((torch.arange(1, N + 1) // 2).float()))[:, None] / math.sqrt(D),
    ),
    "frozen": (Scale.frozen(KAPPA, 100), KAPPA * math.log(100) / D),
    "trained_length": (Scale.trained_length(3), math.log(N) / math.log(3) / math.sqrt(D)),
    "info_scale": (Scale.info_scale(3), math.sqrt((1 - N ** (-2 / D)) / (1 - 3 ** (-2 / D)) / D)),
    "yarn": (Scale.yarn(8.0, 2.0), (0.2 * math.log(8) + 1) ** 2 / math.sqrt(D)),
    "per_row": (Scale.per_row(torch.linspace(0, 1, N).expand(1, 1, N)), torch.linspace(0, 1, N)[:, None]),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_scale_law(name):
    scale, row_scale = LAWS[name]
    has_kappa = isinstance(scale, str) and scale not in ("inverse_sqrt_d", "llama4")
    module = EntropyInvariantAttention(D_MODEL, HEADS, KAPPA if has_kappa else 1.0, scale=scale)
    x = inputs(n=N)
    close(module(x)[0], naive(module, row_scale, x)[0], 2e-6)


def test_kappa_of_each_head():
    module = EntropyInvariantAttention(D_MODEL, HEADS, [0.5, 1.0, 2.0, 4.0])
    x = inputs()
    row_scale = torch.tensor([0.5, 1.0, 2.0, 4.0])[:, None, None] * math.log(6) / D
    close(module(x)[0], naive(module, row_scale, x)[0])


def test_target_entropy():
    module = EntropyInvariantAttention(D_MODEL, HEADS, scale=Scale.target_entropy(1.2))
    entropy = module(inputs(n=20))[1].entropy
    close(entropy, torch.full_like(entropy, 1.2), 1e-4)


def test_tensors_of_a_scale_belong_to_the_module():
    kappa = nn.Parameter(torch.ones(HEADS))
    module = EntropyInvariantAttention(D_MODEL, HEADS, scale=Scale.frozen(kappa, 64))
    assert module.scale.kappa is kappa and "scale.kappa" in dict(module.named_parameters())
    rows = EntropyInvariantAttention(D_MODEL, HEADS, scale=Scale.per_row(torch.ones(1, 1, 6)))
    assert "scale.rows" in dict(rows.named_buffers())
    frozen = EntropyInvariantAttention(D_MODEL, HEADS, scale=Scale.frozen(2.0, 64), learn_kappa=True)
    row_scale = frozen(inputs())[1].row_scale
    close(row_scale, torch.full_like(row_scale, 2 * math.log(64) / D))
    both = EntropyInvariantAttention(D_MODEL, HEADS, scale=Scale.hybrid(1.0, 0.5), learn_kappa=True)
    assert both.scale.alpha.tolist() == [1.0] * HEADS and both.scale.beta.tolist() == [0.5] * HEADS


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scale": "frozen"}, "scale is 'frozen'; expected log_n, .*Scale.frozen"),
        ({"scale": "inverse_sqrt_d", "kappa": 2.0}, "kappa is 2.0; expected 1, for the scale 'inverse_sqrt_d'"),
        ({"scale": Scale.log_n(3.0), "kappa": 2.0}, "kappa is 2.0 beside a Scale"),
        ({"scale": "llama4", "learn_kappa": True}, "the scale 'llama4' has nothing to learn"),
        ({"scale": Scale.target_entropy(1.0), "learn_kappa": True}, "'target_entropy' has nothing to learn"),
        (
            {"kappa": [1.0, 2.0, 3.0], "learn_kappa": True},
            "kappa has 3 numbers; expected one, or one for each of .* heads",
        ),
        ({"positions": "alibi"}, "positions is 'alibi'; expected None, 'rotary'"),
        ({"causal": "middle"}, "causal is 'middle'; expected None, 'start' or 'end'"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"positions": "relative", "max_distance": 0}, "max_distance is 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        EntropyInvariantAttention(D_MODEL, HEADS, **options)


def test_rotary_positions_need_pairs():
    with pytest.raises(ValueError, match="d_model / num_heads is 3; expected an even number"):
        EntropyInvariantAttention(12, 4, positions="rotary")


# ---- Dropout, compile, copies ----


def test_dropout_is_for_training():
    module = EntropyInvariantAttention(D_MODEL, HEADS, dropout=0.5)
    x = inputs()
    first, second = module(x, seed=1)[0], module(x, seed=2)[0]
    assert torch.equal(first, module(x, seed=1)[0]) and not torch.allclose(first, second)
    module.eval()
    close(module(x, seed=1)[0], naive(module, math.log(6) / D, x)[0])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile(backend):
    torch._dynamo.reset()
    module = with_positions("relative", learn_kappa=True, num_kv_heads=2, causal="start")
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    x, mask = inputs(), random_mask(2, 6)

    def run(attention):
        output, aux = attention(x, mask=mask, weights_of_rows=[1, 5])
        gradients = torch.autograd.grad(output.sum() + aux.entropy.sum(), list(module.parameters()))
        return output, aux.entropy, aux.weights, *gradients

    for found, expected in zip(run(compiled), run(module)):
        close(found, expected)


def test_two_graphs_serve_every_length():
    torch._dynamo.reset()
    module = EntropyInvariantAttention(D_MODEL, HEADS, 1.5, positions="rotary", causal="end")
    graphs = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, backend=graphs, fullgraph=True)
    for n in (5, 9, 13, 17):
        x = inputs(n=n)
        close(compiled(x)[0], module(x)[0])
    assert graphs.frame_count == 2  # one for the first length, one for any


def test_compile_of_a_gated_unit():
    torch._dynamo.reset()
    module = attention_nn.GatedAttentionUnit(D_MODEL, d_shared=8, positions="rotary")
    x = inputs()
    close(torch.compile(module, backend="aot_eager", fullgraph=True)(x)[0], module(x)[0])


def test_copies_and_state():
    module = with_positions("relative", learn_kappa=True)
    x = inputs()
    expected = module(x)[0]
    twin, stranger = copy.deepcopy(module), with_positions("relative", learn_kappa=True)
    stranger.load_state_dict(module.state_dict())
    with torch.no_grad():
        module.scale.kappa.mul_(3)
    assert torch.equal(twin(x)[0], expected) and torch.equal(stranger(x)[0], expected)
    assert not torch.allclose(module(x)[0], expected)


def test_a_module_is_made_on_the_default_device():
    with torch.device("meta"):
        attention = attention_nn.EntmaxAttention(D_MODEL, HEADS, learn_alpha=True)
    assert {parameter.device.type for parameter in attention.parameters()} == {"meta"}


def test_representation_shows_the_options():
    text = repr(EntropyInvariantAttention(D_MODEL, HEADS, 1.5, causal="end", window=3, num_kv_heads=2))
    for part in ("d_model=16", "num_heads=4", "num_kv_heads=2", "causal='end'", "window=3", "log_n, kappa=1.5"):
        assert part in text


def test_only_wanted_statistics():
    module = EntropyInvariantAttention(D_MODEL, HEADS, statistics=("entropy", "visible"), groups=(1, 2))
    assert set(module(inputs())[1].as_dict()) >= {"entropy", "visible", "first_mass"}
    module = EntropyInvariantAttention(D_MODEL, HEADS, statistics="entropy")
    assert list(module(inputs())[1].as_dict()) == ["entropy"]
