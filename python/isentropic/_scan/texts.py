"""Texts as windows of token ids, each with the special tokens that the tokenizer puts around a text."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Iterator, Sequence, Union

import torch
from torch import Tensor

Text = Union[str, os.PathLike]


@dataclasses.dataclass
class Tokens:
    """A text without special tokens, and those that surround each of its windows."""

    name: str
    ids: Tensor
    prefix: Tensor
    suffix: Tensor

    @property
    def around(self) -> int:
        return len(self.prefix) + len(self.suffix)

    def __len__(self) -> int:
        return len(self.ids) + self.around

    def windows(self, length: int) -> Iterator[Tensor]:
        """Windows of ``length`` tokens; the remainder at the end is dropped."""
        step = length - self.around
        for begin in range(0, len(self.ids) - step + 1, step):
            yield self.window(begin + step, length)

    def window(self, end: int, length: int) -> Tensor:
        """The window whose text ends at token ``end``."""
        inside = self.ids[end - (length - self.around) : end]
        return torch.cat((self.prefix, inside, self.suffix))


def read(text: Text, name: str) -> tuple[str, str]:
    """Name and contents; a path is read, a string is the text itself."""
    if isinstance(text, os.PathLike):
        path = pathlib.Path(text)
        try:
            name, contents = str(path), path.read_bytes().decode()  # with the ends of lines that it has
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 (byte {error.start}); expected a text") from None
    elif isinstance(text, str):
        contents = text
        if len(text) < 1000 and "\n" not in text and os.path.isfile(text):
            raise ValueError(f"text is the name of a file, {text!r}; expected a text, or pathlib.Path({text!r})")
    else:
        raise TypeError(f"text is a {type(text).__name__}; expected a string, a pathlib.Path, or a list of them")
    if not contents.strip():
        raise ValueError(f"{name} is empty; expected a text")
    return name, contents


def tokenize(text: Union[Text, Sequence[Text]], tokenizer) -> list[Tokens]:
    several = [text] if isinstance(text, (str, os.PathLike)) else list(text)
    if not several:
        raise ValueError("text is an empty list; expected one text or more")
    found = []
    for number, one in enumerate(several, 1):
        name, contents = read(one, "text" if len(several) == 1 else f"text {number}")
        found.append(Tokens(name, _encode(tokenizer, contents, False), *_around(tokenizer, contents)))
    return found


def _encode(tokenizer, text: str, special: bool) -> Tensor:
    # verbose=False: a text longer than the model's positions is cut into windows here
    return torch.tensor(tokenizer.encode(text, add_special_tokens=special, verbose=False), dtype=torch.long)


def _around(tokenizer, text: str) -> tuple[Tensor, Tensor]:
    sample = text.strip().split(maxsplit=1)[0]
    plain, full = _encode(tokenizer, sample, False), _encode(tokenizer, sample, True)
    for begin in range(len(full) - len(plain) + 1):
        if len(plain) > 0 and torch.equal(full[begin : begin + len(plain)], plain):
            return full[:begin], full[begin + len(plain) :]
    return full[:0], full[:0]


def words(tokenizer, ids: Tensor) -> list[str]:
    """Every token as text."""
    return [] if tokenizer is None else [tokenizer.decode([token]) for token in ids.tolist()]
