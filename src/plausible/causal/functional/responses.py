"""Response variables: which function of its causes a variable follows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Frozen, Positions
from plausible.cpds import DeterministicCPD, TableCPD
from plausible.errors import InvalidArgument, InvalidVariable, TooLarge, counted
from plausible.factors.alignment import num_entries
from plausible.variables import State, Variable

#: The largest table (assignments to the parents × types) that a response variable may have.
MAX_ENTRIES = 2**20
#: The most joint response types that variables joined by latent causes may have: each is an unknown.
MAX_TYPES = 2**16


class Vocabulary(NamedTuple):
    """Names for the four functions of a binary cause to a binary effect, the second state of each being "yes".

    They come in the order in which functions are listed: the effect (without, with) the cause is (no, no), (no, yes),
    (yes, no), (yes, yes).

    >>> OUTCOME.with_outcome_reversed()
    Vocabulary(never='always well', follows='hurt', opposes='helped', always='never well')
    """

    never: State
    follows: State
    opposes: State
    always: State

    def with_outcome_reversed(self) -> Vocabulary:
        """The same names where the *first* state of the effect is "yes": an ulcer coded 1 is no success."""
        return Vocabulary(self.always, self.opposes, self.follows, self.never)

    def with_cause_reversed(self) -> Vocabulary:
        """The same names where the *first* state of the cause is "yes"."""
        return Vocabulary(self.never, self.opposes, self.follows, self.always)


#: How a patient takes a treatment, as a function of its assignment.
COMPLIANCE = Vocabulary("never taker", "complier", "defier", "always taker")
#: How a patient fares, as a function of the treatment taken.
OUTCOME = Vocabulary("never well", "helped", "hurt", "always well")
#: Whom a recruiter takes, as a function of the grade.
HIRING = Vocabulary("never hire", "rational", "underdog", "always hire")


def written_product(sizes: Iterable[int]) -> str:
    """A product of whole numbers in a message: in digits, or by its magnitude where these would be too many to read."""
    listed = list(sizes)
    if 0 in listed or (magnitude := sum(map(math.log10, listed))) < 9:
        return str(math.prod(listed))
    return f"about 10^{magnitude:.0f}"


def all_functions(num_states: int, num_rows: int) -> Positions:
    """Functions × rows: all functions from rows to states, in the order of numbers with a digit for each row."""
    digits = num_states ** np.arange(num_rows - 1, -1, -1)
    return np.asarray(np.arange(num_states**num_rows)[:, None] // digits % num_states, dtype=np.intp)


class ParameterCounts(NamedTuple):
    """Free parameters of a distribution over all functions, and of a table P(X | parents)."""

    responses: int
    table: int


class ResponseVariable(Frozen):
    """U^X, whose states are functions Val(Pa) -> Val(X): then X = U^X(Pa) (Balke & Pearl 1994).

    All k^m functions by default, with k states of X and m assignments to its parents; without parents U^X has the
    states of X itself. Listed in order: the last assignment's value changes fastest, and so does the last parent's
    state among the assignments.

    Parameters
    ----------
    types
        The functions that occur, each as the tuple of its values; all of them where left out. The way to rule out
        defiers, or to keep U^X small.
    names
        A name for each function, in order, such as `COMPLIANCE`; the tuples of values where left out.
    name
        The name of U^X; "U_X" where left out.

    Examples
    --------
    >>> grade, job = Variable("G", ["low", "high"]), Variable("J", ["no", "yes"])
    >>> hire = ResponseVariable(job, [grade], names=HIRING)
    >>> hire.noise
    Variable('U_J', ['never hire', 'rational', 'underdog', 'always hire'])
    >>> hire.value("rational", {"G": "high"})
    'yes'
    >>> hire.counts
    ParameterCounts(responses=3, table=2)
    >>> print(hire.conditional({"always hire": 0.5, "rational": 0.25, "never hire": 0.25}))
    G    | J=no | J=yes
    -----+------+------
    low  |  0.5 |   0.5
    high | 0.25 |  0.75
    """

    __slots__ = ("noise", "parents", "types", "variable")

    #: X.
    variable: Variable
    #: The endogenous parents of X.
    parents: tuple[Variable, ...]
    #: U^X.
    noise: Variable
    #: Types × assignments to the parents: the position of X's state; read-only.
    types: Positions

    def __init__(
        self,
        variable: Variable,
        parents: Variable | Iterable[Variable] = (),
        *,
        types: Iterable[Sequence[State]] | None = None,
        names: Sequence[State] | None = None,
        name: str | None = None,
    ) -> None:
        self.variable = variable
        self.parents = (parents,) if isinstance(parents, Variable) else tuple(parents)
        for known in (*self.parents, self.variable):
            if not isinstance(known, Variable) or known.is_continuous:
                raise InvalidArgument(f"A response variable needs Variable objects with states, not {known!r}.")
        self.types = self._all_types() if types is None else self._read_types(types)
        self.types.setflags(write=False)
        if names is None:
            values = ([variable.states[code] for code in given] for given in self.types.tolist())
            names = [tuple(given) if self.parents else given[0] for given in values]
        if len(names) != len(self.types):
            raise InvalidVariable(
                f"{variable.name!r} has {len(self.types)} response types, but {len(names)} names were given."
            )
        if isinstance(names, Vocabulary) and (variable.num_states, num_entries(self.parents)) != (2, 2):
            raise InvalidVariable(f"A vocabulary names types of a binary variable of a binary cause, not {names!r}.")
        self.noise = Variable(name or f"U_{variable.name}", names)

    def _all_types(self) -> Positions:
        states, rows = self.variable.num_states, num_entries(self.parents)
        # The number itself may be too large to write down, so the logarithm decides.
        if rows * np.log2(states) + np.log2(rows) > np.log2(MAX_ENTRIES):
            raise TooLarge(
                f"{self.variable.name!r} has {states}^{rows} response types: {states} states for each of {rows} "
                f"assignments to its {len(self.parents)} parents. Say in types= which ones occur, or write "
                f"{self.variable.name!r} as a function of smaller noise variables (see FunctionalModel, "
                'and functional_model(network, coupling="comonotone")).'
            )
        return all_functions(states, rows)

    def _read_types(self, types: Iterable[Sequence[State]]) -> Positions:
        rows = num_entries(self.parents)
        listed = [(given,) if not self.parents and not isinstance(given, tuple) else tuple(given) for given in types]
        for given in listed:
            if len(given) != rows:
                raise InvalidArgument(
                    f"The response type {given!r} of {self.variable.name!r} needs {rows} values, one for each "
                    "assignment to the parents."
                )
        if len(listed) * rows > MAX_ENTRIES:
            raise TooLarge(f"{len(listed)} response types of {self.variable.name!r} are too many for a table.")
        codes = [[self.variable.index(value) for value in given] for given in listed]
        return np.array(codes, dtype=np.intp).reshape(len(listed), rows)

    @property
    def cpd(self) -> DeterministicCPD:
        """X = U^X(Pa), as a CPD with the parents (Pa, U^X)."""
        record = {"positions": self.types.T.ravel().tolist()}
        return DeterministicCPD.from_record(self.variable, (*self.parents, self.noise), record)

    def value(self, response: State, parents: Mapping[str, State] | None = None) -> State:
        """The value of X that a type gives at an assignment to the parents."""
        given, row = dict(parents or {}), 0
        for parent in self.parents:
            if parent.name not in given:
                raise InvalidArgument(f"A value of {self.variable.name!r} needs the state of {parent.name!r} too.")
            row = row * parent.num_states + parent.index(given[parent.name])
        return self.variable.states[int(self.types[self.noise.index(response), row])]

    @property
    def counts(self) -> ParameterCounts:
        """k^m - 1 free parameters of all functions against m (k - 1) of a table P(X | Pa)."""
        states, rows = self.variable.num_states, num_entries(self.parents)
        return ParameterCounts(states**rows - 1, rows * (states - 1))

    def distribution(self, probabilities: Mapping[State, float] | Sequence[float]) -> TableCPD:
        """P(U^X) from a probability for each type, in order, or for those that occur, by name."""
        return TableCPD(self.noise, self._vector(probabilities))

    def conditional(self, probabilities: Mapping[State, float] | Sequence[float]) -> TableCPD:
        """P(x | pa) = Σ P(μ) over the functions μ that send pa to x."""
        weights = self._vector(probabilities)
        shape = [variable.num_states for variable in (*self.parents, self.variable)]
        return TableCPD(self.variable, (self.constraint_matrix() @ weights).reshape(shape), self.parents)

    def constraint_matrix(self) -> Floats:
        """A with A P(U^X) = P(x | pa): a row for each (pa, x), x changing fastest, and a column for each type."""
        states = np.arange(self.variable.num_states)
        matches = self.types.T[:, None, :] == states[None, :, None]
        return np.asarray(matches.reshape(-1, len(self.types)), dtype=np.float64)

    def _vector(self, probabilities: Mapping[State, float] | Sequence[float]) -> Floats:
        if not isinstance(probabilities, Mapping):
            listed = np.asarray(probabilities, dtype=np.float64)
            if listed.shape != (self.noise.num_states,):
                raise InvalidArgument(
                    f"{self.variable.name!r} has {self.noise.num_states} response types and needs a probability for "
                    f"each, in order; these have the shape {listed.shape}. By name, give those that occur: "
                    f"{{{self.noise.states[0]!r}: 1.0}}."
                )
            return listed
        vector = np.zeros(self.noise.num_states)
        for response, probability in probabilities.items():
            vector[self.noise.index(response)] = probability
        return vector

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResponseVariable):
            return NotImplemented
        same = (self.variable, self.parents, self.noise) == (other.variable, other.parents, other.noise)
        return same and np.array_equal(self.types, other.types)

    def __hash__(self) -> int:
        return hash((self.variable, self.parents, self.noise))

    def __repr__(self) -> str:
        given = ", ".join(parent.name for parent in self.parents)
        return (
            f"<ResponseVariable {self.noise.name}: "
            f"{counted(len(self.types), 'function')} {self.variable.name}({given})>"
        )
