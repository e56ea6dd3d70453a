"""The information plane of a network in training: I(X;T) and I(T;Y) of its layers, epoch by epoch."""

from __future__ import annotations

import contextlib
import functools
import html
import itertools
import json
import math
import os
import pathlib
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

import torch
from torch import Tensor, nn

from ._checks import integer, number
from ._files import write_file

_OPS = torch.ops.isentropic
_ACCURACIES = ("train_accuracy", "test_accuracy")


class InformationPlane:
    """Records the positions of a network's layers T in the information plane, I(X;T) and I(T;Y), in bits.

        plane = isentropic.InformationPlane(model, layers=["0", "2", "4"])
        for epoch in range(epochs):
            train(model)
            plane.record(inputs, labels, epoch=epoch)
        plane.save("plane.html")

    Networks with different seeds are recorded one by one and combined by :meth:`merged`; a layer is then reported to
    compress only beyond the spread of the seeds.

    A layer is a function of X, so the information it actually keeps is ``exact``: the entropy of its distinct
    activations. All other estimators add bins or noise, and measure those as well
    (include/isentropic/information/layer_information.hpp). Whether a layer appears to compress depends on the
    estimator: :meth:`findings` reports which estimator sees what.

    Args:
        model: any module that takes one argument, or keyword arguments.
        layers: names of its modules, as in ``model.named_modules()``, in order of depth.
        estimators: names such as "exact", "width:0.5", "count:30", "equal_mass:30", "kolchinsky_upper:0.1",
            "kolchinsky_lower:0.1", "noise:0.1"; by default all of these and "width:0.07".
        title: heading of the page.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Iterable[str],
        estimators: Optional[Iterable[str]] = None,
        *,
        title: str = "The information plane",
    ):
        self._model: Optional[nn.Module] = model
        for what, names in (("layers", layers), ("estimators", estimators)):
            if isinstance(names, str):  # an iterable of names, too: those of its letters
                raise TypeError(f"{what} is {names!r}; expected a list of names")
        self._layers = list(layers)
        modules = dict(model.named_modules())
        missing = [name for name in self._layers if name not in modules]
        if not self._layers or missing:
            raise ValueError(f"layers is {missing or self._layers}; expected names of the model's modules")
        usual = _OPS.plane_usual_estimators()
        self._data: dict[str, Any] = {
            "title": title,
            "layers": self._layers,
            "estimators": list(usual if estimators is None else estimators),
            "input_bits": 0.0,
            "label_bits": 0.0,
            "moments": [],
        }
        if not self._data["estimators"]:
            raise ValueError("estimators is []; expected at least one")
        nothing = torch.zeros(1, 1), torch.zeros(1)
        _OPS.plane_points(*nothing, None, self._data["estimators"])  # raises for unknown names
        for what in ("layers", "estimators"):
            repeated = [name for name in self._data[what] if self._data[what].count(name) > 1]
            if repeated:
                raise ValueError(f"{what} has {repeated[0]!r} twice; expected each once")

    @torch.no_grad()
    def record(
        self,
        inputs: Union[Tensor, Mapping[str, Tensor]],
        labels: Union[Tensor, Sequence[int]],
        *,
        epoch: Optional[int] = None,
        x: Union[None, Tensor, Sequence[int]] = None,
        train_accuracy: Optional[float] = None,
        test_accuracy: Optional[float] = None,
    ) -> dict[str, Any]:
        """Runs the model on all inputs in evaluation mode, measures its layers and returns the results.

        Args:
            inputs: a batch, or a mapping of keyword arguments of the model.
            labels: an integer for each row.
            epoch: by default the one after the last.
            x: an integer for each row, the same for rows that are the same X. By default every row is a different X.
            train_accuracy, test_accuracy: fractions of correct answers, which the page shows beside compression.
        """
        model = self._model
        if model is None:
            raise ValueError("the plane is merged from others; expected one that was made of a model")
        moments = self._data["moments"]
        epoch = (moments[-1]["epoch"] + 1 if moments else 0) if epoch is None else integer("epoch", epoch)
        if moments and epoch <= moments[-1]["epoch"]:
            raise ValueError(f"epoch is {epoch}; expected one after {moments[-1]['epoch']}")
        accuracies = _known_shares(train_accuracy=train_accuracy, test_accuracy=test_accuracy)
        labels = _symbols("labels", labels)
        if x is not None:
            x = _symbols("x", x)
            if len(x) != len(labels):
                raise ValueError(f"x has {len(x)} rows; expected {len(labels)}, as many as labels")
        with _measuring(model), _watching(model, self._layers) as seen:
            model(**inputs) if isinstance(inputs, Mapping) else model(inputs)
        unseen = [name for name in self._layers if name not in seen]
        if unseen:
            raise ValueError(f"layers {unseen} gave no tensor; expected modules that the model calls")
        measure = functools.partial(_OPS.plane_points, labels=labels, inputs=x, estimators=self._data["estimators"])
        rows = [_rows(name, seen[name], len(labels)) for name in self._layers]
        points = torch.stack([measure(of_layer) for of_layer in rows])  # [layers, estimators, 2]
        moment: dict[str, Any] = {"epoch": epoch, **accuracies}
        for axis, name in enumerate(("input_bits", "label_bits")):
            columns = points[:, :, axis].T.tolist()
            moment[name] = {
                estimator: [[bits] for bits in column] for estimator, column in zip(self._data["estimators"], columns)
            }
        self._data["input_bits"], self._data["label_bits"] = _entropy(x, len(labels)), _entropy(labels, len(labels))
        moments.append(moment)
        return moment

    @classmethod
    def merged(cls, planes: Iterable[InformationPlane], *, title: Optional[str] = None) -> InformationPlane:
        """Combines the planes of networks that differ by their seeds, so that the spread over seeds is known.

        They must agree in layers, estimators, epochs, H(X) and H(Y). The result shows and saves what they recorded, but
        cannot record anything itself.

        Args:
            planes: one for each seed, at least one.
            title: heading of the page; by default that of the first plane.
        """
        seeds = [plane.data for plane in planes]
        if not seeds:
            raise ValueError("planes is empty; expected at least one")
        for other in seeds[1:]:
            _require_agreement(seeds[0], other)
        merged = cls.__new__(cls)
        merged._model, merged._layers = None, list(seeds[0]["layers"])
        merged._data = {
            **seeds[0],
            "title": seeds[0]["title"] if title is None else title,
            "moments": [_merged_moment(moments) for moments in zip(*(seed["moments"] for seed in seeds))],
        }
        return merged

    # ---- results ----

    @property
    def data(self) -> dict[str, Any]:
        """Everything recorded, as in results.json of ``isentropic plane`` (src/plane/record.hpp)."""
        return self._data

    def table(self) -> dict[str, list]:
        """Returns the columns epoch, estimator, layer, seed, input_bits and label_bits, for ``pandas.DataFrame``."""
        rows = [
            (moment["epoch"], estimator, layer, seed, input_bits, label_bits)
            for moment in self._data["moments"]
            for estimator in self._data["estimators"]
            for i, layer in enumerate(self._layers)
            for seed, (input_bits, label_bits) in enumerate(
                zip(moment["input_bits"][estimator][i], moment["label_bits"][estimator][i])
            )
        ]
        columns = ("epoch", "estimator", "layer", "seed", "input_bits", "label_bits")
        return {name: [row[i] for row in rows] for i, name in enumerate(columns)}

    def findings(self) -> dict[str, Any]:
        """Returns which estimator sees which layer compress, and whether exact information rises with depth.

        See src/plane/phases.hpp.
        """
        return json.loads(_OPS.plane_findings(self.to_json()))

    def to_json(self) -> str:
        return json.dumps(self._data)

    def page(self) -> str:
        """Returns a self-contained HTML page: points that move with the epochs, and what the estimators see."""
        return _OPS.plane_page(self.to_json())

    def picture(self) -> str:
        """Returns an SVG of the paths of the layers under the first four estimators, averaged over seeds."""
        return _OPS.plane_picture(self.to_json())

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the page (.html), the figure (.svg) or the recorded data (.json), depending on the suffix."""
        writers = {".html": self.page, ".svg": self.picture, ".json": self.to_json}
        suffix = pathlib.Path(path).suffix
        if suffix not in writers:
            raise ValueError(f"path is {os.fspath(path)!r}; expected a name that ends in {', '.join(writers)}")
        write_file(path, writers[suffix]())

    def __repr__(self) -> str:
        return _OPS.plane_terminal_text(self.to_json()).rstrip()

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page())}" style="width: 100%; height: 860px; border: 0" '
            'sandbox="allow-scripts"></iframe>'
        )


@contextlib.contextmanager
def _watching(model: nn.Module, layers: Iterable[str]) -> Iterator[dict[str, Tensor]]:
    """Yields the outputs of the layers' most recent calls."""
    seen: dict[str, Tensor] = {}

    def keep(name: str, _module: nn.Module, _arguments: Any, output: Any) -> None:
        output = output[0] if isinstance(output, (tuple, list)) and output else output
        if isinstance(output, Tensor):
            seen[name] = output.clone()  # the next module may write into it: nn.ReLU(inplace=True)

    handles = [model.get_submodule(name).register_forward_hook(functools.partial(keep, name)) for name in layers]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _measuring(model: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards every module is back in the mode it was in."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def _rows(layer: str, activations: Tensor, count: int) -> Tensor:
    """One row for each label."""
    if activations.dim() == 0 or len(activations) != count:
        shape = list(activations.shape)
        raise ValueError(f"layer {layer!r} gave the shape {shape}; expected {count} rows, as many as labels")
    return activations.detach().flatten(1) if activations.dim() > 1 else activations.detach().unsqueeze(1)


def _symbols(name: str, values: Union[Tensor, Sequence[int]]) -> Tensor:
    """An integer for each row, ``[rows]``: as a fraction it would be cut off without a word."""
    try:
        given = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is a {type(values).__name__}; expected an integer for each row") from None
    column = given.reshape(-1)
    if given.dim() == 0 or len(column) != len(given) or not len(given):
        raise ValueError(f"{name} has shape {list(given.shape)}; expected an integer for each row")
    broken = column[column != column.floor()] if column.is_floating_point() else column[:0]
    if column.is_complex() or len(broken):
        shown = f"of type {column.dtype}" if column.is_complex() else f"{broken[0].item():g}"
        raise ValueError(f"{name} is {shown}; expected an integer for each row")
    return column.long()


def _known_shares(**shares: Optional[float]) -> dict[str, list[float]]:
    """The accuracies that were given, in the form of a moment: a list with one entry per seed."""
    known = {name: number(name, share) for name, share in shares.items() if share is not None}
    for name, share in known.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{name} is {share}; expected a share between 0 and 1")
    return {name: [share] for name, share in known.items()}


def _require_agreement(first: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raises ValueError if two seeds cannot be merged."""
    for what, ours, theirs in (
        ("layers", first["layers"], other["layers"]),
        ("estimators", first["estimators"], other["estimators"]),
        ("epochs", _epochs(first), _epochs(other)),
    ):
        if ours != theirs:
            raise ValueError(f"{what} of a plane are {theirs}; expected those of the first, {ours}")
    for what, ours, theirs in (
        ("H(X)", first["input_bits"], other["input_bits"]),
        ("H(Y)", first["label_bits"], other["label_bits"]),
    ):
        if not math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9):
            raise ValueError(f"{what} of a plane is {theirs:.6g} bits; expected that of the first, {ours:.6g}")


def _epochs(data: Mapping[str, Any]) -> list[int]:
    return [moment["epoch"] for moment in data["moments"]]


def _merged_moment(moments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The moments of all seeds as one."""
    out: dict[str, Any] = {"epoch": moments[0]["epoch"]}
    for name in _ACCURACIES:
        known = [moment[name] for moment in moments if name in moment]
        if len(known) not in (0, len(moments)):
            counts = f"{len(known)} of {len(moments)} planes"
            raise ValueError(f"{name} of epoch {out['epoch']} is known of {counts}; expected all or none")
        if known:
            out[name] = _joined(known)
    for name in ("input_bits", "label_bits"):
        out[name] = {
            estimator: [_joined(seeds) for seeds in zip(*(moment[name][estimator] for moment in moments))]
            for estimator in moments[0][name]
        }
    return out


def _joined(lists: Iterable[list[float]]) -> list[float]:
    return list(itertools.chain.from_iterable(lists))


def _entropy(symbols: Optional[Tensor], rows: int) -> float:
    """Entropy in bits; without symbols all rows are different."""
    column = torch.arange(rows) if symbols is None else symbols.reshape(-1)
    shares = torch.unique(column, return_counts=True)[1].double() / rows
    return float((shares * (1 / shares).log2()).sum())
