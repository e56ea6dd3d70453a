"""Losses and a controller that steer the information of attention."""

from __future__ import annotations

import dataclasses
import math
from typing import Iterable, Iterator, Mapping, Sequence, Union

import torch
from torch import Tensor, nn

from ._aux import Aux
from .nn import EntropyInvariantAttention


def mean_over_rows(aux: Aux, statistic: Tensor) -> Tensor:
    """Averages a statistic ``[batch, heads, n_q]`` over the rows of each head that see at least two keys: ``[heads]``.

    Rows that see fewer have no choice, hence no entropy to steer. ``aux`` must contain ``visible``. The mean is 0 where
    no row counts.
    """
    counts = aux.visible >= 2
    everything_but_heads = [axis for axis in range(statistic.dim()) if axis != statistic.dim() - 2]
    kept = torch.where(counts, statistic, torch.zeros_like(statistic))
    return kept.sum(everything_but_heads) / counts.sum(everything_but_heads).clamp(min=1)


def _require_gradient(name: str, value: object, where_from: str) -> None:
    """Raises ValueError for a term without a gradient, which would have no effect in a loss."""
    if torch.is_grad_enabled() and not (isinstance(value, Tensor) and value.requires_grad):
        raise ValueError(f"{name} has no gradient; expected {where_from}, or torch.no_grad() around an evaluation")


@dataclasses.dataclass(frozen=True)
class EntropyRegulariser:
    """A term to add to the loss: ``-weight`` times the mean entropy to encourage it, ``+weight`` to discourage it.

    Called with an :class:`isentropic.Aux`, or several (weighted equally), that contains ``visible`` and
    ``normalised_entropy`` (``normalised``: H / log n, from 0 to 1) or ``entropy`` (nats). The result of
    :func:`isentropic.collect` with ``detach=False`` can be passed as it is. There is a gradient with the maps softmax,
    top_k and gumbel; statistics without one raise an error unless gradients are disabled.
    """

    weight: float
    direction: str = "encourage"
    normalised: bool = True

    def __post_init__(self):
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"weight is {self.weight}; expected a number >= 0 (direction has the sign)")
        if self.direction not in ("encourage", "discourage"):
            raise ValueError(f"direction is {self.direction!r}; expected 'encourage' or 'discourage'")

    def __call__(self, aux: Union[Aux, Iterable[Aux], Mapping[str, Union[Aux, Iterable[Aux]]]]) -> Tensor:
        layers = list(_each(aux))
        if not layers:
            raise ValueError(f"aux is an empty {type(aux).__name__}; expected the Aux of one attention or more")
        mean = torch.stack([self._mean_entropy(layer) for layer in layers]).mean()
        return mean * (-self.weight if self.direction == "encourage" else self.weight)

    def _mean_entropy(self, aux: Aux) -> Tensor:
        name = "normalised_entropy" if self.normalised else "entropy"
        _require_gradient(
            name,
            getattr(aux, name),
            "that of isentropic.collect(model, detach=False) or of a layer, with parameters that learn, the map "
            "softmax, top_k or gumbel and no reentrant checkpointing",
        )
        return mean_over_rows(aux, getattr(aux, name)).mean()


def _each(aux: object) -> Iterator[Aux]:
    if isinstance(aux, Aux):
        yield aux
    elif isinstance(aux, (str, Tensor)) or not isinstance(aux, Iterable):
        raise TypeError(f"aux has a {type(aux).__name__}; expected the Aux of one attention or more")
    else:
        for part in aux.values() if isinstance(aux, Mapping) else aux:
            yield from _each(part)


def information_bottleneck_loss(
    task_loss: Tensor, information_xz: Tensor, information_zy: Tensor, lambda_x: float, lambda_y: float
) -> Tensor:
    """``task_loss + lambda_x I(X;Z) - lambda_y I(Z;Y)``: forget the input, keep information about the target.

    Both terms are estimates, and the sign decides of which kind: ``information_xz`` is minimised and must be an upper
    bound on I(X;Z), ``information_zy`` is maximised and must be a lower bound on I(Z;Y). Otherwise the bound moves and
    the information need not.
    """
    for name, value in (("lambda_x", lambda_x), ("lambda_y", lambda_y)):
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value}; expected a number >= 0 (the signs are in the formula)")
    for name, information, weight in (
        ("information_xz", information_xz, lambda_x),
        ("information_zy", information_zy, lambda_y),
    ):
        if weight > 0:
            _require_gradient(name, information, "an estimate that depends on parameters which learn")
    return task_loss + lambda_x * information_xz - lambda_y * information_zy


@dataclasses.dataclass(frozen=True)
class MutualInformationRegulariser:
    """:func:`information_bottleneck_loss` with fixed weights."""

    lambda_x: float
    lambda_y: float

    def __call__(self, task_loss: Tensor, information_xz: Tensor, information_zy: Tensor) -> Tensor:
        return information_bottleneck_loss(task_loss, information_xz, information_zy, self.lambda_x, self.lambda_y)


def gaussian_information_upper_bound(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Upper bound on I(X;Z), in nats, for codes ``z ~ N(mean(x), variance(x))``: KL to N(0, I), averaged over x.

    Args:
        mean: ``[..., features]``.
        log_variance: ``[..., features]``, logarithm of the diagonal of the covariance.
    """
    if mean.shape != log_variance.shape:
        raise ValueError(f"log_variance has shape {list(log_variance.shape)}; expected {list(mean.shape)}, as the mean")
    # expm1: at variances near 1 nothing but its difference from log_variance remains.
    divergence = 0.5 * (mean.square() + torch.expm1(log_variance) - log_variance)
    return divergence.sum(-1).mean()


class TargetEntropyController(nn.Module):
    """Adjusts the kappa of every head until its mean entropy reaches the target.

    An integral controller of log kappa that acts on the moving average of the measured entropy. Entropy falls with log
    kappa at a rate given by the variance of the scores, so the step is ``rate (H - target) / variance``: heads that
    respond strongly take small steps. A target out of reach leaves kappa at a bound.

        controller = TargetEntropyController(num_heads=8, target=3.0).attach(attention)
        ...
        optimizer.step(); controller.step()

    In training mode the attention reports every forward pass; ``step`` updates kappa, between passes and never within
    one. ``Scale.target_entropy`` is the exact alternative: solved for every row, at the cost of further passes.

    Args:
        num_heads: number of heads of the attention.
        target: mean entropy in nats over rows that see at least two keys, one number or one for each head.
        kappa: initial value.
        rate: fraction of the error that a step removes, in (0, 1].
        momentum: momentum of the moving average, in [0, 1); 0 uses the last pass alone.
        bounds: smallest and largest kappa.
        largest_step: largest change of log kappa in a step.
    """

    log_kappa: Tensor
    entropy: Tensor
    variance: Tensor
    passes: Tensor

    def __init__(
        self,
        num_heads: int,
        target: Union[float, Sequence[float], Tensor],
        *,
        kappa: float = 1.0,
        rate: float = 0.2,
        momentum: float = 0.8,
        bounds: tuple[float, float] = (1e-2, 1e2),
        largest_step: float = 0.5,
    ):
        super().__init__()
        low, high = bounds
        if not 0 < low <= kappa <= high < math.inf:
            raise ValueError(f"bounds are {bounds} and kappa {kappa}; expected 0 < smallest <= kappa <= largest")
        if not 0 < rate <= 1:
            raise ValueError(f"rate is {rate}; expected a number in (0, 1]")
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum is {momentum}; expected a number in [0, 1)")
        if not largest_step > 0:
            raise ValueError(f"largest_step is {largest_step}; expected a positive number")
        target = torch.as_tensor(target, dtype=torch.float32)
        if target.shape not in ((), (1,), (num_heads,)) or not (target >= 0).all():
            raise ValueError(f"target is {target.tolist()}; expected entropies >= 0, one or num_heads = {num_heads}")
        self.rate, self.momentum, self.bounds, self.largest_step = rate, momentum, bounds, largest_step
        self.register_buffer("target", target.expand(num_heads).clone())
        self.register_buffer("log_kappa", torch.full((num_heads,), math.log(kappa)))
        self.register_buffer("entropy", torch.zeros(num_heads))
        self.register_buffer("variance", torch.zeros(num_heads))
        self.register_buffer("passes", torch.zeros(num_heads, dtype=torch.int64))

    def attach(self, attention: EntropyInvariantAttention) -> TargetEntropyController:
        """Sets the kappa of ``attention`` from now on; its state then includes this controller. Returns itself."""
        if not isinstance(attention, EntropyInvariantAttention):
            raise TypeError(f"attention is a {type(attention).__name__}; expected an EntropyInvariantAttention")
        if attention.num_heads != len(self.log_kappa):
            raise ValueError(f"attention has {attention.num_heads} heads; expected {len(self.log_kappa)}")
        if not attention.scale.is_one_factor:
            raise ValueError(f"attention has the scale '{attention.scale.law}'; expected a law with one kappa")
        if list(attention.scale.parameters()):
            raise ValueError("attention learns its kappa; expected a fixed one, which the controller replaces")
        attention.controller = self.to(attention.W_Q.weight.device)
        return self

    def kappa(self) -> Tensor:
        """The current kappa of each head, ``[heads]``."""
        return self.log_kappa.exp()

    @torch.no_grad()
    def observe(self, aux: Aux) -> None:
        """Updates the moving averages with a pass. ``aux`` contains ``entropy``, ``score_variance`` and ``visible``.

        Heads with non-finite numbers are skipped, since a single overflow would spoil the average for good, and so are
        heads whose scores are all equal: kappa has no effect there.
        """
        entropy, variance = mean_over_rows(aux, aux.entropy), mean_over_rows(aux, aux.score_variance)
        counts = entropy.isfinite() & variance.isfinite() & (variance > 0)
        momentum = torch.where(self.passes == 0, 0.0, self.momentum)
        for average, measured in ((self.entropy, entropy), (self.variance, variance)):
            average.copy_(torch.where(counts, momentum * average + (1 - momentum) * measured, average))
        self.passes += counts

    @torch.no_grad()
    def step(self) -> None:
        """Updates kappa, except for heads that were never observed."""
        step = self.rate * (self.entropy - self.target) / self.variance
        step = torch.where(self.passes > 0, step.clamp(-self.largest_step, self.largest_step), 0.0)
        low, high = self.bounds
        self.log_kappa.add_(step).clamp_(math.log(low), math.log(high))

    def _apply(self, fn, recurse: bool = True):
        # Small steps would vanish in 16 bits: this state stays float32 when the model is converted to half precision.
        super()._apply(fn, recurse)
        for name, buffer in self._buffers.items():
            if buffer.is_floating_point():
                self._buffers[name] = buffer.float()
        return self

    def extra_repr(self) -> str:
        return f"num_heads={len(self.log_kappa)}, rate={self.rate}, momentum={self.momentum}, bounds={self.bounds}"
