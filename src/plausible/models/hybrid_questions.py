"""What can be asked of a Bayesian network with continuous variables, exactly.

Networks in which every continuous variable is linear Gaussian, given discrete parents, and no discrete variable
depends on a hidden continuous one. Numbers may be observed anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base.seeds import Seed, generator_of
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.data import decode
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor, MomentGaussian
from plausible.factors.gaussian_mixture import GaussianMixture
from plausible.inference.budget import Budget, read_budget
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.gaussian import Regression
from plausible.inference.hybrid import HybridModel
from plausible.inference.k_best import best_assignments
from plausible.models.lowering import lower
from plausible.variables import Assignment, Evidence, EvidenceLike, Variable
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ancestors_of",
    "best_states",
    "contradiction_of",
    "explained",
    "hybrid_log_probability",
    "hybrid_marginals",
    "hybrid_mixture",
    "hybrid_model",
    "hybrid_mpe",
    "hybrid_query",
    "hybrid_sample",
    "hybrid_table",
    "read_any_targets",
    "refuse_hidden_parents",
    "refuse_numbers_alone",
    "regression_of",
]

_Answer = TypeVar("_Answer")
_Cpds = Mapping[str, CPD]
_Variables = Mapping[str, Variable]


def hybrid_query(
    cpds: _Cpds,
    variables: _Variables,
    targets: str | Iterable[str],
    evidence: EvidenceLike | None = None,
    budget: Budget | None = None,
) -> Factor | MomentGaussian | GaussianMixture:
    """P(targets | evidence): a `Factor` of discrete targets, a `MomentGaussian` of continuous ones, else a mixture.

    Mean and covariance of continuous targets are exact. Where they depend on discrete variables that are not observed
    their distribution is a mixture, which `hybrid_mixture` gives in full.

    Parameters
    ----------
    cpds
        Name -> conditional distribution; a variable without one must be observed.
    variables
        Name -> variable.
    targets
        The name of a variable or several; the answer keeps their order, discrete ones before continuous ones.
    evidence
        Name -> a state, a collection of states, `likelihood(...)`, `jeffrey(...)`, or the number of a continuous one.
    budget
        The most that the answer may cost; by default `Budget()`.

    Examples
    --------
    >>> sensor = LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)
    >>> cpds = {"x": LinearGaussianCPD("x", 1.0, variance=4.0), "y": sensor}
    >>> print(hybrid_query(cpds, {name: cpd.variable for name, cpd in cpds.items()}, "x", {"y": 2.0}))
    variable | mean | cov[x]
    ---------+------+-------
    x        |    3 |    3.2
    """
    wanted = read_any_targets(targets, variables)
    continuous = [variable.name for variable in wanted if variable.is_continuous]
    if continuous:
        mixture = hybrid_mixture(cpds, variables, targets, evidence, budget)
        if len(continuous) == len(wanted):
            return mixture.moments()
        return mixture.marginal([variable.name for variable in wanted])
    return hybrid_table(cpds, variables, wanted, evidence, budget)


def hybrid_table(
    cpds: _Cpds,
    variables: _Variables,
    targets: Sequence[Variable],
    evidence: EvidenceLike | None = None,
    budget: Budget | None = None,
) -> Factor:
    """P(targets | evidence) of discrete targets; `budget` is what it may cost."""
    found = Evidence.read(evidence, variables, "this network")
    model, _ = hybrid_model(cpds, variables, found, [variable.name for variable in targets], budget)
    return explained(cpds, variables, evidence, lambda: model.table(targets, found), budget)


def hybrid_mixture(
    cpds: _Cpds,
    variables: _Variables,
    targets: str | Iterable[str],
    evidence: EvidenceLike | None = None,
    budget: Budget | None = None,
) -> GaussianMixture:
    """P(targets | evidence) exactly, as a mixture over all discrete variables that the continuous targets depend on.

    The discrete targets come first in the weights, then the others that matter given the evidence.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> kind = TableCPD("kind", [0.5, 0.5], states=["small", "large"])
    >>> height = ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, [kind.variable])
    >>> cpds = {"kind": kind, "height": height}
    >>> print(hybrid_mixture(cpds, {name: cpd.variable for name, cpd in cpds.items()}, "height"))
    kind  | weight | mean[height] | var[height]
    ------+--------+--------------+------------
    small |    0.5 |           10 |           1
    large |    0.5 |           12 |           1
    """
    wanted = read_any_targets(targets, variables)
    if not any(variable.is_continuous for variable in wanted):
        raise InvalidArgument(f"A mixture needs a continuous target; {[v.name for v in wanted]} are all discrete.")
    found = Evidence.read(evidence, variables, "this network")
    model, _ = hybrid_model(cpds, variables, found, [variable.name for variable in wanted], budget)
    return explained(cpds, variables, evidence, lambda: model.mixture(wanted, found), budget)


def hybrid_marginals(
    cpds: _Cpds, variables: _Variables, evidence: EvidenceLike | None = None, budget: Budget | None = None
) -> dict[str, Factor | MomentGaussian]:
    """The posterior of every variable: a `Factor`, or the exact mean and variance of a continuous one.

    One elimination of the continuous variables and one calibration of a clique tree answer for all.
    """
    found = Evidence.read(evidence, variables, "this network")
    model, _ = hybrid_model(cpds, variables, found, variables, budget)
    discrete = [variable for variable in variables.values() if not variable.is_continuous]
    tables, moments = explained(cpds, variables, evidence, lambda: model.marginals(discrete, found), budget)
    answers: dict[str, Factor | MomentGaussian] = {**tables, **moments}
    for name, value in found.values.items():
        answers[name] = MomentGaussian((variables[name],), [value], [[0.0]])
    return {name: answers[name] for name in variables}


def hybrid_log_probability(
    cpds: _Cpds, variables: _Variables, evidence: EvidenceLike, budget: Budget | None = None
) -> float:
    """log of the probability of the discrete findings times the density of the observed numbers, natural.

    -inf for impossible evidence; +inf where an observed number is certain given the other findings: a deterministic
    variable has a point mass there, and no density.
    """
    found = Evidence.read(evidence, variables, "this network")
    model, log_scale = hybrid_model(cpds, variables, found, (), budget)
    return model.log_total(found) + log_scale


def hybrid_mpe(
    cpds: _Cpds, variables: _Variables, evidence: EvidenceLike | None = None, budget: Budget | None = None
) -> Assignment:
    """The most probable states of all discrete variables, numbers integrated out, and the best numbers given these.

    First argmax_d P(d | evidence), then argmax_x p(x | d, evidence), which is the mean of a Gaussian. The largest joint
    density p(d, x) may lie elsewhere, but depends on the units of the numbers: in millimetres instead of metres
    another d could win. `.log_probability` is the log of the joint density of states and numbers, times the weights of
    likelihoods; +inf where some number is certain given the others.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> kind = TableCPD("kind", [0.6, 0.4], states=["small", "large"])
    >>> height = ConditionalGaussianCPD("height", [10.0, 12.0], {}, [4.0, 0.01], [kind.variable])
    >>> cpds = {"kind": kind, "height": height}
    >>> hybrid_mpe(cpds, {name: cpd.variable for name, cpd in cpds.items()})
    Assignment(kind='small', height=10.0)
    """
    found = Evidence.read(evidence, variables, "this network")
    discrete = [variable for variable in variables.values() if not variable.is_continuous]
    model, _ = hybrid_model(cpds, variables, found, variables, budget)
    (best,) = explained(cpds, variables, evidence, lambda: best_states(model, 1, discrete, found), budget)
    known = {**found.hard, **{variable.name: variable.index(best[variable.name]) for variable in discrete}}
    settled = Evidence(known, {}, {}, found.values)
    _, moments = model.marginals((), settled)
    chosen = {**best, **found.values, **{name: float(gaussian.mean[0]) for name, gaussian in moments.items()}}
    log_weights = sum(math.log(weights[known[name]]) for name, weights in found.soft.items())
    log_probability = hybrid_log_probability(cpds, variables, chosen, budget) + log_weights
    return Assignment({name: chosen[name] for name in variables}, log_probability=log_probability)


def best_states(model: HybridModel, k: int, discrete: Sequence[Variable], evidence: Evidence) -> list[Assignment]:
    """The k most probable states of discrete variables, numbers integrated out; +inf where a number is certain."""
    entered = model.enter(evidence)
    limit = entered.budget
    found = best_assignments(
        entered.factors, k, entered.evidence, discrete, max_entries=limit.table_entries, time_limit=limit.seconds
    )
    extra = math.inf if entered.point_masses else entered.log_scale
    return [Assignment(one, log_probability=(one.log_probability or 0.0) + extra, info=one.info) for one in found]


def hybrid_sample(
    cpds: _Cpds,
    variables: _Variables,
    num_rows: int,
    seed: Seed = None,
    evidence: EvidenceLike | None = None,
    budget: Budget | None = None,
) -> pd.DataFrame:
    """Independent samples of all variables given the evidence.

    The findings and what is above them are drawn from the exact posterior, everything else forward along the edges.
    """
    generator = generator_of(seed)
    found = Evidence.read(evidence, variables, "this network")
    above = ancestors_of(cpds, found.names)
    model, _ = hybrid_model(cpds, variables, found, (), budget)
    discrete = [v for name, v in variables.items() if name in above and not v.is_continuous and name not in found.hard]
    drawn = explained(cpds, variables, evidence, lambda: model.sample(num_rows, discrete, found, generator), budget)
    columns: dict[str, npt.NDArray[Any]] = {**drawn.positions, **drawn.numbers}
    columns |= {name: np.full(num_rows, value) for name, value in (*found.hard.items(), *found.values.items())}
    for name in TopologicalSorter({name: cpd.parent_names for name, cpd in cpds.items()}).static_order():
        if name not in columns:
            if name not in cpds:
                raise _missing_input(name)
            columns[name] = cpds[name].quantile(columns, generator.random(num_rows))
    return decode({name: columns[name] for name in variables}, variables)


# --- the model behind the questions ---


def regression_of(cpd: CPD) -> Regression:
    """The distribution of a continuous variable as a regression.

    >>> regression_of(LinearGaussianCPD("y", 1.0, {"x": 2.0}, 0.5)).parents
    ('x',)
    """
    if isinstance(cpd, LinearGaussianCPD):
        return Regression.of(cpd.variable, cpd.parent_names, (), cpd.intercept, cpd.coefficients, cpd.variance)
    if isinstance(cpd, ConditionalGaussianCPD):
        slopes = [cpd.coefficients[name] for name in cpd.continuous_names]
        stacked = np.stack(slopes, axis=-1) if slopes else np.zeros((*cpd.intercept.shape, 0))
        names, discrete = cpd.continuous_names, cpd.discrete_parents
        return Regression.of(cpd.variable, names, discrete, cpd.intercept, stacked, cpd.variance)
    raise NotSupported(
        f"{cpd.variable.name!r} is continuous, but its {cpd.kind} distribution is not linear Gaussian: exact inference "
        "can't use it. This needs an approximate engine."
    )


def hybrid_model(
    cpds: _Cpds, variables: _Variables, evidence: Evidence, targets: Iterable[str], budget: Budget | None = None
) -> tuple[HybridModel, float]:
    """The model of the targets, the findings and what is above them, and the log of a constant taken out of it."""
    relevant = ancestors_of(cpds, [*evidence.names, *targets])
    for name in variables:
        if name in relevant and name not in cpds and name not in evidence.hard and name not in evidence.values:
            raise _missing_input(name)
    tables, regressions = [], []
    for name, cpd in cpds.items():
        if name in relevant and cpd.variable.is_continuous:
            regressions.append(regression_of(cpd))
        elif name in relevant:
            tables.append(cpd)
    refuse_hidden_parents(tables, evidence)
    lowered = lower(tables, variables, evidence.values, evidence.hard)
    return HybridModel(lowered.factors, tuple(regressions), read_budget(budget)), lowered.log_scale


def ancestors_of(cpds: _Cpds, names: Iterable[str]) -> set[str]:
    """The names and all above them."""
    found = set(names)
    frontier = list(found)
    while frontier:
        cpd = cpds.get(frontier.pop())
        new = set(cpd.parent_names) - found if cpd is not None else set()
        found |= new
        frontier += new
    return found


def refuse_hidden_parents(cpds: Iterable[CPD], evidence: Evidence) -> None:
    """Refuse discrete variables that depend on continuous ones without a number."""
    for cpd in cpds:
        hidden = [v.name for v in cpd.parents if v.is_continuous and v.name not in evidence.values]
        if hidden and not cpd.variable.is_continuous:
            raise NotSupported(
                f"{cpd.variable.name!r} is discrete and depends on {hidden[0]!r}, which is continuous and not "
                f"observed: exact inference can't integrate that. Observe {hidden[0]!r}, leave {cpd.variable.name!r} "
                "out of targets and evidence, or make one of them of the other kind. This needs an approximate engine."
            )


def refuse_numbers_alone(variables: _Variables, question: str, instead: str) -> None:
    """Refuse a question about states where all variables are continuous, and say what to ask instead."""
    if variables and all(variable.is_continuous for variable in variables.values()):
        raise NotSupported(f"All variables here are continuous, and `{question}` is about states: {instead}")


def _missing_input(name: str) -> InvalidModel:
    return InvalidModel(f"{name!r} is an input of this network: give it a value as evidence.")


def explained(
    cpds: _Cpds,
    variables: _Variables,
    evidence: EvidenceLike | None,
    ask: Callable[[], _Answer],
    budget: Budget | None = None,
) -> _Answer:
    """The answer; impossible evidence is traced to the findings that contradict each other."""
    try:
        return ask()
    except ImpossibleEvidence as error:
        raise contradiction_of(cpds, variables, findings_of(evidence), budget) or error from None


def contradiction_of(
    cpds: _Cpds, variables: _Variables, evidence: Mapping[str, Any], budget: Budget | None = None
) -> ImpossibleEvidence | None:
    """The error that names the findings that contradict each other; `None` where that can't be told."""
    inputs = {name: finding for name, finding in evidence.items() if name not in cpds}
    findings = {name: finding for name, finding in evidence.items() if name in cpds}
    try:
        return impossible_evidence(
            findings, lambda some: hybrid_log_probability(cpds, variables, {**inputs, **some}, budget) > -math.inf
        )
    except (NotSupported, TooLarge):  # fewer findings can make the question too hard
        return None


def read_any_targets(targets: str | Iterable[str], variables: _Variables) -> list[Variable]:
    """One name or several as variables of either kind; a repeated name is an error."""
    found: list[Variable] = []
    for name in targets if isinstance(targets, Iterable) and not isinstance(targets, str) else [targets]:
        if not isinstance(name, str):
            raise InvalidArgument(f"A target is the name of a variable, not {name!r}.")
        if name not in variables:
            raise UnknownVariable.named(name, variables, "this network")
        if variables[name] in found:
            raise InvalidArgument(f"{name!r} stands twice among the targets.")
        found.append(variables[name])
    return found
