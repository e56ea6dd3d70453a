"""Writes files that are either complete or absent."""

from __future__ import annotations

import os
import pathlib
from typing import Union


def write_file(path: Union[str, os.PathLike], contents: Union[str, bytes]) -> None:
    unfinished = f"{os.fspath(path)}.unfinished"
    try:
        pathlib.Path(unfinished).write_bytes(contents.encode() if isinstance(contents, str) else contents)
        os.replace(unfinished, path)
    except BaseException:
        pathlib.Path(unfinished).unlink(missing_ok=True)
        raise
