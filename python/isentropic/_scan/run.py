"""Runs a model over windows of texts while a scanner observes its attention."""

from __future__ import annotations

import math
import os
from typing import Callable, Iterable, Mapping, Optional, Sequence, Union

import torch
from torch import Tensor, nn

from .._checks import integer
from . import picture as _picture
from . import texts as _texts
from .model import ScannedModel
from .observer import LastEntropies, RowObserver
from .result import Scan
from .texts import Text, Tokens

#: (first, recent) keys whose mass identifies a sink and a local head (src/scan/measurement.hpp)
GROUPS = (1, 16)
#: length of a window, where neither the model nor the caller specifies it
USUAL_LENGTH = 2048
SHORTEST = 16
LENGTH_WINDOWS = 4  # at most; enough for a mean

Progress = Callable[[float], None]


def scan(
    model: Union[str, os.PathLike, nn.Module],
    text: Union[None, Text, Sequence[Text]] = None,
    *,
    tokenizer=None,
    inputs: Union[None, Mapping, Sequence[Mapping]] = None,
    target: Union[None, str, Tensor] = None,
    chat: Optional[Sequence[Mapping]] = None,
    length: Optional[int] = None,
    lengths: Iterable[int] = (),
    fast: bool = False,
    allow_beyond: bool = False,
    per_row: bool = False,
    name: Optional[str] = None,
    progress: Optional[Progress] = None,
    **loading,
) -> Scan:
    """Scans how every attention head of a model attends over a text: exact statistics, labels, a report.

        scan = isentropic.scan("gpt2", pathlib.Path("book.txt"))
        scan.heads                  # a table: module, layer, head, kind, labels, every statistic
        scan.save("report.html")

    Works for transformers models that use its attention interface, on their devices, quantised or not, and for any
    model that calls PyTorch's ``scaled_dot_product_attention``. A model of which no attention is seen raises an error;
    layers that are not attention are listed in ``scan.other_layers``. No weight matrix, no cache and no full matrix of
    logits is held: memory is linear in the length of a window.

    Args:
        model: a module, or the name or folder of a transformers checkpoint.
        text: a text, a ``pathlib.Path``, or a list of them; with several, a label requires most of them.
        tokenizer: tokenizer of the texts; the model's own by default.
        inputs: instead of a text, the inputs of the model: a dict of tensors, or a list of them, one for each window.
            Without padding.
        target: for an encoder-decoder, the text (or its ids) that it writes.
        chat: instead of a text, messages for the tokenizer's chat template.
        length: window length in tokens, including special tokens; by default the model's maximum (2048 if unknown), or
            the length of the shortest text if that is less.
        lengths: also measures the entropy of every head, and the loss, on the same last tokens at these lengths.
        fast: skips the second pass, which measures the total weight of each key.
        allow_beyond: allows lengths beyond the model's maximum position.
        per_row: keeps entropy, peak, collision and weight of the first key for every row of the first window.
        name: name of the model in the report.
        progress: called with the fraction that is done. Its ``begins(memory)``, if it has one, is called before
            anything runs, with the bytes that the scan takes beside the weights.
        loading: arguments of ``from_pretrained``, such as ``dtype`` and ``device_map``, for a model given by name.

    Returns:
        :class:`Scan`.
    """
    if sum(given is not None for given in (text, inputs, chat)) != 1:
        raise ValueError("expected one of text, inputs and chat")
    lengths = sorted({integer("lengths", n) for n in lengths})
    if loading and isinstance(model, nn.Module):
        raise TypeError(f"{next(iter(loading))} is given with a model that is loaded; expected it with a model's name")
    scanned = ScannedModel(os.fspath(model) if isinstance(model, os.PathLike) else model, tokenizer, name, **loading)
    if inputs is not None:
        work = _Inputs(scanned, inputs, target)
    elif scanned.is_encoder_decoder:
        work = _Pair(scanned, text, target)
    else:
        work = _Texts(scanned, _tokens(scanned, text, chat), length, lengths, allow_beyond)
    if not isinstance(work, _Texts):
        for given, is_given in (("lengths are", bool(lengths)), ("length is", length is not None)):
            if is_given:
                raise ValueError(f"{given} given; expected none with inputs or an encoder-decoder")
    return _Run(scanned, work, fast, per_row, progress).scan()


def _tokens(scanned: ScannedModel, text, chat) -> list[Tokens]:
    if isinstance(text, Tokens):
        scanned.check_ids(text.ids)
        return [text]
    tokenizer = _tokenizer_of(scanned)
    if chat is None:
        return _texts.tokenize(text, tokenizer)
    ids = tokenizer.apply_chat_template(list(chat), return_tensors="pt", return_dict=True)["input_ids"][0]
    return [Tokens("chat", ids, ids[:0], ids[:0])]


def _tokenizer_of(scanned: ScannedModel):
    if scanned.tokenizer is None:
        raise ValueError(f"tokenizer is absent, and {scanned.name} brings none; expected one, or inputs=")
    return scanned.tokenizer


# ---- inputs: windows by text, each one forward pass ----


class _Texts:
    """Windows of texts, for models that read a text."""

    written = torch.empty(0, dtype=torch.long)

    def __init__(self, scanned: ScannedModel, texts: list[Tokens], length, lengths: list[int], allow_beyond: bool):
        self.texts, self.lengths = texts, lengths
        self.length = integer("length", length) if length is not None else self._usual_length(scanned)
        longest = max([self.length, *lengths])
        shortest = max(SHORTEST, max(one.around for one in texts) + 1)
        for one in texts if length is None else []:
            if len(one) < shortest:
                raise ValueError(f"{one.name} is {len(one)} tokens long; expected at least {shortest}")
        for given, value in (("length", self.length), *(("lengths", n) for n in lengths)):
            if value < shortest:
                raise ValueError(f"{given} is {value}; expected at least {shortest}")
        for one in texts:
            if len(one) < longest:
                raise ValueError(f"{one.name} is {len(one)} tokens long; expected at least {longest}, a window")
        if scanned.positions is not None and longest > scanned.positions and not allow_beyond:
            raise ValueError(
                f"{'length' if longest == self.length else 'lengths'} is {longest}; expected at most "
                f"{scanned.positions}, the model's positions (allow_beyond=True: more)"
            )
        self.work = sum(len(one.ids) // (self.length - one.around) * self.length for one in texts)
        self.work += sum(n * self.length_windows() for n in lengths)

    def _usual_length(self, scanned: ScannedModel) -> int:
        return min([scanned.positions or USUAL_LENGTH, *map(len, self.texts)])

    def windows(self):
        for one in self.texts:
            yield one.name, ({"input_ids": window[None]} for window in one.windows(self.length))

    def length_windows(self) -> int:
        longest = self.lengths[-1] if self.lengths else self.length
        return min(LENGTH_WINDOWS, len(self.texts[0].ids) // (longest - self.texts[0].around))

    def first(self) -> Tensor:
        return next(self.texts[0].windows(self.length))


class _Inputs:
    """Model inputs given by the caller."""

    lengths: list[int] = []

    def __init__(self, scanned: ScannedModel, inputs, target):
        several = [inputs] if isinstance(inputs, Mapping) else list(inputs)
        if not several or not all(isinstance(one, Mapping) for one in several):
            raise TypeError("inputs is no dict and no list of dicts; expected what the model is called with")
        self._inputs = [dict(one) for one in several]
        for one in self._inputs:
            for name in ("attention_mask", "decoder_attention_mask"):
                mask = one.get(name)
                if isinstance(mask, Tensor) and mask.dim() == 2 and not bool(mask.bool().all()):
                    raise ValueError(
                        f"{name} hides padding; expected inputs without padding: a list with one dict each"
                    )
            for name in ("input_ids", "decoder_input_ids"):
                _require_ids(name, one.get(name))
            if target is not None:
                one |= _target_inputs(scanned, target)
            scanned.check_ids(one.get("input_ids"))
        self.written = self._inputs[0].get("decoder_input_ids", _Texts.written[None])[0]
        self.length = len(self.first())  # 0: the scanner counts patches
        self.work = len(self._inputs)
        self.pixels = self._inputs[0].get("pixel_values")

    def windows(self):
        yield "inputs", iter(self._inputs)

    def first(self) -> Tensor:
        return self._inputs[0].get("input_ids", _Texts.written[None])[0]


class _Pair(_Inputs):
    """The text that an encoder-decoder reads, and the text that it writes."""

    def __init__(self, scanned: ScannedModel, text, target):
        if target is None:
            raise ValueError(f"target is absent; expected the text that {scanned.name}, an encoder-decoder, writes")
        if isinstance(text, (list, tuple)) and len(text) == 1:
            text = text[0]
        if isinstance(text, Tokens):
            ids = text.ids[None]
        elif isinstance(text, (str, os.PathLike)):
            ids = _tokenizer_of(scanned)(_texts.read(text, "text")[1], return_tensors="pt", verbose=False)["input_ids"]
        else:
            raise ValueError("text is a list; expected one text with its target")
        if scanned.positions is not None and ids.shape[1] > scanned.positions:
            raise ValueError(f"text is {ids.shape[1]} tokens long; expected at most {scanned.positions}")
        super().__init__(scanned, {"input_ids": ids}, target)


def _require_ids(name: str, ids: object) -> None:
    if ids is None:
        return
    if not isinstance(ids, Tensor):
        raise TypeError(f'{name} is a {type(ids).__name__}; expected a tensor (return_tensors="pt")')
    if ids.dim() != 2 or ids.numel() == 0 or ids.is_floating_point():
        raise ValueError(f"{name} is {ids.dtype} {tuple(ids.shape)}; expected integers [batch, tokens]")


def _target_inputs(scanned: ScannedModel, target: Union[str, Tensor]) -> dict:
    if isinstance(target, str):
        target = _tokenizer_of(scanned)(text_target=target, return_tensors="pt")["input_ids"]
    target = target[None] if target.dim() == 1 else target
    shift = getattr(scanned.module, "prepare_decoder_input_ids_from_labels", None)
    if shift is None:
        raise ValueError(f"target is given; expected none: {scanned.name} is no encoder-decoder that takes one")
    return {"decoder_input_ids": shift(labels=target), "_target": target}


class _Run:
    def __init__(self, scanned: ScannedModel, work, fast: bool, per_row: bool, progress: Optional[Progress]):
        self._model, self._work, self._fast = scanned, work, fast
        self._progress = progress
        self._done = 0
        scale, map_ = scanned.scale_and_map
        self._scanner = torch.classes.isentropic.Scanner(
            scanned.name, scanned.family, scale, map_, scanned.parameters, scanned.positions or 0, work.length,
            _texts.words(scanned.tokenizer, work.first()), _texts.words(scanned.tokenizer, work.written),
        )  # fmt: skip
        if per_row:
            self._scanner.keep_rows()
        self._set_picture()

    def scan(self) -> Scan:
        if hasattr(self._progress, "begins"):
            self._progress.begins(self._model.memory(max([self._work.length, *self._work.lengths])))
        observer = RowObserver(self._model.module, self._scanner, not self._fast, GROUPS)
        with self._model.ready():
            with observer:
                for name, windows in self._work.windows():
                    self._scanner.begin_text(name)
                    for inputs in windows:
                        self._window(observer, inputs)
                        self._model.refuse_unseen(observer.layer.reported, observer.layer.ran)
            seen, ran = observer.layer.reported, observer.layer.ran
            for length in self._work.lengths:
                self._measure(length, observer)
        return Scan(self._scanner.finish(self._model.other_layers(seen, ran)))

    def _set_picture(self) -> None:
        pixels = getattr(self._work, "pixels", None)
        if pixels is None:
            return
        patches = _picture.grid(pixels, self._model.config)
        if patches is not None:
            self._scanner.set_picture(_picture.data_address(pixels[0]), *patches)

    def _advance(self, amount: int) -> None:
        self._done += amount
        if self._progress is not None:
            self._progress(self._done / self._work.work)

    def _window(self, observer: RowObserver, inputs: dict) -> None:
        nothing = torch.empty(1, 0, dtype=torch.long)
        read, written = inputs.get("input_ids", nothing), inputs.get("decoder_input_ids", nothing)
        target = inputs.pop("_target", None)
        self._scanner.begin_window(read[0], written[0])
        observer.begin()
        hidden = self._model.run(inputs)
        batch = max(x.shape[0] for x in inputs.values() if isinstance(x, Tensor))
        for entry in range(1, batch):
            ids = (x[entry] if entry < len(x) else x[0] for x in (read, written))
            self._scanner.begin_window(*ids)
            observer.tell_entry(entry)
        if target is None and observer.looks_back_only() and read.shape[1] > 1:
            target = read[:, 1:]
            hidden = hidden if hidden is None else hidden[:, :-1]
        if hidden is not None and target is not None and hidden.shape[1] == target.shape[1]:
            self._scanner.add_loss(self._model.loss(hidden, target), target.numel())
        self._advance(read.shape[1] if isinstance(self._work, _Texts) else 1)

    def _measure(self, length: int, rows: RowObserver) -> None:
        """Measures the same last tokens after more and more text, so that lengths are comparable."""
        work: _Texts = self._work
        text, windows = work.texts[0], work.length_windows()
        step = work.lengths[-1] - text.around
        scored = max(1, work.lengths[0] // 2)
        loss = 0.0
        with LastEntropies(self._model.module, scored) as observer:
            for i in range(windows):
                window = text.window((i + 1) * step, length)[None]
                hidden = self._model.run({"input_ids": window})
                predicts = hidden is not None and rows.looks_back_only()
                loss += float(self._model.loss(hidden[:, :-1], window[:, -scored:])) if predicts else math.nan
                self._advance(length)
        keys = length - 0.5 * (scored - 1) if rows.looks_back_only() else float(length)
        entropies = [observer.found[layer] / windows for layer in rows.layers]
        self._scanner.add_length(length, keys, loss / windows, entropies)
