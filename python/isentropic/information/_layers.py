"""A point of the information plane: the information of a layer T = f(X) about its input X and about a label Y."""

from __future__ import annotations

from typing import NamedTuple

import torch

from .._checks import number
from ._call import Array, as_tensor, as_word

__all__ = ["LayerInformation", "layer_information", "usual_layer_estimators"]

_OPS = torch.ops.isentropic


class LayerInformation(NamedTuple):
    """I(X;T) and I(T;Y), in bits."""

    input: float
    label: float


def layer_information(
    activations: Array, labels: Array, inputs: Array | None = None, estimator: str = "width:0.5"
) -> LayerInformation:
    """I(X;T) and I(T;Y) in bits: T are the rows of ``activations``, all equally likely, Y an integer label of each.

    ``exact``: the entropy of the distinct rows, as float32, which is I(X;T) since T is a function of X. ``width:W``:
    the entropy of floor(t / W). ``count:B``: of B bins over the range of the layer. ``equal_mass:B``: of B bins of
    equal mass for each unit. With Gaussian noise of variance V added to T, for at most 1024 rows:
    ``kolchinsky_upper:V`` and ``kolchinsky_lower:V``, the pairwise bounds of ``noisy_layer_input_information``;
    ``noise:V``, the mean of log2 p(t|x) / p(t) over one t drawn for each x. I(T;Y) is I(X;T) - I(X;T|Y), both terms by
    the same estimator.

    ``inputs``: an integer for each row, the same for rows that are the same X; by default each row is a different X.
    By hand: activations (0, .2, .6, .7) and labels (0, 0, 1, 0): ``exact`` (2, .811), ``width:0.5`` (1, .311).
    """
    rows, label_of = as_tensor("activations", activations), as_tensor("labels", labels, "integers")
    input_of = None if inputs is None else as_tensor("inputs", inputs, "integers")
    (bits,) = _OPS.plane_points(rows, label_of, input_of, [as_word("estimator", estimator)]).tolist()
    return LayerInformation(*bits)


def usual_layer_estimators(noise_variance: float = 0.1) -> list[str]:
    """The default estimators: exact, two widths, counts, both bounds and noise of the given variance."""
    return _OPS.plane_usual_estimators(number("noise_variance", noise_variance, positive=True))
