"""Attention and losses over the ranks of a torch.distributed process group.

The calls are the usual ones with ``group=``, such as ``isentropic.info_nce(query, key, group=dist.group.WORLD)``; inside
:func:`context_parallel` attention needs none. This package contains what they share, and checks that ranks agree.
"""

from ._checks import agree, set_debug
from ._context import context_parallel
from ._plan import ContextParallel

__all__ = ["ContextParallel", "agree", "context_parallel", "set_debug"]
