"""The words that describe problems, as the library defines them: scale laws, score maps, statistics."""

from __future__ import annotations

import inspect
import json

import torch

REQUIRED = inspect.Parameter.empty


_ALL = json.loads(torch.ops.isentropic.vocabulary())

#: The laws ("scales") and maps ("maps") by name.
WORDS: dict[str, dict[str, dict]] = {kind: {word["name"]: word for word in _ALL[kind]} for kind in ("scales", "maps")}

#: The parameters of each, by name, in their order.
PARAMETERS: dict[str, dict[str, dict]] = {
    kind: {name: {one["name"]: one for one in word["parameters"]} for name, word in words.items()}
    for kind, words in WORDS.items()
}

#: The laws and maps that need no parameter.
USUAL: dict[str, tuple[str, ...]] = {
    kind: tuple(name for name, known in words.items() if all("default" in one for one in known.values()))
    for kind, words in PARAMETERS.items()
}

STATISTICS: tuple[str, ...] = tuple(_ALL["statistics"])
GROUP_STATISTICS: tuple[str, ...] = tuple(_ALL["group_statistics"])


def add_constructors(cls: type, kind: str, annotations: dict[str, object], make) -> None:
    """A static method of ``cls`` for every law or map: ``make(name, values)`` with the values by name."""
    for name, word in WORDS[kind].items():
        if not hasattr(cls, name):
            setattr(cls, name, staticmethod(_constructor(kind, name, word, annotations, make)))


def _constructor(kind, name, word, annotations, make):
    signature = inspect.Signature(
        [
            inspect.Parameter(
                parameter["name"],
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=parameter.get("default", REQUIRED),
                annotation=annotations[parameter["type"]],
            )
            for parameter in word["parameters"]
        ]
    )

    def constructor(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return make(name, bound.arguments)

    constructor.__name__ = name
    constructor.__qualname__ = f"{kind}.{name}"
    constructor.__signature__ = signature
    choices = (f"``{p['name']}``: {', '.join(p['choices'])}." for p in word["parameters"] if "choices" in p)
    constructor.__doc__ = " ".join((f"{word['formula']}.", *choices))
    return constructor


def table(kind: str) -> str:
    """The laws or maps with their formulas, as a table for a docstring."""
    rows = [(f"``{name}``", word["formula"]) for name, word in WORDS[kind].items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    rule = "  ".join("=" * width for width in widths)
    return "\n".join((rule, *(f"{left:<{widths[0]}}  {right}" for left, right in rows), rule))
