"""Utilities that are sums of functions of few attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Protocol

import numpy as np

from plausible.base.display import html_of_print
from plausible.base.frozen import Frozen
from plausible.base.records import record
from plausible.base.remedies import Remedy
from plausible.errors import InvalidArgument, InvalidFactor, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, Scope, check_size, num_entries, read_scope, union_scope
from plausible.graphs import UndirectedGraph
from plausible.inference.exact_map.max_elimination import constrained_order, max_tables
from plausible.models import MarkovNetwork, log_linear
from plausible.utilities.attributes.outcome_tables import outcome_text
from plausible.utilities.attributes.scope_sets import num_free_parameters, sum_text
from plausible.utilities.local import Utility
from plausible.variables import Assignment, State, Variable


class Expects(Protocol):
    """A model that gives the expectation of a sum of factors, such as a Bayesian network."""

    def expectation(self, terms: Iterable[Factor], evidence: Mapping[str, State] | None = None) -> float:
        """E[Σ f(X) | evidence]."""


@record
class BestOutcome:
    """An outcome of the greatest utility."""

    outcome: Assignment  # A state of each attribute
    utility: float  # What it is worth

    def __str__(self) -> str:
        return f"{outcome_text(self.outcome)}: {self.utility:.6g}"


class AdditiveUtility(Frozen):
    """U(V) = Σ_i U_i(Z_i): a utility in parts, whose scopes may overlap (generalised additive independence).

    All that it needs of a lottery are the marginals on the scopes, E[U] = Σ_i Σ_z π(z) U_i(z), so that it never builds
    a table over all attributes unless asked to. Koller & Friedman 2009, §22.4.2.

    The parts U_i are factors with finite entries; `variables` come first, in this order, and may be ones that no part
    depends on.

    >>> trip = AdditiveUtility([
    ...     Factor({"weather": ["sun", "rain"], "hotel": ["beach", "town"]}, [[5, 2], [0, 3]]),
    ...     Factor({"hotel": ["beach", "town"], "price": ["low", "high"]}, [[0, -3], [0, -1]]),
    ... ])
    >>> trip.num_entries, trip.num_free_parameters
    (8, 6)
    >>> print(trip.best({"weather": "rain"}))
    weather=rain, hotel=town, price=low: 3
    """

    __slots__ = ("_variables", "parts")

    parts: tuple[Factor, ...]

    def __init__(self, parts: Iterable[Factor], variables: Iterable[Variable] = ()) -> None:
        self.parts = tuple(parts)
        for part in self.parts:
            if not isinstance(part, Factor):
                raise InvalidFactor(f"The parts of a utility are factors, not {part!r}.")
            if not np.isfinite(part.flat).all():
                raise InvalidFactor(f"The part over {list(part.names)} has numbers that are not finite.")
        self._variables = union_scope((read_scope(variables), *(part.scope for part in self.parts)))

    @property
    def scope(self) -> Scope:
        """All attributes."""
        return self._variables

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all attributes."""
        return tuple(variable.name for variable in self._variables)

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the attributes of each part."""
        return tuple(part.names for part in self.parts)

    @property
    def num_outcomes(self) -> int:
        """The number of assignments to all attributes; exact, however large."""
        return num_entries(self._variables)

    @property
    def num_entries(self) -> int:
        """The numbers in all parts together."""
        return sum(num_entries(part.scope) for part in self.parts)

    @property
    def num_free_parameters(self) -> int:
        """The dimension of the utilities with parts over these scopes: less than `num_entries` where parts overlap."""
        return num_free_parameters(self._variables, self.scopes)

    @property
    def graph(self) -> UndirectedGraph:
        """Attributes that share a part are neighbours: separation is conditional additive independence (a CAI-map)."""
        wide = [[variable.name for variable in part.scope if variable.num_states > 1] for part in self.parts]
        return UndirectedGraph({pair for names in wide for pair in combinations(names, 2)}, nodes=self.names)

    def __getitem__(self, outcome: Mapping[str, State]) -> float:
        """What an outcome is worth."""
        return float(sum(part[outcome] if part.scope else part.sum() for part in self.parts))

    def table(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The utility of every outcome, as a factor over all attributes."""
        check_size(self._variables, "The utility of all outcomes", max_entries)
        return sum(self.parts, Factor.scalar(0.0)).extend(self._variables).reorder(self.names)

    def expected_utility(
        self, lottery: Factor | Iterable[Factor] | Expects, evidence: Mapping[str, State] | None = None
    ) -> float:
        """Σ_i Σ_z π(z_i) U_i(z_i).

        Parameters
        ----------
        lottery
            A distribution over the attributes; the marginals of one, each scope being in one of them; or a model such
            as a `BayesianNetwork`, whose engine gives the expectation of all parts in one pass and no joint.
        evidence
            What is known; for models only.

        Examples
        --------
        >>> spend = AdditiveUtility([Factor({"A": 2}, [0, 10]), Factor({"B": 2}, [0, -4])])
        >>> spend.expected_utility([Factor({"A": 2}, [0.5, 0.5]), Factor({"B": 2}, [0.75, 0.25])])
        4.0
        """
        if hasattr(lottery, "expectation") and not isinstance(lottery, Factor):
            return float(lottery.expectation(self.parts, evidence))
        if evidence:
            raise InvalidArgument("evidence= is for models; condition a distribution by reduce() and normalize().")
        marginals = [lottery] if isinstance(lottery, Factor) else list(lottery)
        total = 0.0
        for part in self.parts:
            holder = next((one for one in marginals if set(part.names) <= set(one.names)), None)
            if part.scope and holder is None:
                raise InvalidArgument(
                    f"No marginal of the lottery holds all of {list(part.names)}, which a part of the utility needs."
                )
            total += holder.expectation(part) if part.scope and holder is not None else part.sum()
        return float(total)

    def best(self, evidence: Mapping[str, State] | None = None, *, max_entries: int = 2**24) -> BestOutcome:
        """An outcome of the greatest utility among those that agree with the evidence, by max-sum elimination.

        An elimination whose tables together have more than `max_entries` is refused, before any work is done.
        """
        known = dict(evidence or {})
        for name in known:
            if name not in self.names:
                raise UnknownVariable.named(name, self.names, "this utility")
        free = [variable for variable in self._variables if variable.name not in known]
        terms = [part.reduce(known) for part in self.parts]
        terms += [Factor((variable,), np.zeros(variable.num_states)) for variable in free]
        order = constrained_order(terms, [variable.name for variable in free])
        order.check(max_entries, [Remedy("fix more attributes by evidence")])
        states = max_tables(terms, order).best()
        outcome = {v.name: known.get(v.name, v.states[states.get(v.name, 0)]) for v in self._variables}
        return BestOutcome(Assignment(outcome), self[outcome])

    def utilities(self) -> tuple[Utility, ...]:
        """The parts as utility nodes of an influence diagram, named by their scopes (and numbers, where they repeat).

        >>> AdditiveUtility([Factor({"A": 2}, [0, 1]), Factor({"A": 2}, [2, 0])]).utilities()
        (Utility(['A'], name='U(A)'), Utility(['A'], name='U(A) 2'))
        """
        seen: Counter[str] = Counter()
        nodes = []
        for part in self.parts:
            name = f"U({', '.join(part.names)})"
            seen[name] += 1
            nodes.append(Utility.from_factor(part, name if seen[name] == 1 else f"{name} {seen[name]}"))
        return tuple(nodes)

    def gibbs_network(self, temperature: float = 1.0) -> MarkovNetwork:
        """The Markov network P ∝ exp(U / temperature), in which conditional independence is CA-independence in U.

        Koller & Friedman 2009, lemma 22.1. Its most probable assignment is the best outcome.
        """
        if not temperature > 0:
            raise InvalidArgument(f"temperature={temperature!r} must be positive.")
        return log_linear(self.parts, [1.0 / temperature] * len(self.parts), variables=self._variables)

    def is_close(self, other: AdditiveUtility, tolerance: float = 1e-9) -> bool:
        """Whether both give every outcome the same utility, whatever their parts are; builds the tables."""
        return self.table().is_close(other.table(), tolerance)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AdditiveUtility):
            return NotImplemented
        return self._variables == other._variables and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((self._variables, self.parts))

    def __repr__(self) -> str:
        return f"<AdditiveUtility: {sum_text(self.scopes)}>"

    def __str__(self) -> str:
        return "\n\n".join(str(part) for part in self.parts) or "0"

    _repr_html_ = html_of_print
