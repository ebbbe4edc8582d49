"""Which parameters incomplete data can tell, and which they leave open."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.factors.definite import pivoted_root
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.gradients.free_parameters import Entries, FreeParameters, entry_posteriors
from plausible.learn.gradients.observed import ObservedLikelihood, tables_of
from plausible.learn.gradients.space import ParameterSpace
from plausible.models import BayesianNetwork

#: Numbers below this, where the largest is one, count as zero.
_NOTHING = 1e-6


@record(eq=False)
class Identifiability:
    """What incomplete data can tell of the parameters near a network; made by `identifiability`."""

    labels: tuple[str, ...]  # The free parameters, "P(X=x | U=u)": all states but the last possible one of each row
    #: The rank of the derivatives of log P(o[m]): how many parameters the rows can tell. Smaller than the number of
    #: labels where the likelihood is flat; the dimension that a BIC score should charge for.
    effective_dimension: int
    #: A basis of the changes of parameters that no row notices: label -> change, those of zero left out. It is the
    #: reduced echelon form, by the labels that move most: each direction alone moves one of them, by one.
    flat_directions: tuple[Mapping[str, float], ...]

    @property
    def is_identified(self) -> bool:
        """Whether every change of parameters changes the likelihood of some row, near this network."""
        return not self.flat_directions

    @property
    def unidentified(self) -> tuple[str, ...]:
        """The parameters that some flat direction moves."""
        moved = {label for direction in self.flat_directions for label in direction}
        return tuple(label for label in self.labels if label in moved)

    def __str__(self) -> str:
        head = f"{self.effective_dimension} of {len(self.labels)} free parameters are told by the data"
        changes = [
            ", ".join(f"{change:+.3g} {label}" for label, change in direction.items())
            for direction in self.flat_directions
        ]
        return "\n".join([f"{head}{'; flat directions:' if changes else '.'}", *(f"  {text}" for text in changes)])


def identifiability(
    network: BayesianNetwork,
    data: TableLike,
    *,
    knowledge: ParameterKnowledge | None = None,
    tolerance: float = 1e-8,
) -> Identifiability:
    """The rank of d log P(o[m]) / dθ over the rows: the effective dimension, and the directions that are flat.

    With hidden variables this is often less than the number of free parameters: infinitely many networks then have
    the greatest likelihood (Geiger, Heckerman & Meek 1996). The answer holds near the network given: at a special one,
    such as a hidden variable whose states are alike, the rank is lower than at nearly all others, so that a network
    with random parameters tells the dimension of the model. Cost: a run for each different row and entry.

    Parameters
    ----------
    network
        Of tables and trees; entries that are zero are held.
    data
        The rows to be explained; which values they have matters, how often does not.
    knowledge
        Fixed CPDs and tied tables.
    tolerance
        Singular values below this share of the largest count as zero.

    Examples
    --------
    A hidden cause of one test: only P(test) is told, one number of three.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("C", [0.4, 0.6]), TableCPD("T", [[0.9, 0.1], [0.2, 0.8]], ["C"]))
    >>> found = identifiability(net, {"T": [0, 1]})
    >>> found.effective_dimension, found.unidentified
    (1, ('P(C=0)', 'P(T=0 | C=0)', 'P(T=0 | C=1)'))
    """
    if not 0 < tolerance < 1:
        raise InvalidArgument(f"The tolerance is a small positive share, not {tolerance!r}.")
    space = ParameterSpace.of(network, knowledge)
    likelihood = ObservedLikelihood.of(space.network, data)
    tables = tables_of(space.network)
    entries = Entries.of(tables)
    free = FreeParameters.of(space, entries)
    scores = (entry_posteriors(likelihood, tables, entries) / entries.taken(tables)) @ free.slopes
    rank, flat = _null_space(scores, tolerance)
    directions = tuple(
        {label: float(change) for label, change in zip(free.labels, row, strict=True) if abs(change) > _NOTHING}
        for row in _reduced(flat)
    )
    return Identifiability(free.labels, rank, directions)


def _null_space(scores: Floats, tolerance: float) -> tuple[int, Floats]:
    """The rank, and an orthonormal basis, row by row, of what the scores map to zero."""
    if not scores.size:
        return 0, np.eye(scores.shape[1])
    sizes = np.linalg.norm(scores, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)  # parameters differ in scale as 1/θ
    _, values, right = np.linalg.svd(scores / sizes)
    rank = int((values > tolerance * max(values.max(), 1e-300)).sum())
    return rank, right[rank:] / sizes


def _reduced(basis: Floats) -> Floats:
    """The reduced echelon form of a space: each row alone has the number one in a column of its own.

    The columns are those that matter most in the space, each beyond those before it, and the first among equals. So it
    is the same whichever basis is given, and a factorisation may give any.
    """
    directions = np.linalg.qr(basis.T)[0]
    root, pivots = pivoted_root(directions @ directions.T, _NOTHING)
    columns = sorted(pivots)
    return np.asarray(np.linalg.solve(root[columns].T, root.T), dtype=np.float64)
