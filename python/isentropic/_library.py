"""Loads the operators, ``torch.ops.isentropic``."""

from __future__ import annotations

import pathlib

import torch

OLDEST_TORCH = (2, 8)
LIBRARY = pathlib.Path(__file__).with_name("libisentropic_torch.so")
BUILT_FOR = pathlib.Path(__file__).with_name("built_for_torch.txt")

HOW_TO_BUILD = "Build it in this environment, from the project's folder:  pip install --no-build-isolation ."


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("+")[0].split(".")[:2])


def load() -> None:
    """Loads the library; if it does not fit this PyTorch, an ImportError says what to do."""
    here = torch.__version__
    if _version(here) < OLDEST_TORCH:
        raise ImportError(f"isentropic needs PyTorch 2.8 or newer; this environment has {here}.")
    if not LIBRARY.exists():
        raise ImportError(f"isentropic has no compiled operators ({LIBRARY.name}). {HOW_TO_BUILD}")
    built_for = BUILT_FOR.read_text().strip() if BUILT_FOR.exists() else "an unknown version"
    if built_for.split(".")[:2] != here.split(".")[:2]:
        raise ImportError(f"isentropic was built for PyTorch {built_for}; this environment has {here}. {HOW_TO_BUILD}")
    torch.ops.load_library(str(LIBRARY))
