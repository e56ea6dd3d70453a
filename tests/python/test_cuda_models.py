"""Around attention on a GPU: modules, losses, weights and key mass, two levels, transformers, scans, mistakes."""

import copy
import json

import pytest
import torch
from cuda_cases import DEVICE, REASON

import isentropic
from isentropic import Scale
from isentropic import nn as attention_nn

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason=REASON)


def assert_same(found, expected, tolerance=1e-4):
    """Within ``tolerance`` of the largest value; tensors may be on any device. Gradients that are 0, such as that of a
    key bias, are the remainder of cancelling terms as large as the others."""
    found, expected = ([x.detach().cpu().double() for x in tensors] for tensors in (found, expected))
    usual = max(x.abs().max().item() for x in expected)
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, atol=tolerance * other.abs().max().item() + 1e-6 * usual, rtol=tolerance)


def both(call, *tensors, tolerance=1e-4):
    """Values and gradients of call(*tensors) on both devices."""
    found = []
    for device in ("cpu", DEVICE):
        inputs = [x.detach().to(device).requires_grad_(x.is_floating_point()) for x in tensors]
        outputs = call(*inputs)
        outputs = [x for x in (outputs if isinstance(outputs, tuple) else (outputs,)) if x.requires_grad]
        assert all(x.device.type == device for x in outputs)
        weights = [torch.linspace(-1, 1, x.numel(), device=device, dtype=x.dtype).reshape(x.shape) for x in outputs]
        gradients = torch.autograd.grad(outputs, [x for x in inputs if x.requires_grad], weights)
        found.append([*outputs, *gradients])
    assert_same(found[1], found[0], tolerance)


def qkv(n=50, d=16, d_v=8):
    return torch.randn(2, 4, n, d), torch.randn(2, 2, n + 7, d), torch.randn(2, 2, n + 7, d_v)


# ---- other passes ----


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 1e-3)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        dict(causal="end"),
        dict(causal="start", window=20, sink=torch.randn(4)),
        dict(key_lengths=[57, 30]),
        dict(causal="end", scale=Scale.log_n(2.0)),
        dict(documents=([0, 20, 50], [0, 25, 57]), causal="start"),
        dict(causal="start", soft_cap=5.0, alibi_slopes=torch.tensor([0.1, 0.2, 0.3, 0.4])),
        dict(attn_mask=torch.rand(2, 1, 50, 57) > 0.3),
    ],
)
def test_weights_and_key_mass(options, dtype, tolerance):
    q, k, _ = (x.to(dtype) for x in qkv(d=64))
    q[0, 1, 3] *= 20
    moved = {name: x.to(DEVICE) if isinstance(x, torch.Tensor) else x for name, x in options.items()}
    real = {name: x for name, x in options.items() if isinstance(x, torch.Tensor) and x.is_floating_point()}
    wide = {**options, **{name: x.double() for name, x in real.items()}}
    for call in (isentropic.key_mass, lambda *args, **kw: isentropic.attention_weights(*args, [3, 0, 49, 3], **kw)):
        found = call(q.to(DEVICE), k.to(DEVICE), enable_gqa=True, **moved)
        assert_same([found], [call(q.double(), k.double(), enable_gqa=True, **wide)], tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_statistics_alone(dtype):
    q, k, v = (x.to(DEVICE, dtype) for x in qkv(d=64, d_v=64))
    _, aux = isentropic.attention(q, k, v, causal="end", enable_gqa=True, return_aux=True)
    alone = isentropic.attention_statistics(q, k, causal="end", enable_gqa=True)
    assert_same(alone.as_dict().values(), aux.as_dict().values(), 1e-5)


def test_two_levels():
    both(lambda q, k, v: isentropic.hierarchical_attention(q, k, v, 8, enable_gqa=True), *qkv())


def test_pieces_of_keys_through_a_cache():
    """Decoding token by token gives the same result as the whole sequence."""
    q, k, v = (torch.randn(2, heads, 90, 64, device=DEVICE, dtype=torch.bfloat16) for heads in (8, 2, 2))
    options = dict(causal="end", enable_gqa=True, scale=Scale.log_n(2.0), return_aux=True)
    whole, aux = isentropic.attention(q, k, v, **options)
    for i in (0, 1, 31, 64, 89):
        output, row = isentropic.attention(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1], **options)
        assert_same([output], [whole[:, :, i : i + 1]], 1e-2)
        assert_same([row.entropy, row.collision], [x[:, :, i : i + 1] for x in (aux.entropy, aux.collision)], 1e-5)


def test_losses():
    q, k, target = torch.randn(40, 12), torch.randn(40, 12), torch.randint(90, (40,))
    both(lambda q, k: isentropic.info_nce(q, k, temperature=0.5, reduction="none").loss, q, k)
    both(lambda q, k: isentropic.info_nce(q, k, temperature=0.5, symmetric=True)[:2], q, k)

    def cross_entropy(x, w, b):
        return isentropic.linear_cross_entropy(x, w, target.to(x.device), bias=b, label_smoothing=0.1, z_loss=1e-3)[:2]

    both(cross_entropy, q, torch.randn(90, 12), torch.randn(90))


# ---- modules ----

MODULES = {
    "multi head": lambda: attention_nn.MultiHeadAttention(64, 4, causal="start", positions="rotary"),
    "grouped": lambda: attention_nn.MultiHeadAttention(64, 4, num_kv_heads=2, window=9),
    "entropy invariant": lambda: attention_nn.EntropyInvariantAttention(64, 4, learn_kappa=True, causal="start"),
    "target entropy": lambda: attention_nn.EntropyInvariantAttention(64, 4, scale=Scale.target_entropy(1.5)),
    "relative": lambda: attention_nn.MultiHeadAttention(64, 4, positions="relative"),
    "top k": lambda: attention_nn.TopKAttention(64, 4, 5),
    "sigmoid": lambda: attention_nn.SigmoidAttention(64, 4),
    "relu squared": lambda: attention_nn.ReluSquaredAttention(64, 4),
    "gumbel": lambda: attention_nn.GumbelAttention(64, 4),
    "linear": lambda: attention_nn.LinearAttention(64, 4, causal="start"),
    "linear, recurrent": lambda: attention_nn.LinearAttention(64, 4, causal="start", recurrent=True),
    "decay": lambda: attention_nn.DecayAttention(64, 4),
    "segmented": lambda: attention_nn.SegmentedAttention(64, 4, 8),
    "hierarchical": lambda: attention_nn.HierarchicalAttention(64, 4, 8),
    "gated": lambda: attention_nn.GatedAttentionUnit(64, d_shared=32, causal="start"),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module, x, found = MODULES[name](), torch.randn(2, 30, 64), []
    options = dict(seed=3) if name == "gumbel" else {}
    for device in ("cpu", DEVICE):
        there = copy.deepcopy(module).to(device)
        output, aux = there(x.to(device), **options)
        loss = output.square().sum()
        if aux.as_dict().get("entropy", x).requires_grad:
            loss = loss + aux.entropy.sum()
        learns = [p for p in there.parameters() if p.requires_grad]
        gradients = torch.autograd.grad(loss, learns, allow_unused=True)
        found.append([output, *(g for g in gradients if g is not None)])
    assert len(found[0]) == len(found[1])
    assert_same(found[1], found[0], 5e-4)


def test_the_monitor_sees_a_head_collapse():
    module = attention_nn.MultiHeadAttention(64, 4, causal="start").to(DEVICE)
    with torch.no_grad():
        module.W_Q.weight[16:32] *= 1000
    with isentropic.Monitor(module, dispersion=None) as monitor:
        module(torch.randn(2, 200, 64, device=DEVICE))
        monitor.step()
    assert [(alarm.kind, alarm.head) for alarm in monitor.alarms] == [("collapse", 1)]


# ---- models ----

_SIZES = dict(
    vocab_size=97, hidden_size=256, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)  # fmt: skip
MODELS = {
    "Llama": {},
    "Mistral": dict(sliding_window=11),
    "Gemma2": dict(head_dim=64, sliding_window=11, attn_logit_softcapping=5.0, query_pre_attn_scalar=64),
    "Qwen2": {},
}


def model_of(name, implementation):
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    isentropic.hf.register()
    config = getattr(transformers, f"{name}Config")(**_SIZES, **MODELS[name])
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=implementation).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.06)
    return model


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, padded):
    """Logits and gradients in bfloat16 are as close to float32 as those of eager attention."""
    ids = torch.randint(3, 97, (2, 50))
    mask = torch.ones_like(ids)
    if padded:
        mask[0, :13] = 0
    there, found = mask.bool(), {}
    for implementation, dtype, device in (
        ("eager", torch.float32, "cpu"), ("isentropic", torch.float32, DEVICE), ("isentropic", torch.bfloat16, DEVICE),
        ("eager", torch.bfloat16, DEVICE),
    ):  # fmt: skip
        model = model_of(name, implementation).to(device, dtype)
        logits = model(ids.to(device), attention_mask=mask.to(device), use_cache=False).logits.cpu()[there].double()
        gradient = torch.autograd.grad(logits.logsumexp(-1).mean(), model.model.layers[0].self_attn.q_proj.weight)[0]
        found[implementation, dtype] = logits.detach(), gradient.cpu().double()
    exact = found["eager", torch.float32]
    for place, wanted in enumerate(exact):
        error = lambda key: ((found[key][place] - wanted).norm() / wanted.norm()).item()
        assert error(("isentropic", torch.float32)) < 1e-4
        assert error(("isentropic", torch.bfloat16)) < 1.5 * error(("eager", torch.bfloat16)) + 2e-3


@pytest.mark.parametrize("name", ["Llama", "Mistral"])
def test_generation(name):
    ids = torch.randint(3, 97, (1, 20))
    options = dict(max_new_tokens=20, do_sample=False)
    eager = model_of(name, "eager").generate(ids, **options)
    ours = model_of(name, "isentropic").to(DEVICE).generate(ids.to(DEVICE), **options)
    assert ours.cpu().equal(eager)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-4), (torch.bfloat16, 5e-2)])
def test_scan(dtype, tolerance):
    model, ids = model_of("Mistral", "sdpa"), torch.randint(3, 97, (1, 100))
    expected = isentropic.scan(model, inputs={"input_ids": ids}).data
    found = isentropic.scan(model.to(DEVICE, dtype), inputs={"input_ids": ids.to(DEVICE)}).data
    assert len(found["heads"]) == len(expected["heads"]) == 8
    for one, other in zip(found["heads"], expected["heads"]):
        assert one["statistics"].keys() == other["statistics"].keys()
        for name in ("entropy", "peak", "collision"):
            mean = other["statistics"][name]["mean"]
            assert one["statistics"][name]["mean"] == pytest.approx(mean, rel=tolerance), name
    assert found["loss"]["mean"] == pytest.approx(expected["loss"]["mean"], rel=tolerance)
    if dtype == torch.float32:
        assert_same_drawings(found, expected, 1e-4)


def assert_same_drawings(found, expected, tolerance):
    """The drawings made from sampled rows are the same."""
    near = lambda one, other: torch.testing.assert_close(
        *(torch.tensor(x, dtype=torch.float64) for x in (one, other)), atol=tolerance, rtol=tolerance, equal_nan=True
    )
    assert found["shuffled_keys"] == expected["shuffled_keys"]
    numbers = lambda rows: [[float("nan") if x is None else x for x in row] for row in rows]
    for one, other in zip(found["heads"], expected["heads"], strict=True):
        near(one["distance_profile"], other["distance_profile"])
        near(numbers(one["blocks"]), numbers(other["blocks"]))
        near(one["tile"]["weights"], other["tile"]["weights"])
        assert [one["tile"][key] for key in ("first_row", "first_key")] == [
            other["tile"][key] for key in ("first_row", "first_key")
        ]
        for row, same in zip(one["exact_rows"], other["exact_rows"], strict=True):
            assert row["position"] == same["position"]
            near([weight for _, weight in row["keys"]], [weight for _, weight in same["keys"]])
            near(row["rest"], same["rest"])
        for name in ("previous_weight", "retrieval_score", "effective_rank"):
            if name in other["statistics"]:
                near(one["statistics"][name]["mean"], other["statistics"][name]["mean"])
    for one, other in zip(found["layers"], expected["layers"], strict=True):
        assert (one["kind"], one["window"]) == (other["kind"], other["window"])
        near(one["similarities"], other["similarities"])


@pytest.mark.parametrize("n", [30, 3000])
@pytest.mark.parametrize("at_once", [20, 1000])
def test_sampled_rows_are_digested_alike(n, at_once):
    """The same weights on both devices, in parts or not: by layer, head and row, and the keys given much weight."""
    torch.manual_seed(3)
    heads, ids, found = 3, torch.randint(40, (n,)), []
    scores = 3 * torch.randn(heads, n, n)
    scores[1, :, 7] += 6
    weights = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf).softmax(-1)
    for device in ("cpu", DEVICE):
        scanner = torch.classes.isentropic.Scanner("m", "f", "s", "softmax", 1, 0, n, [], [])
        scanner.begin_text("text")
        for _ in range(2):  # only the first window is drawn
            scanner.begin_window(ids, ids[:0])
            visible = torch.arange(1, n + 1, device=device)
            layer = scanner.add_layer("layer", False, heads, 64, '{"causal": true, "tensors": []}', n, visible)
            rows = scanner.rows_to_sample(layer, n, 32)
            for first in range(0, len(rows), at_once):
                part = rows[first : first + at_once]
                scanner.add_sampled(layer, n, part, weights[:, part].to(device), first + at_once >= len(rows))
        found.append(json.loads(scanner.finish([]).json()))
    assert_same_drawings(found[1], found[0], 1e-6)


def test_no_layer_of_a_scan_waits():
    """From the first layer to the last; what transformers does before them may read positions on the host."""
    model, ids = model_of("Llama", "sdpa").to(DEVICE, torch.bfloat16), torch.randint(3, 97, (1, 120), device=DEVICE)
    isentropic.scan(model, inputs={"input_ids": ids})
    waits = lambda mode: lambda *_: torch.cuda.set_sync_debug_mode(mode)
    handles = [
        model.model.layers[0].register_forward_pre_hook(waits("error")),
        model.model.layers[-1].register_forward_hook(waits("default")),
    ]
    try:
        for fast in (False, True):
            found = isentropic.scan(model, inputs={"input_ids": ids}, fast=fast)
            assert len(found.data["heads"]) == 8
    finally:
        torch.cuda.set_sync_debug_mode("default")
        for handle in handles:
            handle.remove()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, dict(causal=True), dict(causal=True, window=50, scale="log_n"), dict(key_lengths=[150, 90]),
     dict(sink=torch.tensor([1.0, -1.0, 2.0, 0.5])), dict(strided=(7, 5))],
    ids=str,
)  # fmt: skip
def test_weights_of_finished_rows(options, dtype):
    """Uses the sums of an earlier pass, for all keys and for the last ones."""
    from isentropic._problem import Problem

    q, k, v = (torch.randn(2, 4, 160, 64, device=DEVICE, dtype=dtype) for _ in range(3))
    options = {name: x.to(DEVICE) if isinstance(x, torch.Tensor) else x for name, x in options.items()}
    problem, rows = Problem(q, k, v, statistics=["entropy"], **options), [3, 159, 80, 3]
    _, aux = problem.run()
    expected = problem.weights(rows)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-2
    assert_same([problem.weights(rows, aux)], [expected], tolerance)
    assert_same([problem.weights(rows, aux, 100)], [expected[..., 100:]], tolerance)
    assert_same([problem.weights(rows, first_key=100)], [expected[..., 100:]], tolerance)


# ---- mistakes ----


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict(key=torch.zeros(1, 4, 9, 16)), ValueError, "key is on cpu; expected cuda:0, as the query"),
        (dict(value=torch.zeros(1, 4, 9, 16)), ValueError, "value is on cpu; expected cuda:0, as the query"),
        (dict(query=torch.zeros(1, 4, 9, 16, dtype=torch.int32)), TypeError, "query has type torch.int32"),
        (dict(query=torch.zeros(1, 4, 9, 16).to(torch.float8_e4m3fn)), TypeError, "query has type torch.float8_e4m3fn"),
        (dict(query=torch.zeros(1, 4, 9, 24)), ValueError, "key d is 16; expected 24"),
        (dict(sink=torch.zeros(3)), ValueError, "sink"),
        (dict(statistics=["entropie"]), ValueError, "'entropie'"),
    ],
)  # fmt: skip
def test_mistakes_are_named(change, error, words):
    arguments = {name: torch.randn(1, 4, 9, 16, device=DEVICE) for name in ("query", "key", "value")}
    for name, given in change.items():
        stays = not isinstance(given, torch.Tensor) or name in ("key", "value")
        arguments[name] = given if stays else given.to(DEVICE)
    with pytest.raises(error, match=words):
        isentropic.attention(**arguments)


def test_a_second_derivative_is_refused():
    q = torch.randn(1, 1, 3, 64, device=DEVICE, requires_grad=True)
    with pytest.raises(NotImplementedError, match="second derivative"):
        torch.autograd.grad(isentropic.attention(q, q, q, backend="isentropic").sum(), q, create_graph=True)
