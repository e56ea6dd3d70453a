"""The modules against plain PyTorch, written out with every n x n matrix."""

import copy
import math

import isentropic
import pytest
import torch
from isentropic import Scale, ScoreMap
from isentropic import nn as attention_nn
from isentropic.nn import EntropyInvariantAttention
from isentropic.nn.positions import RotaryPositions
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.nn import functional as F

D_MODEL, HEADS, D = 16, 4, 4
EVERYTHING = torch.ones(1, dtype=torch.bool)


def inputs(batch=2, n=6, features=D_MODEL, dtype=torch.float32):
    return torch.randn(batch, n, features, dtype=dtype)


def split(x, heads=HEADS):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def projected(module, Q, K=None, V=None):
    """Queries, keys and values in heads, every query head with keys of its own."""
    K = Q if K is None else K
    V = K if V is None else V
    repeats = module.num_heads // module.num_kv_heads
    query = split(module.W_Q(Q), module.num_heads)
    key, value = (split(x, module.num_kv_heads).repeat_interleave(repeats, 1) for x in (module.W_K(K), module.W_V(V)))
    return query, key, value


def softmax_of_visible(scores, visible):
    weights = torch.softmax(scores.masked_fill(~visible, -math.inf), -1)
    return torch.where(visible.any(-1, keepdim=True), weights, torch.zeros_like(weights))


def entropy_of(weights):
    return -torch.xlogy(weights, weights).sum(-1)


def naive(module, row_scale, Q, K=None, V=None, visible=EVERYTHING, to_weights=softmax_of_visible):
    """Output and weights [batch, heads, n_q, n_k]; row_scale broadcasts to [heads, n_q, 1]."""
    query, key, value = projected(module, Q, K, V)
    raw = query @ key.transpose(-1, -2)
    weights = to_weights(raw * row_scale, visible.expand_as(raw))
    return module.W_O(merge(weights @ value)), weights


def causal(n_q, n_k=None, from_end=False):
    n_k = n_q if n_k is None else n_k
    places = torch.arange(n_q)[:, None] + (n_k - n_q if from_end else 0)
    return torch.arange(n_k) <= places


def close(found, expected, tolerance=1e-6):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


# ---- The listing, and what it gets wrong ----


class Listing(nn.Module):
    """Entropy-invariant attention as it is usually written down."""

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
    close(aux.row_scale, torch.full((2, HEADS, 5), math.log(9) / D, dtype=torch.float64))


def test_a_causal_row_scales_by_the_keys_it_sees():
    listing, ours = listing_and_ours(causal="start")
    x = 2 * inputs(n=12)
    output, aux = ours(x)
    row_scale = torch.arange(1, 13).log() / D
    close(aux.row_scale, row_scale.double().expand(2, HEADS, 12))
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
    # log(0) of a hidden key has no place in the gradient of an entropy
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


def test_wanted_entropy():
    module = EntropyInvariantAttention(D_MODEL, HEADS, scale=Scale.wanted_entropy(1.2))
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
        ({"scale": Scale.wanted_entropy(1.0), "learn_kappa": True}, "'wanted_entropy' has nothing to learn"),
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


# ---- Masks and patterns ----


def random_mask(*shape):
    mask = torch.rand(shape) < 0.6
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((2, 6), (slice(None), None, None)),
        ((5, 6), (None, None)),
        ((2, 5, 6), (slice(None), None)),
        ((2, 1, 5, 6), ()),
        ((2, HEADS, 5, 6), ()),
        ((1, 6), (None, None)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.uint8])
def test_shapes_of_a_mask(shape, axes, dtype):
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    Q, K, mask = inputs(n=5), inputs(n=6), random_mask(*shape)
    visible = (mask[axes] if axes else mask).expand(2, HEADS, 5, 6)
    row_scale = visible.sum(-1, keepdim=True).log() / D
    close(module(Q, K, mask=mask.to(dtype))[0], naive(module, row_scale, Q, K, visible=visible)[0])


def test_wrong_masks():
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    x = inputs()
    with pytest.raises(TypeError, match="mask has type torch.float32; expected bool or integers"):
        module(x, mask=torch.ones(6, 6))
    with pytest.raises(ValueError, match=r"mask has shape \[2, 5\]; expected \[batch, n_k\]"):
        module(x, mask=torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"mask has shape \[3, 4, 6, 6\]"):
        module(x, mask=torch.ones(3, 4, 6, 6, dtype=torch.bool))
    square = inputs(batch=6)
    with pytest.raises(ValueError, match=r"is \[batch, n_k\] and \[n_q, n_k\] alike; expected mask\[:, None\]"):
        module(square, mask=torch.ones(6, 6, dtype=torch.bool))


def test_wrong_inputs():
    module = EntropyInvariantAttention(D_MODEL, HEADS, kdim=10)
    with pytest.raises(ValueError, match=r"K has shape \[2, 6, 16\]; expected \[batch, n_k, 10\]"):
        module(inputs())
    with pytest.raises(ValueError, match=r"Q has shape \[6, 16\]; expected \[batch, n_q, 16\]"):
        module(inputs()[0])
    with pytest.raises(ValueError, match="V has 5 rows; expected 6, as K"):
        module(inputs(), inputs(features=10), inputs(n=5))
    with pytest.raises(ValueError, match=r"x has shape \[2, 6, 8\]; expected \[batch, n, 16\]"):
        attention_nn.GatedAttentionUnit(D_MODEL)(inputs(features=8))


def distances(n):
    return torch.arange(n)[:, None] - torch.arange(n)


LAYOUT = torch.tensor([[True, False, False], [True, True, False], [False, True, True], [True, False, True]])
PATTERNS = {
    "window": ({"window": 3, "causal": "start"}, (distances(8) >= 0) & (distances(8) < 3)),
    "two-sided window": ({"window": (2, 3)}, (distances(8) > -4) & (distances(8) < 2)),
    "strided": ({"strided": (3, 2), "causal": "start"}, causal(8) & ((distances(8) < 2) | (distances(8) % 3 == 0))),
    "block_sparse": ({"block_sparse": (LAYOUT, 2, 3)}, LAYOUT.repeat_interleave(2, 0).repeat_interleave(3, 1)[:, :8]),
    "segments": ({"segments": 3}, torch.arange(8)[:, None] // 3 == torch.arange(8) // 3),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name):
    options, visible = PATTERNS[name]
    module = EntropyInvariantAttention(D_MODEL, HEADS, **options)
    x = 2 * inputs(n=8)
    row_scale = visible.sum(-1, keepdim=True).log() / D
    output, aux = module(x)
    close(output, naive(module, row_scale, x, visible=visible)[0])
    assert torch.equal(aux.visible[0, 0], visible.sum(-1))


def test_segmented_attention():
    module = attention_nn.SegmentedAttention(D_MODEL, HEADS, 3)
    x = inputs(n=8)
    close(module(x)[0], naive(module, D**-0.5, x, visible=PATTERNS["segments"][1])[0])


def test_grouped_heads():
    module = EntropyInvariantAttention(D_MODEL, HEADS, num_kv_heads=2)
    assert module.W_K.out_features == module.W_V.out_features == 2 * D
    x = inputs()
    close(module(x)[0], naive(module, math.log(6) / D, x)[0])


def test_key_lengths_hide_padding():
    module = EntropyInvariantAttention(D_MODEL, HEADS)
    x = inputs()
    output, _ = module(x, key_lengths=[6, 4])
    close(output[1:], module(x[1:], x[1:, :4])[0])
    close(output[:1], module(x[:1])[0])


@pytest.mark.parametrize("positions", [None, "rotary", "relative"])
def test_packed_documents(positions):
    module = EntropyInvariantAttention(D_MODEL, HEADS, causal="start", positions=positions)
    if positions == "relative":
        nn.init.normal_(module.positions.table)
    x = inputs(n=9)
    apart = torch.cat([module(part)[0] for part in x.split([4, 5], 1)], 1)
    close(module(x, documents=[0, 4, 9])[0], apart)
    with pytest.raises(ValueError, match="documents and key_lengths are both given"):
        module(x, documents=[0, 4, 9], key_lengths=[9, 9])


def test_sinusoidal_positions_know_no_documents():
    module = EntropyInvariantAttention(D_MODEL, HEADS, positions="sinusoidal")
    with pytest.raises(ValueError, match="documents are given with sinusoidal positions"):
        module(inputs(), documents=[0, 6])


# ---- Positions ----


def with_positions(name, **options):
    module = EntropyInvariantAttention(D_MODEL, HEADS, positions=name, max_distance=3, **options)
    if name == "relative":
        nn.init.normal_(module.positions.table)
    return module


def test_rotary_scores_depend_on_distance_alone():
    rotary = RotaryPositions(8, base=100.0)
    q, k = torch.randn(1, 1, 5, 8).double(), torch.randn(1, 1, 5, 8).double()

    def scores(shift):
        places = torch.arange(5) + shift
        return rotary.of_heads(q, places) @ rotary.of_heads(k, places).transpose(-1, -2)

    close(scores(0), scores(100_000), 1e-10)
    assert (scores(0) - q @ k.transpose(-1, -2)).abs().max() > 0.1


def test_rotary_module():
    module = with_positions("rotary").double()
    x = inputs(dtype=torch.float64)
    query, key, value = projected(module, x)

    def turned(heads):
        waves = 10000.0 ** (-torch.arange(D // 2).double() / (D // 2))
        turns = torch.polar(torch.ones(6, D // 2).double(), torch.arange(6)[:, None] * waves)
        pairs = torch.complex(heads[..., : D // 2], heads[..., D // 2 :]) * turns
        return torch.cat((pairs.real, pairs.imag), -1)

    weights = torch.softmax(turned(query) @ turned(key).transpose(-1, -2) * math.log(6) / D, -1)
    close(module(x)[0], module.W_O(merge(weights @ value)), 1e-10)


@pytest.mark.parametrize("d_model", [16, 15])
def test_sinusoidal_module(d_model):
    module = EntropyInvariantAttention(d_model, 1, positions="sinusoidal").double()
    x = inputs(features=d_model, dtype=torch.float64)
    half = (d_model + 1) // 2
    code = torch.zeros(6, 2 * half).double()
    for place in range(6):
        for wave in range(half):
            angle = place * 10000.0 ** (-wave / half)
            code[place, wave], code[place, half + wave] = math.sin(angle), math.cos(angle)
    marked = x + code[:, :d_model]
    close(module(x)[0], naive(module, math.log(6) / d_model, marked, marked, x)[0], 1e-10)


def test_relative_module():
    module = with_positions("relative")
    x = inputs()
    query, key, value = projected(module, x)
    bias = module.positions.table[:, distances(6).clamp(-3, 3) + 3]
    weights = torch.softmax(query @ key.transpose(-1, -2) * math.log(6) / D + bias, -1)
    close(module(x)[0], module.W_O(merge(weights @ value)))


def test_relative_positions_start_as_none():
    module = EntropyInvariantAttention(D_MODEL, HEADS, positions="relative", max_distance=5)
    assert torch.equal(module.positions.table, torch.zeros(HEADS, 11))


@pytest.mark.parametrize("name", [None, "rotary", "sinusoidal", "relative"])
def test_decoding_continues_the_sequence(name):
    module, decoder = with_positions(name, causal="start"), with_positions(name, causal="end")
    decoder.load_state_dict(module.state_dict())
    x = inputs(n=8)
    close(decoder(x[:, 6:], x)[0], module(x)[0][:, 6:])


@pytest.mark.parametrize("name", ["rotary", "sinusoidal", "relative"])
def test_decoding_with_caches_of_different_lengths(name):
    decoder = with_positions(name, causal="end")
    Q, K = inputs(n=2), inputs(n=8)
    output, _ = decoder(Q, K, key_lengths=torch.tensor([8, 5]))
    close(output[1:], decoder(Q[1:], K[1:, :5])[0])
    close(output[:1], decoder(Q[:1], K[:1])[0])


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
    assert graphs.frame_count == 2  # the first length, then any


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


def test_representation_shows_the_options():
    text = repr(EntropyInvariantAttention(D_MODEL, HEADS, 1.5, causal="end", window=3, num_kv_heads=2))
    for part in ("d_model=16", "num_heads=4", "num_kv_heads=2", "causal='end'", "window=3", "log_n, kappa=1.5"):
        assert part in text


def test_only_wanted_statistics():
    module = EntropyInvariantAttention(D_MODEL, HEADS, statistics=("entropy", "visible"), groups=(1, 2))
    assert set(module(inputs())[1].as_dict()) >= {"entropy", "visible", "first_mass"}
    module = EntropyInvariantAttention(D_MODEL, HEADS, statistics="entropy")
    assert list(module(inputs())[1].as_dict()) == ["entropy"]


# ---- Other maps ----


def sigmoid(scores, visible):
    return torch.sigmoid(scores - 1.5) * visible


def relu_squared(scores, visible):
    return F.relu(scores).square() * visible / visible.sum(-1, keepdim=True)


def top_3(scores, visible):
    scores = scores.masked_fill(~visible, -math.inf)
    least = scores.topk(3, -1).values[..., -1:]
    return softmax_of_visible(scores, visible & (scores >= least))


MAPS = {
    "sigmoid": (lambda: attention_nn.SigmoidAttention(D_MODEL, HEADS, -1.5), sigmoid),
    "relu_squared": (lambda: attention_nn.ReluSquaredAttention(D_MODEL, HEADS), relu_squared),
    "top_k": (lambda: attention_nn.TopKAttention(D_MODEL, HEADS, 3), top_3),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps(name):
    make, to_weights = MAPS[name]
    module = make()
    x, mask = 2 * inputs(n=9), random_mask(2, 9)
    output, aux = module(x, mask=mask, weights_of_rows=range(9))
    expected, weights = naive(module, D**-0.5, x, visible=mask[:, None, None], to_weights=to_weights)
    close(output, expected)
    close(aux.weights, weights)


def test_a_map_with_the_scale_of_log_n():
    module = EntropyInvariantAttention(D_MODEL, HEADS, map=ScoreMap.top_k(3), causal="start")
    x = 2 * inputs(n=9)
    row_scale = torch.arange(1, 10).log()[:, None] / D
    expected, _ = naive(module, row_scale, x, visible=causal(9), to_weights=top_3)
    close(module(x)[0], expected)


FEATURES = {"elu_plus_one": lambda x: F.elu(x) + 1, "relu": F.relu, "exp": torch.exp}


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("direction", [None, "start"])
def test_linear_attention(feature, recurrent, direction):
    module = attention_nn.LinearAttention(D_MODEL, HEADS, feature, recurrent=recurrent, causal=direction)
    x = inputs()
    query, key, value = projected(module, x)
    similarity = FEATURES[feature](query) @ FEATURES[feature](key).transpose(-1, -2)
    if direction == "start":
        similarity = similarity * causal(6)
    total = similarity.sum(-1, keepdim=True)
    weights = torch.where(total > 0, similarity / total, torch.zeros_like(similarity))
    output, aux = module(x)
    close(output, module.W_O(merge(weights @ value)))
    assert hasattr(aux, "peak") != recurrent  # a recurrent pass never sees single weights


def decay_matrix(gammas):
    return torch.stack([torch.where(causal(6), gamma ** distances(6).float(), 0.0) for gamma in gammas])


@pytest.mark.parametrize("recurrent", [False, True])
def test_decay_attention_is_retention(recurrent):
    module = attention_nn.DecayAttention(D_MODEL, HEADS, recurrent=recurrent)
    x = inputs()
    query, key, value = projected(module, x)
    weights = query @ key.transpose(-1, -2) / math.sqrt(D) * decay_matrix([1 - 2.0 ** (-5 - h) for h in range(HEADS)])
    close(module(x)[0], module.W_O(merge(weights @ value)))


@pytest.mark.parametrize("recurrent", [False, True])
def test_decay_without_content(recurrent):
    module = attention_nn.DecayAttention(D_MODEL, HEADS, 0.8, content=False, recurrent=recurrent)
    x = inputs()
    decay = decay_matrix([0.8])
    close(module(x)[0], module.W_O(merge(decay / decay.sum(-1, keepdim=True) @ projected(module, x)[2])))


@pytest.mark.parametrize("straight_through", [False, True])
def test_gumbel_attention(straight_through):
    module = attention_nn.GumbelAttention(D_MODEL, HEADS, 0.7, straight_through)
    x = inputs()
    output, aux = module(x, weights_of_rows=range(6))
    taken = aux.weights
    if straight_through:
        taken = F.one_hot(taken.argmax(-1), 6).float()
    close(output, module.W_O(merge(taken @ projected(module, x)[2])))
    assert torch.equal(module(x, seed=5)[0], module(x, seed=5)[0])
    assert not torch.allclose(module(x, seed=5)[0], module(x, seed=6)[0])


def test_gumbel_temperature_divides_scores_and_noise():
    warm, cold = (attention_nn.GumbelAttention(D_MODEL, HEADS, tau) for tau in (1.4, 0.7))
    warm.load_state_dict(cold.state_dict())
    x = inputs()

    def scores_and_noise(module, tau):
        weights = module(x, seed=4, weights_of_rows=range(6))[1].weights
        return tau * (weights / weights[..., :1]).log()

    close(scores_and_noise(warm, 1.4), scores_and_noise(cold, 0.7), 1e-4)


def test_straight_through_has_the_relaxed_gradient():
    relaxed = attention_nn.GumbelAttention(D_MODEL, HEADS, 0.7)
    hard = attention_nn.GumbelAttention(D_MODEL, HEADS, 0.7, straight_through=True)
    hard.load_state_dict(relaxed.state_dict())
    x = inputs()
    for module in (relaxed, hard):
        module(x, seed=3)[0].sum().backward()
    close(hard.W_Q.weight.grad, relaxed.W_Q.weight.grad)


def test_gumbel_chooses_as_often_as_softmax_says():
    samples = 4000
    module = attention_nn.GumbelAttention(D_MODEL, HEADS, 1.0, straight_through=True)
    x = 3 * inputs(batch=1, n=5)
    _, aux = module(x.expand(samples, 5, D_MODEL), weights_of_rows=[2], seed=11)
    often = F.one_hot(aux.weights[:, :, 0].argmax(-1), 5).double().mean(0)
    expected = naive(module, D**-0.5, x)[1][0, :, 2].double()
    five_deviations = 5 * (expected * (1 - expected) / samples).sqrt()
    assert ((often - expected).abs() < five_deviations).all()


@pytest.mark.parametrize("options", [{}, {"causal": "start"}, {"map": "softmax", "scale": Scale.log_n(2.0)}])
def test_gated_attention_unit(options):
    module = attention_nn.GatedAttentionUnit(D_MODEL, 1.5, 8, **options)
    for name in ("query_gain", "query_offset", "key_gain", "key_offset"):
        nn.init.normal_(getattr(module, name))
    x = 2 * inputs()
    output, aux = module(x)
    visible = causal(6) if "causal" in options else torch.ones(6, 6, dtype=torch.bool)
    u, v, z = (F.silu(layer(x)) for layer in (module.W_U, module.W_V, module.W_Z))
    query, key = z * module.query_gain + module.query_offset, z * module.key_gain + module.key_offset
    raw = query @ key.transpose(-1, -2)
    if "map" in options:
        weights = softmax_of_visible(raw * 2 * math.log(6) / 8, visible)
    else:
        weights = relu_squared(raw / math.sqrt(8), visible)
    close(output, module.W_O(u * (weights @ v)))
    assert output.shape == x.shape and aux.visible.shape == (2, 1, 6) and module.W_U.out_features == 24
    output.sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_gated_attention_unit_with_masks():
    module = attention_nn.GatedAttentionUnit(D_MODEL, d_shared=8, positions="rotary")
    x, lengths = inputs(), torch.tensor([6, 4])
    short = module(x[1:, :4])[0]
    close(module(x, key_lengths=lengths)[0][1:, :4], short)
    close(module(x, torch.arange(6) < lengths[:, None])[0][1:, :4], short)
    close(module(x, documents=[0, 4, 6])[0][1:, :4], short)
    close(module(x, documents=[0, 4, 6])[0][:, 4:], module(x[:, 4:])[0])


def test_gated_attention_unit_marks_what_is_compared():
    marked = attention_nn.GatedAttentionUnit(D_MODEL, d_shared=8, positions="sinusoidal")
    x = inputs()
    shared = F.silu(marked.W_Z(marked.positions.of_inputs(x, torch.arange(6))))
    weights = relu_squared(shared @ shared.transpose(-1, -2) / math.sqrt(8), torch.ones(6, 6, dtype=torch.bool))
    close(marked(x)[0], marked.W_O(F.silu(marked.W_U(x)) * (weights @ F.silu(marked.W_V(x)))))


def two_levels(module, x, visible, block, block_scale):
    """Output, block entropy and within entropy, with the block scores q.mean(keys the row sees of the block)."""
    query, key, value = projected(module, x)
    scores = query @ key.transpose(-1, -2) / math.sqrt(D)
    insides, block_scores = [], []
    for first in range(0, x.shape[1], block):
        keys = slice(first, first + block)
        seen = visible[:, keys]
        inside = softmax_of_visible(scores[..., keys], seen.expand_as(scores[..., keys]))
        count = seen.sum(-1, keepdim=True)
        mean_key = seen.float() @ key[..., keys, :] / count.clamp(min=1)
        block_score = (query * mean_key).sum(-1) * block_scale
        block_scores.append(block_score.masked_fill(count[:, 0] == 0, -math.inf))
        insides.append((inside @ value[..., keys, :], entropy_of(inside)))
    blocks = torch.stack(block_scores, -1).softmax(-1)
    output = sum(blocks[..., b, None] * inside for b, (inside, _) in enumerate(insides))
    within = sum(blocks[..., b] * entropy for b, (_, entropy) in enumerate(insides))
    return module.W_O(merge(output)), entropy_of(blocks), within


@pytest.mark.parametrize("direction", [None, "start"])
def test_hierarchical_attention_by_mean_keys(direction):
    module = attention_nn.HierarchicalAttention(
        D_MODEL, HEADS, 3, block_score="mean_key", block_scale=0.9, causal=direction
    )
    x = (2 * inputs(n=8)).requires_grad_()
    output, aux = module(x)
    visible = causal(8) if direction else torch.ones(8, 8, dtype=torch.bool)
    expected, block_entropy, within_entropy = two_levels(module, x, visible, 3, 0.9)
    close(output, expected)
    close(aux.block_entropy, block_entropy, 1e-5)
    close(aux.within_entropy, within_entropy, 1e-5)
    upstream = torch.randn_like(output)
    found, wanted = (torch.autograd.grad(result, [x, *module.parameters()], upstream) for result in (output, expected))
    for gradient, wanted_gradient in zip(found, wanted):
        close(gradient, wanted_gradient, 1e-5)


def test_hierarchical_attention_by_log_partition_is_flat():
    module = attention_nn.HierarchicalAttention(D_MODEL, HEADS, 3, scale="log_n", positions="rotary", causal="start")
    flat = EntropyInvariantAttention(D_MODEL, HEADS, positions="rotary", causal="start")
    flat.load_state_dict(module.state_dict())
    x = inputs(n=8)
    (output, aux), (expected, flat_aux) = (attention(x, weights_of_rows=[4]) for attention in (module, flat))
    close(output, expected)
    close(aux.entropy, flat_aux.entropy, 1e-5)
    close(aux.weights, flat_aux.weights)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"map": "sigmoid", "dropout": 0.1}, "dropout, map given to two-level attention"),
        ({"block": 0}, "block is 0; expected at least 1"),
        ({"block_score": "best"}, "block_score is 'best'; expected 'log_partition' or 'mean_key'"),
        ({"positions": "relative"}, "scale or positions would be learnt"),
        ({"scale": Scale.log_n(nn.Parameter(torch.ones(HEADS)))}, "scale or positions would be learnt"),
    ],
)
def test_wrong_hierarchies(options, message):
    with pytest.raises(ValueError, match=message):
        attention_nn.HierarchicalAttention(D_MODEL, HEADS, **{"block": 3, **options})


def test_chosen_blocks_have_no_flat_weights():
    module = attention_nn.HierarchicalAttention(D_MODEL, HEADS, 3, block_score="mean_key")
    with pytest.raises(ValueError, match="weights_of_rows is given with block_score 'mean_key'"):
        module(inputs(), weights_of_rows=[0])


def test_package_exports():
    assert isentropic.EntropyInvariantAttention is isentropic.nn.EntropyInvariantAttention
    assert all(hasattr(isentropic.nn, name) for name in isentropic.nn.__all__)
