"""Gaussian Markov networks from numbers: sparse precision matrices, and those with the zeros of a given graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, check_flag, generator_of
from plausible.base.pictured import chart_by
from plausible.base.records import Result, record
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, counted
from plausible.factors.definite import LOG_2PI, definite
from plausible.factors.gaussian import GaussianFactor
from plausible.graphs import UndirectedGraph
from plausible.graphs.cliques import maximal_cliques
from plausible.graphs.graph_input import read_as
from plausible.learn.undirected.closed_forms import junction_tree
from plausible.learn.undirected.precision import Block, PrecisionState, Problem, Solution, duality_gap, solve
from plausible.learn.undirected.precision_input import (
    Form,
    PairsLike,
    Source,
    read_penalties,
    read_weights,
    refuse_singular,
)
from plausible.search.run import CONVERGED, Clock, HasRun, Run, Stops

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart


@record(eq=False)
class PenaltyPoint(Result):
    """The solution for one of several penalties."""

    penalty: float  # The penalty
    num_edges: int  # The pairs whose entry of the precision matrix is not zero
    objective: float  # -log det X + tr(S X) + penalty
    duality_gap: float  # By how much at most the objective is above the best
    score: float  # What the choice goes by, the least is best: the extended BIC, or the held-out loss for each row
    precision: Floats  # The precision matrix

    _told = ("penalty", "num_edges", "objective", "duality_gap", "score")

    def __str__(self) -> str:
        return f"penalty {self.penalty:.4g}: {counted(self.num_edges, 'edge')}, score {self.score:.6g}"


@record(eq=False)
class PrecisionFit(HasRun):
    """A Gaussian Markov network that was learned: its precision matrix is zero where there is no edge."""

    _told = ("names", "penalty", "num_edges", "objective", "duality_gap", "log_likelihood", *HasRun._told)

    names: tuple[str, ...]  # The variables, in the order of the matrices
    mean: Floats  # Their means; zero where only a covariance matrix was given
    precision: Floats  # X, in the units of the data
    covariance: Floats  # X⁻¹
    penalty: float  # The penalty, the one that was chosen where there were several
    objective: float  # -log det X + tr(S X) + Σ penalties · |X_ij|, which was made small
    duality_gap: float  # By how much at most the objective is above the best
    log_likelihood: float  # Of all rows; nan where their number is not known
    path: tuple[PenaltyPoint, ...]  # The solutions for all penalties, the largest first
    #: The steps: "converged" where the gap is small enough, "stuck" where rounding hides any further descent.
    run: Run[PrecisionState]

    @property
    def num_edges(self) -> int:
        """How many edges the graph has."""
        return _num_edges(self.precision)

    @property
    def graph(self) -> UndirectedGraph:
        """The undirected graph: an edge where the precision matrix is not zero."""
        rows, columns = np.nonzero(np.triu(self.precision, 1))
        edges = [(self.names[i], self.names[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
        return UndirectedGraph(edges, nodes=self.names)

    @property
    def network(self) -> GaussianFactor:
        """The density N(mean, covariance) in canonical form: it can be multiplied, reduced and marginalised."""
        return GaussianFactor(self.names, self.precision, self.precision @ self.mean).normalize()

    def partial_correlations(self) -> pd.DataFrame:
        """The correlation of each pair given all others: -X_ij / √(X_ii X_jj), one on the diagonal."""
        scale = np.sqrt(self.precision.diagonal())
        values = -self.precision / np.outer(scale, scale)
        np.fill_diagonal(values, 1.0)
        return self._frame(values)

    def to_frame(self) -> pd.DataFrame:
        """The precision matrix, with names."""
        return self._frame(self.precision)

    def _frame(self, values: Floats) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the score and the number of edges along the path of penalties, or else the run; it needs matplotlib."""
        if len(self.path) < 2:
            return HasRun.plot(self, ax)
        penalties, scores = [point.penalty for point in self.path], [point.score for point in self.path]
        named = {"title": "Path of the graphical lasso", "what": "penalty", "score": "score (least is best)"}
        edges = {"beside": [point.num_edges for point in self.path], "beside_name": "edges"}
        return chart_by("plot_choice", penalties, scores, self.penalty, ax, **named, **edges)

    def __str__(self) -> str:
        size = f"{counted(len(self.names), 'variable')}, {counted(self.num_edges, 'edge')}"
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        return f"{size}, penalty {self.penalty:.4g}, objective {self.objective:.6g}, {ended}"


@keyword_hints
def graphical_lasso(
    data: DataLike | None = None,
    penalty: float | Iterable[float] | None = 0.1,
    *,
    covariance: ArrayLike | None = None,
    num_rows: float | None = None,
    weights: PairsLike | None = None,
    diagonal: bool = False,
    correlation: bool = False,
    choose: str = "ebic",
    num_folds: int = 5,
    max_steps: int = 200,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Callable[[PrecisionState], object] | None = None,
    seed: Seed = None,
) -> PrecisionFit:
    """Learn a sparse Gaussian Markov network: the graphical lasso.

    It minimises -log det X + tr(S X) + λ Σ_{i≠j} |X_ij| over positive definite X, where S is the covariance of the
    rows, about their mean and divided by their number (Friedman, Hastie & Tibshirani 2008). Variables that no chain of
    pairs with |S_ij| > λ connects are solved apart. A step is one of Newton's method, by coordinate descent on the
    pairs that are not zero (Hsieh, Sustik, Dhillon & Ravikumar 2014): about n³ for the inverse, and 3n for each such
    pair and sweep. There may be fewer rows than variables, and columns may repeat each other.

    Parameters
    ----------
    data
        Rows of numbers without missing cells, or their statistics.
    penalty
        λ. Several, to choose among; None for 20 of them from the smallest that leaves no edge down to a fiftieth of it.
    covariance
        S instead of data: a matrix, or a frame with names.
    num_rows
        How many rows a covariance is of; a choice by "ebic" and the log-likelihood need it.
    weights
        What λ is multiplied by for each pair: a matrix, or {(name, name): number} with 1 for pairs left out. Pairs of
        weight 0 are not penalised, those of infinite weight have no edge.
    diagonal
        Whether X_ii is penalised, too, which shrinks all entries; constant columns need it.
    correlation
        Whether the penalty is that of variables scaled to variance one, so that units do not matter; the result is
        in the units of the data all the same.
    choose
        The least of what decides among several penalties: "ebic", -2ℓ + |E| (log N + 2 log n) (Foygel & Drton 2010),
        or "cross-validation", minus the log-likelihood of held-out rows.
    tolerance
        Enough is where the objective is above the best by no more than this, as the duality gap shows.

    Examples
    --------
    >>> import numpy as np
    >>> import plausible as pb
    >>> S = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> fit = pb.learn.graphical_lasso(covariance=S, penalty=0.1, tolerance=1e-12)
    >>> fit.covariance.round(6)                     # two variables: the covariance shrinks by the penalty
    array([[1. , 0.4],
           [0.4, 1. ]])
    >>> fit.graph
    UndirectedGraph('X0 - X1')
    """
    stops = Stops(tolerance, max_steps, time_limit, progress)
    check_flag("diagonal", diagonal)
    check_flag("correlation", correlation)
    if choose not in ("ebic", "cross-validation"):
        raise InvalidArgument(f'choose={choose!r} must be "ebic" or "cross-validation".')
    source = Source.read(data, covariance, num_rows)
    form = Form(read_weights(weights, source.names, diagonal), correlation)
    penalties = read_penalties(penalty, source, form)
    is_choice = len(penalties) > 1
    if choose == "ebic" and is_choice and not math.isfinite(source.num_rows):
        raise InvalidArgument('choose="ebic" weighs edges against rows: say how many there were, by num_rows=.')
    clock = Clock.of(time_limit)
    is_by_rows = choose == "ebic" and math.isfinite(source.num_rows)
    losses = [math.nan] * len(penalties)
    if choose == "cross-validation" and is_choice:
        losses = _held_out(source, form, penalties, num_folds, seed, stops, clock)
    path, best = list[PenaltyPoint](), None
    for one, loss, found in zip(penalties, losses, _solved(source, form, penalties, stops, clock), strict=False):
        score = _extended_bic(source, found) if is_by_rows else loss
        if best is None or score < best[0]:
            best = score, one, found
        edges = _num_edges(found.precision)
        path.append(PenaltyPoint(one, edges, found.objective, found.duality_gap, score, found.precision))
    assert best is not None  # there is at least one penalty
    return _fitted(source, best[2], best[1], tuple(path))


@keyword_hints
def covariance_selection(
    graph: str | UndirectedGraph | Iterable[Any],
    data: DataLike | None = None,
    *,
    covariance: ArrayLike | None = None,
    num_rows: float | None = None,
    max_steps: int = 200,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Callable[[PrecisionState], object] | None = None,
) -> PrecisionFit:
    """The Gaussian of the largest likelihood whose precision matrix is zero where a graph has no edge.

    Its covariances equal those of the data on the edges and the diagonal (Dempster 1972). On a chordal graph it is
    Σ_C [S_C⁻¹] - Σ_S [S_S⁻¹] over cliques and separators, each filled up with zeros (Lauritzen 1996, §5.3.2); else it
    is found as `graphical_lasso` finds its own.

    Parameters
    ----------
    graph
        An undirected graph, or its text. Columns that it does not mention are left alone.
    data, covariance, num_rows, tolerance
        As for `graphical_lasso`.

    Examples
    --------
    >>> import numpy as np
    >>> import plausible as pb
    >>> S = [[1.0, 0.5, 0.4], [0.5, 1.0, 0.5], [0.4, 0.5, 1.0]]
    >>> fit = pb.learn.covariance_selection("X0 - X1 - X2", covariance=S)
    >>> fit.covariance.round(3)                     # X0 and X2 are independent given X1
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    chosen = read_as(graph, UndirectedGraph)
    source = Source.read(data, covariance, num_rows).part([str(node) for node in chosen.nodes])
    place_of = {name: place for place, name in enumerate(source.names)}
    cliques = [tuple(sorted(place_of[str(node)] for node in clique)) for clique in maximal_cliques(chosen)]
    weights = np.full(source.covariance.shape, math.inf)
    for clique in cliques:
        weights[np.ix_(clique, clique)] = 0.0
    refuse_singular(source, cliques)
    tree = junction_tree(cliques)
    if tree is None:
        stops = Stops(tolerance, max_steps, time_limit, progress)
        (solution,) = _solved(source, Form(weights), [0.0], stops, Clock.of(time_limit))
    else:
        solution = _closed_form(Problem(source.covariance, weights), cliques, [shared for _, shared in tree])
    return _fitted(source, solution, 0.0, ())


def _solved(source: Source, form: Form, penalties: Sequence[float], stops: Stops, clock: Clock) -> Iterator[Solution]:
    """A solution for each penalty, each from the one before; fewer where the time is over."""
    found: Solution | None = None
    for penalty in penalties:
        problem = form.problem(source, penalty)
        for name, variance, own in zip(
            source.names, source.covariance.diagonal(), problem.penalty.diagonal(), strict=True
        ):
            if not variance + own > 0:
                raise InvalidArgument(
                    f"{name!r} is constant: its precision would be infinite. Leave it out, or give diagonal=True."
                )
        found = solve(problem, stops, clock, found)
        if found.run.stopped_by == "unbounded":
            raise InvalidArgument(
                f"With penalty {penalty:g} the objective has no minimum: pairs that are not penalised have a singular "
                "covariance, since columns follow from each other or there are fewer rows than variables. Give a "
                "larger penalty, or weights above 0."
            )
        yield found
        if found.run.stopped_by in ("time limit", "interrupted"):
            break


def _log_likelihood(source: Source, solution: Solution) -> float:
    fit = float(np.vdot(source.covariance, solution.precision)) + len(source.names) * LOG_2PI
    return 0.5 * source.num_rows * (solution.log_determinant - fit)


def _extended_bic(source: Source, solution: Solution) -> float:
    each = math.log(max(source.num_rows, 1.0)) + 2 * math.log(max(len(source.names), 1))
    return -2 * _log_likelihood(source, solution) + each * _num_edges(solution.precision)


def _held_out(
    source: Source,
    form: Form,
    penalties: Sequence[float],
    num_folds: int,
    seed: Seed,
    stops: Stops,
    clock: Clock,
) -> list[float]:
    """Minus the log-likelihood of a row that was held out, for each penalty."""
    check_count("num_folds", num_folds, 2)
    num_rows = source.table.num_rows
    if num_rows < num_folds:
        raise InvalidArgument(f"{num_folds} folds need as many rows at least; there are {num_rows}.")
    folds = generator_of(seed).permutation(np.arange(num_rows) % num_folds)
    losses = np.zeros(len(penalties))
    for fold in range(num_folds):
        learned, held = source.rows(folds != fold), source.rows(folds == fold)
        apart = held.mean - learned.mean
        around = replace(held, covariance=held.covariance + np.outer(apart, apart))
        found = [-_log_likelihood(around, one) for one in _solved(learned, form, penalties, stops, clock)]
        losses += [*found, *[math.inf] * (len(penalties) - len(found))]
    return [float(loss) for loss in losses / source.num_rows]


def _closed_form(problem: Problem, cliques: Sequence[Sequence[int]], shared: Sequence[Sequence[int]]) -> Solution:
    precision = np.zeros_like(problem.covariance)
    for sign, scopes in ((1.0, cliques), (-1.0, shared)):
        for scope in filter(len, scopes):
            chosen = np.ix_(scope, scope)
            solver = definite(problem.covariance[chosen])
            assert solver is not None  # cliques were looked at
            precision[chosen] += sign * solver.inverse()
    solver = definite(precision)
    assert solver is not None
    covariance = solver.inverse()
    log_determinant = solver.log_determinant
    places = np.arange(len(precision))
    block = Block(
        places, precision, covariance, log_determinant, len(precision) - log_determinant, math.inf, 0.0, CONVERGED
    )
    block = block._replace(gap=duality_gap(problem, block))
    run = Run(PrecisionState((block,)), 0, CONVERGED, (block.value,))
    return Solution(precision, covariance, log_determinant, block.value, block.gap, run, np.ones(len(precision)))


def _num_edges(precision: Floats) -> int:
    return (int(np.count_nonzero(precision)) - len(precision)) // 2


def _fitted(source: Source, solution: Solution, penalty: float, path: tuple[PenaltyPoint, ...]) -> PrecisionFit:
    for matrix in (solution.precision, solution.covariance):
        matrix.setflags(write=False)
    return PrecisionFit(
        source.names,
        source.mean,
        solution.precision,
        solution.covariance,
        penalty,
        solution.objective,
        solution.duality_gap,
        _log_likelihood(source, solution),
        path,
        solution.run,
    )
