"""The information bottleneck: codes Z of X that keep its information about Y, max I(Z;Y) - beta I(Z;X)."""

from __future__ import annotations

from typing import NamedTuple

from ._call import Array, Numbers, Values, compiled

__all__ = [
    "BottleneckCode", "BottleneckCurve", "BottleneckDefects", "BottleneckTerms", "CriticalBeta", "GaussianBottleneck",
    "bottleneck_curve", "bottleneck_terms", "critical_beta", "gaussian_bottleneck",
    "gaussian_bottleneck_of_correlations", "iterate_bottleneck", "squared_maximal_correlation",
    "variational_bottleneck",
]  # fmt: skip


class BottleneckCode(NamedTuple):
    """A code at one beta; ``encoder`` is p(z|x), x along the rows."""

    beta: float
    information_x: float
    information_y: float
    entropy: float
    objective: float
    encoder: Values
    iterations: int
    largest_decrease: float
    converged: bool


class BottleneckDefects(NamedTuple):
    """How far a curve deviates from what theory requires: the largest violation of each kind."""

    monotone: float
    slope: float
    ceiling: float
    iteration: float


class BottleneckCurve(NamedTuple):
    """Codes by increasing beta, I(X;Y), H(X), H(Y) and the curve's defects."""

    kind: str
    information: float
    entropy_x: float
    entropy_y: float
    defects: BottleneckDefects
    points: tuple[BottleneckCode, ...]

    def information_y_at(self, information_x: Numbers) -> Numbers:
        """I(Z;Y) known to be possible with at most ``information_x`` nats: the upper hull of the points."""
        points = [[code.information_x, code.information_y, code.entropy] for code in self.points]
        return information_y_at(self.kind, self.information, self.entropy_x, points, information_x)

    def price(self, code: BottleneckCode) -> float:
        """The cost of a code in the objective: I(Z;X), or H(Z) for the deterministic kind."""
        return code.entropy if self.kind == "deterministic" else code.information_x


@compiled
def information_y_at(kind: str, information: float, entropy_x: float, points: Array, information_x: Numbers) -> Numbers:
    """``BottleneckCurve.information_y_at`` from the data of the hull."""


@compiled
def iterate_bottleneck(
    joint: Array,
    beta: float,
    start: Array,
    *,
    kind: str = "stochastic",
    most_iterations: int = 20000,
    tolerance: float = 1e-12,
    random_starts: int = 4,
    seed: int = 1,
) -> BottleneckCode:
    """One run of p(z|x) ~ p(z) exp(-KL(p(y|x) || p(y|z)) / beta) from the encoder ``start``."""


@compiled
def bottleneck_curve(
    joint: Array,
    betas: Array,
    *,
    kind: str = "stochastic",
    most_iterations: int = 20000,
    tolerance: float = 1e-12,
    random_starts: int = 4,
    seed: int = 1,
) -> BottleneckCurve:
    """The best codes found at increasing betas, for p(x, y) with x along the rows.

    ``kind``: "stochastic", or "deterministic" for max I(Z;Y) - beta H(Z) (Strouse & Schwab 2017). By hand:
    diag(1/2, 1/2) keeps log 2 for every beta < 1.
    """


class BottleneckTerms(NamedTuple):
    """J = H(Y) + E log p(y|z) - beta E_x KL(p(z|x) || p(z))."""

    entropy_y: float
    log_likelihood: float
    rate: float
    information_y: float

    def objective(self, beta: float) -> float:
        """J at this beta."""
        return self.entropy_y + self.log_likelihood - beta * self.rate


@compiled
def bottleneck_terms(joint: Array, encoder: Array) -> BottleneckTerms:
    """The objective of an encoder p(z|x) as expectations."""


@compiled
def variational_bottleneck(joint: Array, encoder: Array, decoder: Array, prior: Array, beta: Numbers) -> Numbers:
    """H(Y) + E log q(y|z) - beta E_x KL(p(z|x) || r(z)): never above J (Alemi et al. 2017).

    ``decoder``: q(y|z), z along the rows; ``prior``: r(z).
    """


@compiled
def squared_maximal_correlation(joint: Array) -> float:
    """The second singular value, squared, of p(x,y) / sqrt(p(x) p(y))."""


class CriticalBeta(NamedTuple):
    """``global_``: beta_c, from below. ``local``: rho^2 <= beta_c. ``input``: the r that reaches ``global_``."""

    global_: float
    local: float
    input: Values


@compiled
def critical_beta(joint: Array, random_starts: int = 64, seed: int = 1) -> CriticalBeta:
    """beta_c = sup_r KL(rW || p_Y) / KL(r || p_X): from there on the best code is constant."""


class GaussianBottleneck(NamedTuple):
    """``components``: how many are in use; ``projection``: A in Z = A X + noise, empty if correlations were given."""

    information_x: float
    information_y: float
    components: int
    projection: Values


@compiled
def gaussian_bottleneck(
    covariance_x: Array, covariance_y: Array, cross_covariance: Array, beta: float
) -> GaussianBottleneck:
    """I_X = 1/2 sum_i log(rho_i^2 (1 - beta) / (beta (1 - rho_i^2))), I_Y = I_X - 1/2 sum_i log(rho_i^2 / beta).

    The sums run over canonical correlations with rho_i^2 > beta (Chechik et al. 2005); rows of the cross-covariance are
    those of X.
    """


@compiled
def gaussian_bottleneck_of_correlations(canonical_correlations: Array, beta: float) -> GaussianBottleneck:
    """``gaussian_bottleneck`` from its canonical correlations 0 <= rho_i < 1."""
