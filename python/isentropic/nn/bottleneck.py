"""Codes with a penalty on their information: the variational bottleneck, and attention with noisy outputs."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .._aux import Aux
from .multi_head import MultiHeadAttention

_OFFSET = 5.0  # codes start almost without noise, sigma = 0.0067: training raises it where that costs little


def gaussian_rate(mean: Tensor, deviation: Tensor) -> Tensor:
    """``KL(N(mean, deviation^2) || N(0, 1))`` in nats, summed over the last axis.

    ``1/2 sum_i (mean_i^2 + deviation_i^2 - 1 - 2 log deviation_i)``. Its mean over inputs x is an upper bound on
    ``I(Z;X)`` for ``z = mean(x) + deviation(x) eps``, with equality if Z is ``N(0, 1)``.
    """
    return 0.5 * (mean.square() + deviation.square() - 1 - 2 * deviation.log()).sum(-1)


class VariationalBottleneck(nn.Module):
    """Variational bottleneck: a noisy code of the input, and its rate (Alemi, Fischer, Dillon & Murphy 2017).

    ``(mu, raw) = W x + b``, ``sigma = softplus(raw - 5)``, ``z = mu + sigma eps``; the rate is that of
    :func:`gaussian_rate`. ``loss + beta * rate.mean()`` charges beta for each nat about the input.

    Args:
        code: k, dimension of the code.
        features: number of input features. None: the input is ``(mu, raw)`` itself, ``[..., 2 k]``, and there is no
            ``W``.
    """

    def __init__(self, code: int, features: Optional[int] = None, *, device=None, dtype=None):
        super().__init__()
        if code < 1:
            raise ValueError(f"code is {code}; expected at least 1")
        if features is not None and features < 1:
            raise ValueError(f"features is {features}; expected at least 1")
        self.code, self.features = code, features
        self.W = None if features is None else nn.Linear(features, 2 * code, device=device, dtype=dtype)

    def forward(self, x: Tensor, sample: Optional[bool] = None) -> tuple[Tensor, Tensor]:
        """Maps ``x [..., features]`` to the code ``[..., k]`` and its rate ``[...]``, in nats.

        ``sample``: True draws the code, False returns ``mu``; None draws it in training mode only.
        """
        features = 2 * self.code if self.features is None else self.features
        if x.dim() < 1 or x.shape[-1] != features:
            raise ValueError(f"x has shape {list(x.shape)}; expected [..., {features}]")
        mean, raw = (x if self.W is None else self.W(x)).chunk(2, -1)
        deviation = F.softplus(raw - _OFFSET)
        drawn = self.training if sample is None else sample
        z = mean + deviation * torch.randn_like(mean) if drawn else mean
        return z, gaussian_rate(mean, deviation)

    def extra_repr(self) -> str:
        return f"code={self.code}, features={self.features}"


class NoisyAttention(MultiHeadAttention):
    """Multi-head attention with noisy head outputs, and the rate of what the heads pass on.

    Gaussian noise with a learnt standard deviation per feature is added to the output ``o`` of each head, before
    ``W_O``: ``z = o + sigma eps``, ``sigma = softplus(raw)``. ``aux.rate [batch, heads, n_q]`` is
    ``KL(N(o, sigma^2) || N(0, 1))`` in nats; its mean is an upper bound on the information of z about everything that
    the head saw. ``loss + beta * aux.rate.mean()`` penalises it. Evaluation mode adds no noise, but still returns the
    rate.

    Args:
        d_model: features of the queries and of the output.
        num_heads: number of query heads; must divide ``d_model``.
        deviation: initial sigma.
        options: arguments of :class:`isentropic.nn.MultiHeadAttention`.
    """

    def __init__(self, d_model: int, num_heads: int, deviation: float = 0.01, *, device=None, dtype=None, **options):
        super().__init__(d_model, num_heads, device=device, dtype=dtype, **options)
        if not deviation > 0:
            raise ValueError(f"deviation is {deviation}; expected a positive number")
        start = torch.full((num_heads, 1, self.head_dim), float(deviation), device=device, dtype=dtype)
        self.raw_deviation = nn.Parameter(start.expm1().log())

    @property
    def deviation(self) -> Tensor:
        """The current sigma, ``[heads, 1, head_dim]``."""
        return F.softplus(self.raw_deviation)

    def attend(self, *arguments, **options) -> tuple[Tensor, Aux]:
        output, aux = super().attend(*arguments, **options)
        deviation = self.deviation
        aux.rate = gaussian_rate(output, deviation)
        return output + deviation * torch.randn_like(output) if self.training else output, aux
