"""Several structures by several scores, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plausible.base.display import html_of_print
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete_scores.score import (
    INCOMPLETE_SCORES,
    IncompleteScore,
    read_incomplete_score,
    score_task,
)
from plausible.learn.incomplete_scores.task import ScoreOptions, ScoreTask
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class ScoreComparison:
    """Scores of structures; made by `compare_scores`."""

    scores: Mapping[str, Mapping[str, IncompleteScore]]  # Structure -> name of the score -> the score
    refused: Mapping[tuple[str, str], str]  # (structure, score) -> why it could not be had

    def best(self, score: str) -> str:
        """The structure with the largest value of a score; of equal ones the first."""
        name = read_incomplete_score(score)
        values = {label: found[name].value for label, found in self.scores.items() if name in found}
        if not values:
            raise InvalidArgument(f"No structure was scored by {name!r}.")
        return max(values, key=lambda label: values[label])

    def errors(self, structure: str, reference: str = "exact") -> dict[str, float]:
        """Score -> how far it is from another one, for one structure."""
        found = self.scores[structure]
        if read_incomplete_score(reference) not in found:
            raise InvalidArgument(f"{structure!r} was not scored by {reference!r}: name another reference.")
        return {name: score.value - found[read_incomplete_score(reference)].value for name, score in found.items()}

    def to_frame(self) -> Any:
        """A data frame: a row for each structure, a column for each score; NaN where it could not be had."""
        import pandas as pd

        columns = list(dict.fromkeys(name for found in self.scores.values() for name in found))
        values = [[float(found[name]) if name in found else float("nan") for name in columns] for found in self._rows]
        return pd.DataFrame(values, index=list(self.scores), columns=columns)

    @property
    def _rows(self) -> list[Mapping[str, IncompleteScore]]:
        return list(self.scores.values())

    def __repr__(self) -> str:
        num = sum(map(len, self.scores.values()))
        return f"<ScoreComparison: {num} scores of {len(self.scores)} structures, {len(self.refused)} refused>"

    def __str__(self) -> str:
        return str(self.to_frame().round(3).to_string())

    _repr_html_ = html_of_print


def compare_scores(
    graphs: object,
    data: TableLike,
    scores: Sequence[str] = INCOMPLETE_SCORES,
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    options: ScoreOptions | None = None,
    seed: int = 0,
    progress: Callable[[IncompleteScore], object] | None = None,
) -> ScoreComparison:
    """Score each of some structures by each of some scores; fits are shared by the scores of a structure.

    Parameters
    ----------
    graphs
        A graph, or label -> graph. A family of graphs over the same data may be listed whole (exhaustive scoring).
    data
        Rows with missing cells.
    scores
        Names of scores; what a score refuses, such as "exact" for more than tiny data, is told in `refused`.
    prior, hidden, options, seed
        As for `score_incomplete`. Of `hidden`, each graph takes the variables that it has.

    Examples
    --------
    >>> from plausible.graphs import DAG
    >>> rows = {"a": [0, 0, 1, 1, None, 0] * 2, "b": [0, 0, 1, 1, 1, None] * 2}
    >>> found = compare_scores({"edge": "a -> b", "none": DAG("a; b")}, rows, ["exact", "bic", "cheeseman-stutz"])
    >>> print(found)
           exact     bic  cheeseman-stutz
    edge -12.493 -12.045          -12.843
    none -15.490 -15.945          -15.650
    """
    listed = dict(graphs) if isinstance(graphs, Mapping) else {str(graphs): graphs}
    unseen = tuple(Variable(n, k) for n, k in hidden.items()) if isinstance(hidden, Mapping) else tuple(hidden)
    names = [read_incomplete_score(score) for score in scores]
    made: dict[str, dict[str, IncompleteScore]] = {}
    refused: dict[tuple[str, str], str] = {}
    for label, graph in listed.items():
        task, made[label] = replace(ScoreTask.of(graph, data, prior, unseen, options), seed=seed), {}
        for name in names:
            try:
                made[label][name] = score_task(task, name)
            except (TooLarge, NotSupported) as error:
                refused[label, name] = str(error)
                continue
            if progress is not None and progress(made[label][name]):
                return ScoreComparison(made, refused)
    return ScoreComparison(made, refused)
