"""Relational Markov networks: weighted formulas over predicates, for any constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from plausible.base.frozen import Frozen, FrozenMapping
from plausible.base.method_names import own_methods
from plausible.base.records import TextTable, html_of_print, json_number
from plausible.errors import (
    InvalidEvidence,
    InvalidModel,
    PlausibleWarning,
    UnknownVariable,
    counted,
    suggestion,
    warn_caller,
)
from plausible.models.markov_network import MarkovNetwork
from plausible.models.network_parts import variable_of, variable_record
from plausible.models.relations.formula_grounding import ground_formula
from plausible.models.relations.formula_typing import typed_sentence
from plausible.models.relations.formulas import Formula
from plausible.models.relations.ground_features import GroundFeatures, ground_features
from plausible.models.relations.vocabulary import Predicate, Universe, read_predicates
from plausible.models.relations.worlds import WorldLike, read_world


class AlwaysCertain(PlausibleWarning):
    """A formula is true, or false, in every world: its weight changes nothing."""


@own_methods
class RelationalMarkovNetwork(Frozen):
    """Weighted formulas over predicates: P(world) ∝ exp Σ w_i n_i(world), n_i the true groundings of formula i.

    A template: put on constants it is an ordinary Markov network of ground atoms, in which all groundings of a formula
    share its weight (Taskar, Abbeel & Koller 2002; Richardson & Domingos 2006).

    Parameters
    ----------
    formulas
        `Formula`s, or their texts.
    predicates
        Name -> the types of its arguments, for what is true or false; or (types, states), for functions.

    Examples
    --------
    >>> model = RelationalMarkovNetwork(
    ...     [Formula("Smokes(x) & Friends(x, y) => Smokes(y)", weight=1.5), Formula("Smokes(x)", weight=-1.0)],
    ...     predicates={"Smokes": ["person"], "Friends": ["person", "person"]},
    ... )
    >>> people = {"person": ["anna", "bob"]}
    >>> net = model.ground(people, evidence={"Friends": [("anna", "bob")]}, closed=["Friends"])
    >>> net.graph
    UndirectedGraph('Smokes(anna) - Smokes(bob)')
    >>> round(net.query("Smokes(bob)", evidence={"Smokes(anna)": True})[True], 4)
    0.6225
    """

    __slots__ = ("formulas", "predicates")

    #: What files call this kind of model.
    kind: ClassVar[str] = "relational-markov-network"

    formulas: tuple[Formula, ...]
    predicates: Mapping[str, Predicate]
    _repr_html_ = html_of_print

    def __init__(self, formulas: Iterable[Formula | str], predicates: Mapping[str, Any]) -> None:
        given = [formulas] if isinstance(formulas, Formula | str) else list(formulas)
        self.formulas = tuple(one if isinstance(one, Formula) else Formula(one) for one in given)
        self.predicates = read_predicates(predicates)
        if not self.formulas:
            raise InvalidModel("There are no formulas: a relational Markov network has at least one.")
        names = [formula.name for formula in self.formulas]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidModel(f"Two formulas are called {twice[0]!r}: give one of them another name=.")
        for formula in self.formulas:
            typed_sentence(formula.sentence, self.predicates)

    @property
    def weights(self) -> Mapping[str, float]:
        """Name of a formula -> its weight."""
        return FrozenMapping({formula.name: formula.weight for formula in self.formulas})

    def with_weights(self, weights: Mapping[str, float]) -> RelationalMarkovNetwork:
        """The same formulas, some with other weights."""
        for name in weights:
            if name not in self.weights:
                raise UnknownVariable(f"{name!r} is no formula here.{suggestion(name, self.weights)}")
        changed = [one.with_weight(weights[one.name]) if one.name in weights else one for one in self.formulas]
        return RelationalMarkovNetwork(changed, self.predicates)

    def ground(
        self,
        constants: Mapping[str, Sequence[Any]],
        evidence: WorldLike | None = None,
        closed: Iterable[str] = (),
    ) -> MarkovNetwork:
        """The Markov network of all ground atoms that are not known, called as they are written: "Friends(anna, bob)".

        What is known is put in first, for all groundings at once, and groundings that it makes certain are left out: of
        a million with ten thousand known friends only those count that speak of friends.

        Parameters
        ----------
        constants
            Type -> its constants.
        evidence
            What is known: ground atoms with their states, {"Smokes(anna)": True}, or predicates with a frame that has a
            column for each argument, in order, and one for the state, which may be left out where all rows are true;
            lists of constants and {constants: state} will do, too.
        closed
            Predicates whose atoms are false where the evidence does not tell them; those whose state is told to be
            missing, None or NaN, stay unknown.
        """
        return self.features(constants, evidence, closed).network()

    def features(
        self,
        constants: Mapping[str, Sequence[Any]],
        evidence: WorldLike | None = None,
        closed: Iterable[str] = (),
    ) -> GroundFeatures:
        """The groundings that are left where some atoms are known, as tables that share weights; see `ground`.

        >>> model = RelationalMarkovNetwork(["Famous(p) & StudentOf(s, p) => Successful(s)"], {
        ...     "Famous": ["professor"], "StudentOf": ["student", "professor"], "Successful": ["student"]})
        >>> model.features({"student": ["s1", "s2", "s3"], "professor": ["p1", "p2", "p3"]}).num_factors
        9
        """
        universe = Universe.of(self.predicates, constants)
        made = ground_features(self.formulas, universe, read_world(universe, evidence, closed))
        if evidence is None and not tuple(closed):
            warn_of_certain(made)
        return made

    def count(
        self, constants: Mapping[str, Sequence[Any]], world: WorldLike, closed: Iterable[str] = ()
    ) -> Mapping[str, int]:
        """How many groundings of each formula are true in a world, which tells all atoms or is closed: n_i.

        >>> model = RelationalMarkovNetwork(["Smokes(x) & Friends(x, y) => Smokes(y)"], {
        ...     "Smokes": ["person"], "Friends": ["person", "person"]})
        >>> world = {"Smokes": ["anna"], "Friends": [("anna", "bob"), ("bob", "anna")]}
        >>> dict(model.count({"person": ["anna", "bob"]}, world, closed=["Smokes", "Friends"]))
        {'Smokes(x) & Friends(x, y) => Smokes(y)': 3}
        """
        universe = Universe.of(self.predicates, constants)
        known = read_world(universe, world, closed)
        refuse_unknown(universe, known)
        return FrozenMapping({one.name: ground_formula(one, universe, known).num_true for one in self.formulas})

    def to_record(self) -> dict[str, Any]:
        """Predicates and formulas, as files have them; infinite weights are "inf" and "-inf"."""
        return {
            "predicates": [
                {**variable_record(one.variable), "types": list(one.types)} for one in self.predicates.values()
            ],
            "formulas": [
                {"name": one.name, "text": one.text, "weight": json_number(one.weight)} for one in self.formulas
            ],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RelationalMarkovNetwork:
        """The inverse of `to_record`."""
        predicates = {one["name"]: (one["types"], variable_of(one).states) for one in record["predicates"]}
        formulas = [Formula(one["text"], float(one["weight"]), one["name"]) for one in record["formulas"]]
        return cls(formulas, predicates)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RelationalMarkovNetwork):
            return NotImplemented
        return (self.formulas, self.predicates) == (other.formulas, other.predicates)

    def __hash__(self) -> int:
        return hash((self.formulas, self.predicates))

    def __str__(self) -> str:
        rows = tuple((formula.name, f"{formula.weight:.4g}") for formula in self.formulas)
        return (
            f"{'; '.join(one.text for one in self.predicates.values())}\n\n{TextTable(('formula', 'weight'), rows, 1)}"
        )

    def __repr__(self) -> str:
        told = f"{counted(len(self.formulas), 'formula')}, {counted(len(self.predicates), 'predicate')}"
        return f"<RelationalMarkovNetwork: {told}>"


def warn_of_certain(features: GroundFeatures) -> None:
    """Warn of formulas that are certain though no atom is known."""
    for one in features.counts:
        if not one.open and one.groundings in (one.true, one.false):
            what = "true" if one.true else "false"
            warn_caller(
                f"The formula {one.formula} is {what} in every world: its weight changes nothing.", AlwaysCertain
            )


def refuse_unknown(universe: Universe, known: Mapping[str, Any], names: Iterable[str] | None = None) -> None:
    """Refuse atoms that nothing tells, of some predicates."""
    for name in universe.predicates if names is None else names:
        missing = np.flatnonzero(known[name].ravel() < 0)
        if missing.size:
            atom = universe.names(missing[:1] + universe.starts[name])[0]
            can_close = (
                f"name {name!r} in closed= if such are false, or " if universe.predicates[name].is_boolean else ""
            )
            raise InvalidEvidence(
                f"The world does not tell {atom}{f' and {missing.size - 1:,} more of {name}' * (missing.size > 1)}: "
                f"{can_close}give all of them."
            )
