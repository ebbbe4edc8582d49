"""The distribution of the largest entropy with published means: no rows are needed, but the means must fit together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import check_number
from plausible.errors import InvalidArgument, ModelContradicted
from plausible.inference.budget import Budget
from plausible.inference.engines import Engine, check_engine
from plausible.learn.undirected.climbing import OptimizerLike, climb
from plausible.learn.undirected.design import Design, read_features
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.infinite_weights import settle_infinite, tops_of_means
from plausible.learn.undirected.learning import finished, fitted_run
from plausible.learn.undirected.objectives import Likelihood
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import LaplacePrior, Penalty, read_prior
from plausible.learn.undirected.proportional_fitting import fit_proportionally
from plausible.learn.undirected.sample import Sample
from plausible.models.features import Feature
from plausible.search.ascent import AscentState
from plausible.search.run import Run, Stops
from plausible.variables import Variable

#: Name -> number of states or states, or variables.
VariablesLike: TypeAlias = Mapping[str, Any] | Iterable[Variable]
#: Whether means can be had is decided over all assignments up to so many, else over beliefs that agree locally.
_FEW_ASSIGNMENTS = 2**13
#: Means that miss by no more than this of the range of their features are met.
_SLACK = 1e-9


@keyword_hints
def maximum_entropy(
    variables: VariablesLike,
    means: Mapping[Any, float | ArrayLike],
    *,
    slack: float | Mapping[str, float] = 0.0,
    engine: Engine | None = None,
    optimizer: OptimizerLike = None,
    max_steps: int = 1000,
    tolerance: float = 1e-8,
    time_limit: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[AscentState], object] | None = None,
    resume: Run[AscentState] | AscentState | None = None,
) -> MarkovFit:
    """The distribution of the largest entropy with given means of features: log-linear in the features.

    It maximises H(Q) subject to E_Q[f_i] = c_i, and its weights, the multipliers of the constraints, maximise
    Σ θ_i c_i - log Z, the likelihood of a row with these means (Koller & Friedman 2009, theorem 20.2).

    Parameters
    ----------
    variables
        Name -> states, or a list of variables.
    means
        `Feature` -> its mean. A scope, such as ("A", "B"), -> a table of probabilities: a published marginal.
    slack
        |E_Q[f_i] - c_i| may be as large as this, for all or by name, where means are rounded or contradict each other:
        an L1 penalty of the weights.
    engine, optimizer, resume
        As for `markov`. "ipf" fits published marginals in turn, and looks for contradictions only if that does not end.

    Raises
    ------
    ModelContradicted
        Where no distribution has these means: it names those that contradict, and by how much.

    Examples
    --------
    >>> import plausible as pb
    >>> older = pb.Feature(["age", "owns"], lambda age, owns: age == "old" and owns == "yes", name="old owners")
    >>> fit = pb.learn.maximum_entropy(
    ...     {"age": ["young", "old"], "owns": ["no", "yes"]}, {("age",): [0.7, 0.3], older: 0.2}
    ... )
    >>> fit.network.query(["age", "owns"]).values.round(3)
    array([[0.35, 0.35],
           [0.1 , 0.2 ]])
    """
    known = _read_variables(variables)
    features = read_features(means)
    design = Design.of(features, known)
    check_engine(engine, known)
    wanted = _read_means(design, features, means)
    penalty = _read_slack(slack, design)
    is_fitting = optimizer == "ipf"
    if penalty.is_none and not is_fitting:
        _refuse_contradictions(design, wanted)
    design, infinite = settle_infinite(design, tops_of_means(wanted), penalty)
    sample = Sample(design, None, engine, budget, _means=wanted)
    climbed = Climb(Likelihood().on(sample), penalty)
    stops = Stops(tolerance, max_steps, time_limit, progress)
    if is_fitting:
        fitted = fit_proportionally(sample, stops)
        if not fitted.converged:  # as it never does where the means contradict each other
            _refuse_contradictions(design, wanted)
        run = fitted_run(climbed, fitted)
    else:
        run = climb(climbed, optimizer, np.zeros(design.num_weights) if resume is None else resume, stops)
    return finished(sample, Likelihood(), climbed, run, infinite)


def _read_variables(variables: VariablesLike) -> dict[str, Variable]:
    if isinstance(variables, Mapping):
        return {
            name: states if isinstance(states, Variable) else Variable(name, states)
            for name, states in variables.items()
        }
    listed = list(variables)
    for one in listed:
        if not isinstance(one, Variable):
            raise InvalidArgument(f"{one!r} is no variable: give {{name: states}}, or variables.")
    return {one.name: one for one in listed}


def _read_means(design: Design, features: Iterable[Feature], means: Mapping[Any, Any]) -> Floats:
    wanted, first = np.zeros(design.num_weights), 0
    counted = np.bincount(design.groups, minlength=len(design.group_names))
    for feature, given, size in zip(features, means.values(), counted.tolist(), strict=True):
        values = np.asarray(given, dtype=np.float64).ravel()
        if values.size != size:
            raise InvalidArgument(
                f"{feature.name!r} has {size} weights, so its means are that many numbers, not {values.size}."
            )
        if not np.isfinite(values).all():
            raise InvalidArgument(f"The mean of {feature.name!r} is not a finite number.")
        if feature.is_table and abs(values.sum() - len(feature.scopes)) > 1e-3:
            raise InvalidArgument(
                f"The probabilities of {feature.name!r} add up to {values.sum():.6g}, not {len(feature.scopes)}."
            )
        wanted[first : first + size] = values
        first += size
    return wanted


def _read_slack(slack: float | Mapping[str, float], design: Design) -> Penalty:
    given = dict.fromkeys(design.names, slack) if not isinstance(slack, Mapping) else dict(slack)
    for value in given.values():
        check_number("slack", value, least=0)
    priors = {name: LaplacePrior(1 / value) for name, value in given.items() if value}
    return read_prior(priors or None, design.names, design.groups, design.group_names)


def _refuse_contradictions(design: Design, wanted: Floats) -> None:
    """Refuse means that no distribution has.

    A linear program over all assignments, or where these are many over tables that agree on what they share, which
    finds most contradictions, but not all: a climb that does not end tells the rest.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    cells, num = _cells(design), design.num_weights
    if cells is not None:
        features = design.transposed @ cells  # weights x assignments
        ones: Any = csr_array(np.ones((1, features.shape[1])))
        rows = [hstack([features, _signs(num)]), hstack([ones, csr_array((1, 2 * num))])]
        right = np.concatenate([wanted, [1.0]])
        width = features.shape[1]
    else:
        agree, totals = _agreements(design)
        rows = [hstack([design.transposed, _signs(num)]), hstack([agree, csr_array((agree.shape[0], 2 * num))])]
        right = np.concatenate([wanted, totals])
        width = design.num_entries
    cost = np.concatenate([np.zeros(width), np.tile(1 / (1 + np.abs(wanted)), 2)])
    found: Any = linprog(cost, A_eq=vstack(rows).tocsr(), b_eq=right, method="highs")
    if found.status == 0 and found.fun > _SLACK * max(1, num):
        missed = found.x[width : width + num] - found.x[width + num :]
        worst = sorted(np.flatnonzero(np.abs(missed) > _SLACK).tolist(), key=lambda place: -abs(missed[place]))[:5]
        told = ", ".join(f"{design.names[p]!r} {wanted[p]:.4g} (nearest {wanted[p] - missed[p]:.4g})" for p in worst)
        raise ModelContradicted(
            f"No distribution has these means: {told}. Mend them, or allow for it: slack={abs(missed).max():.2g}."
        )


def _signs(num: int) -> Any:
    from scipy.sparse import csr_array, hstack, identity

    return hstack([csr_array(identity(num)), csr_array(-identity(num))])


def _cells(design: Design) -> Any:
    """Entries x assignments: which entries each assignment has; None where there are too many."""
    from scipy.sparse import csr_array

    if math.prod(design.sizes.tolist()) > _FEW_ASSIGNMENTS:
        return None
    states = np.stack(np.unravel_index(np.arange(math.prod(design.sizes.tolist())), design.sizes), axis=1)
    places = design.positions(states)
    columns = np.repeat(np.arange(len(states)), places.shape[1])
    return csr_array((np.ones(places.size), (places.ravel(), columns)), shape=(design.num_entries, len(states)))


def _agreements(design: Design) -> tuple[Any, Floats]:
    """Rows that say that tables sum to one and agree on the variables that they share."""
    from scipy.sparse import csr_array

    rows, columns, values, totals = list[int](), list[int](), list[float](), list[float]()
    last: dict[int, tuple[int, int]] = {}
    for number, (scope, start, end) in enumerate(zip(design.scopes, design.starts, design.starts[1:], strict=False)):
        entries = np.arange(start, end)
        rows += [len(totals)] * entries.size
        columns += entries.tolist()
        values += [1.0] * entries.size
        totals.append(1.0)
        cells = np.unravel_index(np.arange(entries.size), [int(design.sizes[place]) for place in scope])
        for axis, place in enumerate(scope):
            if place in last:
                other, other_axis = last[place]
                begin, stop = int(design.starts[other]), int(design.starts[other + 1])
                others = np.unravel_index(np.arange(stop - begin), [int(design.sizes[p]) for p in design.scopes[other]])
                for state in range(int(design.sizes[place]) - 1):
                    mine, theirs = entries[cells[axis] == state], begin + np.flatnonzero(others[other_axis] == state)
                    rows += [len(totals)] * (mine.size + theirs.size)
                    columns += [*mine.tolist(), *theirs.tolist()]
                    values += [1.0] * mine.size + [-1.0] * theirs.size
                    totals.append(0.0)
            last[place] = (number, axis)
    return csr_array((values, (rows, columns)), shape=(len(totals), design.num_entries)), np.array(totals)
