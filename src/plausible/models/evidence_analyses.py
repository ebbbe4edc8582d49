"""Questions about evidence: what it leaves open, which finding matters, whether findings agree, what to see next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from plausible.errors import NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor, entropy
from plausible.inference.budget import ADD_EVIDENCE, RAISE_BUDGET, Budget, advising
from plausible.inference.findings import (
    Conflict,
    EvidenceImpact,
    conflict,
    conflict_explanations,
    evidence_impact,
    information_about,
)
from plausible.inference.hybrid.information import NumberInformation
from plausible.inference.posterior import read_targets
from plausible.models.beliefs import Beliefs
from plausible.variables import Evidence, EvidenceLike, Jeffrey, likelihood
from plausible.variables.evidence import findings_of, read_findings

if TYPE_CHECKING:
    import pandas as pd


_REMEDIES = (ADD_EVIDENCE, RAISE_BUDGET)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a model, or its compiled engine, answers."""

    query: Callable[[str, EvidenceLike | None], Factor]
    marginals: Callable[[EvidenceLike | None], dict[str, Factor]]
    log_probability: Callable[[EvidenceLike], float]


class EvidenceAnalyses(Beliefs):
    """What can be asked of any model about its evidence, over the questions that it answers."""

    __slots__ = ()

    def _context(self, evidence: EvidenceLike | None) -> dict[str, Any]:
        return {name: finding for name, finding in findings_of(evidence).items() if name in self.inputs}

    def _answering(self, budget: Budget | None) -> _Answers:
        """The compiled engine, for several questions to all of the model; the model itself where there can't be one."""
        itself = _Answers(
            partial(self.query, budget=budget),
            partial(self.marginals, budget=budget),
            partial(self.log_probability, budget=budget),
        )
        if self.inputs or any(variable.is_continuous for variable in self.variables.values()):
            return itself
        try:
            engine = self.compile(budget=budget)
        except (NotSupported, TooLarge):
            return itself
        return _Answers(engine.query, engine.marginals, engine.log_probability)

    @advising(_REMEDIES)
    def entropy(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        base: float = math.e,
        *,
        budget: Budget | None = None,
    ) -> float:
        """Compute the joint entropy H(targets | evidence), in nats unless you set `base`.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[1, 0], [0.5, 0.5]], parents=["A"]))
        >>> round(net.entropy("A", base=2), 6), round(net.entropy("A", evidence={"B": 0}, base=2), 6)
        (1.0, 0.918296)
        """
        return entropy(self.query(targets, evidence, budget=budget), base=base)

    @advising(_REMEDIES)
    def mutual_information(
        self,
        target: str,
        evidence: EvidenceLike | None = None,
        base: float = math.e,
        candidates: Iterable[str] | None = None,
        *,
        budget: Budget | None = None,
    ) -> pd.DataFrame:
        """Compute I(target; X | evidence) for every unobserved variable X, largest first: what to observe next.

        Observing X lowers the entropy of the target by I(T; X | e) on average. The target is discrete; X may be
        continuous. One calibration for each state of the target that is possible, and one more.

        Returns
        -------
        pandas.DataFrame
            Indexed by `variable`: `mutual_information`, its `share` of the entropy of the target, and the `entropy` of
            the variable itself; that of a continuous one is the differential entropy, -inf where it has a point mass.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("ill", [0.9, 0.1]),
        ...     TableCPD("test", [[0.95, 0.05], [0.1, 0.9]], parents=["ill"]),
        ...     TableCPD("cough", [[0.7, 0.3], [0.4, 0.6]], parents=["ill"]),
        ... )
        >>> net.mutual_information("ill").round(4)
                  mutual_information   share  entropy
        variable
        test                  0.1846  0.5679   0.3958
        cough                 0.0171  0.0526   0.6342
        """
        import pandas as pd

        (variable,) = read_targets([target], self.variables, "this model")
        found, _ = read_findings(evidence, self.variables, "this model")
        asked = self._candidates(target, found, candidates)
        engine = self._answering(budget)
        findings = _as_likelihoods(engine, findings_of(evidence))
        now = engine.marginals(findings)
        given = {
            state: engine.marginals({**findings, target: state})
            for state, probability in zip(variable.states, now[target].flat, strict=True)
            if probability > 0
        }
        whole = entropy(now[target], base=base) if len(given) > 1 else 0.0  # what is certain has no rounding errors
        gains = {
            name: (information, entropy(now[name], base=base))
            for name, information in information_about(now[target], given, base).items()
            if name in asked
        }
        for name in (name for name in asked if self.variables[name].is_continuous):
            number = self._number_information(target, name, findings, base, budget)
            gains[name] = number.mutual_information, number.entropy
        rows = [
            (name, gained, gained / whole, own) if whole > 0 else (name, 0.0, 0.0, own)
            for name, (gained, own) in gains.items()
        ]
        rows.sort(key=lambda row: -row[1])
        columns = ["variable", "mutual_information", "share", "entropy"]
        return pd.DataFrame(rows, columns=columns).set_index("variable")

    def _candidates(self, target: str, found: Evidence, candidates: Iterable[str] | None) -> list[str]:
        """The variables that could be observed next."""
        listed = [candidates] if isinstance(candidates, str) else candidates
        UnknownVariable.check_all(listed or (), self.variables, "this model")
        seen = {target, *found.hard, *found.values}
        return [name for name in self.variables if name not in seen and (listed is None or name in set(listed))]

    def _number_information(
        self, target: str, name: str, evidence: EvidenceLike, base: float, budget: Budget | None
    ) -> NumberInformation:
        """What a continuous variable would tell about the target."""
        raise NotSupported(f"{name!r} is continuous: this kind of model can't tell what it says about {target!r}.")

    @advising(_REMEDIES)
    def evidence_impact(self, target: str, evidence: EvidenceLike, *, budget: Budget | None = None) -> EvidenceImpact:
        """Find out which finding changed P(target | evidence) most: omit each one in turn, and take each one alone.

        Findings are sorted by the Kullback-Leibler divergence of the posterior from the posterior without them, largest
        first. `.to_frame()` returns a data frame, with the change and the log Bayes factor for each state of the
        target.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("ill", [0.9, 0.1], states=["no", "yes"]),
        ...     TableCPD("test", [[0.95, 0.05], [0.1, 0.9]], parents=["ill"]),
        ...     TableCPD("cough", [[0.7, 0.3], [0.4, 0.6]], parents=["ill"]),
        ... )
        >>> impact = net.evidence_impact("ill", {"cough": 1, "test": 1})
        >>> [finding.name for finding in impact]
        ['test', 'cough']
        >>> round(impact["test"].change["yes"], 4), round(impact["test"].log_bayes_factors["yes"], 4)
        (0.6182, 2.8904)
        """
        read_targets([target], self.variables, "this model")
        engine = self._answering(budget)
        return evidence_impact(lambda some: engine.query(target, some), findings_of(evidence), self._context(evidence))

    @advising(_REMEDIES)
    def conflict(self, evidence: EvidenceLike, *, budget: Budget | None = None) -> Conflict:
        """Measure how much findings disagree: conf(e) = log [Π P(e_i) / P(e)], positive if so (Jensen et al. 1991).

        `.partial` says how much each finding disagrees with the rest.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.9, 0.1], [0.1, 0.9]], parents=["A"])
        ... )
        >>> round(net.conflict({"A": 0, "B": 1}).value, 4), round(net.conflict({"A": 0, "B": 0}).value, 4)
        (1.6094, -0.5878)
        """
        Evidence.read(evidence, self.variables, "this model")
        engine = self._answering(budget)
        return conflict(engine.log_probability, findings_of(evidence), self._context(evidence))

    @advising(_REMEDIES)
    def conflict_explanations(self, evidence: EvidenceLike, *, budget: Budget | None = None) -> pd.DataFrame:
        """List states of unobserved variables that would explain a conflict in the evidence, best explanation first.

        If conf(e, h) = conf(e) + log P(h) / P(h | e) ≤ 0, the rare state h explains the conflict.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(
        ...     TableCPD("broken", [0.99, 0.01]),
        ...     TableCPD("A", [0.5, 0.5]),
        ...     TableCPD("B", [[[0.99, 0.01], [0.1, 0.9]], [[0.01, 0.99], [0.9, 0.1]]], parents=["A", "broken"]),
        ... )
        >>> net.conflict_explanations({"A": 0, "B": 1}).round(3)
          variable  state  prior  posterior  conflict  explains
        0   broken      1   0.01      0.476    -0.588      True
        1   broken      0   0.99      0.524     3.912     False
        """
        hard = Evidence.read(evidence, self.variables, "this model").hard
        engine = self._answering(budget)
        context = self._context(evidence)
        found = conflict(engine.log_probability, findings_of(evidence), context)
        prior, posterior = engine.marginals(context), engine.marginals(evidence)
        hidden = {name: factor for name, factor in posterior.items() if name not in hard}
        return conflict_explanations(found, prior, hidden)


def _as_likelihoods(engine: _Answers, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence with Jeffrey's rule q(x) written as the likelihood q(x) / P(x | rest): it leaves room for more."""
    findings = dict(evidence)
    for name, finding in evidence.items():
        if isinstance(finding, Jeffrey):
            rest = {other: seen for other, seen in evidence.items() if other != name}
            wanted, before = engine.query(name, evidence), engine.query(name, rest)
            findings[name] = likelihood((wanted / before).values)
    return findings
