"""Scans: how the heads of a model attend over a text, and the results."""

from .result import Comparison, Scan
from .run import scan

__all__ = ["Comparison", "Scan", "scan"]
