"""Shared by the checks of losses over ranks: numbers, their split, comparisons, and what ranks send."""

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

D = 19  # a width that nothing else here has
UNEVEN = {2: [5, 3], 4: [4, 1, 6, 3]}
WITH_EMPTY_RANKS = {2: [0, 4], 4: [3, 0, 0, 5]}


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def leaf(x, dtype=torch.float64):
    return x.detach().clone().to(dtype).requires_grad_()


def of_rank(x, sizes):
    return x.split(sizes)[dist.get_rank()]


def summed(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


def expect(found, wanted, tolerance=1e-12):
    torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance, equal_nan=True)


def expect_raises(kind, message, call):
    try:
        call()
    except kind as error:
        assert message in str(error), f"{error} does not say {message}"
    else:
        raise AssertionError(f"no {kind.__name__} that says {message}")


class Watch(TorchDispatchMode):
    """Records collectives with the bytes this rank passes to them, and the largest tensor any operator returned."""

    def __init__(self):
        super().__init__()
        self.collectives, self.largest = [], 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        found = function(*arguments, **(options or {}))
        tensors = [x for x in tree_leaves(found) if isinstance(x, torch.Tensor)]
        if function.namespace == "c10d":
            name = function._opname if hasattr(function, "_opname") else function.name().split("::")[1].split(".")[0]
            self.collectives.append((name, self.given(name, arguments)))
        self.largest = max([self.largest] + [x.numel() for x in tensors])
        return found

    @staticmethod
    def given(name, arguments):
        tensor = arguments[1] if name in ("alltoall_base_", "allgather_") else arguments[0]
        tensors = [x for x in tree_leaves(tensor) if isinstance(x, torch.Tensor)]
        return sum(x.nbytes for x in tensors)
