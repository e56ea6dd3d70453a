"""python -m isentropic scan MODEL --text FILE: :func:`isentropic.scan` from the command line."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time
from typing import Optional

from .._files import write_file
from .result import Scan

DEVICES = "a device such as cuda:0, or what device_map takes, such as auto"


def add(commands) -> None:
    command = commands.add_parser(
        "scan",
        help="scan how the heads of a checkpoint attend over a text",
        description="Scan how the heads of a model attend over a text.",
    )
    command.add_argument("model", metavar="MODEL", help="checkpoint name or folder, or a scan saved as JSON")
    command.add_argument(
        "--against", metavar="MODEL", help="second model or saved scan to compare with (second - first)"
    )
    command.add_argument(
        "--text", nargs="+", action="extend", metavar="FILE", help="text files, UTF-8; .jsonl: one text per line"
    )
    command.add_argument("--ids", metavar="FILE", help="JSON list of token ids, instead of a text")
    command.add_argument(
        "--chat", metavar="FILE", help="JSON list of messages for the chat template, instead of a text"
    )
    command.add_argument("--target", metavar="FILE", help="target text of an encoder-decoder")
    command.add_argument(
        "--length", type=int, help="window length in tokens (default: the model's maximum, or the text's if shorter)"
    )
    command.add_argument("--lengths", default="", help="also measure entropy and loss at these lengths: 1024,4096")
    command.add_argument("--heads", default="", help="heads to show in full in the report, as LAYER.HEAD: 3.1,5.0")
    command.add_argument("--fast", action="store_true", help="skip the second pass, which measures key mass")
    command.add_argument(
        "--allow-beyond", action="store_true", help="allow lengths beyond the model's maximum position"
    )
    command.add_argument("--per-row", action="store_true", help="add every row of the first window to the JSON")
    command.add_argument("--device", help=DEVICES)
    command.add_argument("--dtype", default="auto", help="float32, bfloat16, ... (default: the checkpoint's)")
    command.add_argument("--json", metavar="FILE", help="write all results")
    command.add_argument("--tsv", metavar="FILE", help="write a table of the heads")
    command.add_argument("--npz", metavar="FILE", help="write the statistics as NumPy arrays")
    command.add_argument("--scores", metavar="FILE", help='write {"LAYER-HEAD": [retrieval score]}')
    command.add_argument("-o", "--output", metavar="FILE", help="write the report, an HTML page")
    command.set_defaults(run=run, error_status=2)


def run(given: argparse.Namespace) -> None:
    _check_inputs(given)
    _check_outputs([path for path in (given.json, given.tsv, given.npz, given.scores, given.output) if path], given)
    heads = _heads(given.heads)
    found = result = _found(given.model, given)
    if given.against:
        found, result = _of_one_length(given, found, _found(given.against, given))
        found = found.compare(result)
    print(found.summary, end="")
    for path, contents in (
        (given.json, found.to_json),
        (given.tsv, found.to_tsv),
        (given.npz, found.to_npz),
        (given.scores, lambda: json.dumps(result.retrieval_scores())),
        (given.output, lambda: found.page(heads)),
    ):
        if path:
            write_file(path, contents())
            print(f"scan: wrote {path}", file=sys.stderr)


def _is_saved(model: Optional[str]) -> bool:
    return model is not None and model.endswith(".json") and not os.path.isdir(model)


def _of_one_length(given: argparse.Namespace, first: Scan, second: Scan) -> tuple[Scan, Scan]:
    """Two models read windows of the same length, the shorter of what each would read alone."""
    lengths = [found.data["text"]["length"] for found in (first, second)]
    if lengths[0] == lengths[1] or _is_saved(given.model) or _is_saved(given.against):
        return first, second
    if lengths[0] > lengths[1]:
        return _found(given.model, given, lengths[1]), second
    return first, _found(given.against, given, lengths[0])


def _found(model: str, given: argparse.Namespace, length: Optional[int] = None) -> Scan:
    from .run import scan

    if _is_saved(model):
        return Scan.load(model)
    options = {"device_map": given.device} if given.device else {}
    with _Progress() as progress:
        return scan(
            model,
            _texts(given),
            chat=_json_list(given.chat, "--chat") if given.chat else None,
            target=_read(given.target) if given.target else None,
            length=given.length if length is None else length,
            lengths=_numbers(given.lengths),
            fast=given.fast,
            allow_beyond=given.allow_beyond,
            per_row=given.per_row,
            dtype=given.dtype,
            progress=progress,
            **options,
        )


def _check_inputs(given: argparse.Namespace) -> None:
    is_read = any(value is not None for value in (given.text, given.ids, given.chat, given.target))
    if is_read and _is_saved(given.model) and (given.against is None or _is_saved(given.against)):
        raise ValueError("a text is given; expected none, because no model runs")


def _check_outputs(paths: list[str], given: argparse.Namespace) -> None:
    """Checked before the long work: each folder exists and is writable, and no file occurs twice or is an input."""
    inputs = [*(given.text or []), given.ids, given.chat, given.target]
    inputs += [model for model in (given.model, given.against) if _is_saved(model)]
    read = {os.path.realpath(path) for path in inputs if path}
    for path in paths:
        if path == "-":
            raise ValueError("an output is '-'; expected the name of a file: the summary goes to standard output")
        if os.path.realpath(path) in read:
            raise ValueError(f"{path} is to be written; expected a file other than the input")
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            raise ValueError(f"{path} is in a folder that cannot be written to; expected one that can")
        if os.path.isdir(path):
            raise ValueError(f"{path} is a folder; expected a file")
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise ValueError("two outputs have the same name; expected different ones")


def _texts(given: argparse.Namespace):
    if given.text and given.ids:
        raise ValueError("--text and --ids are given; expected one of them")
    if given.ids:
        return _ids(given.ids)
    if not given.text:
        return None
    texts: list = []
    for path in given.text:
        texts += _lines(path) if path.endswith(".jsonl") else [pathlib.Path(path)]
    return texts


def _lines(path: str) -> list[str]:
    """The texts of a file with one JSON string, or object with a "text", in each line."""
    found = []
    # Not splitlines: a JSON string may hold other separators of lines, such as U+2028.
    for number, line in enumerate(_read(path).removesuffix("\n").split("\n"), 1):
        try:
            entry = json.loads(line)
            text = entry["text"] if isinstance(entry, dict) else entry
        except (ValueError, KeyError):
            text = None
        if not isinstance(text, str):
            raise ValueError(f'{path}, line {number}, has no text; expected a JSON string or {{"text": ...}}')
        found.append(text)
    return found


def _ids(path: str):
    """Token ids as a text, which is cut into windows like others."""
    import torch

    from .texts import Tokens

    ids = _json_list(path, "--ids")
    if not ids or not all(type(token) is int and 0 <= token < 1 << 63 for token in ids):
        raise ValueError(f"{path} is no list of token ids; expected one, as [1, 306, 29871]")
    tokens = torch.tensor(ids)
    return Tokens(path, tokens, tokens[:0], tokens[:0])


def _json_list(path: str, option: str) -> list:
    try:
        found = json.loads(_read(path))
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise ValueError(f"{option} is {path}, not a JSON list; expected one")
    return found


def _read(path: str) -> str:
    from .texts import read

    return read(pathlib.Path(path), path)[1]


def _heads(text: str) -> list[tuple[int, int]]:
    try:
        pairs = [part.split(".") for part in text.split(",") if part]
        heads = [(int(layer), int(head)) for layer, head in pairs]
        if any(number < 0 for pair in heads for number in pair):
            raise ValueError("negative")
        return heads
    except ValueError:
        raise ValueError(f"--heads is {text!r}; expected LAYER.HEAD, as 3.1,5.0") from None


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise ValueError(f"--lengths is {text!r}; expected numbers, as 1024,4096") from None


class _Progress:
    """A line on the terminal with the progress of a scan and the time left."""

    def __enter__(self):
        self._begin, self._shows = time.monotonic(), sys.stderr.isatty()
        return self

    def begins(self, memory: int) -> None:
        print(f"scan: takes about {max(1, memory >> 20)} MiB of memory beside the weights", file=sys.stderr)

    def __call__(self, share: float) -> None:
        passed = time.monotonic() - self._begin
        left = passed / share - passed
        if self._shows:
            print(f"\rscan: {share:4.0%}, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_) -> None:
        if self._shows:
            print("\r\033[K", end="", file=sys.stderr)
