"""Attention and losses over the ranks of a process group of torch.distributed.

The calls are the usual ones with ``group=``, such as ``isentropic.info_nce(query, key, group=dist.group.WORLD)``; inside
of :func:`context_parallel` attention needs none. This package holds what they share, and what finds ranks that disagree.
"""

from ._checks import agree, set_debug
from ._context import context_parallel
from ._plan import ContextParallel

__all__ = ["ContextParallel", "agree", "context_parallel", "set_debug"]
