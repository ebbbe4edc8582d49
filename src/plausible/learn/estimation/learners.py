"""What learns distributions that are no tables: linear Gaussian, logistic and noisy-or ones, and trees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import DETERMINED, Flags, Floats, Positions
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, NoisyOr, Split, TreeCPD
from plausible.data.moments import FamilyMoments
from plausible.data.statistics import FamilyRows
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, suggestion
from plausible.learn.estimation.families import CPDLearner, Families, FamilyFit, FamilyTask, ParameterKnowledge
from plausible.learn.estimation.priors import FamilyPosterior, log_rising
from plausible.variables import Variable

_ROUNDING = 1e-13  # Residuals below this, relative to the numbers themselves, are rounding


class _Regression(NamedTuple):
    num_cases: Floats  # in each context: a row that weighs more than one is as many, one that weighs less still one
    intercept: Floats
    coefficients: Floats
    variance: Floats
    rank: Positions  # of the parents


@dataclass(frozen=True, slots=True)
class GaussianLearner:
    """The linear Gaussian CPD of greatest likelihood: least squares, and the mean square of what is left.

    β = S_zz^-1 s_zy and σ² = S_yy - β s_zy, with empirical covariances (divided by the number of cases) in each state
    a of the discrete parents. Where a context has no cases, or too few for its variance (at most one more than
    continuous parents), or collinear parents, it is flagged; what the data leave open is taken from all contexts
    together, and N(0, 1) where there are no cases at all. Of collinear parents the shortest solution is taken.
    Cost: O(rows · parents²), whatever the number of contexts.

    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"slope": [0.0, 1.5, 3.0], "speed": [1.5, 4.5, 7.5]}
    >>> print(GaussianLearner().fit(FamilyTask(read_families("slope -> speed", rows), "speed")).cpd)
    speed ~ N(1.5 + 2 slope, 0)
    """

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a continuous variable given its parents."""
        if not task.child.is_continuous:
            raise InvalidArgument(f"{task.name!r} has states: a Gaussian distribution is one of a number.")
        discrete = [parent for parent in task.parents if not parent.is_continuous]
        continuous = [parent for parent in task.parents if parent.is_continuous]
        shape = tuple(parent.num_states for parent in discrete)
        if task.families.statistics.has_rows:
            rows = task.rows()
            context = np.zeros(len(rows.weights), dtype=np.intp)
            if discrete:
                context = np.ravel_multi_index(tuple(rows.columns[parent.name] for parent in discrete), shape)
            fits = _regress(rows, task.name, continuous, context, math.prod(shape))
            pooled = fits if not discrete else _regress(rows, task.name, continuous, np.zeros_like(context), 1)
        else:
            moments, places = _with_child_last(task, continuous)
            fits = _regress_moments(moments, places, shape)
            pooled = _regress_moments(moments.pooled.part(range(len(places))), places, ())
        # what the contexts leave open is taken from all together
        empty, short = fits.num_cases == 0, fits.num_cases <= len(continuous) + 1
        common = 1.0 if pooled.num_cases[0] == 0 else pooled.variance[0]
        intercept = np.where(empty, pooled.intercept[0], fits.intercept)
        coefficients = np.where(empty[:, None], pooled.coefficients[0], fits.coefficients)
        variance = np.where(short, common, fits.variance)
        cpd = gaussian_cpd(task.child, task.parents, intercept, coefficients, variance)
        return FamilyFit(cpd, (short | (fits.rank < len(continuous))).reshape(shape))


def _regress(
    rows: FamilyRows, name: str, continuous: list[Variable], context: Positions, num_contexts: int
) -> _Regression:
    """Weighted least squares in each context, from centred moments."""

    def sums(values: Floats) -> Floats:
        return np.bincount(context, values * rows.weights, num_contexts).astype(np.float64)

    weight = sums(np.ones(len(rows.weights)))
    divisor = np.where(weight > 0, weight, 1.0)
    numbers = [np.asarray(rows.columns[v.name], dtype=np.float64) for v in continuous]
    numbers.append(np.asarray(rows.columns[name], dtype=np.float64))
    means = [sums(column) / divisor for column in numbers]
    centred = [column - mean[context] for column, mean in zip(numbers, means, strict=True)]
    moments = np.empty((num_contexts, len(centred), len(centred)))
    for i, first in enumerate(centred):
        for j, second in enumerate(centred[: i + 1]):
            moments[:, i, j] = moments[:, j, i] = sums(first * second) / divisor
    coefficients, rank = regress_covariances(moments)
    fitted = sum((c[context] * z for c, z in zip(coefficients.T, centred, strict=False)), np.zeros(len(context)))
    residuals = centred[-1] - fitted
    variance = sums(residuals**2) / divisor
    scale = np.sqrt(sums(numbers[-1] ** 2) / divisor)
    variance = np.where(np.sqrt(variance) <= _ROUNDING * scale, 0.0, variance)
    intercept = means[-1] - sum((c * m for c, m in zip(coefficients.T, means, strict=False)), np.zeros(num_contexts))
    num_cases = np.maximum(weight, np.bincount(context, minlength=num_contexts))
    return _Regression(num_cases, intercept, coefficients, variance, rank)


def _with_child_last(task: FamilyTask, continuous: list[Variable]) -> tuple[FamilyMoments, list[int]]:
    """The moments of a family, and the places in them of its numbers: the parents in order, then the child."""
    names = [parent.name for parent in continuous]
    order = [name for name in task.families.statistics.continuous if name in (*names, task.name)]
    return task.families.moments(task.name), [order.index(name) for name in (*names, task.name)]


def _regress_moments(moments: FamilyMoments, places: list[int], shape: tuple[int, ...]) -> _Regression:
    """Least squares in each context where rows are not at hand.

    What is left of a variance is a difference: it counts as nothing below the share that is noise.
    """
    size, context = math.prod(shape), np.zeros(len(moments.weight), dtype=np.intp)
    if shape:
        context = np.ravel_multi_index(tuple(moments.states.T), shape)
    covariances, means = np.zeros((size, len(places), len(places))), np.zeros((size, len(places)))
    num_cases = np.zeros(size)
    covariances[context] = (moments.scatter / moments.weight[:, None, None])[:, places][:, :, places]
    means[context] = moments.mean[:, places]
    num_cases[context] = np.maximum(moments.weight, moments.num_rows)
    coefficients, rank = regress_covariances(covariances)
    own, intercept = covariances[:, -1, -1], means[:, -1] - (coefficients * means[:, :-1]).sum(axis=1)
    left = own - (coefficients * covariances[:, :-1, -1]).sum(axis=1)
    return _Regression(num_cases, intercept, coefficients, np.where(left <= DETERMINED * own, 0.0, left), rank)


def regress_covariances(moments: Floats) -> tuple[Floats, Positions]:
    """Coefficients from the covariances of (parents..., child) in each context, on the scale of correlations."""
    inner, cross = moments[:, :-1, :-1], moments[:, :-1, -1]
    if not inner.shape[1]:
        return np.zeros((len(moments), 0)), np.zeros(len(moments), dtype=np.intp)
    scale = np.sqrt(np.diagonal(inner, axis1=1, axis2=2))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    correlations = inner * inverse[:, :, None] * inverse[:, None, :]
    solved = np.linalg.pinv(correlations, rcond=DETERMINED, hermitian=True) @ (cross * inverse)[:, :, None]
    rank = np.linalg.matrix_rank(correlations, tol=DETERMINED * inner.shape[1], hermitian=True)
    return solved[:, :, 0] * inverse, np.asarray(rank)


def gaussian_cpd(
    variable: Variable, parents: tuple[Variable, ...], intercept: Floats, coefficients: Floats, variance: Floats
) -> CPD:
    """The distribution with a line for each joint state of the discrete parents, the last one's changing fastest."""
    continuous = [parent.name for parent in parents if parent.is_continuous]
    if len(continuous) == len(parents):
        return LinearGaussianCPD(variable, float(intercept[0]), coefficients[0].tolist(), float(variance[0]), parents)
    shape = tuple(parent.num_states for parent in parents if not parent.is_continuous)
    arrays = {name: coefficients[:, place].reshape(shape) for place, name in enumerate(continuous)}
    return ConditionalGaussianCPD(variable, intercept.reshape(shape), arrays, variance.reshape(shape), parents)


_SURE = 40.0  # exp(-w) of this is below what a probability next to one resolves: such causes never fail
_FAINT = 1e-12  # Below this total weight the effect counts as impossible, but not with an infinite slope
_OPTIONS: Any = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}  # Of L-BFGS: small enough for all digits that matter


@dataclass(frozen=True, slots=True)
class LogisticLearner:
    """The logistic (two states) or softmax CPD that maximises Σ log P(y | x) - penalty/2 · ‖w‖².

    A discrete parent has a weight for each of its states, a continuous one a slope, which is penalised on the scale of
    its standard deviation; the intercept is penalised, too. So there is one maximum, whatever the data: L-BFGS finds
    it. The penalty is the precision of a Normal prior of each weight. Parents that never vary are flagged.
    Cost: O(different rows · weights) a step. The smaller the penalty, which is positive, the closer to maximum
    likelihood.

    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"dose": [0.5, 1.5, 2.5, 3.5], "cured": ["no", "no", "yes", "yes"]}
    >>> cpd = LogisticLearner(1.0).fit(FamilyTask(read_families("dose -> cured", rows), "cured")).cpd
    >>> cpd.weights["dose"].round(3)
    array([0.844])
    """

    penalty: float = 0.1

    def __post_init__(self) -> None:
        if not self.penalty > 0:
            raise InvalidArgument(f"The penalty of a logistic distribution is positive, not {self.penalty!r}.")

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a discrete variable given parents of both kinds."""
        from scipy.optimize import minimize

        if task.child.is_continuous:
            raise InvalidArgument(f"{task.name!r} is continuous: a logistic distribution is one of states.")
        rows, free = task.rows(), task.child.num_states - 1
        blocks = [_block(rows, parent) for parent in task.parents]
        design = np.column_stack([np.ones(len(rows.weights)), *(block for block, _, _ in blocks)])
        states = np.asarray(rows.columns[task.name], dtype=np.intp)
        found = minimize(
            _logistic_cost,
            np.zeros(design.shape[1] * free),
            args=(design, states, rows.weights, self.penalty),
            jac=True,
            method="L-BFGS-B",
            options=_OPTIONS | {"maxfun": 10000},
        ).x.reshape(design.shape[1], free)
        constant = np.array([not (block != block[:1]).any() for block, _, _ in blocks], dtype=np.bool_)
        return FamilyFit(_logistic_cpd(task, found, blocks), constant)


def _block(rows: FamilyRows, parent: Variable) -> tuple[Floats, float, float]:
    """The columns of a parent, and the centre and the scale that its numbers were taken from and divided by."""
    column: NDArray[Any] = np.asarray(rows.columns[parent.name])
    if not parent.is_continuous:
        return (column[:, None] == np.arange(parent.num_states)) * 1.0, 0.0, 1.0
    total = rows.weights.sum()
    if not total:
        return column[:, None], 0.0, 1.0
    centre = float(rows.weights @ column / total)
    scale = float(np.sqrt(rows.weights @ (column - centre) ** 2 / total)) or 1.0
    return ((column - centre) / scale)[:, None], centre, scale


def _logistic_cost(
    flat: Floats, design: Floats, states: Positions, weights: Floats, penalty: float
) -> tuple[float, Floats]:
    """The negative penalised log-likelihood and its gradient; the first state has log-odds zero."""
    w = flat.reshape(design.shape[1], -1)
    odds = np.column_stack([np.zeros(len(design)), design @ w])
    odds -= odds.max(axis=1, keepdims=True)
    chances = np.exp(odds)
    totals = chances.sum(axis=1, keepdims=True)
    chances /= totals
    each = np.arange(len(states))
    cost = weights @ (np.log(totals[:, 0]) - odds[each, states])
    chances[each, states] -= 1.0
    slopes = design.T @ (weights[:, None] * chances[:, 1:]) + penalty * w
    return float(cost + 0.5 * penalty * (w**2).sum()), slopes.ravel()


def _logistic_cpd(task: FamilyTask, found: Floats, blocks: list[tuple[Floats, float, float]]) -> LogisticCPD:
    """The CPD, its slopes on the scale of the data."""
    intercept, first = found[0].copy(), 1
    weights = []
    for (block, centre, scale), parent in zip(blocks, task.parents, strict=True):
        part = found[first : first + block.shape[1]] / scale
        first += block.shape[1]
        intercept -= centre * part[0] if parent.is_continuous else 0.0
        weights.append(part[0] if parent.is_continuous else part)
    if task.child.num_states == 2:
        shaped: list[Any] = [w.item() if w.ndim == 1 else w[:, 0] for w in weights]
        return LogisticCPD(task.child, task.parents, shaped, intercept.item())
    return LogisticCPD(task.child, task.parents, weights, intercept)


@dataclass(frozen=True, slots=True)
class NoisyOrLearner:
    """The noisy-or of greatest likelihood.

    With w_i = -log(1 - λ_i) ≥ 0 the log-likelihood is Σ_off -w·x + Σ_on log(1 - exp(-w·x)), which is concave: bounded
    quasi-Newton steps (L-BFGS-B) find its maximum from any start. A parent that is never active is flagged; its
    activation is that of the start, else zero. Cost: O(different rows · parents) a step.

    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"flu": [0, 0, 0, 0, 1, 1, 1, 1], "fever": [0, 0, 0, 1, 0, 1, 1, 1]}
    >>> cpd = NoisyOrLearner().fit(FamilyTask(read_families("flu -> fever", rows), "fever")).cpd
    >>> round(cpd.leak, 4), cpd.activation.round(4)
    (0.25, array([0.6667]))
    """

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The noisy-or of a variable with two states, given parents with an active state each."""
        from scipy.optimize import minimize

        if isinstance(task.start, NoisyOr):
            by_name = dict(zip(task.start.parent_names, task.start.activation.tolist(), strict=True))
            active = dict(task.start.bind(task.families.variables).active_states)
            start = NoisyOr(task.child, task.parents, by_name, task.start.leak, active_states=active)
        else:  # one that also finds the active states, and refuses what has none
            start = NoisyOr(task.child, task.parents, [0.0] * len(task.parents), 0.0)
        rows = task.rows()
        is_active = [np.asarray(rows.columns[p.name]) == p.index(start.active_states[p.name]) for p in task.parents]
        causes = np.column_stack([np.ones(len(rows.weights)), *is_active]) * 1.0
        is_on = np.asarray(rows.columns[task.name]) == 1
        with np.errstate(divide="ignore"):
            first = np.minimum(-np.log1p(-np.array([start.leak, *start.activation])), _SURE)
        found = minimize(
            _noisy_or_cost,
            np.clip(first, 0.01, 2.0),
            args=(causes, is_on, rows.weights),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, _SURE)] * len(first),
            options=_OPTIONS,
        ).x
        never = causes.sum(axis=0) == 0
        chances = np.where(found >= _SURE - 1.0, 1.0, -np.expm1(-found))
        chances = np.where(never, -np.expm1(-first), chances)
        states = dict(start.active_states)
        learned = NoisyOr(task.child, task.parents, chances[1:], float(chances[0]), active_states=states)
        return FamilyFit(learned, never[1:])


def _noisy_or_cost(w: Floats, causes: Floats, is_on: Flags, weights: Floats) -> tuple[float, Floats]:
    """The negative log-likelihood and its gradient."""
    total = np.maximum(causes @ w, _FAINT)
    cost = np.where(is_on, -np.log(-np.expm1(-total)), total)
    slope = np.where(is_on, -1.0 / np.expm1(total), 1.0)
    return float(weights @ cost), causes.T @ (weights * slope)


_NO_GAIN = 1e-9  # Gains below this are rounding
_SMALLEST = 1e-9  # Stands for pseudo-counts of zero, which would rule cases out


class _Context(NamedTuple):
    """The part of a family's counts in some context: axes of parents that are not fixed yet, then the child."""

    parents: tuple[Variable, ...]
    counts: Floats
    prior: Floats
    unidentified: Flags  # the same part of a mask over all rows, without the child's axis, which leaves write to

    def branch(self, axis: int, state: int) -> _Context:
        """The part where one parent is in a state."""
        place: tuple[Any, ...] = (*(slice(None),) * axis, state, ...)  # the dots make a view also of a single entry
        others = self.parents[:axis] + self.parents[axis + 1 :]
        return _Context(others, self.counts[place], self.prior[place], self.unidentified[place])


@dataclass(frozen=True, slots=True)
class TreeLearner:
    """A tree CPD by greedy splitting (Friedman & Goldszmidt 1998).

    Each leaf is split on the parent that gains most, for as long as one gains: without a prior in BIC, which charges
    ½ log N for each of the (states - 1) parameters of a leaf; with one in the marginal likelihood, each leaf having the
    pseudo-counts of the rows of the table that it stands for. Ties go to the parent that is first by name. A leaf is
    the mean of its row, its mode or its frequencies, as the task says; without cases it is uniform, or as the prior
    says. Cost: a pass over the family's counts for each level and parent.

    >>> from plausible.learn.estimation.families import read_families
    >>> rows = {"rain": [0, 0, 1, 1] * 10, "noise": [0, 1, 0, 1] * 10, "wet": [0, 0, 1, 1] * 10}
    >>> task = FamilyTask(read_families("rain -> wet <- noise", rows), "wet")
    >>> print(TreeLearner().fit(task).cpd)
    P(wet=[0, 1] | rain, noise)
    rain=0: [1, 0]
    rain=1: [0, 1]
    """

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The tree of a discrete variable given discrete parents."""
        counts, prior = task.counts(), task.pseudo_counts()
        charge = 0.5 * np.log(max(counts.sum(), 1.0)) * (task.child.num_states - 1)
        unidentified = np.zeros(counts.shape[:-1], dtype=np.bool_)
        whole = _Context(task.parents, counts, prior, unidentified[...])
        tree = _grow(whole, None if prior.any() else float(charge), task)
        return FamilyFit(TreeCPD(task.child, tree, task.parents), unidentified)


def _grow(context: _Context, charge: float | None, task: FamilyTask) -> Split | list[float]:
    """The tree below a context; `charge` is the price of a leaf, or `None` for the marginal likelihood."""
    gains = [_gain(context, axis, charge) for axis in range(len(context.parents))]
    # of equal gains that of the parent which is first by name
    keys = [
        (gain, (*(-ord(letter) for letter in parent.name), 1))
        for gain, parent in zip(gains, context.parents, strict=True)
    ]
    best = max(range(len(gains)), key=keys.__getitem__, default=None)
    if best is None or gains[best] <= _NO_GAIN:
        along = tuple(range(len(context.parents)))
        known = FamilyPosterior(task.child, (), context.prior.sum(axis=along), context.counts.sum(axis=along))
        row, is_open = known.filled(task.estimate, task.unseen)
        context.unidentified[...] = is_open
        return [float(chance) for chance in row]
    parent = context.parents[best]
    # Keys are tuples of states, as a state may be a tuple itself.
    branches = {(state,): _grow(context.branch(best, i), charge, task) for i, state in enumerate(parent.states)}
    return Split(parent.name, branches)


def _gain(context: _Context, axis: int, charge: float | None) -> float:
    """How much the score rises if a context is split."""
    along = tuple(other for other in range(len(context.parents)) if other != axis)
    counts, prior = context.counts.sum(axis=along), context.prior.sum(axis=along)
    after = _scores(counts, prior, charge).sum()
    return float(after - _scores(counts.sum(axis=0)[None], prior.sum(axis=0)[None], charge).sum())


def _scores(counts: Floats, prior: Floats, charge: float | None) -> Floats:
    """The score of each leaf, a row of counts each."""
    if charge is not None:
        from scipy.special import xlogy

        return np.asarray(xlogy(counts, counts).sum(axis=1) - xlogy(counts.sum(axis=1), counts.sum(axis=1)) - charge)
    known = np.maximum(prior, _SMALLEST)
    return np.asarray(log_rising(known, counts).sum(axis=1) - log_rising(known.sum(axis=1), counts.sum(axis=1)))


_LEARNERS: Mapping[str, CPDLearner] = MappingProxyType(
    {
        "tree": TreeLearner(),
        "noisy-or": NoisyOrLearner(),
        "logistic": LogisticLearner(),
        "linear-gaussian": GaussianLearner(),
        "conditional-gaussian": GaussianLearner(),
    }
)


def find_learners(
    families: Families, kinds: Mapping[str, str | CPDLearner], knowledge: ParameterKnowledge
) -> dict[str, CPDLearner]:
    """Name -> what learns its distribution, for all that are neither tables nor fixed."""
    UnknownVariable.check_all(kinds, families.variables, "this graph, though kinds= names it")
    tied = {*knowledge.owners, *knowledge.owners.values()}
    learners = {}
    for name, variable in families.variables.items():
        usual = "logistic" if any(parent.is_continuous for parent in families.parents_of(name)) else "table"
        kind = kinds.get(name) or ("linear-gaussian" if variable.is_continuous else usual)
        if name in knowledge.fixed_cpds or kind == "table":
            continue
        if name in tied:
            raise NotSupported(f"Only tables can be tied, but {name!r} has the kind {kind!r}.")
        if isinstance(kind, str) and kind not in _LEARNERS:
            raise InvalidArgument(f"{kind!r} is no kind to learn {name!r} as.{suggestion(kind, ('table', *_LEARNERS))}")
        if not isinstance(kind, (str, CPDLearner)):
            raise InvalidArgument(f"kinds= says how to learn {name!r}: by a word, such as 'tree', or a learner.")
        learners[name] = _LEARNERS[kind] if isinstance(kind, str) else kind
    return learners
