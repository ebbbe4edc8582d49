"""Propositional formulas in conjunctive normal form, and the networks that decide and count them.

Whether P(X = x) > 0 in a Bayesian network is NP-complete, by this very encoding (Cooper 1990), and computing it counts
models, which is #P-hard: small formulas make hard tests for inference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base import Flags, Seed, generator_of, html_of_print
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, UnknownVariable
from plausible.factors.alignment import check_size
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.notes import Notes
from plausible.variables import Assignment, Variable

_NEGATIONS = ("~", "¬", "-", "!")


@dataclass(frozen=True, slots=True)
class Literal:
    """A variable, or its negation.

    >>> Literal("q", positive=False)
    Literal(¬q)
    """

    name: str
    positive: bool = True

    @classmethod
    def read(cls, literal: Literal | str) -> Literal:
        """From a name, with `~`, `¬`, `-` or `!` before it for the negation."""
        if isinstance(literal, Literal):
            return literal
        text = literal.strip()
        positive = not text.startswith(_NEGATIONS)
        name = text if positive else text[1:].strip()
        if not name:
            raise InvalidArgument(f"{literal!r} is no literal: expected a name, such as 'q1' or '~q1'.")
        return cls(name, positive)

    def holds(self, assignment: Mapping[str, object]) -> bool:
        """Whether the literal is true."""
        return bool(assignment[self.name]) == self.positive

    def __str__(self) -> str:
        return self.name if self.positive else f"¬{self.name}"

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"Literal({self})"


class CNF:
    """A conjunction of clauses, each a disjunction of literals.

    Parameters
    ----------
    clauses
        Each a collection of literals: `Literal` objects, or names with `~` before them for the negation. An empty
        clause is false, a formula without clauses true.
    variables
        Names that come first in the variable order; the way to add variables that are in no clause.

    Examples
    --------
    >>> formula = CNF([["q1", "~q2", "q3"], ["~q1", "q2", "~q3"]])
    >>> print(formula)
    (q1 ∨ ¬q2 ∨ q3) ∧ (¬q1 ∨ q2 ∨ ¬q3)
    >>> formula.is_satisfiable(), formula.count_models()
    (True, 6)
    >>> formula.evaluate({"q1": True, "q2": False, "q3": True})
    False
    """

    __slots__ = ("_clauses", "_variables")

    def __init__(self, clauses: Iterable[Iterable[Literal | str]], variables: Iterable[str] = ()) -> None:
        self._clauses = tuple(tuple(dict.fromkeys(map(Literal.read, _literals(clause)))) for clause in clauses)
        found = (literal.name for clause in self._clauses for literal in clause)
        self._variables = tuple(dict.fromkeys((*variables, *found)))

    @property
    def clauses(self) -> tuple[tuple[Literal, ...], ...]:
        """The clauses, in the order given, without repeated literals."""
        return self._clauses

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self._variables

    def evaluate(self, assignment: Mapping[str, object]) -> bool:
        """Whether a complete assignment makes the formula true: linear in its length, as NP asks of a verifier."""
        for name in self._variables:
            if name not in assignment:
                raise UnknownVariable(f"The assignment gives no truth value to {name!r}.")
        return all(any(literal.holds(assignment) for literal in clause) for clause in self._clauses)

    def is_satisfiable(self, max_assignments: int = 2**24) -> bool:
        """Whether some assignment makes the formula true, by trying all; refused beyond `max_assignments`."""
        return bool(self._truth(max_assignments).any())

    def count_models(self, max_assignments: int = 2**24) -> int:
        """The number of assignments that make the formula true (#SAT), by trying all."""
        return int(self._truth(max_assignments).sum())

    def models(self, max_assignments: int = 2**24) -> list[Assignment]:
        """The assignments that make the formula true, false before true, the last variable changing fastest.

        >>> CNF([["a", "b"], ["~a", "~b"]]).models()
        [Assignment(a=False, b=True), Assignment(a=True, b=False)]
        """
        size = len(self._variables)
        numbers = np.flatnonzero(self._truth(max_assignments))
        return [
            Assignment({name: bool(number >> (size - 1 - place) & 1) for place, name in enumerate(self._variables)})
            for number in numbers.tolist()
        ]

    def find_model(self, tries: int = 20, seed: Seed = None) -> Assignment | None:
        """A model by random walks, or `None` if none was found, which proves nothing (Papadimitriou 1991).

        A walk starts anywhere and flips a random variable of a random false clause, 2n² times at most. It never takes
        a formula for satisfiable that is not. A satisfiable formula with two literals a clause is found so with
        probability 1/2 or more, so that k tries miss it with probability 2^-k or less; longer clauses have no such
        promise.

        >>> formula = CNF([["a", "b"], ["~a", "~b"], ["a", "~b"]])
        >>> formula.find_model(seed=0)
        Assignment(a=True, b=False)
        """
        generator = generator_of(seed)
        for _ in range(tries):
            values = generator.random(len(self._variables)) < 0.5
            truth = dict(zip(self._variables, values.tolist(), strict=True))
            for _ in range(2 * len(truth) ** 2 + 1):
                false = [clause for clause in self._clauses if not any(literal.holds(truth) for literal in clause)]
                if not false:
                    return Assignment(truth)
                clause = false[generator.integers(len(false))]
                if not clause:
                    return None
                name = clause[generator.integers(len(clause))].name
                truth[name] = not truth[name]
        return None

    def _truth(self, max_assignments: int) -> Flags:
        """The truth value of each assignment, by the number that its bits make, the first variable's bit highest."""
        size = len(self._variables)
        if 2**size > max_assignments:
            raise TooLarge(
                f"A formula of {size} variables has {2**size:.3g} assignments; the limit is {max_assignments:.3g}. "
                "Ask to_network() instead: variable elimination may find a cheaper way."
            )
        truth = np.ones((2,) * size, dtype=bool)
        for clause in self._clauses:
            own = {literal.name for literal in clause}
            shape = [2 if name in own else 1 for name in self._variables]
            truth &= _disjunction(clause, [name for name in self._variables if name in own]).reshape(shape)
        return truth.reshape(-1)

    def to_network(self, target: str = "formula") -> BayesianNetwork:
        """Fair coins for the variables, a node for each clause, and a chain of conjunctions that ends in `target`.

        The number of models is 2^n · P(target = True), for n variables.

        Parameters
        ----------
        target
            The name of the node that says whether the formula is true; the others are called `target.clause1`,
            `target.and1` and so on.

        Examples
        --------
        >>> formula = CNF([["q1", "~q2", "q3"], ["~q1", "q2", "~q3"]])
        >>> round(2**3 * formula.to_network().query("formula")[True], 9)
        6.0
        """
        coins = {name: Variable(name, (False, True)) for name in self._variables}
        cpds = [TableCPD(coin, [0.5, 0.5]) for coin in coins.values()]
        before: Variable | None = None
        for number, clause in enumerate(self._clauses, start=1):
            node = Variable(f"{target}.clause{number}", (False, True))
            cpds.append(_clause_cpd(node, clause, coins))
            if before is None:
                before = node
                continue
            both = Variable(f"{target}.and{number - 1}", (False, True))
            cpds.append(_function_cpd(both, (before, node), np.array([[False, False], [False, True]])))
            before = both
        end = Variable(target, (False, True))
        cpds.append(
            _function_cpd(end, (), np.array(True))
            if before is None
            else _function_cpd(end, (before,), np.array([False, True]))
        )
        if len({cpd.variable.name for cpd in cpds}) < len(cpds):
            raise InvalidModel(f"A variable has a name that starts with {target!r}; choose another target=.")
        return BayesianNetwork(cpds, notes=Notes(description=str(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CNF):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[frozenset[frozenset[Literal]], frozenset[str]]:
        return frozenset(map(frozenset, self._clauses)), frozenset(self._variables)

    def __str__(self) -> str:
        written = (" ∨ ".join(map(str, clause)) or "⊥" for clause in self._clauses)
        return " ∧ ".join(f"({clause})" for clause in written) or "⊤"

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"CNF({[[('' if lit.positive else '~') + lit.name for lit in clause] for clause in self._clauses]!r})"


def _literals(clause: Iterable[Literal | str]) -> Iterable[Literal | str]:
    if isinstance(clause, str):
        raise InvalidArgument(f"A clause is a collection of literals, such as [{clause!r}], not the text {clause!r}.")
    return clause


def _disjunction(clause: Iterable[Literal], names: Sequence[str]) -> Flags:
    """The truth table of a clause, with an axis (false, true) for each of `names`."""
    truth = np.zeros((2,) * len(names), dtype=bool)
    for literal in clause:
        np.moveaxis(truth, names.index(literal.name), 0)[int(literal.positive)] = True
    return truth


def _clause_cpd(node: Variable, clause: tuple[Literal, ...], coins: Mapping[str, Variable]) -> TableCPD:
    parents = tuple(coins[name] for name in dict.fromkeys(literal.name for literal in clause))
    check_size((*parents, node), f"The table of {node.name!r}")
    return _function_cpd(node, parents, _disjunction(clause, [parent.name for parent in parents]))


def _function_cpd(node: Variable, parents: tuple[Variable, ...], truth: Flags) -> TableCPD:
    """The table of a deterministic node that is true where `truth` says so."""
    return TableCPD(node, np.stack([~truth, truth], axis=-1).astype(np.float64), parents)
