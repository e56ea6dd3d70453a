"""The statistics of every row, returned with an output."""

from __future__ import annotations

from typing import Optional

from torch import Tensor


class Aux:
    """Statistics of the rows of an attention call: one attribute for each statistic, ``[..., heads, n_q]``.

    With gradients (softmax maps): ``log_partition``, ``entropy``, ``mean_score``, ``score_variance``, ``collision``,
    ``normalised_entropy``, ``effective_keys``, ``participation``, ``sparsity``, ``sink_mass``. Without: ``max_score``,
    ``peak``, ``visible``, ``argmax`` and, when ``groups`` are given, ``first_mass``, ``recent_mass``,
    ``entropy_without_first``, ``mean_distance``. Entropies are in nats.

    ``row_scale`` is the scale of every row. ``status`` is the outcome for a target entropy: 0 solved, 1 above reach
    (uniform), 2 below reach, 3 not converged.
    """

    def __init__(
        self,
        statistics: dict[str, Tensor],
        rows: Optional[Tensor] = None,
        row_counts: Optional[Tensor] = None,
        selected: Optional[Tensor] = None,
    ):
        self._statistics = statistics
        self._selected = selected  # the keys that maps such as top-k chose
        # [fields, ..., heads, n_q]: the scale comes first; of the counts, the status comes last.
        self._rows, self._row_counts = rows, row_counts

    @property
    def row_scale(self) -> Optional[Tensor]:
        return None if self._rows is None else self._rows[0]

    @property
    def status(self) -> Optional[Tensor]:
        return None if self._row_counts is None else self._row_counts[-1]

    def __getattr__(self, name: str) -> Tensor:
        statistics = self.__dict__.get("_statistics", {})
        if name in statistics:
            return statistics[name]
        raise AttributeError(f"statistic '{name}' was not asked for; there are {', '.join(statistics) or 'none'}")

    def __dir__(self):
        return [*super().__dir__(), *self._statistics]

    def as_dict(self) -> dict[str, Tensor]:
        """The statistics by name."""
        return dict(self._statistics)

    def __repr__(self) -> str:
        return f"Aux({', '.join(self._statistics)})"
