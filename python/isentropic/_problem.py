"""An attention problem as the operators take it: a JSON text and tensors (src/attention/problem/problem_spec.hpp)."""

from __future__ import annotations

import functools
import json
from typing import Optional

import torch
from torch import Tensor

from . import _observe
from .distributed import _plan
from ._checks import integer, number, pair_of_integers, require, require_tensor
from ._aux import Aux
from .maps import ScoreMap
from .scales import Scale

TYPES = frozenset((torch.float32, torch.bfloat16, torch.float16, torch.float64))

_operator = torch.ops.isentropic.attention.default  # found once: looking it up takes as long as a check


@functools.lru_cache(maxsize=1024)
def _cached_text(items) -> str:
    return json.dumps({name: dict(value) if name in ("scale", "map") else value for name, value in items})


@torch.compiler.assume_constant_result
def _to_text(items) -> str:
    return _cached_text(items)


@functools.lru_cache(maxsize=1024)
def _cached_names(text: str):
    return torch.ops.isentropic.attention_layout(text)


@torch.compiler.assume_constant_result
def names_of(text: str):
    """Names of statistics, measures and counts, in the operator's order."""
    return _cached_names(text)


def _integers(values, name: str) -> Tensor:
    tensor = values if isinstance(values, Tensor) else torch.tensor(list(values))
    if tensor.is_floating_point() and tensor.numel() > 0:  # an empty list has no type
        raise TypeError(f"{name} has type {tensor.dtype}; expected integers")
    return tensor.long()


def _hidden(additive: Tensor) -> Tensor:
    """Where an additive mask hides a key: -inf, or the lowest value of its type."""
    return additive <= torch.finfo(additive.dtype).min


def _sharded():
    """Imported on demand, since it needs this module."""
    from .distributed import _attention

    return _attention


class Problem:
    """Checks and translates the arguments of :func:`isentropic.attention`, which documents them."""

    def __init__(
        self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False,
        causal=None, window=None, prefix=None, strided=None, block_sparse=None, key_lengths=None, documents=None,
        segments=None, exclude_self=False, map=None, bias=None, alibi_slopes=None, relative_bias=None, soft_cap=None,
        sink=None, statistics=None, groups=None, seed=None, group=None,
    ):  # fmt: skip
        self._items: list[tuple[str, object]] = []
        self._names: list[str] = []
        self._terms: list[Tensor] = []
        self.groups = None
        self._needs_variance = self._has_statistics = False
        self._is_softmax = True
        # Arguments that are not given cost nothing: for small problems the checks would take longer than the attention.
        if self._are_plain(query, key, value):
            self.query, self.key, self.value = query, key, value
            self.row_shape, self._has_four_axes = query.shape[:-1], True
        else:
            self._set_tensors(query, key, value, enable_gqa)
        self.plan = _plan.in_force() if group is None else _plan.plan_of(group)
        if self.plan is not None and documents is None:
            documents = self.plan.documents
        if is_causal or causal is not None:
            self._set_causal(is_causal, causal, attn_mask)
        if exclude_self or not (
            window is prefix is strided is block_sparse is key_lengths is documents is segments is None
        ):
            self._set_mask(window, prefix, strided, block_sparse, key_lengths, documents, segments, exclude_self)
        if not (attn_mask is None and bias is None and alibi_slopes is None and relative_bias is None):
            self._set_bias(attn_mask, bias, alibi_slopes, relative_bias)
        if scale is not None:
            self._set_scale(Scale.named(scale))
        if map is not None or dropout_p != 0.0:
            self._set_map(ScoreMap.named(map), dropout_p, seed)
        if soft_cap is not None:
            self._items.append(("soft_cap", number("soft_cap", soft_cap, positive=True)))
        if sink is not None:
            self._add("sink", sink)
        if statistics or groups is not None or self._needs_variance:
            self._set_statistics(statistics, groups)

    # ---- passes ----

    def run(self):
        """(output, Aux); output is None without a value."""
        if self.value is not None and _observe.is_watched():
            return _observe.run(self)
        return self.run_text(self.text())

    def run_text(self, text: str):
        """As :meth:`run`, with a text that may ask for other statistics."""
        if self.plan is None:
            found = _operator(text, self.query, self.key, self.value, self._terms)
        else:
            found = _sharded().run(self, self.plan, text)
        output, *stacks, rows, row_counts, selected = found
        found = {}
        for stack, names in zip(stacks, names_of(text)):
            if names:
                found |= zip(names, stack.unbind(0))
        if not self._has_four_axes:
            found = {name: x.reshape(self.row_shape) for name, x in found.items()}
            if rows.numel():
                rows, row_counts = (x.reshape(x.shape[0], *self.row_shape) for x in (rows, row_counts))
        if self.plan is not None and rows.numel() == 0:
            rows = row_counts = None
        return (None if self.value is None else self.with_leading_axes(output)), Aux(found, rows, row_counts, selected)

    def with_leading_axes(self, output: Tensor) -> Tensor:
        """``output`` ``[batch, heads, n_q, d_v]`` with the axes that the caller's tensors have."""
        return output if self._has_four_axes else output.reshape(*self.row_shape, output.shape[-1])

    def run_hierarchical(self, block, exact, block_scale):
        output, *entropies = torch.ops.isentropic.hierarchical_attention(
            self.text(), self.query, self.key, self.value, self._terms, block, exact, block_scale
        )
        names = ("entropy", "block_entropy", "within_entropy")
        aux = Aux({name: x.reshape(self.row_shape) for name, x in zip(names, entropies)})
        return output.reshape(*self.row_shape, self.value.shape[-1]), aux

    def weights(self, rows, aux: Optional[Aux] = None, first_key: int = 0):
        """Weights of the keys from ``first_key`` on; the ``aux`` of an earlier pass saves one on a GPU."""
        finished = None
        if aux is not None and self._is_softmax:
            finished = aux._rows.detach().reshape(-1, *self.query.shape[:-1])
        found = torch.ops.isentropic.attention_weights(
            self.text(),
            self.query.detach(),
            self.key.detach(),
            self._detached_terms(),
            [integer("rows", row) for row in rows],
            finished,
            first_key,
        )
        return found.reshape(*self.row_shape[:-1], *found.shape[-2:])

    def key_mass(self, aux: Optional[Aux] = None):
        """The ``aux`` of an earlier pass saves one."""
        with torch.no_grad():
            statistics = () if self._has_statistics else ("log_partition" if self._is_softmax else "visible",)
            text = self.text(statistics=statistics) if statistics else self.text()
            if self.plan is not None:
                found = _sharded().key_mass(self, self.plan, text)
                return found.reshape(*self.row_shape[:-1], found.shape[-1])
            if aux is None:
                *_, rows, row_counts, selected = torch.ops.isentropic.attention(
                    text, self.query, self.key, None, self._terms
                )
            else:
                shape = self.query.shape[:-1]
                rows, row_counts = (x.reshape(x.shape[0], *shape) for x in (aux._rows, aux._row_counts))
                selected = aux._selected
            found = torch.ops.isentropic.attention_key_mass(
                text, self.query, self.key, self._terms, rows, row_counts, selected
            )
        return found.reshape(*self.row_shape[:-1], found.shape[-1])

    # ---- translation ----

    def text(self, **replaced) -> str:
        """The description; ``replaced`` overrides what the caller asked for."""
        return _to_text((*self._items, *replaced.items(), ("tensors", tuple(self._names))))

    def options(self) -> dict[str, object]:
        """The content of the description, without the names of tensors."""
        return dict(self._items)

    def undoable_cap(self, strict: bool) -> Optional[float]:
        """The soft cap, where the largest score before it can be recovered: no bias was added after the cap."""
        options = self.options()
        cap = options.get("soft_cap")
        hidden = cap is not None and "bias" in options
        require(
            not (hidden and strict),
            lambda: (
                f"soft_cap is {cap} with a bias after it; expected one of them: the scores before the cap are unknown"
            ),
        )
        return None if hidden else cap

    def has_terms(self) -> bool:
        """Whether there are tensors beside query, key and value."""
        return bool(self._terms)

    def terms(self) -> list[Tensor]:
        """The tensors beside query, key and value."""
        return self._terms

    def term_names(self) -> list[str]:
        return self._names

    def statistics_of(self, text: str) -> tuple[str, ...]:
        return tuple(name for names in names_of(text) for name in names)

    def _add(self, name: str, tensor: Tensor) -> None:
        require_tensor(name, tensor)
        self._names.append(name)
        self._terms.append(tensor)

    def _detached_terms(self):
        return [term.detach() for term in self._terms]

    @staticmethod
    def _are_plain(query, key, value) -> bool:
        """Whether these tensors need neither an error message nor any conversion."""
        if not (isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor)):
            return False
        # Each of these is created anew when accessed.
        dtype, device, shape, key_shape, value_shape = query.dtype, query.device, query.shape, key.shape, value.shape
        return (
            len(shape) == len(key_shape) == len(value_shape) == 4
            and shape[0] == key_shape[0] == value_shape[0]
            and shape[1] == key_shape[1] == value_shape[1]
            and dtype in TYPES
            and dtype == key.dtype == value.dtype
            and device == key.device == value.device
        )

    def _set_tensors(self, query, key, value, enable_gqa) -> None:
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            if tensor is None and name == "value":
                continue
            require_tensor(name, tensor)
            if tensor.dtype not in TYPES:
                raise TypeError(f"{name} has type {tensor.dtype}; expected float32, bfloat16, float16 or float64")
            require(tensor.dim() >= 2, lambda: f"{name} has shape {list(tensor.shape)}; expected [..., heads, n, d]")
            require(
                tensor.device == query.device,
                lambda: f"{name} is on {tensor.device}; expected {query.device}, as the query",
            )
        leading = self._common_leading(*(x.shape[:-3] for x in (query, key, value) if x is not None))
        self.row_shape = torch.Size((*leading, *query.shape[-3:-1]))
        self._has_four_axes = len(leading) == 1 and query.dim() == 4
        self.query = self._four_axes(query, leading)
        self.key = self._four_axes(key, leading)
        self.value = None if value is None else self._four_axes(value, leading)
        heads, kv_heads = self.query.shape[1], self.key.shape[1]
        require(
            heads == kv_heads or enable_gqa,
            lambda: f"key has {kv_heads} heads and query {heads}; expected as many, or enable_gqa=True",
        )

    @staticmethod
    def _common_leading(first, *others) -> torch.Size:
        if all(shape == first for shape in others):
            return first
        shapes = (first, *others)
        try:
            return torch.broadcast_shapes(*shapes)
        except RuntimeError as error:
            expected = "query, key and value whose leading axes broadcast"
            raise ValueError(f"leading axes are {[list(shape) for shape in shapes]}; expected {expected}") from error

    @staticmethod
    def _four_axes(tensor: Tensor, leading) -> Tensor:
        if tensor.dim() == 4 and tensor.shape[:-3] == leading:
            return tensor
        while tensor.dim() < 3:
            tensor = tensor.unsqueeze(0)
        if tensor.shape[:-3] != leading:
            tensor = tensor.expand(*leading, *tensor.shape[-3:])
        return tensor.reshape(leading.numel(), *tensor.shape[-3:])

    def _set_causal(self, is_causal, causal, attn_mask) -> None:
        require(
            causal in (None, False, True, "start", "end"),
            lambda: f"causal is {causal!r}; expected True, 'start' or 'end'",
        )
        require(not (is_causal and causal), lambda: "is_causal and causal are both given; expected one of them")
        require(
            not (is_causal and attn_mask is not None),
            lambda: "is_causal is given with attn_mask; expected one of them (causal='start' goes with a mask)",
        )
        if is_causal or causal:
            self._items.append(("causal", True))
        if causal == "end":
            self._items.append(("align", "end"))

    def _set_mask(self, window, prefix, strided, block_sparse, key_lengths, documents, segments, exclude_self) -> None:
        if window is not None:
            both = window if isinstance(window, (tuple, list)) else (window, 0)
            self._items.append(("window", pair_of_integers("window", both, "left and right")))
        for name, given in (("prefix", prefix), ("segments", segments)):
            if given is not None:
                self._items.append((name, integer(name, given)))
        if strided is not None:
            self._items.append(("strided", pair_of_integers("strided", strided, "stride and local")))
        if exclude_self:
            self._items.append(("exclude_self", True))
        if block_sparse is not None:
            expected = "expected (layout, block_q, block_k)"
            require(
                isinstance(block_sparse, (tuple, list)) and len(block_sparse) == 3,
                lambda: f"block_sparse is a {type(block_sparse).__name__}; {expected}",
            )
            layout, *blocks = block_sparse
            require_tensor("layout of block_sparse", layout)
            while layout.dim() < 4:
                layout = layout.unsqueeze(0)
            self._items.append(("block", pair_of_integers("block_sparse", blocks, "block_q and block_k")))
            self._add("layout", layout)
        if key_lengths is not None:
            self._add("key_lengths", _integers(key_lengths, "key_lengths").reshape(-1))
        if documents is not None:
            pair = isinstance(documents, tuple) and len(documents) == 2 and not isinstance(documents[0], int)
            queries, keys = documents if pair else (documents, documents)
            self._add("query_offsets", _integers(queries, "documents"))
            self._add("key_offsets", _integers(keys, "documents"))

    # An additive mask is a bias: -inf and the type's lowest value hide a key there too, and it may have a gradient. Next
    # to a bias it is a term of its own or, with a gradient, added to the bias: what either hides then goes into a mask,
    # since the lowest value of one type is another number in a sum.
    def _set_bias(self, attn_mask, bias, alibi_slopes, relative_bias) -> None:
        terms = {"attn_mask": attn_mask, "bias": bias, "alibi_slopes": alibi_slopes, "relative_bias": relative_bias}
        for name, tensor in terms.items():
            if tensor is not None:
                require_tensor(name, tensor)
        additive = attn_mask is not None and attn_mask.is_floating_point()
        if attn_mask is not None and not additive:
            if attn_mask.dtype != torch.bool:
                raise TypeError(f"attn_mask has type {attn_mask.dtype}; expected bool or a floating type")
            self._add("mask", self._over_scores(attn_mask, "attn_mask"))
        kinds = (("dense", bias), ("alibi", alibi_slopes), ("relative", relative_bias))
        given = [(kind, tensor) for kind, tensor in kinds if tensor is not None]
        require(len(given) <= 1, lambda: "more than one of bias, alibi_slopes and relative_bias is given; expected one")
        if given and given[0][0] == "dense":
            given = [("dense", self._over_scores(bias, "bias"))]
        if additive:
            mask = self._over_scores(attn_mask, "attn_mask")
            if not given:
                given = [("dense", mask)]
            elif given[0][0] == "dense" and attn_mask.requires_grad:
                hidden = [_hidden(term) for term in (given[0][1], mask)]
                shown = [term.masked_fill(where, 0.0) for term, where in zip((given[0][1], mask), hidden)]
                self._add("mask", ~(hidden[0] | hidden[1]))
                given = [("dense", shown[0] + shown[1])]
            else:
                require(
                    not attn_mask.requires_grad,
                    lambda: "attn_mask requires a gradient next to another bias; add them up",
                )
                self._add("mask", mask)
        if given:
            self._items.append(("bias", given[0][0]))
            self._add("bias", given[0][1])

    def _over_scores(self, tensor: Tensor, name: str) -> Tensor:
        """[batch or 1, heads or 1, n_q or 1, n_k or 1]."""
        n_q, n_k = self.query.shape[2], self._keys_in_all()
        leading = self.row_shape[:-2]
        while tensor.dim() < 2:
            tensor = tensor.unsqueeze(0)
        fits = tensor.shape[-1] in (1, n_k) and tensor.shape[-2] in (1, n_q)
        require(fits, lambda: f"{name} has shape {list(tensor.shape)}; expected the last axes to be [{n_q}, {n_k}]")
        while tensor.dim() < 4:
            tensor = tensor.unsqueeze(0)
        if tensor.dim() == 4 and len(leading) <= 1:
            return tensor
        if all(size == 1 for size in tensor.shape[:-3]):
            return tensor.reshape(1, *tensor.shape[-3:])
        try:
            expanded = tensor.expand(*leading, *tensor.shape[-3:])
        except RuntimeError:
            shape, axes = list(tensor.shape), list(leading)
            raise ValueError(f"{name} has shape {shape}; expected leading axes that broadcast to {axes}") from None
        return expanded.reshape(leading.numel(), *tensor.shape[-3:])

    def _keys_in_all(self) -> int:
        return self.key.shape[2] if self.plan is None else self.plan.layout(self.key.shape[2]).total

    def _set_scale(self, scale: Scale) -> None:
        items, tensors = scale.written()
        for tensor in tensors:
            self._add("scale", tensor)
        if scale.law != "inverse_sqrt_d":
            self._items.append(("scale", items))
        self._needs_variance = scale.get("gradient") == "implicit"

    def _set_map(self, map: ScoreMap, dropout_p: float, seed) -> None:
        if map.name != "softmax":
            self._items.append(("map", (("name", map.name), *map.checked_options())))
            for tensor in map.tensors():
                self._add("map", tensor)
        self._is_softmax = map.is_softmax
        dropout_p = number("dropout_p", dropout_p)
        require(0.0 <= dropout_p < 1.0, lambda: f"dropout_p is {dropout_p}; expected a probability in [0, 1)")
        if dropout_p > 0.0:
            self._items.append(("dropout", dropout_p))
        if dropout_p > 0.0 or map.is_random:
            self._add("seed", self._seed(seed))

    def _seed(self, seed) -> Tensor:
        device = self.query.device
        if seed is None:
            return torch.randint(2**62, (1,), device=device)
        if isinstance(seed, Tensor):  # read on its device, each time a graph is replayed
            require(
                seed.numel() == 1 and seed.dtype == torch.int64,
                lambda: f"seed is {seed.dtype} {list(seed.shape)}; expected one int64",
            )
            return seed.reshape(1)
        return torch.full((1,), integer("seed", seed), device=device)

    def _set_statistics(self, statistics, groups) -> None:
        names = _observe.checked_names(statistics) if statistics else ()
        if self._needs_variance and names != "all" and "score_variance" not in names:
            names = (*names, "score_variance")
        self._has_statistics = bool(names)
        if names:
            self._items.append(("statistics", names))
        if groups is not None:
            self.groups = pair_of_integers("groups", groups, "first and recent")
            self._items.append(("groups", self.groups))
