"""Calls the information library: converts arguments to what C++ takes, and results to what Python users expect.

``@compiled`` makes a Python function a call of the C++ function of the same name. Names of arguments, defaults, formula
and the form of the result are written in Python; the kind of each argument is known from the types in C++.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import typing
from typing import Any, Callable, Iterator, Sequence, TypeVar, Union

import numpy
import torch

from ..scales import Scale

#: A number, or an array or tensor of them: the function is then applied elementwise, with broadcasting.
Numbers = Union[float, numpy.ndarray, torch.Tensor]
#: An array, a tensor or (nested) sequences. Rows are samples; one axis where two are expected is one column.
Array = Union[numpy.ndarray, torch.Tensor, Sequence]
#: Array results: tensors if a tensor was given.
Values = Union[numpy.ndarray, torch.Tensor]

_Function = TypeVar("_Function", bound=Callable)
_OPS = torch.ops.isentropic

#: The kinds of each function's arguments.
KINDS: dict[str, list[str]] = {name: kinds for name, *kinds in map(str.split, _OPS.information_functions())}

_LARGEST = 2**63 - 1  # of the integers that tensors hold
_WORDS = ("word", "scale")
_NUMBERS = ("number", "integer", "count", "small")
_WHOLE = ("integer", "count", "small", "integers", "counts")
_AXES = {"vector": 1, "integers": 1, "counts": 1, "table": 2, "tables": 3}


def compiled(function: _Function) -> _Function:
    """The C++ function of this name, with the arguments, defaults and result that are written here."""
    signature = inspect.signature(function)
    optional = {name for name, parameter in signature.parameters.items() if parameter.default is None}
    result = typing.get_type_hints(function)["return"]
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:  # which does not say whose arguments they are
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        return _call(name, bound.arguments, optional, result)

    return typing.cast(_Function, call)


def _call(name: str, arguments: dict[str, Any], optional: set[str], result: Any) -> Any:
    tensors: list[Any] = []  # tensors, and None
    words, numbers = [], []
    for kind, (argument, value) in zip(KINDS[name], arguments.items()):
        if kind in _WORDS:
            words.append(_written(argument, value) if kind == "scale" else as_word(argument, value))
        elif value is None and argument in optional:
            tensors.append(None)
        else:
            tensors.append(as_tensor(argument, value, kind))
            if kind in _NUMBERS:
                numbers.append(len(tensors) - 1)
    shape = _broadcast(tensors, numbers)
    found, said = _OPS.information_call(name, tensors, words, math.prod(shape))
    wants_tensor = any(isinstance(value, torch.Tensor) for value in arguments.values())
    return _Results(found, said, shape, wants_tensor).build(result)


def _broadcast(tensors: list[Any], numbers: list[int]) -> torch.Size:
    """The common shape of all numbers; those that are arrays are expanded to it and flattened."""
    shapes = [tuple(tensors[i].shape) for i in numbers]
    try:
        shape = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise ValueError(f"the shapes of the numbers are {shapes}; expected shapes that broadcast") from None
    for i in numbers:
        if tensors[i].numel() > 1:
            tensors[i] = tensors[i].expand(shape).reshape(-1)
    return shape


# ---- arguments ----


def as_tensor(name: str, value: Any, kind: str = "table") -> torch.Tensor:
    """``value`` in the type and with the axes of its kind; ValueError or TypeError names it."""
    tensor = _plain(name, value)
    if kind in _WHOLE:
        tensor = _whole(name, tensor, kind)
    else:
        tensor = tensor.to(torch.float64)
    if kind == "table" and tensor.dim() == 1:
        tensor = tensor.unsqueeze(1)
    axes = _AXES.get(kind, tensor.dim())
    if tensor.dim() != axes:
        raise ValueError(
            f"{name} has the shape {tuple(tensor.shape)}; expected {axes} {'axis' if axes == 1 else 'axes'}"
        )
    if kind in _NUMBERS and tensor.numel() == 0:
        raise ValueError(f"{name} is empty; expected at least one number")
    return tensor.contiguous()


def _plain(name: str, value: Any) -> torch.Tensor:
    """On the CPU, detached from the graph; TypeError for complex numbers."""
    tensor = value if isinstance(value, torch.Tensor) else _gathered(name, value)
    if tensor.is_complex():
        raise TypeError(f"{name} is complex; expected real numbers")
    return tensor.detach().cpu()


def _gathered(name: str, value: Any) -> torch.Tensor:
    """From an array or sequences. A list of tensors, of heads for instance, becomes one tensor with one more axis."""
    try:
        if isinstance(value, (list, tuple)) and value and all(isinstance(one, torch.Tensor) for one in value):
            return torch.stack(tuple(value))
        if numpy.ma.is_masked(value):  # asarray would bring the values under the mask back
            raise TypeError(f"{name} has masked values; expected an array without them")
        array = numpy.asarray(value)
    except (ValueError, RuntimeError):
        raise ValueError(f"{name} is {_shown(value)} of parts that differ in shape; expected equal shapes") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} is {_shown(value)}; expected numbers")
    whole = array.dtype.kind in "bi" or (array.dtype.kind == "u" and (array <= _LARGEST).all())
    return torch.from_numpy(numpy.array(array, dtype=numpy.int64 if whole else numpy.float64, order="C"))


def _shown(value: Any) -> str:
    """For a message, without the numbers: there may be millions of them."""
    if isinstance(value, numpy.ndarray):
        return f"an array of type {value.dtype}"
    return repr(value) if isinstance(value, (str, type(None))) else f"a {type(value).__name__}"


def _whole(name: str, tensor: torch.Tensor, kind: str) -> torch.Tensor:
    """As int64; ValueError for what an int or a size of C++ cannot hold."""
    tensor = tensor.double() if tensor.is_floating_point() else tensor.long()
    broken = tensor[tensor != tensor.floor()]
    if broken.numel():
        raise ValueError(f"{name} is {broken[0].item():g}; expected a whole number")
    least = 0 if kind in ("count", "counts") else -(2**31) if kind == "small" else -(2**63)
    most = 2**31 - 1 if kind == "small" else 2**63 - 1024  # the largest of 64 bits that is also a double
    outside = tensor[(tensor < least) | (tensor > most)]
    if outside.numel():
        expected = f"at least {least}" if outside[0] < least else f"at most {most}"
        raise ValueError(f"{name} is {outside[0].item():g}; expected a whole number of {expected}")
    return tensor.to(torch.int64)


def as_word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {_shown(value)}; expected a name")
    return value


def _written(name: str, value: Any) -> str:
    """A scale law as the library reads it."""
    items, tensors = Scale.named(value).written()
    if tensors:
        raise TypeError(f"{name} has a parameter that is a tensor; expected a number")
    return json.dumps({"scale": dict(items)})


# ---- results ----


class _Results:
    """The results, field by field; numbers have the shape of the numbers that were given."""

    def __init__(self, tensors: list[torch.Tensor], words: list[str], shape: torch.Size, wants_tensor: bool):
        self._tensors, self._left = iter(tensors), len(tensors)
        self._words: Iterator[str] = iter(words)
        self._shape, self._wants_tensor = shape, wants_tensor

    def build(self, kind: Any) -> Any:
        """The next fields as ``kind``, the annotation of a result."""
        if hasattr(kind, "_fields"):  # a NamedTuple
            return kind(*(self.build(hint) for hint in typing.get_type_hints(kind).values()))
        if typing.get_origin(kind) is tuple:  # any number of them, up to the end
            return tuple(self._rest(typing.get_args(kind)[0]))
        if kind is str:
            return next(self._words)
        if kind == list[str]:
            return list(self._words)
        return self._array() if kind == Values else self._number(kind)

    def _rest(self, kind: Any) -> Iterator[Any]:
        while self._left:
            yield self.build(kind)

    def _next(self) -> torch.Tensor:
        self._left -= 1
        return next(self._tensors)

    def _array(self) -> Any:
        return self._in_kind(self._next())

    def _number(self, kind: Any) -> Any:
        tensor = self._next()
        if self._shape:
            return self._in_kind(tensor.reshape(self._shape))
        return kind(tensor.item()) if kind in (int, bool) else tensor.item()

    def _in_kind(self, tensor: torch.Tensor) -> Any:
        return tensor if self._wants_tensor else tensor.numpy()
