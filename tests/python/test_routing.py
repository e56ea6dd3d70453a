"""Which attention problems are routed to PyTorch's own kernel, decided without a GPU."""

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

import isentropic
from isentropic import Scale, ScoreMap, _routing
from isentropic._problem import Problem

HEADS, N, D = 4, 24, 16


def tensors(n_q=N, n_k=N, d=D, d_v=D, kv_heads=HEADS, dtype=torch.bfloat16, batch=(2,), device="cpu"):
    shapes = ((HEADS, n_q, d), (kv_heads, n_k, d), (kv_heads, n_k, d_v))
    return [torch.randn(*batch, *shape, device=device).to(dtype) for shape in shapes]


def is_known(q, k, v, **options):
    return _routing.is_known(Problem(q, k, v, enable_gqa=True, **options))


KNOWN = {
    "full": {},
    "causal": dict(is_causal=True),
    "causal by name": dict(causal="start"),
    "causal from the end, as many keys": dict(causal="end"),
    "not causal": dict(causal=False),
    "a number": dict(scale=0.3),
    "a law that is PyTorch's": dict(scale="inverse_sqrt_d"),
    "a constant law": dict(scale=Scale.constant(0.3)),
    "softmax": dict(map="softmax"),
    "nothing measured": dict(statistics=()),
}
OURS = {
    "window": dict(causal="start", window=4),
    "prefix": dict(causal="start", prefix=2),
    "strided": dict(strided=(3, 2)),
    "block sparse": dict(block_sparse=(torch.ones(1, 1, 3, 3, dtype=torch.bool), 8, 8)),
    "key lengths": dict(key_lengths=[3, N]),
    "documents": dict(documents=[0, 4, N]),
    "segments": dict(segments=8),
    "exclude self": dict(exclude_self=True),
    "boolean mask": dict(attn_mask=torch.ones(N, N, dtype=torch.bool)),
    "additive mask": dict(attn_mask=torch.zeros(N, N)),
    "bias": dict(bias=torch.zeros(1, 1, N, N)),
    "alibi": dict(alibi_slopes=torch.ones(HEADS)),
    "relative": dict(relative_bias=torch.zeros(1, 9)),
    "soft cap": dict(soft_cap=20.0),
    "sink": dict(sink=torch.zeros(HEADS)),
    "dropout": dict(dropout_p=0.1),
    "map": dict(map="relu_squared"),
    "top k": dict(map=ScoreMap.top_k(3)),
    "law": dict(scale="log_n"),
    "target entropy": dict(scale=Scale.target_entropy(1.0)),
    "learnt scale": dict(scale=torch.tensor(0.3)),
    "scale of each head": dict(scale=Scale.constant([0.1, 0.2, 0.3, 0.4])),
    "no scale": dict(scale=0.0),
    "negative scale": dict(scale=-0.3),
    "scale beyond float32": dict(scale=1e200),
    "entropy": dict(statistics="entropy"),
    "groups": dict(groups=(1, 4)),
}
KNOWN_SHAPES = {
    "float16": dict(dtype=torch.float16),
    "float32": dict(dtype=torch.float32),
    "grouped": dict(kv_heads=2),
    "one head for all": dict(kv_heads=1),
    "values of another width": dict(d_v=32),
    "more keys": dict(n_k=40),
    "wide": dict(d=256, d_v=256),
    "three axes": dict(batch=()),
    "five axes": dict(batch=(2, 3)),
}
OUR_SHAPES = {
    "float64": dict(dtype=torch.float64),
    "grouped float32": dict(kv_heads=2, dtype=torch.float32),
    "grouped, values of another width": dict(kv_heads=2, d_v=32),
    "grouped and wide": dict(kv_heads=2, d=256, d_v=256),
    "odd width": dict(d=12),
    "odd width of values": dict(d_v=12),
    "no keys": dict(n_k=0),
    "no queries": dict(n_q=0),
    "no batch": dict(batch=(0,)),
    "heads that do not divide": dict(kv_heads=3),
}


@pytest.mark.parametrize("options", KNOWN.values(), ids=KNOWN)
def test_what_pytorch_knows(options):
    assert is_known(*tensors(), **options)


@pytest.mark.parametrize("options", OURS.values(), ids=OURS)
def test_what_it_does_not(options):
    assert not is_known(*tensors(), **options)


@pytest.mark.parametrize("shape", KNOWN_SHAPES.values(), ids=KNOWN_SHAPES)
def test_shapes_that_pytorch_knows(shape):
    assert is_known(*tensors(**shape))


@pytest.mark.parametrize("shape", OUR_SHAPES.values(), ids=OUR_SHAPES)
def test_shapes_that_it_does_not(shape):
    assert not is_known(*tensors(**shape))


@pytest.mark.parametrize("causal", ["start", "end"])
def test_a_causal_mask_that_is_no_square_is_ours(causal):
    assert not is_known(*tensors(n_k=N + 8), causal=causal)


def test_rows_that_lie_apart_or_crooked_are_ours():
    q, k, v = tensors()
    apart = torch.randn(2, HEADS, D, N).bfloat16().mT
    crooked = torch.randn(2, HEADS, N, D + 8).bfloat16()[..., 1 : D + 1]
    narrow = torch.randn(2, HEADS, N, D + 4).bfloat16()[..., :D]
    transposed = torch.randn(2, N, HEADS, D).bfloat16().transpose(1, 2)
    assert not any(is_known(other, k, v) for other in (apart, crooked, narrow))
    assert is_known(transposed, k, v)


def test_mistakes_are_left_to_who_names_them():
    q, k, v = tensors()
    assert not is_known(q, k.float(), v)
    assert not is_known(q, k[..., :8], v)
    assert not is_known(q, k, v[:, :, :8])
    with pytest.raises(ValueError, match="backend is 'flash'; expected 'auto' or 'isentropic'"):
        isentropic.attention(q, k, v, backend="flash")


@pytest.mark.parametrize("options", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("shape", [{}, dict(kv_heads=2), dict(batch=()), dict(batch=(3, 2))], ids=str)
def test_pytorch_computes_the_same(options, shape):
    q, k, v = (x.double() for x in tensors(**shape))
    found = _routing.run(Problem(q, k, v, enable_gqa=True, **options))
    torch.testing.assert_close(found, isentropic.attention(q, k, v, enable_gqa=True, **options), rtol=1e-10, atol=1e-12)


# ---- GPU tensors, as far as they exist without one ----


class Calls(TorchFunctionMode):
    """Counts the calls routed to PyTorch's attention."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += function is F.scaled_dot_product_attention
        return function(*args, **(kwargs or {}))


def calls_of_pytorch(run, device="cuda"):
    with FakeTensorMode(), Calls() as calls:
        run(*tensors(device=device))
    return calls.count


def test_tensors_of_a_gpu_go_to_pytorch():
    assert calls_of_pytorch(isentropic.attention) == 1
    assert calls_of_pytorch(lambda q, k, v: isentropic.attention(q, k, v, backend="isentropic")) == 0
    assert calls_of_pytorch(lambda q, k, v: isentropic.attention(q, k, v, return_aux=True)) == 0
    assert calls_of_pytorch(lambda q, k, v: isentropic.attention(q, k, v, statistics=(), return_aux=True)) == 0
    assert calls_of_pytorch(isentropic.attention, device="cpu") == 0


def test_nothing_is_routed_while_an_observer_watches():
    observed = []

    class Observer:
        statistics, groups, detach = ("entropy",), (1, 64), True

        def observe(self, aux, call):
            observed.append(aux)

    observer = Observer()
    isentropic._observe.watch(observer)
    try:
        assert calls_of_pytorch(isentropic.attention) == 0
    finally:
        isentropic._observe.unwatch(observer)
    assert len(observed) == 1 and calls_of_pytorch(isentropic.attention) == 1


def test_checkpointed_passes_save_the_same_with_and_without_observers():
    x, found = torch.ones(1, requires_grad=True), []

    def forward(x):
        found.append(calls_of_pytorch(isentropic.attention))
        return x * x

    checkpoint(forward, x, use_reentrant=False).backward()
    assert found == [0, 0]


def test_replace_sdpa_does_not_go_round_in_circles():
    with FakeTensorMode(), isentropic.replace_sdpa():
        q, k, v = tensors(device="cuda")
        assert F.scaled_dot_product_attention(q, k, v).shape == q.shape
        assert isentropic.attention(q, k, v).shape == q.shape


def test_pytorchs_layers_inside_of_replace_sdpa(monkeypatch):
    monkeypatch.setattr(_routing, "goes_to_pytorch", _routing.is_known)
    layer, x = torch.nn.MultiheadAttention(64, 4), torch.randn(5, 2, 64)
    expected = layer(x, x, x, need_weights=False)[0]
    with isentropic.replace_sdpa():
        torch.testing.assert_close(layer(x, x, x, need_weights=False)[0], expected)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_graphs_have_pytorchs_attention(monkeypatch, dynamic):
    """As on a GPU, the decision is made once in the graph, for all lengths."""
    monkeypatch.setattr(_routing, "goes_to_pytorch", _routing.is_known)
    torch._dynamo.reset()
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph

    call = torch.compile(
        lambda q, k, v: isentropic.attention(q, k, v, is_causal=True, scale=0.2),
        fullgraph=True, dynamic=dynamic, backend=backend,
    )  # fmt: skip
    for n in (N, 40, 56) if dynamic else (N,):
        q, k, v = tensors(n_q=n, n_k=n, dtype=torch.float32)
        torch.testing.assert_close(call(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.2))
    assert len(graphs) == 1 and "scaled_dot_product_attention" in graphs[0].code
