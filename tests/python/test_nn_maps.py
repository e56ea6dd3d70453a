"""Modules with other score maps, gates and levels, against plain PyTorch."""

import math

import isentropic
import pytest
import torch
from isentropic import Scale, ScoreMap
from isentropic import nn as attention_nn
from isentropic.nn import EntropyInvariantAttention
from torch import nn
from torch.nn import functional as F
from written_modules import (
    D_MODEL,
    HEADS,
    D,
    causal,
    close,
    distances,
    entropy_of,
    inputs,
    merge,
    naive,
    projected,
    random_mask,
    softmax_of_visible,
)


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


@pytest.mark.parametrize("map, matters", [("softmax", False), ("sparsemax", False), ("entmax", False), ("relu_squared", True)])  # fmt: skip
def test_a_bias_of_keys_matters_where_scores_are_not_compared(map, matters):
    module = attention_nn.MultiHeadAttention(D_MODEL, HEADS, map=map)
    x = inputs()
    before = module(x)[0]
    before.square().sum().backward()
    assert (module.W_K.bias.grad.abs().max() > 1e-4) == matters
    with torch.no_grad():
        module.W_K.bias.add_(torch.randn(D_MODEL))
    assert ((module(x)[0] - before).abs().max() > 1e-3) == matters


def test_entmax_learns_alpha_and_keeps_it_above_one():
    x = inputs(n=9)
    module = attention_nn.EntmaxAttention(D_MODEL, HEADS, 1.5, learn_alpha=True)
    fixed = attention_nn.EntmaxAttention(D_MODEL, HEADS, 1.5)
    fixed.load_state_dict({name: value for name, value in module.state_dict().items() if name != "raw_alpha"})
    close(module(x)[0], fixed(x)[0])
    close(module.alpha(), torch.full((HEADS,), 1.5))
    assert fixed.alpha() is None and "raw_alpha" not in fixed.state_dict()
    # As few weights as possible: sparser than initially.
    optimiser = torch.optim.Adam([module.raw_alpha], 0.1)
    spread = lambda: module(3 * x, weights_of_rows=range(9))[1].weights.gt(0).double().mean().item()
    before = spread()
    for _ in range(20):
        optimiser.zero_grad()
        target = module.W_O(merge(one_hot_rows(module, 3 * x)))
        (module(3 * x)[0] - target.detach()).square().mean().backward()
        optimiser.step()
    assert (module.alpha() > 1.5).all() and spread() < before
    with torch.no_grad():
        module.raw_alpha.fill_(-1000)
    assert (module.alpha() > 1).all() and module(x)[0].isfinite().all()


def one_hot_rows(module, x):
    query, key, value = projected(module, x)
    return F.one_hot((query @ key.transpose(-1, -2)).argmax(-1), x.shape[1]).to(value.dtype) @ value


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(map="sparsemax", learn_alpha=True), "learn_alpha is True; expected False"),
        (dict(map=ScoreMap.entmax(1.0005), learn_alpha=True), "expected numbers above 1.001"),
        (dict(map=ScoreMap.entmax((1.2, 1.3, 1.4)), learn_alpha=True), "alpha has 3 numbers"),
        (dict(map=ScoreMap.entmax(torch.tensor(1.5))), "learn_alpha=True to learn them"),
    ],
)
def test_alphas_that_modules_do_not_take(options, message):
    with pytest.raises(ValueError, match=message):
        attention_nn.MultiHeadAttention(D_MODEL, HEADS, **options)


@pytest.mark.parametrize("recurrent", [False, True])
def test_sharpened_linear_attention(recurrent):
    module = attention_nn.LinearAttention(D_MODEL, HEADS, "exp", recurrent=recurrent, sharpen=0.5, causal="start")
    x = inputs()
    query, key, value = projected(module, x)
    similarity = query.exp() @ (0.5 * math.sqrt(2 * math.log(6)) * key).exp().transpose(-1, -2) * causal(6)
    close(module(x)[0], module.W_O(merge(similarity / similarity.sum(-1, keepdim=True) @ value)))


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
    assert hasattr(aux, "peak") != recurrent  # a recurrent pass never forms individual weights


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
    """Output, block entropy and within-block entropy, with block scores q.mean(the block's keys that the row sees)."""
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
