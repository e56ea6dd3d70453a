"""QK-clip: limits attention scores that grow too large by scaling the weights that they come from."""

from __future__ import annotations

import math
from typing import Callable, Iterator, Mapping, Optional

import torch
import torch.distributed as dist
from torch import Tensor, nn

from . import _qk_find, _unseen
from ._checks import hooked_optimizer, number
from ._head_tallies import HeadTallies
from ._qk_plan import POWERS, Plan
from ._qk_weights import HeadRows as HeadRows, QKWeights
from ._reduce import checked_group, group_device, largest_of_all
from ._tallies import LayerRecord
from .loggers import by_layer

_MASTER_NAMES = ("master", "master_param", "master_params", "master_weight", "master_weights", "fp32_param")


class QKClip:
    """Keeps the largest attention score of every head near a threshold (MuonClip; Kimi K2, 2025).

        clip = isentropic.QKClip(model, optimizer, threshold=100)
        train()      # after every optimizer.step() the heads above the threshold are scaled down
        clip.last["model.layers.3.self_attn"]["scale"]      # eta of each head in the newest step

    Let S be the largest score of a head in the forward passes since the last step and
    ``eta = threshold / max(S, threshold)``. The rows of the head in the query projection are multiplied by
    ``eta^alpha``, those in the key projection by ``eta^(1 - alpha)``, biases included, so that its scores shrink by
    eta; heads that share keys use the largest S among them. If queries and keys are normalised, the size of a
    projection makes no difference: then the weights of the norms are scaled, by the layer's largest S where all heads
    share them. In multi-head latent attention the rotated part of the queries is scaled by eta itself, since its keys
    are shared.

    S is the score as the softmax sees it, including its scale and any bias, but before a soft cap. A head whose S is
    not finite is left alone.

    Scores are tallied as by :class:`isentropic.Monitor`, also in compiled graphs, over accumulated micro-batches and,
    with a ``group``, over its ranks by one MAX collective per step. Steps after the first read nothing back from a
    device. Parameters that are sharded over ranks (DTensor, FSDP2) are scaled in place. Clipping is active from
    construction until :meth:`stop`, or until the end of a ``with`` block.

    Args:
        model: its attention must be observable: that of this library's modules, of transformers with
            ``attn_implementation="isentropic"``, or of modules that call :func:`isentropic.attention`.
        optimizer: scores are clipped after each of its steps.
        threshold: tau, the score above which a head is clipped.
        alpha: share of the scaling that the queries take, from 0 to 1.
        group: a process group, or a one-dimensional device mesh, whose ranks see parts of the same batch: data or
            context parallel ranks, not those that split the heads.
        layers: ``{layer: QKWeights}`` for attention whose projections are not recognised; None leaves a layer out.
        masters: called with a parameter, returns the copy in higher precision that the optimizer keeps of it, or None.
            By default ``optimizer.state[parameter]`` is searched for "master", "master_param" and the like. If a copy
            is not found, the next step undoes the clip.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        threshold: float = 100.0,
        alpha: float = 0.5,
        group: Optional[dist.ProcessGroup] = None,
        *,
        layers: Optional[Mapping[str, Optional[QKWeights]]] = None,
        masters: Optional[Callable[[Tensor], Optional[Tensor]]] = None,
    ):
        self._threshold = number("threshold", threshold, positive=True)
        self._alpha = number("alpha", alpha)
        if not 0.0 <= self._alpha <= 1.0:
            raise ValueError(f"alpha is {alpha}; expected a share of the queries, from 0 to 1")
        optimizer = hooked_optimizer(optimizer)
        self._group = checked_group(group)
        self._masters = masters if masters is not None else _masters_in(optimizer)
        model = model._modules.get(_unseen.COMPILED, model)
        weights = _qk_find.find(model, layers)
        self._heads = {name: of_layer.heads for name, of_layer in weights.items()}
        self._plan = Plan(weights)
        self._tallies = HeadTallies(model, ("max_score", "max_uncapped_score"), 2, "isentropic.QKClip", strict=True)
        self._seen: Optional[Tensor] = None  # the largest scores so far
        self._found: Optional[tuple[Tensor, Tensor]] = None
        self._tallies.start()
        self._tallies.watch(True)
        self._hook = optimizer.register_step_post_hook(lambda *_: self._clip())

    def stop(self) -> None:
        """Stops clipping."""
        self._stop(failed=False)

    def __enter__(self) -> QKClip:
        return self

    def __exit__(self, error, *_) -> None:
        self._stop(failed=error is not None)

    @property
    def last(self) -> dict[str, LayerRecord]:
        """The newest step, by layer: ``max_score``, the largest score of each head, and ``scale``, the head's eta.

        Reading it waits for the device. A layer that did not run has no entry.
        """
        if self._found is None:
            return {}
        scores, scales = (self._by_layer(values.tolist()) for values in self._found)
        return {
            self._tallies.layer.label(name, 1): {"max_score": largest, "scale": scale}
            for (name, largest), (_, scale) in zip(scores, scales)
            if max(largest) != -math.inf
        }

    def scalars(self, heads: bool = True) -> dict[str, float]:
        """Returns the newest step for a logger: ``{"qk_clip/<layer>/head<h>/scale": value, ...}``.

        ``heads=False``: ``{"qk_clip/<layer>/scale": value, ...}``, the smallest scale and the largest score of heads.
        """
        if not heads:
            return {
                f"qk_clip/{layer}/{name}": value
                for layer, record in self.last.items()
                for name, value in by_layer(record).items()
            }
        return {
            f"qk_clip/{layer}/head{head}/{name}": value
            for layer, record in self.last.items()
            for name, values in record.items()
            for head, value in enumerate(values)
        }

    def _stop(self, failed: bool) -> None:
        if self._hook is None:
            return
        self._hook.remove()
        self._hook = None
        if self._seen is not None:
            for name, scores in self._by_layer(self._seen.tolist()):
                if max(scores) != -math.inf:
                    self._tallies.layer.saw(name)
        self._tallies.stop(failed)

    def _by_layer(self, values: list[float]) -> Iterator[tuple[str, list[float]]]:
        at = 0
        for name, heads in self._heads.items():
            yield name, values[at : at + heads]
            at += heads

    # ---- after a step ----

    @torch.no_grad()
    def _clip(self) -> None:
        scores = self._scores()
        self._tallies.clear()
        if self._seen is None:
            self._refuse_silence(scores)
        self._seen = scores if self._seen is None else torch.maximum(self._seen, scores)
        units = self._plan.largest_of_units(scores)
        eta = self._threshold / units.clamp(min=self._threshold)
        eta = torch.where(units < math.inf, eta, 1.0)  # neither NaN nor infinity
        self._found = scores, self._plan.by_head(eta)
        if eta.device.type == "cpu" and not (eta < 1).any():
            return
        powers = {"query": self._alpha, "key": 1 - self._alpha, "query_alone": 1.0}
        table = torch.cat([*(eta ** powers[name] for name in POWERS), eta.new_ones(1)])
        for parameter, scaled in self._plan.parameters():
            scaled.apply(parameter, table)
            master = self._masters(parameter)
            if master is not None and master is not parameter:
                scaled.apply(master, table)

    def _scores(self) -> Tensor:
        """The largest score of every head, layer after layer."""
        of_layers = self._maxima()
        first = next((found[0] for found in of_layers.values() if found), None)
        device = group_device(self._group, torch.device("cpu") if first is None else first.device)
        scores = []
        for name, found in of_layers.items():
            there = [score.to(device) for score in found]
            nothing = torch.full((self._heads[name],), -torch.inf, dtype=torch.float64, device=device)
            scores.append(torch.stack(there).amax(0) if len(there) > 1 else there[0] if there else nothing)
        scores = torch.cat(scores)
        if self._group is not None:
            largest_of_all(scores, self._group)
        return scores

    def _maxima(self) -> dict[str, list[Tensor]]:
        """The largest scores of each layer, one tensor for each of its tallies."""
        found: dict[str, list[Tensor]] = {name: [] for name in self._heads}
        odd: dict[str, int] = {}
        for name, tally in self._tallies.of_modules():
            if tally.heads == self._heads.get(name):
                found[name].append(tally.maxima[-1])  # before the cap, where there is one
            elif name in found:
                odd[name] = tally.heads
        for name, heads in odd.items():
            # Modules of one class have the tallies of all of them, so a different number alone proves nothing.
            if not found[name]:
                raise ValueError(
                    f"{name} reports {heads} heads; expected {self._heads[name]}, as its weights have (heads that are "
                    "spread over ranks cannot be clipped)"
                )
        return found

    def _refuse_silence(self, scores: Tensor) -> None:
        """RuntimeError if no attention was seen before the first step, where waiting for the device is cheap."""
        if bool((scores == -math.inf).all()):
            names = ", ".join(list(self._heads)[:3])
            raise RuntimeError(
                f"isentropic.QKClip saw no attention in {names}; expected calls of isentropic.attention before the step"
            )


def _masters_in(optimizer: torch.optim.Optimizer) -> Callable[[Tensor], Optional[Tensor]]:
    def master(parameter: Tensor) -> Optional[Tensor]:
        state = optimizer.state.get(parameter, {})
        found = (state[name] for name in _MASTER_NAMES if isinstance(state.get(name), Tensor))
        return next((tensor for tensor in found if tensor.shape == parameter.shape), None)

    return master
