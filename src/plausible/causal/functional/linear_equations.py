"""Linear structural equations with Gaussian noise, which may be correlated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base import Frozen
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD, LinearGaussianCPD
from plausible.errors import ImpossibleEvidence, InvalidModel, UnknownVariable
from plausible.factors import MomentGaussian
from plausible.factors.definite import pivoted_root
from plausible.graphs import CausalGraph, Edge
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, Variable
from plausible.variables.evidence import Evidence, settings_of

Array = npt.NDArray[np.float64]


class LinearEquations(Frozen):
    """X = B X + c + ε with ε ~ N(0, Ω): interventions and counterfactuals in closed form.

    See Wright (1921), Correlation and causation. Pearl (2009), Causality, chapter 5 and section 7.1.

    Parameters
    ----------
    coefficients
        For every variable its causes and their coefficients: `{"Y": {"X": 2.0}, "X": {}}`. Variables that are causes
        only need no entry.
    intercepts
        Name -> c; zero where left out.
    variances
        Name -> variance of the noise; one where left out.
    covariances
        Pairs of names -> covariance of their noise, which stands for a latent common cause; zero where left out.

    Examples
    --------
    >>> model = LinearEquations({"M": {"X": 0.5}, "Y": {"M": 2.0}}, covariances={("X", "Y"): 0.6})
    >>> model.graph
    CausalGraph('X -> M; M -> Y; X <-> Y')
    >>> round(model.total_effect("Y", "X"), 9)
    1.0
    >>> model.query("Y", do={"X": 1.0}).mean, model.query("Y", evidence={"X": 1.0}).mean
    (array([1.]), array([1.6]))
    >>> model.counterfactual("Y", evidence={"X": 0.0, "M": 1.0, "Y": 3.0}, do={"X": 1.0}).mean
    array([4.])
    """

    __slots__ = ("coefficients", "covariance", "graph", "intercepts", "names")

    #: The variables, in the order in which they are first named.
    names: tuple[str, ...]
    #: B: rows are effects, columns causes; read-only.
    coefficients: Array
    #: c; read-only.
    intercepts: Array
    #: Ω; read-only.
    covariance: Array
    #: `A -> B` for a coefficient that is not zero, `A <-> B` for such a covariance.
    graph: CausalGraph

    def __init__(
        self,
        coefficients: Mapping[str, Mapping[str, float]],
        intercepts: Mapping[str, float] | None = None,
        variances: Mapping[str, float] | None = None,
        covariances: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        names = tuple(dict.fromkeys(name for effect, causes in coefficients.items() for name in (*causes, effect)))
        places = _Places.of(names)
        matrix, noise = np.zeros((len(names), len(names))), np.eye(len(names))
        for effect, causes in coefficients.items():
            matrix[places[effect], [places[cause] for cause in causes]] = list(causes.values())
        for name, variance in (variances or {}).items():
            noise[places[name], places[name]] = variance
        for (one, two), covariance in (covariances or {}).items():
            if one == two:
                raise InvalidModel(f"The covariance of {one!r} with itself is its variance: give it in variances=.")
            other = (covariances or {}).get((two, one), covariance)
            if other != covariance:
                raise InvalidModel(
                    f"The covariance of {one!r} and {two!r} is given twice, as {covariance!r} and as {other!r}."
                )
            noise[places[one], places[two]] = noise[places[two], places[one]] = covariance
        constants = np.zeros(len(names))
        for name, value in (intercepts or {}).items():
            constants[places[name]] = value
        self._fill(names, matrix, constants, noise)

    def _fill(self, names: tuple[str, ...], matrix: Array, constants: Array, noise: Array) -> None:
        if not np.isfinite(matrix).all():
            raise InvalidModel("A coefficient is no finite number.")
        checked = MomentGaussian(names, constants, noise)
        directed = [(names[j], names[i]) for i, j in np.argwhere(matrix)]
        confounded = [Edge.of(names[i], "<->", names[j]) for i, j in np.argwhere(np.triu(noise, 1))]
        self.graph = CausalGraph([*(Edge.of(a, "->", b) for a, b in directed), *confounded], nodes=names)
        matrix.setflags(write=False)
        self.names, self.coefficients = names, matrix
        self.intercepts, self.covariance = checked.mean, checked.covariance

    @property
    def network(self) -> BayesianNetwork:
        """The linear Gaussian network: correlated noise comes from latent roots, called "U_A_B_1" and so on."""
        return network_of(self.names, self.coefficients, self.intercepts, self.covariance)

    def intervene(self, do: Mapping[str, float]) -> LinearEquations:
        """The equations in which some variables are constants."""
        values = self._numbers(do)
        matrix, constants, noise = (np.array(part) for part in (self.coefficients, self.intercepts, self.covariance))
        for place, value in values.items():
            matrix[place], noise[place], noise[:, place], constants[place] = 0.0, 0.0, 0.0, value
        model = object.__new__(LinearEquations)
        model._fill(self.names, matrix, constants, noise)
        return model

    @property
    def distribution(self) -> MomentGaussian:
        """The joint distribution of all variables."""
        return self.query(self.names)

    def total_effect(self, outcome: str, treatment: str) -> float:
        """d E[outcome | do(treatment = x)] / dx: the sum over directed paths of the product of their coefficients."""
        places = _Places.of(self.names)
        return float(self._solution({})[0][places[outcome], places[treatment]])

    def query(
        self, targets: str | Iterable[str], evidence: EvidenceLike | None = None, do: Mapping[str, float] | None = None
    ) -> MomentGaussian:
        """P(targets | evidence, do): normal, degenerate where targets are set or known.

        Parameters
        ----------
        evidence
            Name -> number that was seen, after the intervention.
        """
        return self.counterfactual(targets, counterfactual_evidence=evidence, do=do)

    def counterfactual(
        self,
        outcome: str | Iterable[str],
        *,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, float] | None = None,
        counterfactual_evidence: EvidenceLike | None = None,
        actual_do: Mapping[str, float] | None = None,
    ) -> MomentGaussian:
        """P(outcome_do | evidence): both worlds are linear in the same ε, hence jointly normal; then condition.

        Parameters
        ----------
        outcome
            The name of a variable or several, in the hypothetical world.
        evidence
            Name -> number that was seen in the real world.
        do
            Name -> number set in the hypothetical world.
        counterfactual_evidence
            Name -> number known about the hypothetical world.
        actual_do
            Name -> number that was set in the real world.
        """
        actual = self._seen(evidence, self._numbers(actual_do))
        hypothetical = self._seen(counterfactual_evidence, settings := self._numbers(do))
        listed = [outcome] if isinstance(outcome, str) else list(dict.fromkeys(outcome))
        places = _Places.of(self.names)
        weights, constants = self._solution(settings)
        rows = [places[name] for name in listed]
        known = [part for part in (actual, hypothetical) if len(part.values)]
        all_weights = np.vstack([weights[rows], *(part.weights for part in known)])
        mean = np.concatenate([constants[rows], *(part.constants for part in known)])
        scope = [Variable(name) for name in (*listed, *(name for part in known for name in part.names))]
        apart = [f"{place}: {variable.name}" for place, variable in enumerate(scope)]  # one may have several roles
        joint = MomentGaussian(apart, mean, all_weights @ self.covariance @ all_weights.T)
        values = np.concatenate([np.zeros(0), *(part.values for part in known)])
        try:
            answer = joint.condition(dict(zip(joint.names[len(listed) :], values.tolist(), strict=True)))
        except ImpossibleEvidence:
            wheres = ("", " under the intervention" if settings else "")
            seen = [
                f"{name}={value:g}{where}"
                for part, where in zip((actual, hypothetical), wheres, strict=True)
                for name, value in zip(part.names, part.values, strict=True)
            ]
            raise ImpossibleEvidence(f"By these equations {' and '.join(seen)} can't occur together.") from None
        return MomentGaussian(scope[: len(listed)], answer.mean, answer.covariance)

    def _solution(self, do: Mapping[int, float]) -> tuple[Array, Array]:
        """W and d with X = W ε + d once some variables, by position, are constants."""
        matrix, constants, noise = np.array(self.coefficients), np.array(self.intercepts), np.eye(len(self.names))
        for place, value in do.items():
            matrix[place], noise[place, place], constants[place] = 0.0, 0.0, value
        inverse = np.linalg.inv(np.eye(len(self.names)) - matrix)
        return inverse @ noise, inverse @ constants

    def _seen(self, evidence: EvidenceLike | None, do: Mapping[int, float]) -> _Seen:
        variables = {name: Variable(name) for name in self.names}
        found = Evidence.read(evidence, variables, "these equations").values
        weights, constants = self._solution(do)
        rows = [self.names.index(name) for name in found]
        return _Seen(tuple(found), weights[rows], constants[rows], np.array(list(found.values()), dtype=np.float64))

    def _numbers(self, do: Mapping[str, float] | None) -> dict[int, float]:
        variables = {name: Variable(name) for name in self.names}
        found = Evidence.read(settings_of(do), variables, "these equations").values
        return {self.names.index(name): value for name, value in found.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearEquations):
            return NotImplemented
        parts = ("coefficients", "intercepts", "covariance")
        return self.names == other.names and all(np.array_equal(getattr(self, p), getattr(other, p)) for p in parts)

    def __hash__(self) -> int:
        return hash((self.names, self.graph))

    def __repr__(self) -> str:
        return f"<LinearEquations: {self.graph}>"


class _Seen(NamedTuple):
    """What was seen in one world: W ε + d = values."""

    names: tuple[str, ...]
    weights: Array
    constants: Array
    values: Array


class _Places(dict[str, int]):
    """Positions of names; an unknown one is an error."""

    @classmethod
    def of(cls, names: Iterable[str]) -> _Places:
        return cls({name: place for place, name in enumerate(names)})

    def __missing__(self, name: str) -> int:
        raise UnknownVariable.named(name, self, "these equations")


def network_of(names: Sequence[str], coefficients: Array, intercepts: Array, covariance: Array) -> BayesianNetwork:
    """The linear Gaussian network of X = B X + c + ε, ε ~ N(0, Ω), with standard normal latent roots U.

    Each block of correlated noise is split as Ω = S (Λ Λᵀ + λ I) S, S the standard deviations and λ the smallest
    eigenvalue of the correlations, so that a variable keeps as much noise of its own as can be.
    """
    from scipy.sparse.csgraph import connected_components

    loadings: dict[str, dict[str, float]] = {name: {} for name in names}
    own = covariance.diagonal().copy()
    latent: list[CPD] = []
    taken = set(names)
    _, labels = connected_components(covariance != 0)
    groups = (np.flatnonzero(labels == label).tolist() for label in range(labels.max(initial=-1) + 1))
    for block in (group for group in groups if len(group) > 1):
        scale = np.sqrt(own[block])
        correlation = covariance[np.ix_(block, block)] / scale[:, None] / scale
        least = max(float(np.linalg.eigvalsh(correlation)[0]), 0.0)
        weights = scale[:, None] * pivoted_root(correlation - least * np.eye(len(block)), 1e-12).root
        own[block] = least * scale**2
        for number, column in enumerate(weights.T.tolist(), start=1):
            name = fresh_name("_".join(["U", *(names[place] for place in block), str(number)]), taken)
            latent.append(LinearGaussianCPD(name))
            for place, weight in zip(block, column, strict=True):
                loadings[names[place]][name] = weight
    cpds: list[CPD] = []
    for place, name in enumerate(names):
        causes = {names[j]: float(coefficients[place, j]) for j in np.flatnonzero(coefficients[place]).tolist()}
        cpds.append(LinearGaussianCPD(name, float(intercepts[place]), {**causes, **loadings[name]}, float(own[place])))
    return BayesianNetwork([*latent, *cpds])
