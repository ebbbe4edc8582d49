"""What single findings do: their impact on a belief, their conflict with each other, and what to observe next.

The functions ask a model through callables, so that they serve every kind of model: `ask(evidence)` gives
P(T | evidence), and `log_probability(evidence)` gives log P(evidence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plausible.base import SCORE_NOISE, Result, chart_by, ranked, record, shown
from plausible.errors import ImpossibleEvidence, UnknownVariable, counted
from plausible.factors import Factor
from plausible.factors.information import kl_divergence, log_unit
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart


from collections.abc import Iterable

from plausible.errors import TooLarge

Findings: TypeAlias = Mapping[str, Any]

#: How many findings, and how many states, an impact shows when printed.
_SHOWN = 10


@record
class FindingImpact(Result):
    """What one finding did to the belief about a target."""

    _also = ("divergence", "divergence_alone", "change", "log_bayes_factors", "log_bayes_factors_alone")

    #: The variable, and what was found of it.
    name: str
    finding: Any
    #: P(T | e), and P(T | e) with this finding left out.
    posterior: Factor
    without: Factor
    #: P(T | this finding alone), and P(T) without any finding.
    alone: Factor
    prior: Factor

    @property
    def divergence(self) -> float:
        """D(P(T | e) ‖ P(T | e without the finding)) in nats: what would be lost without it."""
        return kl_divergence(self.posterior, self.without)

    @property
    def divergence_alone(self) -> float:
        """D(P(T | the finding) ‖ P(T)) in nats: what it says by itself."""
        return kl_divergence(self.alone, self.prior)

    @property
    def change(self) -> dict[State, float]:
        """By how much the finding raised the probability of each state of the target, given the others."""
        states = self.posterior.scope[0].states
        return dict(zip(states, (self.posterior.flat - self.without.flat).tolist(), strict=True))

    @property
    def log_bayes_factors(self) -> dict[State, float]:
        """The change in the log-odds of each state t, given the other findings: log P(f | t, ..) / P(f | not t, ..).

        Zero where the state was certain, one way or the other, already without the finding.
        """
        return _log_odds_change(self.posterior, self.without)

    @property
    def log_bayes_factors_alone(self) -> dict[State, float]:
        """The same for the finding by itself."""
        return _log_odds_change(self.alone, self.prior)

    def __str__(self) -> str:
        return f"{self.name}={shown(self.finding)}: {self.divergence:.4g} nats, {self.divergence_alone:.4g} alone"


def _log_odds_change(after: Factor, before: Factor) -> dict[State, float]:
    changes: dict[State, float] = {}
    for place, state in enumerate(after.scope[0].states):
        # P(t) and P(not t), as a sum: one minus P(t) would lose the digits of small ones
        (now, not_now), (then, not_then) = (
            (float(factor.flat[place]), math.fsum(np.delete(factor.flat, place))) for factor in (after, before)
        )
        if then == 0 or not_then == 0:
            changes[state] = 0.0
        elif now == 0 or not_now == 0:
            changes[state] = -math.inf if now == 0 else math.inf
        else:
            changes[state] = math.log(now / not_now) - math.log(then / not_then)
    return changes


@record
class EvidenceImpact(Result):
    """The impact of each finding on the belief about a target, the most decisive finding first."""

    target: str  # The name of the target
    #: P(T | e), and P(T) without any finding.
    posterior: Factor
    prior: Factor
    findings: tuple[FindingImpact, ...]  # A `FindingImpact` for each finding, by descending `divergence`

    def __getitem__(self, name: str) -> FindingImpact:
        """The impact of the finding about one variable."""
        for impact in self.findings:
            if impact.name == name:
                return impact
        raise UnknownVariable.named(name, [impact.name for impact in self.findings], "this evidence")

    def __iter__(self) -> Iterator[FindingImpact]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw what each finding did, given the others and alone; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_evidence_impact", self, ax)

    def __str__(self) -> str:
        """The belief before and after, and the first findings; `to_frame()` has them all."""
        beliefs = zip(self.posterior.scope[0].states, self.prior.flat, self.posterior.flat, strict=True)
        moves = [f"{state} {before:.4g} -> {after:.4g}" for state, before, after in beliefs]
        lines = [f"P({self.target}) by {counted(len(self), 'finding')}: {', '.join(_head(moves))}"]
        return "\n".join([*lines, *(f"  {finding}" for finding in _head(self.findings))])

    def to_frame(self) -> pd.DataFrame:
        """A row for each finding and each state of the target."""
        import pandas as pd

        rows: list[tuple[object, ...]] = []
        for impact in self.findings:
            whole = (impact.name, impact.finding, impact.divergence, impact.divergence_alone)
            beliefs = (impact.prior, impact.alone, impact.without, impact.posterior)
            moves = zip(impact.change.values(), impact.log_bayes_factors.items(), strict=True)
            for place, (change, (state, log_factor)) in enumerate(moves):
                now = (float(belief.flat[place]) for belief in beliefs)
                rows.append((*whole, state, *now, change, log_factor))
        names = ["variable", "finding", "divergence", "divergence_alone", "state", "prior", "alone", "without"]
        return pd.DataFrame(rows, columns=[*names, "posterior", "change", "log_bayes_factor"])


def _head(items: Sequence[object]) -> list[str]:
    """The first items as text, and how many there are in all where that is not the whole."""
    more = [f"... ({len(items)} in all)"] if len(items) > _SHOWN else []
    return [*map(str, items[:_SHOWN]), *more]


def evidence_impact(
    ask: Callable[[Findings], Factor], evidence: Findings, context: Findings | None = None
) -> EvidenceImpact:
    """Which finding moved P(T | e) most: each left out of the evidence in turn, and each alone; 2n + 2 queries for n.

    Findings of the context are always there and not examined.
    """
    always = dict(context or {})
    examined = {name: finding for name, finding in evidence.items() if name not in always}
    posterior, prior = ask({**always, **examined}), ask(always)
    impacts = []
    for name, finding in examined.items():
        rest = {other: seen for other, seen in examined.items() if other != name}
        without = ask({**always, **rest})
        impacts.append(FindingImpact(name, finding, posterior, without, ask({**always, name: finding}), prior))
    ordered = ranked(impacts, lambda impact: impact.divergence, SCORE_NOISE)
    return EvidenceImpact(posterior.names[0], posterior, prior, tuple(ordered))


@record
class Conflict(Result):
    """Jensen's measure: positive where findings are less probable together than if they were independent."""

    value: float  # conf(e) = log Π P(e_i) / P(e), natural
    log_probability: float  # log P(e)
    log_probabilities: Mapping[str, float]  # Name -> log P(e_i)
    partial: Mapping[str, float]  # Name -> conf of this finding with all others as one: log P(e_i) / P(e_i | others)

    @property
    def is_positive(self) -> bool:
        """Whether the findings disagree: a rare case, a false finding, or a wrong model."""
        return self.value > 0

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw how much each finding disagrees with the others; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_conflict", self, ax)

    def __str__(self) -> str:
        manner = "disagree" if self.is_positive else "agree"
        parts = ", ".join(_head([f"{name} {value:.4g}" for name, value in self.partial.items()]))
        return f"the findings {manner}: conf(e) = {self.value:.4g} nats, by finding: {parts or 'none'}"


def conflict(
    log_probability: Callable[[Findings], float], evidence: Findings, context: Findings | None = None
) -> Conflict:
    """How much the findings contradict each other: conf(e) = log [Π P(e_i) / P(e)] (Jensen et al. 1991).

    Findings that support each other have a negative conflict, independent ones none. The likelihoods of virtual
    evidence may have any scale, and findings of the context are always there and not examined. It takes 2n + 1
    probabilities of evidence for n findings.
    """
    always = dict(context or {})
    examined = {name: finding for name, finding in evidence.items() if name not in always}
    together = log_probability({**always, **examined})
    if together == -math.inf:
        error = impossible_evidence(examined, lambda some: log_probability({**always, **some}) > -math.inf)
        raise error or ImpossibleEvidence(f"The evidence {always!r} has probability zero.")
    single = {name: log_probability({**always, name: finding}) for name, finding in examined.items()}
    partial = {}
    for name in examined:
        rest = {other: seen for other, seen in examined.items() if other != name}
        without = single[next(iter(rest))] if len(rest) == 1 else log_probability({**always, **rest})
        partial[name] = single[name] + without - together
    return Conflict(math.fsum(single.values()) - together, together, single, partial)


def conflict_explanations(
    found: Conflict, prior: Mapping[str, Factor], posterior: Mapping[str, Factor]
) -> pd.DataFrame:
    """Which states, if they held, would explain the conflict away: those with conf(e, h) ≤ 0.

    conf(e, h) = conf(e) + log P(h) / P(h | e): a rare hypothesis that the findings make probable. States that are
    impossible given the evidence are left out.
    """
    import pandas as pd

    rows = []
    for name, after in posterior.items():
        for place, state in enumerate(after.scope[0].states):
            before, now = float(prior[name].flat[place]), float(after.flat[place])
            if now > 0:
                value = found.value + math.log(before) - math.log(now)
                rows.append((name, state, before, now, value, found.is_positive and value <= 0))
    rows.sort(key=lambda row: row[4])
    return pd.DataFrame(rows, columns=["variable", "state", "prior", "posterior", "conflict", "explains"])


def information_about(
    target: Factor, given: Mapping[State, Mapping[str, Factor]], base: float = math.e
) -> dict[str, float]:
    """I(T; X | e) of a target with every other variable, from one calibration for each state of the target.

    I(T; X | e) = Σ_t P(t | e) D(P(X | t, e) ‖ P(X | e)): by how much observing X is expected to lower the entropy of T.
    `given` has P(X | t, e) of every X for each state t with P(t | e) > 0.
    """
    unit = log_unit(base)
    states = [state for state, weight in zip(target.scope[0].states, target.flat, strict=True) if weight > 0]
    weights = target.flat[target.flat > 0]
    answers: dict[str, float] = {}
    for name in given[states[0]]:
        rows = np.stack([given[state][name].flat for state in states])
        joint, mixture = weights[:, None] * rows, weights @ rows
        live = joint > 0
        logs = np.log(rows[live]) - np.log(np.broadcast_to(mixture, rows.shape)[live])
        answers[name] = max(0.0, float(joint[live] @ logs)) / unit  # in this order, minus zero comes out as zero
    return answers


def smallest_contradiction(
    evidence: Mapping[str, Any], is_possible: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """Findings that can't hold together, none of which can be spared; `None` where all can hold together.

    QuickXplain (Junker 2004): halves of the findings are kept or dropped as a whole, so that k findings out of n are
    found in O(k log(n/k) + k) calls of `is_possible`. `is_possible` tells whether some findings have positive
    probability; it must not turn true when findings are added.

    >>> smallest_contradiction({"a": 1, "b": 2, "c": 3}, lambda found: not {"a", "c"} <= found.keys())
    {'a': 1, 'c': 3}
    """
    if is_possible(evidence):
        return None
    needed = set(_needed((), True, list(evidence), lambda names: is_possible({name: evidence[name] for name in names})))
    return {name: finding for name, finding in evidence.items() if name in needed}


def _needed(
    background: Sequence[str],
    has_news: bool,
    candidates: Sequence[str],
    is_possible: Callable[[Iterable[str]], bool],
) -> Sequence[str]:
    """The candidates, none of which can be spared, that are impossible together with the background.

    With all candidates it is impossible; `has_news` says that the background was not yet tried alone.
    """
    if has_news and not is_possible(background):
        return ()
    if len(candidates) <= 1:
        return candidates
    middle = len(candidates) // 2
    first, second = candidates[:middle], candidates[middle:]
    from_second = _needed((*background, *first), bool(first), second, is_possible)
    from_first = _needed((*background, *from_second), bool(from_second), first, is_possible)
    return [*from_first, *from_second]


def impossible_evidence(
    evidence: Mapping[str, Any], is_possible: Callable[[Mapping[str, Any]], bool]
) -> ImpossibleEvidence | None:
    """The error that names the smallest contradiction that was found; `None` where there is nothing to name."""
    try:
        contradiction = smallest_contradiction(evidence, is_possible)
    except TooLarge:  # what an approximate engine has found is beyond what can be looked into
        return None
    if not contradiction:  # possible after all, or impossible whatever the evidence
        return None
    findings = ", ".join(f"{name}={shown(finding)}" for name, finding in contradiction.items())
    if len(contradiction) == 1:
        return ImpossibleEvidence(f"The evidence {findings} has probability zero.")
    rest = "" if len(contradiction) == len(evidence) else ", whatever the other findings"
    return ImpossibleEvidence(f"The evidence {findings} has probability zero together{rest}.")
