"""The command line. python -m isentropic info: versions and devices. python -m isentropic scan: _scan/command.py."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from typing import Optional, Sequence


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m isentropic", description="Exact attention that measures itself.")
    from ._scan import command

    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    info = commands.add_parser("info", help="versions, devices and the instruction set in use")
    info.add_argument("--json", action="store_true", help="as JSON")
    info.set_defaults(run=lambda given: print_info(given.json), error_status=1)
    command.add(commands)
    given = parser.parse_args(arguments)
    try:
        given.run(given)
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return given.error_status
    return 0


def _one_line(error: Exception) -> str:
    """The first non-empty line: messages of transformers are long."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def describe() -> dict:
    import torch

    import isentropic
    from isentropic._vocabulary import STATISTICS

    active, usable = torch.ops.isentropic.instruction_sets()
    return {
        "version": isentropic.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": _version("transformers"),
        "kernels": active,
        "instruction_sets": usable,
        "cuda_kernels": "built" if torch.ops.isentropic.has_cuda_kernels() else "not built",
        "threads": torch.get_num_threads(),
        "devices": ["cpu", *(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))],
        "statistics": list(STATISTICS),
        "package": os.path.dirname(isentropic.__file__),
    }


def print_info(as_json: bool) -> None:
    description = describe()
    if as_json:
        print(json.dumps(description, indent=2))
        return
    for name, value in description.items():
        text = " ".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)
        print(f"{name:<18}{text}")


def _version(package: str) -> Optional[str]:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
