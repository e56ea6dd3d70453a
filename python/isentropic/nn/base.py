"""The base class of attention modules: everything after queries, keys and values are split into heads."""

from __future__ import annotations

from typing import Iterable, Optional, Sequence, Union

import torch
from torch import Tensor, nn

from .._aux import Aux
from ..attention import attention, attention_weights
from ..maps import ScoreMap
from ..scales import Scale
from ._mask import over_scores
from ._scale import ScaleLaw
from .positions import SinusoidalPositions, named_positions

_LEAST_ALPHA = 1.001  # below it entmax is softmax up to rounding


def _raw_alpha(map: ScoreMap, num_heads: int, device, dtype) -> nn.Parameter:
    """The initial value of ``raw_alpha``, ``[heads]``."""
    if map.name != "entmax":
        raise ValueError(f"learn_alpha is True; expected False, for the map {map.name} has no alpha")
    # On the CPU: numbers are checked here, and a device such as "meta" has none.
    alpha = torch.as_tensor(map.learnable()["alpha"], dtype=torch.float64, device="cpu")
    device = torch.get_default_device() if device is None else device
    if not (alpha > _LEAST_ALPHA).all():
        raise ValueError(f"alpha is {alpha.tolist()}; expected numbers above {_LEAST_ALPHA} where it is learnt")
    if alpha.numel() not in (1, num_heads):
        raise ValueError(f"alpha has {alpha.numel()} numbers; expected one, or one for each of {num_heads} heads")
    start = (alpha - _LEAST_ALPHA).log().to(device=device, dtype=dtype or torch.get_default_dtype())
    return nn.Parameter(start.reshape(-1).expand(num_heads).clone())


class AttentionModule(nn.Module):
    """Scale, score map, mask pattern, positions and statistics. Subclasses form the heads and call :meth:`attend`.

    Args:
        num_heads: number of query heads.
        head_dim: d, features of a query head.
        scale: as for :func:`isentropic.attention`; tensors in it become part of the module, parameters are learnt.
        map: as for :func:`isentropic.attention`, with numbers rather than tensors.
        learn_alpha: for the map entmax: learns alpha for each head, starting from the map's own. The parameter is
            ``raw_alpha``, ``alpha = 1.001 + e^raw_alpha``, so that no step takes alpha to 1 or below; ``alpha()``
            returns it.
        dropout: dropout probability of the weights in training mode, in [0, 1).
        causal: None, "start" or "end", as for :func:`isentropic.attention`; likewise ``window``, ``strided``,
            ``block_sparse`` and ``segments``.
        positions: None, "rotary" (rotates queries and keys), "sinusoidal" (added to the inputs of queries and keys) or
            "relative" (adds a learnt number for every distance to the scores).
        base: base of rotary and sinusoidal positions: their longest wavelength is about ``2 pi base`` tokens.
        max_distance: relative positions further away are clamped to this distance.
        statistics: the statistics in ``aux``: names, or "all"; ``groups`` as for :func:`isentropic.attention`.
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        scale: Union[None, float, str, Tensor, Scale] = None,
        map: Union[None, str, ScoreMap] = None,
        learn_alpha: bool = False,
        dropout: float = 0.0,
        causal: Optional[str] = None,
        window: Union[None, int, tuple[int, int]] = None,
        strided: Optional[tuple[int, int]] = None,
        block_sparse: Optional[tuple[Tensor, int, int]] = None,
        segments: Optional[int] = None,
        positions: Optional[str] = None,
        base: float = 10000.0,
        max_distance: int = 128,
        statistics: Union[str, Iterable[str]] = "all",
        groups: Optional[tuple[int, int]] = None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if causal not in (None, "start", "end"):
            raise ValueError(f"causal is {causal!r}; expected None, 'start' or 'end'")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout is {dropout}; expected a probability in [0, 1)")
        self.num_heads, self.head_dim = num_heads, head_dim
        self.scale = ScaleLaw(Scale.named(scale))
        self.map = ScoreMap.named(map)
        self.raw_alpha = _raw_alpha(self.map, num_heads, device, dtype) if learn_alpha else None
        if self.map.tensors():
            raise ValueError(
                f"map is {self.map.name} with a tensor; expected numbers, and learn_alpha=True to learn them"
            )
        self.dropout = dropout
        self.pattern = {"causal": causal, "window": window, "strided": strided, "segments": segments}
        layout, *self.block_shape = block_sparse or (None,)
        self.register_buffer("block_layout", layout, persistent=False)
        self.positions = named_positions(positions, num_heads, head_dim, base, max_distance, device, dtype)
        self.statistics = statistics if isinstance(statistics, str) else tuple(statistics)
        self.groups = groups

    def row_scale(self) -> Scale:
        """The current scale law."""
        return self.scale()

    def alpha(self) -> Optional[Tensor]:
        """The current alpha of each head, ``[heads]``; None if it is not learnt."""
        return None if self.raw_alpha is None else _LEAST_ALPHA + self.raw_alpha.exp()

    def row_map(self) -> ScoreMap:
        """The current score map."""
        return self.map if self.raw_alpha is None else ScoreMap.entmax(self.alpha())

    def places(self, queries: Tensor, keys: Tensor, key_lengths=None, documents=None) -> tuple[Tensor, Tensor]:
        """Positions of queries, ``[n_q]`` or ``[batch, n_q]``, and keys, ``[n_k]``; n is their second-to-last axis.

        Packed documents contain as many queries as keys, so both start at the same position.
        """
        n_q, n_k, device = queries.shape[-2], keys.shape[-2], queries.device
        query_places = torch.arange(n_q, device=device)
        if documents is not None:
            if key_lengths is not None:
                raise ValueError("documents and key_lengths are both given; expected one of them")
            if isinstance(self.positions, SinusoidalPositions):
                raise ValueError("documents are given with sinusoidal positions; expected rotary, relative or none")
        elif self.pattern["causal"] == "end":
            lengths = n_k if key_lengths is None else torch.as_tensor(key_lengths, device=device).unsqueeze(-1)
            query_places = query_places + (lengths - n_q)
        return query_places, torch.arange(n_k, device=device)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        places: tuple[Tensor, Tensor],
        mask: Optional[Tensor] = None,
        *,
        weights_of_rows: Optional[Sequence[int]] = None,
        key_lengths: Union[None, Tensor, Sequence[int]] = None,
        documents: Union[None, Tensor, Sequence[int]] = None,
        seed: Optional[int] = None,
    ) -> tuple[Tensor, Aux]:
        """Maps ``query [batch, heads, n_q, d]``, ``key`` and ``value [batch, kv_heads, n_k, d or d_v]`` to
        ``[batch, heads, n_q, d_v]`` and an :class:`isentropic.Aux`."""
        query = self.positions.of_heads(query, places[0])
        key = self.positions.of_heads(key, places[1])
        if seed is None and weights_of_rows is not None and self.map.is_random:
            seed = int(torch.randint(2**62, (1,)))  # output and weights must come from the same sample
        options = {
            **self.pattern,
            **self.positions.score_terms(),
            "attn_mask": None if mask is None else over_scores(mask, *query.shape[:3], key.shape[2]),
            "block_sparse": None if self.block_layout is None else (self.block_layout, *self.block_shape),
            "key_lengths": key_lengths,
            "documents": documents,
            "scale": self.row_scale(),
            "map": self.row_map(),
            "seed": seed,
            "enable_gqa": True,
        }
        output, aux = self.compute(query, key, value, **options)
        if weights_of_rows is not None:
            aux.weights = attention_weights(query, key, weights_of_rows, **options)
        return output, aux

    def compute(self, query: Tensor, key: Tensor, value: Tensor, **options) -> tuple[Tensor, Aux]:
        """The attention itself; ``options`` are arguments of :func:`isentropic.attention`."""
        return attention(
            query, key, value, dropout_p=self.dropout if self.training else 0.0, statistics=self.statistics,
            groups=self.groups, return_aux=True, **options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        options = {"num_heads": self.num_heads, "head_dim": self.head_dim, "map": self.map.name, **self.pattern}
        if self.dropout:
            options["dropout"] = self.dropout
        return ", ".join(f"{name}={option!r}" for name, option in options.items() if option is not None)
