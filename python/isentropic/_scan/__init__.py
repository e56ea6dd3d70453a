"""Scans: how the heads of a model attend over a text, and what was found."""

from .result import Scan
from .run import scan

__all__ = ["Scan", "scan"]
