"""How many clusters: what scores of mixtures choose, against the candidate method (K&F box 19.G)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Positions
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.examples.mixture_evidence import CandidateEvidence, candidate_evidence
from plausible.learn.mixtures.choice import CRITERIA, choose_clusters
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.options import MixturePrior
from plausible.search.clock import Clock
from plausible.variables import Variable

#: Estimates that fewer draws carry are not trusted.
_FEWEST_DRAWS = 10.0


@dataclass(frozen=True, slots=True)
class ScoreDesign:
    """What is tried."""

    #: How alike clusters are: zero for tables that are drawn by themselves, one for equal ones.
    overlaps: Sequence[float] = (0.0, 0.25, 0.5)
    num_trials: int = 3  # mixtures for each overlap
    num_rows: int = 200  # of each mixture
    num_features: int = 10  # of each mixture
    num_states: int = 2  # of each mixture
    num_clusters: int = 3  # of each mixture
    max_clusters: int = 5  # the most that can be chosen
    criteria: Sequence[str] = CRITERIA  # of `choose_clusters`
    num_sweeps: int = 500  # of the candidate method

    def __post_init__(self) -> None:
        if not all(0 <= overlap <= 1 for overlap in self.overlaps):
            raise InvalidArgument(f"overlaps={tuple(self.overlaps)}: from zero to one each.")
        for name in ("num_trials", "num_rows", "num_features", "num_states", "num_clusters", "max_clusters"):
            if getattr(self, name) < 1:
                raise InvalidArgument(f"{name}={getattr(self, name)!r} is at least one.")


class ScoreTrial(NamedTuple):
    """One mixture: how alike its clusters are, the candidate method for 1, 2, ... clusters, and what criteria chose."""

    overlap: float
    candidates: tuple[CandidateEvidence, ...]
    chosen: dict[str, int]

    @property
    def reference(self) -> int:
        """The number with the greatest evidence, of those whose estimates at least ten draws carry, or one cluster.

        The others are too great: the posterior of many clusters that overlap is too wide for the draws.
        """
        told = [each.log_evidence if each.num_effective >= _FEWEST_DRAWS else -math.inf for each in self.candidates]
        return 1 + int(np.argmax(told))

    @property
    def share_left_out(self) -> float:
        """Of the estimates of the candidate method, the share that too few draws carry."""
        return float(np.mean([each.num_effective < _FEWEST_DRAWS for each in self.candidates]))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreComparison:
    """What came of a design."""

    design: ScoreDesign  # What was tried
    trials: tuple[ScoreTrial, ...]  # All mixtures that there was time for

    def errors(self, criterion: str, overlap: float) -> Positions:
        """The number that a criterion chose less that of the candidate method, for each trial of an overlap."""
        found = [trial.chosen[criterion] - trial.reference for trial in self.trials if trial.overlap == overlap]
        return np.array(found, dtype=np.intp)

    def table(self) -> str:
        """A line for each criterion, a column for each overlap: the mean error, and the mean of its absolute value.

        The last lines have the mean number by the candidate method, and the share of its estimates that were left
        out as too few draws carry them: where that is large, the errors are relative to a doubtful number.
        """
        overlaps = list(dict.fromkeys(trial.overlap for trial in self.trials))
        lines = ["Chosen less that of the candidate method: mean (mean absolute)"]
        lines.append(f"{'overlap':<18}" + "".join(f"{overlap:>16g}" for overlap in overlaps))
        means = [np.mean([trial.reference for trial in self.trials if trial.overlap == each]) for each in overlaps]
        for criterion in self.design.criteria:
            errors = [self.errors(criterion, overlap) for overlap in overlaps]
            cells = [f"{each.mean():+.1f} ({np.abs(each).mean():.1f})" for each in errors]
            lines.append(f"{criterion:<18}" + "".join(f"{cell:>16}" for cell in cells))
        lines.append(f"{'(candidate)':<18}" + "".join(f"{mean:>16.1f}" for mean in means))
        left_out = [
            np.mean([trial.share_left_out for trial in self.trials if trial.overlap == each]) for each in overlaps
        ]
        return "\n".join([*lines, f"{'(left out)':<18}" + "".join(f"{share:>16.0%}" for share in left_out)])


def compare_scores(
    design: ScoreDesign | None = None,
    *,
    seed: Seed = 0,
    progress: Callable[[ScoreTrial], object] | None = None,
    time_limit: float | None = None,
) -> ScoreComparison:
    """Draw mixtures whose clusters overlap more and more; choose how many clusters there are by each criterion.

    The error is the number chosen less that of the candidate method, not less the true one: where clusters overlap, the
    rows do not tell them apart, and the number that is most probable given the rows is smaller.

    Parameters
    ----------
    design
        `ScoreDesign()` where left out.
    time_limit
        In seconds; there is at least one trial.

    Examples
    --------
    >>> small = ScoreDesign(overlaps=[0.0], num_trials=1, num_clusters=2, max_clusters=3, criteria=["bic"])
    >>> found = compare_scores(small)
    >>> found.trials[0].reference, found.errors("bic", 0.0).tolist()
    (2, [0])
    """
    chosen = design or ScoreDesign()
    clock = Clock.of(time_limit)
    trials: list[ScoreTrial] = []
    # The same numbers for all overlaps, so that only these differ between the columns of the table.
    seeds = generator_of(seed).integers(1 << 32, size=chosen.num_trials).tolist()
    for overlap in chosen.overlaps:
        for generator in map(generator_of, seeds):
            rows = draw_mixture_rows(chosen, overlap, generator)
            trials.append(ScoreTrial(overlap, _by_candidate(rows, chosen, generator), _by_criteria(rows, chosen)))
            stop = progress is not None and bool(progress(trials[-1]))
            if stop or clock.is_over:
                return ScoreComparison(chosen, tuple(trials))
    return ScoreComparison(chosen, tuple(trials))


def draw_mixture_rows(design: ScoreDesign, overlap: float, seed: Seed = 0) -> Table:
    """Rows of a mixture with P(x_i | c) = (1 - overlap) · own table of c + overlap · table common to all c."""
    generator = generator_of(seed)
    size = (design.num_clusters, design.num_features)
    own = generator.dirichlet(np.full(design.num_states, 0.5), size=size)
    common = generator.dirichlet(np.ones(design.num_states), size=design.num_features)
    tables = (1 - overlap) * own + overlap * common
    clusters = generator.integers(design.num_clusters, size=design.num_rows)
    limits = tables.cumsum(axis=2)[clusters][:, :, :-1]
    states = (generator.random((design.num_rows, design.num_features, 1)) > limits).sum(axis=2)
    variables = [Variable(f"x{number}", design.num_states) for number in range(design.num_features)]
    return Table.read({v.name: states[:, place] for place, v in enumerate(variables)}, variables)


#: Uniform priors, and a little more, so that no fitted parameter is zero.
_PRIOR = MixturePrior(weights=0.1, cells=0.1)


def _by_criteria(rows: Table, design: ScoreDesign) -> dict[str, int]:
    numbers = range(1, design.max_clusters + 1)
    return {name: choose_clusters(rows, numbers, name, prior=_PRIOR).best for name in design.criteria}


def _by_candidate(rows: Table, design: ScoreDesign, generator: np.random.Generator) -> tuple[CandidateEvidence, ...]:
    fits = (MixtureClustering(number, prior=_PRIOR).fit(rows) for number in range(1, design.max_clusters + 1))
    return tuple(candidate_evidence(fit, rows, num_sweeps=design.num_sweeps, seed=generator) for fit in fits)
