"""Rules: a probability for each of some contexts, which may speak of the child as well."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from plausible.base import PROBABILITY_NOISE, Floats, FrozenMapping, Positions, format_number, html_of_print
from plausible.cpds.contexts import Box, ContextCPD, Nodes, box_text, leaf_box, partition
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    check_discrete,
    name_of,
    normalized_rows,
    probability,
    read_child,
    read_parents,
    record_field,
    record_list,
    state_index,
    states_at,
)
from plausible.cpds.tree import TreeCPD
from plausible.errors import InvalidCPD, UnknownVariable
from plausible.factors.alignment import Scope
from plausible.variables import State, Variable


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule ⟨context; p⟩: P(x | u) = p wherever the context holds.

    Parameters
    ----------
    context
        Name -> a state, or a collection of states ("one of these"), for parents and the child; without the child, p
        applies to all its states. Stored as a read-only copy, with lists as tuples and sets as frozensets.
    probability
        p.

    Examples
    --------
    >>> Rule({"rain": "yes", "wet": ["damp", "wet"]}, 0.45)
    Rule({'rain': 'yes', 'wet': ('damp', 'wet')}, 0.45)
    """

    context: Mapping[str, Any]
    probability: float

    def __post_init__(self) -> None:
        if not isinstance(self.context, Mapping):
            raise InvalidCPD(f"The context of a rule is a mapping from names to states, not {self.context!r}.")
        number = probability(self.probability, f"The rule {dict(self.context)!r}")
        context = {name: _read_only(value) for name, value in self.context.items()}
        object.__setattr__(self, "context", FrozenMapping(context))
        object.__setattr__(self, "probability", number)

    def __repr__(self) -> str:
        return f"Rule({dict(self.context)!r}, {self.probability!r})"

    def __str__(self) -> str:
        texts = {n: "|".join(map(str, value)) if _is_several(value) else value for n, value in self.context.items()}
        inside = ", ".join(f"{name}={text}" for name, text in texts.items())
        return f"{inside or 'always'}: {format_number(self.probability)}"

    _repr_html_ = html_of_print


class RuleCPD(ContextCPD):
    """P(X | U) as rules; exactly one applies to each assignment of X and U (Poole & Zhang 2003).

    Rules can express more than a tree: different states of X may depend on different parents.

    Parameters
    ----------
    rules
        `Rule` objects, or pairs `(context, probability)`. They must be mutually exclusive, cover every case, and sum to
        one over the child's states for each assignment of the parents.
    states
        The child's states; required if `variable` is a name.

    Examples
    --------
    >>> both = RuleCPD("X", parents=[Variable("Z", 2), Variable("Y", 2)], states=[0, 1], rules=[
    ...     Rule({"Z": 0, "X": 0}, 1.0), Rule({"Z": 0, "X": 1}, 0.0),
    ...     Rule({"Z": 1, "Y": 0, "X": 0}, 1.0), Rule({"Z": 1, "Y": 0, "X": 1}, 0.0),
    ...     Rule({"Z": 1, "Y": 1, "X": 0}, 0.0), Rule({"Z": 1, "Y": 1, "X": 1}, 1.0)])
    >>> both.ignores("Y", {"Z": 0}), both.ignores("Y", {"Z": 1})
    (True, False)
    """

    __slots__ = ("_boxes", "_given", "_members", "_nodes", "_probabilities")

    kind: ClassVar[str] = "rules"
    _given: tuple[Rule, ...] | None
    #: The contexts, over the axes of the scope.
    _boxes: tuple[Box, ...]
    _probabilities: Floats
    #: The tree of contexts.
    _nodes: Nodes
    #: Leaf of the tree of contexts, state of the child -> the rule that holds.
    _members: Positions

    def __init__(
        self,
        variable: VariableLike,
        rules: Iterable[Rule | tuple[Mapping[str, Any], float]],
        parents: VariableLike | Iterable[VariableLike],
        states: Iterable[State] | int | None = None,
    ) -> None:
        self.parent_names, self._known_parents = read_parents(name_of(variable), parents)
        self.variable = read_child(variable, states)
        names = dict.fromkeys((*self.parent_names, self.variable.name))
        if not isinstance(rules, Iterable):
            raise InvalidCPD(f"The CPD of {self.variable.name!r} needs rules=[Rule(...), ...], not {rules!r}.")
        self._given = tuple(self._rule(rule, names) for rule in rules)
        self._settle()

    @classmethod
    def from_tree(cls, tree: TreeCPD) -> RuleCPD:
        """A rule for each leaf and each state of the child."""
        rules = [
            Rule({**{name: frozenset(s) for name, s in context.states.items()}, tree.variable.name: state}, number)
            for context in tree.contexts()
            for state, number in zip(tree.variable.states, context.probabilities, strict=True)
        ]
        return cls(tree.variable, rules, tree.parents)

    def to_tree(self) -> TreeCPD:
        """The tree of the contexts that the rules make; it may have many more leaves than there are rules."""
        return TreeCPD._of(self.variable, self.parents, self._nodes, self._rows)

    def _rule(self, rule: Any, names: Mapping[str, None]) -> Rule:
        """A rule with its names and its probability checked."""
        try:
            context, number = (rule.context, rule.probability) if isinstance(rule, Rule) else rule
        except (TypeError, ValueError):
            raise InvalidCPD(f"A rule of {self.variable.name!r} is Rule(context, probability), not {rule!r}.") from None
        if not isinstance(context, Mapping):
            raise InvalidCPD(f"The context of a rule of {self.variable.name!r} is a mapping, not {context!r}.")
        for name in context:
            if name not in names:
                raise UnknownVariable.named(name, names, f"the CPD of {self.variable.name!r}")
        what = f"The rule {dict(context)!r} of {self.variable.name!r}"
        if self.variable.name in context:
            _positions(self.variable, context[self.variable.name], what)
        return Rule(context, probability(number, what))

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "A rule CPD")
        if not self.is_bound or self._given is None:
            return
        self._boxes = tuple(_box(self.scope, rule.context) for rule in self._given)
        self._probabilities = np.array([rule.probability for rule in self._given])
        parts = partition(self.scope, self._boxes)
        self._nodes, self._members = parts.nodes, np.array(parts.members, dtype=np.intp)
        self._given = None
        exact = normalized_rows(
            self.variable, self._rows, lambda row: box_text(self.parents, leaf_box(self._nodes, row[0]))
        )
        self._rescale(exact)
        for array in (self._probabilities, self._members):
            array.setflags(write=False)

    def _rescale(self, exact: Floats) -> None:
        """Take over the rows that sum to one; a rule stands in several, which must ask for the same number."""
        low, high = np.full(len(self._boxes), np.inf), np.full(len(self._boxes), -np.inf)
        np.minimum.at(low, self._members, exact)
        np.maximum.at(high, self._members, exact)
        if np.any(high - low > PROBABILITY_NOISE):
            rule = int(np.argmax(high - low))
            case = box_text(self.scope, self._boxes[rule]) or "all cases"
            raise InvalidCPD(
                f"The rule for {case} of {self.variable.name!r} stands in rows whose sums miss one differently: "
                f"it would have to be {low[rule]:.6g} and {high[rule]:.6g}."
            )
        self._probabilities = low

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, by name; every context value is a tuple of states."""
        if self._given is not None:
            return self._given
        scope = self.scope
        return tuple(
            Rule({scope[axis].name: states_at(scope[axis], sorted(box[axis])) for axis in sorted(box)}, number)
            for box, number in zip(self._boxes, self._probabilities.tolist(), strict=True)
        )

    @property
    def _rows(self) -> Floats:
        self._require_bound()
        return self._probabilities[self._members]

    @property
    def num_parameters(self) -> int:
        """The number of rules less the rank of the constraints "each row sums to one"."""
        self._require_bound()
        constraints = np.zeros((len(self._members), len(self._boxes)))
        np.add.at(constraints, (np.arange(len(self._members))[:, None], self._members), 1.0)
        return len(self._boxes) - int(np.linalg.matrix_rank(np.unique(constraints, axis=0)))

    def _pieces(self) -> tuple[tuple[Box, ...], list[float]]:
        return self._boxes, self._probabilities.tolist()

    def to_record(self) -> dict[str, Any]:
        """For each rule its context, as pairs of axis (the child's is the last) and positions, and its probability."""
        self._require_bound()
        return {
            "rules": [
                {"context": [[axis, sorted(box[axis])] for axis in sorted(box)], "probability": number}
                for box, number in zip(self._boxes, self._probabilities.tolist(), strict=True)
            ]
        }

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        scope = (*parents, variable)
        rules = []
        for rule in record_list(variable, record, "rules"):
            context = {}
            for axis, positions in record_list(variable, rule, "context", 2):
                if not isinstance(axis, int) or not 0 <= axis < len(scope):
                    raise InvalidCPD(f"A rule of {variable.name!r} speaks of axis {axis!r}; there are {len(scope)}.")
                context[scope[axis].name] = frozenset(states_at(scope[axis], positions))
            rules.append(Rule(context, record_field(variable, rule, "probability")))
        return cls(variable, rules, parents)

    def _content(self) -> object:
        return self.to_record() if self.is_bound else self._given

    def _shown(self) -> TextLines:
        return TextLines(f"P({self._scope_text()})", [str(rule) for rule in self.rules], "rules")


def _box(scope: Scope, context: Mapping[str, Any]) -> Box:
    """A context by position; an axis of which all positions are allowed is left out."""
    what = f"The rule {dict(context)!r} of {scope[-1].name!r}"
    box = {}
    for axis, variable in enumerate(scope):
        if variable.name in context:
            positions = _positions(variable, context[variable.name], what)
            if len(positions) < variable.num_states:
                box[axis] = positions
    return box


def _positions(variable: Variable, value: Any, what: str) -> frozenset[int]:
    """The positions of a state or of several; `what` names the rule in errors."""
    several = _is_several(value) and not variable.has_state(value)
    positions = frozenset(state_index(variable, state, what) for state in (value if several else (value,)))
    if not positions:
        raise InvalidCPD(f"{what} allows no state of {variable.name!r}.")
    return positions


def _is_several(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes))


def _read_only(value: Any) -> Any:
    """A state as it is; several states as a tuple or a frozen set, which the caller can't change."""
    if not _is_several(value) or isinstance(value, Hashable):
        return value
    return frozenset(value) if isinstance(value, Set) else tuple(value)
