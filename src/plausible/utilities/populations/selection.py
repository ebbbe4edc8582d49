"""Which decomposition do answers speak for? Marginal likelihoods in closed form, and a search for the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Result, record
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import Scope, read_scope
from plausible.search.run import Clock
from plausible.utilities.attributes.additive_utility import sum_text, utility_basis
from plausible.utilities.attributes.fitting import Attributes, Outcomes, outcome_rows
from plausible.utilities.attributes.outcome_tables import Names
from plausible.utilities.populations.em import Answers, condition, read_answers
from plausible.variables import Variable


@dataclass(frozen=True, slots=True)
class DecompositionPrior:
    """What is assumed of a utility, given its decomposition, before any answer.

    Each effect (a coordinate of the basis, scaled to mean square one over all outcomes) is N(0, (spread · σ)²), σ being
    the standard deviation of the noise; σ² has an inverse gamma distribution.

    >>> DecompositionPrior(spread=2.0)
    DecompositionPrior(spread=2.0, noise_share=0.02, noise_weight=2.0)
    """

    spread: float = 5.0  # How large effects are, in units of σ; the constant may be ten times as large
    noise_share: float = 0.02  # The prior mean of σ², as a share of the variance of the answers
    noise_weight: float = 2.0  # How sure that is: the shape of the inverse gamma, above one

    def __post_init__(self) -> None:
        if not (self.spread > 0 and self.noise_share > 0 and self.noise_weight > 1):
            raise InvalidArgument("spread= and noise_share= must be positive, and noise_weight= above one.")


_DEFAULT_PRIOR = DecompositionPrior()


@record
class DecompositionScores(Result):
    """How well decompositions explain answers."""

    decompositions: tuple[tuple[tuple[str, ...], ...], ...]  # The candidates: the scopes of each
    log_evidences: tuple[float, ...]  # The logarithm of the marginal likelihood of each
    posterior: Factor  # P(decomposition | answers), all being as likely beforehand: a factor

    @property
    def best(self) -> tuple[tuple[str, ...], ...]:
        """The scopes of the decomposition of the greatest evidence."""
        return self.decompositions[int(np.argmax(self.log_evidences))]

    def __str__(self) -> str:
        return str(self.posterior)


def score_decompositions(
    outcomes: Outcomes,
    answers: npt.ArrayLike,
    candidates: Iterable[Iterable[Names]],
    attributes: Attributes,
    prior: DecompositionPrior = _DEFAULT_PRIOR,
) -> DecompositionScores:
    """The marginal likelihood of each candidate decomposition, parts and noise being integrated out.

    With effects N(0, σ² D) and σ² inverse gamma (a, b) the answers y of one person have a Student density:
    log p(y) = -½ log det V - (a + n/2) log(b + ½ y·V⁻¹y) + constants, V = X D Xᵀ + I. People share the decomposition
    and nothing else. Koller & Friedman 2009, §22.6.

    Parameters
    ----------
    outcomes, answers
        A row for each outcome that people were asked about; a row for each person, a column for each outcome, NaN where
        somebody was not asked, or the answers of one.
    candidates, attributes
        The scopes of each decomposition; all attributes with their states.
    prior
        On effects and noise.

    Examples
    --------
    >>> asked = {"A": [0, 0, 1, 1], "B": [0, 1, 0, 1]}
    >>> additive, joint = ["A", "B"], [["A", "B"]]
    >>> states = {"A": 2, "B": 2}
    >>> score_decompositions(asked, [0.0, 3.1, 5.0, 8.0], [additive, joint], states).best
    (('A',), ('B',))
    >>> score_decompositions(asked, [0.0, 3.1, 5.0, 1.0], [additive, joint], states).best
    (('A', 'B'),)
    """
    scope = read_scope(attributes)
    listed = [tuple(candidate) for candidate in candidates]
    if not listed:
        raise InvalidArgument("There is no candidate decomposition to score.")
    named, evidences = zip(*(_scored(scope, scopes, outcomes, answers, prior) for scopes in listed), strict=True)
    values = np.array(evidences)
    labels = [f"{place}: {sum_text(scopes)}" for place, scopes in enumerate(named)]
    shares = np.exp(values - values.max())
    posterior = Factor([Variable("decomposition", labels)], shares / shares.sum())
    return DecompositionScores(named, tuple(map(float, values)), posterior)


def _scored(
    scope: Scope,
    scopes: Iterable[Names],
    outcomes: Outcomes,
    answers: npt.ArrayLike,
    prior: DecompositionPrior,
) -> tuple[tuple[tuple[str, ...], ...], float]:
    basis = utility_basis(scope, scopes)
    design = outcome_rows(basis, outcomes)
    # Over all outcomes the mean square of a direction is that over its own part.
    squares = np.concatenate([(matrix**2).mean(axis=0) for matrix in basis.matrices])
    variances = prior.spread**2 / squares
    variances[0] *= 100.0  # the constant: the empty set comes first
    return basis.scopes, log_evidence(design, read_answers(answers, len(design)), variances, prior)


def log_evidence(design: Floats, answers: Answers, variances: Floats, prior: DecompositionPrior) -> float:
    """Σ over people of log p(answers), effects having these variances in units of that of the noise."""
    known = answers.values[answers.known]
    scale = float(np.var(known)) if known.size else 1.0
    shape = prior.noise_weight
    rate = (shape - 1.0) * prior.noise_share * (scale or 1.0)
    total = 0.0
    for block in condition(answers, design, np.zeros((len(answers.values), len(variances))), np.diag(variances), 1.0):
        count = answers.num_known[block.people]
        after = shape + 0.5 * count
        gammas = np.array([math.lgamma(shape + 0.5 * n) for n in range(int(count.max(initial=0)) + 1)])
        terms = -0.5 * count * math.log(2 * math.pi) - 0.5 * block.log_determinants
        terms += shape * math.log(rate) - after * np.log(rate + 0.5 * block.squares)
        total += float((terms + gammas[count] - math.lgamma(shape)).sum())
    return total


@record
class DecompositionSearch(Result):
    """The best decomposition that a search found; also what `progress=` is told after each move."""

    scopes: tuple[tuple[str, ...], ...]  # The scopes, none within another
    log_evidence: float  # Of these
    trace: tuple[float, ...]  # The evidence after each move, that of the start first
    num_scored: int  # How many decompositions were looked at
    finished: bool  # Whether no move improves it any more; false where the clock or the caller stopped the search

    def __str__(self) -> str:
        return f"{sum_text(self.scopes)}: log-evidence {self.log_evidence:.6g}"


def search_decomposition(
    outcomes: Outcomes,
    answers: npt.ArrayLike,
    attributes: Attributes,
    *,
    max_scope: int = 3,
    prior: DecompositionPrior = _DEFAULT_PRIOR,
    time_limit: float | None = None,
    progress: Callable[[DecompositionSearch], object] | None = None,
) -> DecompositionSearch:
    """Hill climbing over decompositions, from single attributes on, by marginal likelihood.

    A move adds a set of attributes all of whose smaller sets are there, or takes a largest one away; attributes that do
    not matter may go altogether. Scopes are of up to `max_scope` attributes; all else is as in `score_decompositions`.

    >>> asked = {"A": [0, 0, 0, 0, 1, 1, 1, 1], "B": [0, 0, 1, 1] * 2, "C": [0, 1] * 4}
    >>> answers = [0.0, 2.0, 5.1, 7.0, 6.0, 7.9, 3.0, 5.0]
    >>> print(search_decomposition(asked, answers, {"A": 2, "B": 2, "C": 2}))
    U(C) + U(A, B): log-evidence -14.059
    """
    scope = read_scope(attributes)
    clock = Clock.of(time_limit)
    family = frozenset(frozenset([variable.name]) for variable in scope) | {frozenset[str]()}
    scores: dict[frozenset[frozenset[str]], float] = {}

    def score(one: frozenset[frozenset[str]]) -> float:
        if one not in scores:
            scores[one] = _scored(scope, _largest(one, scope), outcomes, answers, prior)[1]
        return scores[one]

    trace = [score(family)]
    while True:
        moved = max(_moves(family, scope, max_scope), key=score, default=family)
        finished = score(moved) <= trace[-1] + 1e-9
        if not finished:
            family = moved
            trace.append(score(moved))
        state = DecompositionSearch(_largest(family, scope), trace[-1], tuple(trace), len(scores), finished)
        if finished or (progress is not None and progress(state)) or clock.is_over:
            return state


def _moves(family: frozenset[frozenset[str]], scope: Scope, max_scope: int) -> Iterator[frozenset[frozenset[str]]]:
    names = [variable.name for variable in scope]
    for size in range(1, max_scope + 1):
        for members in combinations(names, size):
            candidate = frozenset(members)
            if candidate not in family and all(candidate - {name} in family for name in members):
                yield family | {candidate}
    for one in family:
        if one and not any(one < other for other in family):
            yield family - {one}


def _largest(family: frozenset[frozenset[str]], scope: Scope) -> tuple[tuple[str, ...], ...]:
    """The sets within no other, attributes and sets in the order of the scope; the small ones first."""
    rank = {variable.name: place for place, variable in enumerate(scope)}
    kept = [sorted(one, key=rank.__getitem__) for one in family if not any(one < other for other in family)]
    return tuple(tuple(one) for one in sorted(kept, key=lambda one: (len(one), [rank[name] for name in one])))
