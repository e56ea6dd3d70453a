"""Scans: how the heads of a model attend over a text, and what was found."""

from .result import Comparison, Scan
from .run import scan

__all__ = ["Comparison", "Scan", "scan"]
