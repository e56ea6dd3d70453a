"""The results of a scan, and the differences between two scans."""

from __future__ import annotations

import functools
import html
import json
import os
import pathlib
from typing import Any, Iterable, Union

import torch

from .._files import write_file

_OPS = torch.ops.isentropic


_MOST_IN_FULL = 64  # heads that a page shows with all their figures (src/scan/page.hpp)
_LARGEST_FRAME = 1_000_000


class Found:
    """What scans and comparisons have in common."""

    FORMAT = ""  # as in the JSON

    def __init__(self, found):
        """``found``: JSON, or the result of :meth:`Scanner.finish`, which writes it on demand."""
        self._found = found

    @functools.cached_property
    def _json(self) -> str:
        return self._found if isinstance(self._found, str) else self._found.json()

    def __getstate__(self) -> dict:
        return {"_found": self._json}

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """All results, as in the JSON (src/scan/result.hpp, comparison.hpp)."""
        return json.loads(self._json)

    @classmethod
    def load(cls, path: Union[str, os.PathLike]):
        """Reads what :meth:`to_json`, :meth:`save` or ``isentropic scan --json`` wrote."""
        contents = pathlib.Path(path).read_bytes()
        try:
            text = contents.decode()
            _OPS.scan_sentences(text)
            found = cls(text)
            is_one = found.data["format"] == cls.FORMAT
        except (ValueError, KeyError):
            is_one = False
        if not is_one:
            raise ValueError(f"{os.fspath(path)} is not {cls.FORMAT!r}; expected what {cls.__name__}.save wrote")
        return found

    @property
    def summary(self) -> str:
        """A few lines of text for a terminal."""
        return _OPS.scan_terminal_text(self._json)

    @property
    def sentences(self) -> list[str]:
        """The three sentences at the top of the report."""
        return _OPS.scan_sentences(self._json)

    def __repr__(self) -> str:
        return self.summary.rstrip()

    def page(self, heads: Iterable[tuple[int, int]] = ()) -> str:
        """Returns the report as a self-contained HTML page; ``heads``, as (layer, head), are shown in full."""
        return self._page(_MOST_IN_FULL, tuple(heads))

    def _page(self, most_in_full: int, heads: tuple = ()) -> str:
        for layer, head in heads:
            if layer < 0 or head < 0:
                raise ValueError(f"heads has ({layer}, {head}); expected (layer, head), both from 0")
        layers = [layer for layer, _ in heads]
        return _OPS.scan_page(self._json, layers, [head for _, head in heads], most_in_full)

    def to_json(self) -> str:
        """Returns all results as JSON, which ``load`` reads."""
        return self._json

    def to_tsv(self) -> str:
        """Returns a tab-separated table with one line per head."""
        return _OPS.scan_tsv(self._json)

    def to_npz(self) -> bytes:
        """Returns the arrays of src/scan/arrays.hpp in NumPy's format; for a comparison those of the second scan."""
        return _OPS.scan_arrays(self._json).numpy().tobytes()

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the report (.html), all results (.json), a table (.tsv) or the arrays (.npz), by suffix."""
        writers = {".html": self.page, ".json": self.to_json, ".tsv": self.to_tsv, ".npz": self.to_npz}
        suffix = pathlib.Path(path).suffix
        if suffix not in writers:
            raise ValueError(f"path is {os.fspath(path)!r}; expected a name that ends in {', '.join(writers)}")
        write_file(path, writers[suffix]())

    def _repr_html_(self) -> str:
        """The report in a frame, with no more heads in full than a notebook should carry."""
        for most_in_full in (_MOST_IN_FULL, 24, 8, 2, 0):
            page = html.escape(self._page(most_in_full))
            if len(page) < _LARGEST_FRAME:
                break
        return (
            f'<iframe srcdoc="{page}" style="width: 100%; height: 860px; border: 0" sandbox="allow-scripts"></iframe>'
        )


class Comparison(Found):
    """Two scans side by side, second minus first; created by :meth:`Scan.compare`."""

    FORMAT = "isentropic scan comparison"

    @property
    def changed(self) -> list[dict]:
        """Heads whose labels changed, the largest change first: layer, head, gained, lost, differences."""
        heads = {(head["layer"], head["head"]): head for head in self.data["heads"]}
        return [heads[layer, head] for layer, head in map(tuple, self.data["changed"])]


class Scan(Found):
    """The heads of a model and how they attend; created by :func:`isentropic.scan`, or read by :meth:`load`."""

    FORMAT = "isentropic scan"

    def compare(self, other: Scan) -> Comparison:
        """Returns the changes from this scan to another with the same layers and heads."""
        if not isinstance(other, Scan):
            raise TypeError(f"other is a {type(other).__name__}; expected a Scan")
        return Comparison(_OPS.scan_compare(self._json, other._json))

    # ---- results ----

    @property
    def columns(self) -> dict[str, list]:
        """The heads as columns: module, layer, head, kind, window, diagnosis, then the mean of every statistic."""
        layers, heads = self.data["layers"], self.data["heads"]
        table: dict[str, list] = {
            "module": [layers[head["layer"]]["module"] for head in heads],
            "layer": [head["layer"] for head in heads],
            "head": [head["head"] for head in heads],
            "kind": [layers[head["layer"]]["kind"] for head in heads],
            "window": [layers[head["layer"]]["window"] for head in heads],
            "diagnosis": [", ".join(label["name"] for label in head["labels"]) for head in heads],
        }
        names = dict.fromkeys(name for head in heads for name in head["statistics"])
        for name in names:
            table[name] = [head["statistics"].get(name, {}).get("mean") for head in heads]
        return table

    @property
    def heads(self):
        """:attr:`columns` as a pandas DataFrame; without pandas as they are."""
        try:
            import pandas
        except ImportError:
            return self.columns
        return pandas.DataFrame(self.columns)

    @property
    def other_layers(self) -> list[str]:
        """Layers that are not attention, and attention that was not seen."""
        return self.data.get("other_layers", [])

    @property
    def rows(self) -> dict[str, list]:
        """Values of every row of the first window, with ``per_row``: ``{statistic: [layer][head][row]}``."""
        return self.data.get("rows", {})

    def labelled(self, label: str) -> list[tuple[int, int]]:
        """Returns the heads with this label, as (layer, head)."""
        return [(h["layer"], h["head"]) for h in self.data["heads"] if any(x["name"] == label for x in h["labels"])]

    # ---- export ----

    def retrieval_scores(self) -> dict[str, list[float]]:
        """Returns ``{"LAYER-HEAD": [score]}``, the format that tools for retrieval heads load."""
        return json.loads(_OPS.scan_retrieval_scores(self._json))

    def scalars(self) -> dict[str, float]:
        """Returns values for a logger: ``{"scan/<module>/head<h>/<statistic>": mean, ...}``, and the loss."""
        layers = self.data["layers"]
        found = {
            f"scan/{layers[head['layer']]['module']}/head{head['head']}/{name}": value["mean"]
            for head in self.data["heads"]
            for name, value in head["statistics"].items()
            if value["mean"] is not None
        }
        if self.data["loss"] is not None:
            found["scan/loss"] = self.data["loss"]["mean"]
        return found

    def log(self, writer, step: int = 0) -> None:
        """Logs :meth:`scalars` to TensorBoard (a ``SummaryWriter``) or Weights & Biases (a run, or the module)."""
        if hasattr(writer, "add_scalar"):
            for name, value in self.scalars().items():
                writer.add_scalar(name, value, step)
        elif hasattr(writer, "log"):
            writer.log(self.scalars(), step=step)
        else:
            raise TypeError(f"writer is a {type(writer).__name__}; expected add_scalar (TensorBoard) or log (W&B)")
