"""How far the probabilities of edges depend on the score or prior that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.learn.confidence.edge_strengths import EdgeStrengths
from plausible.learn.confidence.exact_posterior import edge_posterior
from plausible.learn.scores.score import Score

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ScoreSensitivity", "score_sensitivity"]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSensitivity:
    """Probabilities of edges under several scores.

    Attributes
    ----------
    strengths
        Name of a score -> probabilities of edges under it.
    """

    strengths: Mapping[str, EdgeStrengths]

    @property
    def ranges(self) -> Floats:
        """By pair of variables, the largest less the smallest strength; near one where the choice decides."""
        return np.asarray(np.ptp(np.stack([found.strengths for found in self.strengths.values()]), axis=0))

    def to_frame(self) -> pd.DataFrame:
        """A row for each pair of variables, with a column for each score and the range; the least robust first."""
        import pandas as pd

        names, ranges = next(iter(self.strengths.values())).names, self.ranges
        pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
        pairs.sort(key=lambda pair: -ranges[pair])
        columns = {title: [found.strengths[pair] for pair in pairs] for title, found in self.strengths.items()}
        ends = {"first": [names[a] for a, _ in pairs], "second": [names[b] for _, b in pairs]}
        return pd.DataFrame(ends | columns | {"range": [ranges[pair] for pair in pairs]})


def score_sensitivity(
    data: TableLike,
    scores: Mapping[str, str | Score],
    strengths: Callable[[Table, str | Score], EdgeStrengths] | None = None,
) -> ScoreSensitivity:
    """The strengths of edges under each of several scores, such as BDeu with different equivalent sample sizes.

    Parameters
    ----------
    data
        What `Table.read` takes.
    scores
        Name -> score.
    strengths
        What finds strengths under a score: usually the exact posterior over graphs, for few variables; else for
        instance `lambda table, score: sample_orders(table, score).strengths`, or a bootstrap.

    Examples
    --------
    >>> from plausible.learn.scores.dirichlet import BDeuScore
    >>> rows = {"rain": [0, 0, 0, 1, 1, 1], "wet": [0, 0, 1, 1, 1, 1]}
    >>> found = score_sensitivity(rows, {str(size): BDeuScore(size) for size in (0.1, 1, 10)})
    >>> found.to_frame().round(2).values.tolist()
    [['rain', 'wet', 0.83, 0.82, 0.74, 0.1]]
    """
    if not scores:
        raise InvalidArgument("There are no scores to vary.")
    table, find = Table.read(data), strengths or _exact
    return ScoreSensitivity({name: find(table, score) for name, score in scores.items()})


def _exact(table: Table, score: str | Score) -> EdgeStrengths:
    return edge_posterior(table, score).strengths
