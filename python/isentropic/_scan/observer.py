"""Passes the attention of a model to a scanner (src/scan/scanner.hpp), call by call."""

from __future__ import annotations

import re
from typing import Callable, Optional

import torch
from torch import Tensor, nn

from .. import _observe, _unseen, _vocabulary
from .._aux import Aux
from .._layers import RunningLayer

#: number of each kind of sampled row (src/scan/measurement.hpp)
SAMPLED_ROWS = 32


def weights_at_once(device: torch.device) -> int:
    """How many weights of sampled rows are held at a time; kernels take up to 64 rows in the time of one."""
    return 1 << 28 if device.type == "cuda" else 1 << 25


_CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)


class Observer:
    """Observes one forward pass after another; ``layers`` are those seen so far, in order of their first call."""

    detach = True

    def __init__(self, model: nn.Module):
        self.layer = RunningLayer(model, None)  # the scan itself reports what was not seen
        self.layers: dict[str, int] = {}

    def __enter__(self):
        self.layer.start()
        _observe.watch(self)
        return self

    def __exit__(self, *_) -> None:
        _observe.unwatch(self)
        self.layer.stop()


class RowObserver(Observer):
    """Collects everything about every row, for windows of a text."""

    def __init__(self, model: nn.Module, scanner, key_mass: bool, groups: tuple[int, int]):
        super().__init__(model)
        self.statistics = tuple(name for name in _vocabulary.STATISTICS if name != "argmax")
        self.groups = groups
        self._model = model
        self._scanner = scanner
        self._key_mass = key_mass
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._residuals: dict[str, Tensor] = {}  # of blocks
        self._outputs: dict[str, tuple[int, Tensor]] = {}  # of modules whose gate has not been seen yet
        self._later: list[Callable[[int], None]] = []  # reports of the further entries of a batch

    def __enter__(self):
        super().__enter__()
        for name, module in self._model.named_modules():
            if _is_block(self._model, name):
                self._hook(module, self._keep_residual, name)
            elif _unseen.is_attention(self._parent(name)):
                self._hook(module, self._compare_with_output, name.rpartition(".")[0])
        return self

    def __exit__(self, *error) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        super().__exit__(*error)

    def _hook(self, module: nn.Module, act: Callable[[str, Tensor], None], name: str) -> None:
        def before(_, args, kwargs) -> None:
            x = args[0] if args else kwargs.get("hidden_states")
            if isinstance(x, Tensor) and x.is_floating_point():
                act(name, x)

        self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))

    def _parent(self, name: str) -> nn.Module:
        return self._model.get_submodule(name.rpartition(".")[0])

    def looks_back_only(self) -> bool:
        """Whether the layers seen so far are those of a model that predicts the next token: some attend to the past and
        none to the future; others may attend to keys of another kind, such as images or summaries of the past."""
        kinds = {self._scanner.kind(layer) for layer in self.layers.values()}
        return "decoder" in kinds and "encoder" not in kinds

    # ---- one forward pass ----

    def begin(self) -> None:
        self._residuals.clear(), self._outputs.clear(), self._later.clear()

    def tell_entry(self, entry: int) -> None:
        """Passes on what the forward pass found about a further entry of its batch."""
        for tell in self._later:
            tell(entry)

    def observe(self, aux: Aux, call: _observe.Call) -> None:
        name = self.layer.next_label()
        if name is None:
            return
        query, key = call.problem.query, call.problem.key
        statistics = {name: x.reshape(query.shape[:-1]) for name, x in aux.as_dict().items()}
        visible = statistics.pop("visible")
        if name not in self.layers:
            crosses = query.shape[2] != key.shape[2] or bool(_CROSS.search(name))
            heads, _, width = query.shape[1:]
            self.layers[name] = self._scanner.add_layer(
                name, crosses, heads, width, call.problem.text(), key.shape[2], visible[0, 0]
            )
        layer = self.layers[name]
        mass = call.problem.key_mass(call.aux).reshape(*query.shape[:2], -1) if self._key_mass else None
        self._outputs[name.partition("#")[0]] = (layer, call.output)
        residual = self._residuals.get(_block_of(self._model, name))
        batch, _, rows, _ = query.shape
        keys = key.shape[2]
        sampled = self._weights(self._scanner.rows_to_sample(layer, rows, SAMPLED_ROWS), call)
        if batch > 1:
            sampled = [(positions, weights.cpu(), is_last) for positions, weights, is_last in sampled]

        def tell(entry: int) -> None:
            values = [x[entry] for x in statistics.values()]
            self._scanner.add_rows(
                layer, keys, list(statistics), values, visible[entry], None if mass is None else mass[entry]
            )
            if residual is not None:
                self._scanner.add_residual(layer, residual[entry])
            for positions, weights, is_last in sampled:
                self._scanner.add_sampled(layer, rows, positions, weights[entry], is_last)

        tell(0)
        first_key = self._scanner.first_key_of_tile(keys)
        for positions, weights, _ in self._weights(self._scanner.rows_of_tile(rows), call, first_key):
            self._scanner.add_tile(layer, rows, keys, positions, first_key, weights[0])
        if batch > 1:
            self._later.append(tell)

    @staticmethod
    def _weights(positions: list[int], call: _observe.Call, first_key: int = 0):
        """Rows, their weights of keys from ``first_key`` on, whether they are the last; as many as memory allows."""
        batch, heads, _, _ = call.problem.query.shape
        keys = call.problem.key.shape[2]
        formed = keys - first_key if call.problem.query.is_cuda else keys
        at_once = max(1, weights_at_once(call.problem.query.device) // (batch * heads * formed))
        for first in range(0, len(positions), at_once):
            part = positions[first : first + at_once]
            weights = call.problem.weights(part, call.aux, first_key)
            yield part, weights.reshape(batch, heads, len(part), -1), first + at_once >= len(positions)

    # ---- inputs and outputs of a layer ----

    def _keep_residual(self, block: str, x: Tensor) -> None:
        """||X - mean of its rows|| / ||X|| of the input X of a block, for each entry of the batch."""
        if x.dim() == 3:
            # ||X||^2 - n ||mean||^2, in a type with twice the digits of X: a copy of X would cost more than the block.
            x = x.detach()
            wide = torch.float64 if x.device.type in ("cpu", "cuda") else torch.float32
            sums = wide if x.dtype.itemsize > 2 else torch.float32
            squares = torch.linalg.vector_norm(x, dim=2, dtype=sums).to(wide).square().sum(1)
            means = x.shape[1] * x.mean(1, dtype=sums).to(wide).square().sum(1)
            self._residuals[block] = (1 - means / squares).clamp(min=0).sqrt()

    def _compare_with_output(self, attention: str, x: Tensor) -> None:
        """Finds a gate between the attention of a module and its output projection."""
        layer, output = self._outputs.pop(attention, (0, None))
        if output is None or output.dim() != 4:
            return
        heads_last = output.transpose(1, 2)
        if x.numel() != output.numel():
            return
        gate = None if _is_same_memory(x, heads_last) else _gate(heads_last, x.detach().reshape(heads_last.shape))
        if gate is not None:
            self._scanner.add_statistic(layer, "output_gate", gate)


def _is_same_memory(x: Tensor, output: Tensor) -> bool:
    """Whether ``x`` is ``output`` in another shape, element by element: nothing can have happened in between."""
    return (
        x.device == output.device
        and x.dtype == output.dtype
        and x.data_ptr() == output.data_ptr()
        and x.is_contiguous()
        and output.is_contiguous()
    )


def _gate(before: Tensor, after: Tensor) -> Optional[Tensor]:
    """Mean of ``|after|`` over that of ``|before|``, both ``[batch, n, heads, d]``, by head; None if 1 or no gate."""
    some = slice(None, None, max(1, before.shape[1] // 16))  # rows: nearly always there is no gate
    if torch.equal(before[:, some], after[:, some]):
        return None
    before, after = before.float(), after.float()
    is_gate = (after.abs() <= 1.01 * before.abs() + 1e-6).all() & (before * after >= 0).all()
    if not bool(is_gate):
        return None
    return (after.abs().sum((0, 1, 3)) / before.abs().sum((0, 1, 3)).clamp(min=1e-30)).double()


class LastEntropies(Observer):
    """The mean entropy of the last rows, by layer and head."""

    statistics = ("entropy",)
    groups = _observe.USUAL_GROUPS

    def __init__(self, model: nn.Module, rows: int):
        super().__init__(model)
        self.found: dict[str, Tensor] = {}
        self._rows = rows

    def observe(self, aux: Aux, call: _observe.Call) -> None:
        name = self.layer.next_label()
        if name is not None:
            entropy = aux.entropy.reshape(call.problem.query.shape[:-1])
            self.found[name] = self.found.get(name, 0) + entropy[0, :, -self._rows :].mean(1).double()


def _is_block(model: nn.Module, name: str) -> bool:
    """Whether the module is one of a list of layers."""
    parent = name.rpartition(".")[0]
    return bool(name) and isinstance(model.get_submodule(parent), nn.ModuleList)


def _block_of(model: nn.Module, name: str) -> Optional[str]:
    """The layer that a module is in."""
    name = name.partition("#")[0]
    while name and not _is_block(model, name):
        name = name.rpartition(".")[0]
    return name or None
