"""Attention problems by name, run on a GPU in a given type and on the CPU in float64, with all of their gradients."""

import dataclasses
import math

import torch

import isentropic
from isentropic import Scale, ScoreMap

DEVICE = "cuda"
REASON = "no GPU"
TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)

#: Relative to the norm of a row: outputs, gradients of query, key and value; relative to the largest value: gradients
#: of other terms (sums over all rows, which may cancel). 16-bit products are exact, but weights and score gradients are
#: rounded to 2^-9 (bfloat16) and 2^-12 of their values.
TOLERANCES = {
    torch.float64: (1e-11, 1e-10, 1e-10),
    torch.float32: (1e-5, 1e-4, 1e-4),
    torch.float16: (1e-3, 4e-3, 1e-2),
    torch.bfloat16: (6e-3, 2e-2, 6e-2),
}
STATISTICS = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 2e-5, torch.bfloat16: 2e-5}


@dataclasses.dataclass(frozen=True)
class Shape:
    batch: int = 2
    heads: int = 4
    kv_heads: int = 2
    n_q: int = 113
    n_k: int = 203
    d: int = 64
    d_v: int = 64


class Inputs:
    """The same numbers on either device: drawn on the CPU, rounded to the tested type, then moved."""

    def __init__(self, shape, dtype, device, exact, seed=0):
        self.shape, self.device = shape, device
        self.dtype = torch.float64 if exact else dtype
        self.real = torch.float64 if exact or dtype == torch.float64 else torch.float32
        self._rounded, self._generator = dtype, torch.Generator().manual_seed(seed)
        self.leaves = {}

    def _leaf(self, name, values, dtype):
        self.leaves[name] = values.to(self.device, dtype).requires_grad_()
        return self.leaves[name]

    def draw(self, *sizes):
        return torch.randn(sizes, generator=self._generator)

    def tensors(self, size):
        """Query, key and value whose scores have a standard deviation of ``size``."""
        s = self.shape
        sizes = ((s.heads, s.n_q, s.d), (s.kv_heads, s.n_k, s.d), (s.kv_heads, s.n_k, s.d_v))
        for name, tensor_sizes, factor in zip(("query", "key", "value"), sizes, (size**0.5, size**0.5, 1.0)):
            values = (self.draw(s.batch, *tensor_sizes) * factor).to(self._rounded)
            yield self._leaf(name, values, self.dtype)

    def term(self, name, *sizes, factor=1.0, plus=0.0):
        """A real-valued term with a gradient."""
        return self._leaf(name, self.draw(*sizes) * factor + plus, self.real)

    def fixed(self, values):
        return values.to(self.device, self.real if values.is_floating_point() else values.dtype)

    def integers(self, *values):
        return torch.tensor(values, device=self.device)

    def upstream(self, name, like):
        """Scaled so that no statistic drowns out the others, which range from 1 / n to n."""
        n = self.shape.n_k
        drawn = self.draw(*like.shape) * {"collision": n, "effective_keys": 1 / n, "participation": 1 / n}.get(
            name, 1.0
        )
        return (drawn.to(self._rounded) if like.dtype == self.dtype else drawn).to(self.device, like.dtype)


def _boolean_mask(x):
    mask = torch.rand(x.shape.batch, 1, x.shape.n_q, x.shape.n_k, generator=torch.Generator().manual_seed(7)) > 0.4
    mask[0, 0, 3] = False
    return mask.to(x.device)


def _additive_mask(x):
    mask = x.draw(1, x.shape.heads, x.shape.n_q, x.shape.n_k)
    mask[..., 5] = -math.inf
    mask[..., 2, :] = torch.finfo(torch.float32).min
    return mask.to(x.device)  # float32 on both sides: which value is lowest depends on the type


def _padding_mask(x, additive=False):
    lengths = torch.tensor([x.shape.n_k - 3, 50] * x.shape.batch)[: x.shape.batch]
    seen = torch.arange(x.shape.n_k) < lengths[:, None, None, None]
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min) if additive else seen
    return mask.to(x.device)


def _layout(x):
    layout = torch.rand(1, x.shape.heads, -(-x.shape.n_q // 16), -(-x.shape.n_k // 32), generator=x._generator) > 0.5
    layout[:, 0, 1] = False
    return layout.to(x.device), 16, 32


MASKS = {
    "full": lambda x: {},
    "causal": lambda x: dict(is_causal=True),
    "causal end": lambda x: dict(causal="end"),
    "window": lambda x: dict(causal="start", window=20),
    "window both ways": lambda x: dict(window=(19, 6)),
    "window and prefix": lambda x: dict(causal="end", window=33, prefix=3),
    "segments": lambda x: dict(segments=40),
    "segments, causal": lambda x: dict(segments=40, causal="start"),
    "documents": lambda x: dict(
        documents=(x.integers(0, 50, 50, x.shape.n_q), x.integers(0, 90, 130, x.shape.n_k)), causal="start"
    ),
    "key lengths": lambda x: dict(key_lengths=x.integers(x.shape.n_k - 70, 0)),
    "key lengths, causal": lambda x: dict(key_lengths=x.integers(65, x.shape.n_k), causal="start"),
    "strided": lambda x: dict(causal="start", strided=(7, 5)),
    "block sparse": lambda x: dict(block_sparse=_layout(x)),
    "exclude self": lambda x: dict(exclude_self=True),
    "boolean mask": lambda x: dict(attn_mask=_boolean_mask(x)),
    "boolean mask, causal": lambda x: dict(attn_mask=_boolean_mask(x), causal="start"),
    "additive mask": lambda x: dict(attn_mask=_additive_mask(x)),
    "transposed mask": lambda x: dict(attn_mask=_boolean_mask(x).transpose(2, 3).contiguous().transpose(2, 3)),
    "padding mask": lambda x: dict(attn_mask=_padding_mask(x)),
    "additive padding mask, causal": lambda x: dict(attn_mask=_padding_mask(x, additive=True), causal="start"),
}
SCALES = {
    "log_n": lambda x: dict(scale=Scale.log_n(x.term("kappa", x.shape.heads, plus=4.0)), causal="start"),
    "log_n, key lengths": lambda x: dict(
        scale=Scale.log_n(x.term("kappa", x.shape.heads, plus=4.0)), key_lengths=x.integers(x.shape.n_k - 9, 31)
    ),
    "log_n_sqrt_d": lambda x: dict(scale=Scale.log_n_sqrt_d(0.3)),
    "sqrt_log_n": lambda x: dict(scale=Scale.sqrt_log_n(x.term("kappa", 1, plus=1.0)), causal="end"),
    "ssmax": lambda x: dict(scale=Scale.ssmax(x.term("kappa", x.shape.heads, factor=0.02)), causal="start"),
    "hybrid": lambda x: dict(scale=Scale.hybrid(x.term("a", 1, plus=1.0), x.term("b", x.shape.heads))),
    "frozen": lambda x: dict(scale=Scale.frozen(x.term("kappa", 1, plus=1.0), 100)),
    "trained_length": lambda x: dict(scale=Scale.trained_length(64), causal="start"),
    "info_scale": lambda x: dict(scale=Scale.info_scale(64), causal="start"),
    "yarn": lambda x: dict(scale=Scale.yarn(8.0, 2.0)),
    "llama4": lambda x: dict(scale=Scale.llama4(16, 0.5), causal="start"),
    "temperature": lambda x: dict(scale=x.term("temperature", plus=0.2, factor=0.0)),
    "none": lambda x: dict(scale=0.0),
    "negative": lambda x: dict(scale=-0.125),
    "of each row": lambda x: dict(scale=Scale.per_row(x.term("rows", 1, x.shape.heads, x.shape.n_q, factor=0.2))),
    "target entropy": lambda x: dict(scale=Scale.target_entropy(2.5)),
    "target entropy, causal": lambda x: dict(scale=Scale.target_entropy([1.0, 2.0, 3.0, 9.0]), causal="start"),
    "target entropy, implicit": lambda x: dict(scale=Scale.target_entropy(2.5, gradient="implicit")),
}
TERMS = {
    "bias": lambda x: dict(bias=x.term("bias", 1, x.shape.heads, x.shape.n_q, x.shape.n_k)),
    "bias of keys": lambda x: dict(bias=x.term("bias", x.shape.batch, 1, 1, x.shape.n_k), causal="start"),
    "additive mask that learns": lambda x: dict(attn_mask=x.term("mask", x.shape.n_q, x.shape.n_k)),
    "ALiBi": lambda x: dict(alibi_slopes=x.term("slopes", x.shape.heads, factor=0.05), causal="start"),
    "ALiBi, both ways": lambda x: dict(alibi_slopes=x.term("slopes", x.shape.heads, factor=0.05)),
    "relative": lambda x: dict(relative_bias=x.term("table", x.shape.heads, 19), causal="end"),
    "soft cap": lambda x: dict(soft_cap=1.5),
    "soft cap and bias": lambda x: dict(soft_cap=1.5, bias=x.term("bias", 1, 1, x.shape.n_q, x.shape.n_k)),
    "sink": lambda x: dict(sink=x.term("sink", x.shape.heads, plus=2.0), causal="start"),
    "sink and everything": lambda x: dict(
        sink=x.term("sink", x.shape.heads), causal="end", window=60, soft_cap=4.0,
        alibi_slopes=x.term("slopes", x.shape.heads, factor=0.05), scale=Scale.log_n(x.term("kappa", x.shape.heads)),
    ),
    "dropout": lambda x: dict(dropout_p=0.2, seed=3, causal="start"),
    "dropout and sink": lambda x: dict(dropout_p=0.5, seed=11, sink=x.term("sink", x.shape.heads)),
    "mask, soft cap and dropout": lambda x: dict(attn_mask=_boolean_mask(x), soft_cap=1.5, dropout_p=0.2, seed=3),
    "groups": lambda x: dict(groups=(2, 30), causal="start"),
    "groups, full": lambda x: dict(groups=(1, 16)),
    "groups, documents": lambda x: dict(groups=(1, 16)) | MASKS["documents"](x),
    "groups, soft cap": lambda x: dict(groups=(1, 16), soft_cap=1.5, causal="start"),
    "groups, masked": lambda x: dict(groups=(1, 16), attn_mask=_boolean_mask(x), causal="start"),
}  # fmt: skip
MAPS = {
    "top_k": lambda x: dict(map=ScoreMap.top_k(5), causal="start"),
    "relu_squared": lambda x: dict(map="relu_squared"),
    "sigmoid": lambda x: dict(map="sigmoid", causal="start"),
    "sparsemax": lambda x: dict(map="sparsemax"),
    "gumbel": lambda x: dict(map=ScoreMap.gumbel(0.7), seed=5),
    "decay": lambda x: dict(map=ScoreMap.decay(0.9), causal="start"),
}
CASES = MASKS | SCALES | TERMS | MAPS


def run(case, shape, dtype, device, exact, size=1.0, seed=0, edit=None, statistics="all", view=lambda x: x):
    """Values and gradients by name; ``edit`` may change query, key and value first, ``view`` their memory layout."""
    inputs = Inputs(shape, dtype, device, exact, seed)
    q, k, v = inputs.tensors(size)
    if edit is not None:
        with torch.no_grad():
            edit(q, k, v)
    options = CASES[case](inputs)
    q, k, v = view(q), view(k), view(v)
    output, aux = isentropic.attention(q, k, v, enable_gqa=True, statistics=statistics, return_aux=True, **options)
    values = {"output": output, **aux.as_dict()}
    assert all(value.device.type == device for value in values.values())
    learns = {name: value for name, value in values.items() if value.requires_grad}
    upstream = [inputs.upstream(name, value) for name, value in learns.items()]
    gradients = torch.autograd.grad(list(learns.values()), list(inputs.leaves.values()), upstream, allow_unused=True)
    return values, dict(zip(inputs.leaves, gradients))


def assert_as_on_the_cpu(
    case, shape=None, dtype=torch.float32, size=1.0, outlier=1.0, view=lambda x: x, cancels=False, **options
):
    """A case's values and gradients on the GPU match float64 on the CPU; ``outlier``: of scores, relative to ``size``.

    ``cancels``: rows rest on one key, so that their gradients are the remainder of cancelling terms. They may then err
    twice as much as the CPU does in the same type.
    """
    shape = shape or Shape()
    values, gradients = run(case, shape, dtype, DEVICE, False, size, view=view, **options)
    exact_values, exact_gradients = run(case, shape, dtype, "cpu", True, size, **options)
    assert values.keys() == exact_values.keys() and gradients.keys() == exact_gradients.keys()
    of_output, of_input, of_term = TOLERANCES[dtype]
    # The accuracy of a score of that size is limited to its last digit.
    digits = size * outlier * (1e-14 if dtype == torch.float64 else 5e-7)
    solved = 1e-4 if "target" in case and dtype != torch.float64 else 0.0  # the scale solver's tolerance
    for name, value in values.items():
        if name == "argmax":  # if scores agree to their last digits, either may be the highest
            assert (value.cpu() != exact_values[name]).double().mean() <= 2e-3, f"{name} of {case}"
            continue
        tolerance = of_output if name == "output" else STATISTICS[dtype] + solved
        assert_near(
            f"{name} of {case}", value, exact_values[name], tolerance + digits, rows=0.1 if name == "output" else None
        )
    assert values["output"].dtype == dtype
    plain = run(case, shape, dtype, "cpu", False, size, **options)[1] if cancels else {}
    for name, gradient in gradients.items():
        rows = 1.0 if name in ("query", "key", "value") else None
        tolerance = (of_input if rows else of_term) + 4 * digits
        assert_near(f"gradient of {name} of {case}", gradient, exact_gradients[name], tolerance, rows, plain.get(name))


def assert_near(what, found, expected, tolerance, rows=None, plain=None):
    """Within ``tolerance`` of the largest value; NaN and infinities where they belong.

    ``rows``: every row, the last axis, within ``tolerance`` of its norm plus that many times the typical norm.
    Gradients sum terms larger than their sum, gO.v of about 8 among them: 0.05 of ``tolerance`` is below their last
    digits. ``plain``: twice its error is allowed too.
    """
    if expected is None:
        assert found is None, what
        return
    found, expected = found.detach().cpu().double(), expected.detach().double()
    assert found.shape == expected.shape, what
    for what_is in (torch.isnan, torch.isposinf, torch.isneginf):
        assert what_is(found).equal(what_is(expected)), f"{what}: {what_is.__name__} elsewhere"
    counts = expected.isfinite()
    if rows is not None and counts.any():
        error, norm = (torch.where(counts, x, 0.0).norm(dim=-1) for x in (found - expected, expected))
        allowed = tolerance * (norm + rows * norm.square().mean().sqrt() + 0.05)
        if plain is not None:
            allowed = allowed + 2 * torch.where(counts, plain.detach().double() - expected, 0.0).norm(dim=-1).max()
        worst = (error / allowed).max().item()
        assert worst <= 1, f"{what}: a row is off by {worst * tolerance:.3g} of its norm"
    elif counts.any():
        found, expected = found[counts], expected[counts]
        error, largest = (found - expected).abs().max().item(), expected.abs().max().item()
        assert error <= tolerance * max(largest, 1e-3), f"{what}: off by {error:.3g}, largest {largest:.3g}"
