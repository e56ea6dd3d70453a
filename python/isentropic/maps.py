"""From scores to weights, by name."""

from __future__ import annotations

import dataclasses
from typing import Sequence, Union

import torch

from ._checks import integer, number


@dataclasses.dataclass(frozen=True)
class ScoreMap:
    """A score map.

    ================  =====================================================================================
    ``softmax``       e^{s - L}
    ``top_k``         softmax over the k largest scores
    ``hard``          1 at the largest score
    ``gumbel``        softmax((s + Gumbel noise) / tau); ``straight_through``: one key, relaxed gradients
    ``sparsemax``     max(s - t, 0), summing to one
    ``sigmoid``       1 / (1 + e^{-(s + offset)})
    ``relu_squared``  max(s, 0)^2 / visible keys (GAU)
    ``identity``      s / visible keys; normaliser "l1", "l2", "none"
    ``linear``        gamma^{i-j} phi(q).phi(k), normalised; feature "elu_plus_one", "relu", "exp", "identity"
    ``decay``         gamma^{i-j}, whatever the content
    ================  =====================================================================================
    """

    name: str = "softmax"
    options: tuple[tuple[str, object], ...] = ()

    @staticmethod
    def softmax() -> ScoreMap:
        return ScoreMap()

    @staticmethod
    def top_k(keys: int) -> ScoreMap:
        return ScoreMap("top_k", (("keys", integer("keys", keys)),))

    @staticmethod
    def hard() -> ScoreMap:
        return ScoreMap("hard")

    @staticmethod
    def gumbel(tau: float = 1.0, straight_through: bool = False) -> ScoreMap:
        return ScoreMap("gumbel", (("tau", tau), ("straight_through", straight_through)))

    @staticmethod
    def sparsemax() -> ScoreMap:
        return ScoreMap("sparsemax")

    @staticmethod
    def sigmoid(offset: float = 0.0, normaliser: str = "none") -> ScoreMap:
        return ScoreMap("sigmoid", (("offset", offset), ("normaliser", normaliser)))

    @staticmethod
    def relu_squared(normaliser: str = "visible") -> ScoreMap:
        return ScoreMap("relu_squared", (("normaliser", normaliser),))

    @staticmethod
    def identity(normaliser: str = "visible") -> ScoreMap:
        return ScoreMap("identity", (("normaliser", normaliser),))

    @staticmethod
    def linear(
        feature: str = "elu_plus_one",
        normaliser: str = "l1",
        gamma: Union[float, Sequence[float]] = 1.0,
        recurrent: bool = False,
    ) -> ScoreMap:
        return ScoreMap("linear", (("feature", feature), *_linear_options(normaliser, gamma, recurrent)))

    @staticmethod
    def decay(gamma: Union[float, Sequence[float]], normaliser: str = "l1", recurrent: bool = False) -> ScoreMap:
        return ScoreMap("decay", _linear_options(normaliser, gamma, recurrent))

    @staticmethod
    def named(map: Union[None, str, ScoreMap]) -> ScoreMap:
        """None: softmax. A name: that map with its usual options."""
        if map is None:
            return ScoreMap()
        if isinstance(map, ScoreMap):
            return map
        if isinstance(map, str):
            if map not in _USUAL:
                raise ValueError(f"map is '{map}'; expected a ScoreMap or one of {', '.join(_USUAL)}")
            return _USUAL[map]()
        raise TypeError(f"map is a {type(map).__name__}; expected a name or a ScoreMap")

    def __post_init__(self):
        self.checked_options(torch.float64)

    def checked_options(self, dtype: torch.dtype) -> dict[str, object]:
        """The options by name, numbers within the range of what is computed for tensors of ``dtype``."""
        return {name: _checked(f"{name} of the map {self.name}", name, value, dtype) for name, value in self.options}

    @property
    def is_random(self) -> bool:
        return self.name == "gumbel"


def _checked(full_name: str, name: str, value: object, dtype: torch.dtype) -> object:
    if name == "keys":
        return integer(full_name, value)
    if name == "gamma":
        return tuple(number(full_name, one, dtype) for one in value)
    if name in ("tau", "offset"):
        return number(full_name, value, dtype, positive=name == "tau")
    expected = bool if name == "straight_through" else str
    if not isinstance(value, expected):
        raise TypeError(f"{full_name} is {value!r}; expected {'True or False' if expected is bool else 'a name'}")
    return value


def _linear_options(normaliser, gamma, recurrent):
    gammas = tuple(gamma) if isinstance(gamma, (tuple, list)) else (gamma,)
    return (("normaliser", normaliser), ("gamma", gammas), ("form", "recurrent" if recurrent else "quadratic"))


_USUAL = {
    "softmax": ScoreMap.softmax,
    "hard": ScoreMap.hard,
    "gumbel": ScoreMap.gumbel,
    "sparsemax": ScoreMap.sparsemax,
    "sigmoid": ScoreMap.sigmoid,
    "relu_squared": ScoreMap.relu_squared,
    "identity": ScoreMap.identity,
    "linear": ScoreMap.linear,
}
