"""Whether a model with hidden variables has few enough parameters to be worth having."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from plausible.base.records import record
from plausible.data.table import TableLike
from plausible.errors import counted
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.variables import Variable

__all__ = ["ParameterBudget", "parameter_budget"]

#: A model should have at most this share of the numbers that the data could tell.
_FEW = 0.5


@record
class ParameterBudget:
    """Free parameters of a model, and of what it is to explain; made by `parameter_budget`.

    Attributes
    ----------
    num_parameters
        Independent parameters of the model.
    joint_dimension
        Degrees of freedom of a joint distribution of the observed variables: Π |X| - 1.
    empirical_dimension
        Those of the empirical distribution: different rows - 1, and at most `joint_dimension`.
    num_rows
        How much all rows weigh.
    """

    num_parameters: int
    joint_dimension: float
    empirical_dimension: float
    num_rows: float

    @property
    def share(self) -> float:
        """Parameters of the model by degrees of freedom of the empirical distribution."""
        return self.num_parameters / self.empirical_dimension if self.empirical_dimension else math.inf

    @property
    def is_affordable(self) -> bool:
        """Whether the model has at most half of the numbers that the rows can tell: a rule of thumb."""
        return self.share <= _FEW

    def __str__(self) -> str:
        verdict = "within the budget" if self.is_affordable else "too many: take fewer states, or fewer parents"
        return (
            f"{counted(self.num_parameters, 'parameter')} explain "
            f"{self.empirical_dimension:.6g} degrees of freedom of the rows "
            f"({self.joint_dimension:.6g} of all distributions): {verdict}."
        )


def parameter_budget(
    graph: object, data: TableLike, *, hidden: Mapping[str, int] | Iterable[Variable] = ()
) -> ParameterBudget:
    """Count the parameters of a graph, and the degrees of freedom of what its observed variables show.

    A hidden variable pays where it explains them with far fewer numbers (Koller & Friedman 2009, §19.5.3).

    Parameters
    ----------
    graph
        A DAG, arrow text, or a network.
    data
        Rows with missing cells.
    hidden
        Variables of the graph that the data lack: name -> number of states, or variables.

    Examples
    --------
    >>> rows = {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "c": [0, 1, 1, 0]}
    >>> print(parameter_budget("H -> a; H -> b; H -> c", rows, hidden={"H": 2}))
    7 parameters explain 3 degrees of freedom of the rows (7 of all distributions): too many: take fewer states, or
    fewer parents.
    """
    task = ScoreTask.of(graph, data, None, hidden)
    seen = [name for name, kind in task.cases.visibility.items() if kind != "hidden"]
    joint = math.prod(float(task.variables[name].num_states) for name in seen) - 1
    return ParameterBudget(task.tables.num_free, joint, min(joint, max(task.cases.num_cases - 1, 0)), task.cases.total)
