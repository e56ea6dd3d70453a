"""Records of softmax rows as the operators of losses pack them, and their exact merge (softmax_record.hpp).

``[rows, 7]`` in float64, whatever the type of the scores: m, z, u, w, c, k, a. The losses do not use w, c and a, which
are set to 0, 0 and -1 here.
"""

from __future__ import annotations

import torch
from torch import Tensor


def packed(m: Tensor, z: Tensor, u: Tensor, k: Tensor) -> Tensor:
    zero = torch.zeros_like(m)
    return torch.stack([m, z, u, zero, zero, k, zero - 1], 1)


def rebased(records: Tensor, maximum: Tensor) -> tuple[Tensor, Tensor]:
    """z and u relative to a maximum not below m. The empty record stays empty, and 0 times infinity never occurs."""
    m, z, u = records[:, :3].unbind(1)
    delta = torch.where((z == 0) | (m == maximum), 0.0, m - maximum)
    r = delta.exp()
    delta = torch.where(r == 0, 0.0, delta)
    return r * z, r * (u + delta * z)


def merge(x: Tensor, y: Tensor) -> Tensor:
    """Merges two sets of keys. A NaN on either side makes the row NaN."""
    m = torch.maximum(x[:, 0], y[:, 0])
    (z_x, u_x), (z_y, u_y) = rebased(x, m), rebased(y, m)
    return packed(m, z_x + z_y, u_x + u_y, x[:, 5] + y[:, 5])


def log_partition(records: Tensor) -> Tensor:
    """L = m + log z; -inf where there is no key."""
    return records[:, 0] + records[:, 1].log()


def entropy(records: Tensor) -> Tensor:
    """H = log z - u / z, clamped to [0, log k], which rounding could leave."""
    z, u, k = records[:, 1], records[:, 2], records[:, 5]
    found = torch.minimum((z.log() - u / z).clamp(min=0), k.log())
    return torch.where(z == 0, 0.0, found)
