"""Attention and losses over the ranks of a process group of torch.distributed.

The calls are the usual ones with ``group=``, such as ``isentropic.info_nce(query, key, group=dist.group.WORLD)``. This
package holds what they share, and what finds ranks that disagree.
"""

from ._checks import agree, set_debug

__all__ = ["agree", "set_debug"]
