"""The families of a graph that have numbers in them, as EM learns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import NotSupported
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.gaussian import GaussianLearner
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.task import CPDLearner, FamilyTask
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner, MomentRegression
from plausible.learn.incomplete.gaussian_units import NumberUnits

__all__ = ["gaussian_regressions", "settle_mixed"]


def gaussian_regressions(
    families: Families, cases: Cases, learners: Mapping[str, CPDLearner]
) -> dict[str, CPDLearner | MomentRegression]:
    """The learners, those of continuous variables as regressions on moments in the units of the cases."""
    units = NumberUnits.of(cases)
    found: dict[str, CPDLearner | MomentRegression] = dict(learners)
    for name in cases.continuous:
        learner = learners.get(name)
        if learner is None:
            continue
        if not isinstance(learner, (GaussianLearner, GaussianMomentLearner)):
            raise NotSupported(
                f"{name!r} is continuous: EM learns it as linear Gaussian, or by a GaussianMomentLearner, and not by "
                f"{learner!r}."
            )
        parents = families.parents_of(name)
        own = units.some([*(parent.name for parent in parents if parent.is_continuous), name])
        options = learner if isinstance(learner, GaussianMomentLearner) else GaussianMomentLearner()
        found[name] = MomentRegression(families.variables[name], parents, own, options)
    return found


def settle_mixed(
    families: Families, cases: Cases, learners: Mapping[str, CPDLearner], knowledge: ParameterKnowledge
) -> tuple[dict[str, CPDLearner], ParameterKnowledge]:
    """Learn discrete children of numbers at once, and fix them: they are observed with their parents in all cases.

    What they depend on being known, no expectation changes anything about them.
    """
    mixed = [
        name
        for name in learners
        if name in cases.variables and any(parent.is_continuous for parent in families.parents_of(name))
    ]
    if not mixed:
        return dict(learners), knowledge
    table = _table(cases)
    for name in mixed:
        for variable in (*families.parents_of(name), families.variables[name]):
            if variable.name in table.missing:
                raise NotSupported(
                    f"The discrete {name!r} depends on numbers, and {variable.name!r} is missing in "
                    f"{table.missing[variable.name]} rows: exact inference can't integrate that. Fill it in, leave "
                    f"these rows out, or turn the edges of {name!r} around."
                )
    whole = Families(families.variables, families.parents, TableStatistics(table))
    fitted = [learners[name].fit(FamilyTask(whole, name, start=knowledge.start_cpds.get(name))).cpd for name in mixed]
    fixed = replace(knowledge, fixed=(*knowledge.fixed_cpds.values(), *fitted))
    return {name: learner for name, learner in learners.items() if name not in mixed}, fixed


def _table(cases: Cases) -> Table:
    """The cases as rows."""
    names = [*cases.variables, *cases.continuous]
    masks: dict[str, NDArray[Any]] = {
        name: np.array([name in some for some in cases.setting_names])[cases.settings] for name in names
    }
    return Table(
        {**cases.variables, **cases.continuous},
        np.ascontiguousarray(cases.codes.T),
        np.ascontiguousarray(cases.numbers.T),
        cases.weights,
        {name: mask for name, mask in masks.items() if mask.any()},
    )
