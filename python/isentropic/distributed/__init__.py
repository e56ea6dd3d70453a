"""Attention, losses and statistics over the ranks of a process group (torch.distributed)."""

from ._context import context_parallel as context_parallel
from ._plan import ContextParallel as ContextParallel
