"""What the loss operators require of tensors that are combined with blocks of other ranks."""

from __future__ import annotations

import torch
from torch import Tensor

from .._checks import require


def in_type_of_region(x: Tensor) -> Tensor:
    """Under autocast in the type of the region, as the operators take it: here it is also what is communicated."""
    kind = x.device.type
    if not torch.is_autocast_enabled(kind) or x.dtype == torch.float64:
        return x
    return x.to(torch.get_autocast_dtype(kind))


def check_takes_records(name: str, x: Tensor) -> None:
    """ValueError where no kernel takes the records of whole rows: on GPUs PyTorch's operators replace some."""
    if x.device.type == "cpu":
        return
    has_kernels = (
        x.device.type == "cuda"
        and torch.ops.isentropic.has_cuda_kernels()
        and torch.cuda.get_device_capability(x.device)[0] >= 8
    )
    require(
        has_kernels and x.dtype != torch.float64,
        lambda: (
            f"{name} is {x.dtype} on {x.device}, for which there is no kernel here; with group expected the CPU, or"
            " float32, bfloat16 or float16 on a GPU of sm_80 or newer with isentropic's CUDA kernels"
        ),
    )
