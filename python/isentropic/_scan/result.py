"""What a scan found."""

from __future__ import annotations

import html
import json
import os
import pathlib
from typing import Any, Union

import torch

_OPS = torch.ops.isentropic


class Scan:
    """The heads of a model and how they attend; :func:`isentropic.scan` makes it, :meth:`load` reads it again.

    Attributes:
        data: everything, as in the JSON (src/scan/result.hpp).
    """

    def __init__(self, text: str):
        self._json = text
        self.data: dict[str, Any] = json.loads(text)

    @classmethod
    def load(cls, path: Union[str, os.PathLike]) -> Scan:
        """Reads what :meth:`to_json` or ``isentropic scan --json`` wrote."""
        text = pathlib.Path(path).read_text(encoding="utf-8")
        try:
            _OPS.scan_sentences(text)
        except ValueError:
            raise ValueError(f"{os.fspath(path)} is not a scan; expected what Scan.to_json wrote") from None
        return cls(text)

    # ---- what was found ----

    @property
    def columns(self) -> dict[str, list]:
        """The heads, column by column: module, layer, head, kind, window, labels, then the mean of every statistic."""
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
    def summary(self) -> str:
        """A few lines, as a terminal shows them."""
        return _OPS.scan_terminal_text(self._json)

    @property
    def other_layers(self) -> list[str]:
        """Layers that are not attention, and attention that was not seen."""
        return self.data.get("other_layers", [])

    @property
    def rows(self) -> dict[str, list]:
        """Of every row of the first window, where ``per_row`` asked for it: ``{statistic: [layer][head][row]}``."""
        return self.data.get("rows", {})

    def labelled(self, label: str) -> list[tuple[int, int]]:
        """The heads with that label, as (layer, head)."""
        return [(h["layer"], h["head"]) for h in self.data["heads"] if any(x["name"] == label for x in h["labels"])]

    def __repr__(self) -> str:
        return self.summary.rstrip()

    # ---- out ----

    def page(self) -> str:
        """The report, one HTML page that fetches nothing."""
        return _OPS.scan_page(self._json)

    def to_json(self) -> str:
        """Everything that was found; :meth:`load` reads it."""
        return self._json

    def to_tsv(self) -> str:
        """A line for each head, tabs between columns."""
        return _OPS.scan_tsv(self._json)

    def to_npz(self) -> bytes:
        """Arrays that NumPy loads (src/scan/arrays.hpp says which)."""
        return _OPS.scan_arrays(self._json).numpy().tobytes()

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the report (.html), everything that was found (.json), a table (.tsv) or the arrays (.npz)."""
        writers = {".html": self.page, ".json": self.to_json, ".tsv": self.to_tsv, ".npz": self.to_npz}
        suffix = pathlib.Path(path).suffix
        if suffix not in writers:
            raise ValueError(f"path is {os.fspath(path)!r}; expected a name that ends in {', '.join(writers)}")
        write_file(path, writers[suffix]())

    def retrieval_scores(self) -> dict[str, list[float]]:
        """``{"LAYER-HEAD": [score]}``, as tools for retrieval heads load it."""
        return json.loads(_OPS.scan_retrieval_scores(self._json))

    def scalars(self) -> dict[str, float]:
        """For a logger: ``{"scan/<module>/head<h>/<statistic>": mean, ...}``, and the loss."""
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
        """Writes :meth:`scalars` to TensorBoard (a ``SummaryWriter``) or Weights & Biases (a run, or the module)."""
        if hasattr(writer, "add_scalar"):
            for name, value in self.scalars().items():
                writer.add_scalar(name, value, step)
        elif hasattr(writer, "log"):
            writer.log(self.scalars(), step=step)
        else:
            raise TypeError(f"writer is a {type(writer).__name__}; expected add_scalar (TensorBoard) or log (W&B)")

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page())}" style="width: 100%; height: 860px; border: 0" '
            'sandbox="allow-scripts"></iframe>'
        )


def write_file(path: Union[str, os.PathLike], contents: Union[str, bytes]) -> None:
    """The file appears when it is complete."""
    unfinished = f"{os.fspath(path)}.unfinished"
    try:
        pathlib.Path(unfinished).write_bytes(contents.encode() if isinstance(contents, str) else contents)
        os.replace(unfinished, path)
    except BaseException:
        pathlib.Path(unfinished).unlink(missing_ok=True)
        raise
