"""Probabilistic relational models: distributions that all objects of a class share, over tables with keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.frozen import Frozen
from plausible.base.hints import RELATIONAL_HINTS, Hinted
from plausible.base.method_names import keyword_hints, own_methods
from plausible.base.options import Seed, generator_of
from plausible.base.query_info import QueryInfo
from plausible.base.records import TextTable
from plausible.cpds import CPD, KINDS
from plausible.errors import InvalidModel, NotSupported, UnknownVariable, counted
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.choice import EngineChoice
from plausible.inference.plan import Plan
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.network_parts import contradicted, read_cpds, variable_of, variable_record
from plausible.models.notes import Notes
from plausible.models.question import read_names
from plausible.models.relations.collective import Collective
from plausible.models.relations.drawing import draw_attributes
from plausible.models.relations.families import (
    Dependency,
    Family,
    by_attribute,
    dependencies,
    open_cycle,
    read_families,
    refuse_reference_cycles,
)
from plausible.models.relations.grounding import GroundFamily, Grounding, observed_evidence
from plausible.models.relations.instance import Instance
from plausible.models.relations.references import ReferenceCPD
from plausible.models.relations.requisite import requisite
from plausible.models.relations.schema import Schema
from plausible.models.relations.term_values import term_values
from plausible.models.relations.terms import inherited
from plausible.models.shown_parts import title_of
from plausible.variables import Assignment, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of, read_findings, settings_of

if TYPE_CHECKING:
    import pandas as pd

TablesLike = Mapping[str, Any] | Instance
#: Of a question that touches more attributes of objects no network is made: all are inferred together, as arrays.
_MANY = 2000


@own_methods
class RelationalModel(Frozen, Hinted):
    """A probabilistic relational model: what attributes of objects depend on, over references between tables.

    P(all attributes | objects and references) is a product over attributes and objects; all objects of a class share
    the distribution of an attribute. On given tables it stands for an ordinary Bayesian network, which has a variable
    "student[anna].grade" for each attribute of each object.

    Parameters
    ----------
    schema
        The classes, their attributes and references.
    cpds
        Distributions of attributes, named "class.attribute", of any kind. Parents are told from the same object:
        "registration.course.difficulty" follows a slot; "mean(student.registration.grade)" makes one value of many, by
        `mode`, `median`, `mean`, `max`, `min`, `count` or `exists`. `count(student.registration.grade = A, cap=3)`
        counts up to "3 or more". `empty=none` in it is the value where a chain leads nowhere, which may be a new state;
        `value(person.mother.genotype, empty=none)` does that for one object. Means of states are rounded to the
        nearest, medians of an even number are the lower one: `ties=upper` takes the other.

        Where an attribute has several distributions, an object takes the first whose parents it has; one without
        parents is for those that have none of the others. Those of a subclass, whose slot "id" refers to the class,
        come before those of the class. Attributes without distribution are given by the tables; those that the schema
        lacks are hidden ones.

    Examples
    --------
    >>> import plausible as pb
    >>> tables = {
    ...     "student": {"id": ["anna", "bob"]},
    ...     "registration": {"id": [1, 2, 3], "student": ["anna", "anna", "bob"], "grade": ["A", "A", "B"]},
    ... }
    >>> schema = pb.Schema(tables, keys={"registration.student": "student"})
    >>> model = pb.RelationalModel(schema, [
    ...     pb.TableCPD("student.intelligence", [0.6, 0.4], states=["low", "high"]),
    ...     pb.TableCPD("registration.grade", [[0.3, 0.7], [0.8, 0.2]],
    ...                 parents=["registration.student.intelligence"], states=["A", "B"]),
    ... ])
    >>> print(model.query("student[anna].intelligence", tables=tables))
    student[anna].intelligence | value
    ---------------------------+---------
    low                        | 0.174194
    high                       | 0.825806
    """

    __slots__ = ("_cpds", "_families", "_last", "notes", "schema")

    kind: ClassVar[str] = "relational-model"
    _hints = RELATIONAL_HINTS
    _place = "this relational model"

    #: The schema, with the variables of all distributions.
    schema: Schema

    def __init__(self, schema: Schema, cpds: CPD | Iterable[CPD], *, notes: Notes | None = None) -> None:
        if not isinstance(schema, Schema):
            raise InvalidModel(f"A relational model begins with a Schema(student=students, ...), not {schema!r}.")
        self.schema, self._families, self._cpds = read_families(schema, read_cpds((cpds,)))
        refuse_reference_cycles(self.schema, self._families)
        self.notes = notes or Notes()
        self._last: Grounding | None = None

    # --- what is there ---

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The distributions; where an attribute has several, in the order in which objects take them."""
        return self._cpds

    @property
    def families(self) -> tuple[Family, ...]:
        """The attribute and the parents of each distribution, as chains."""
        return self._families

    @property
    def variables(self) -> Mapping[str, Variable]:
        """ "class.attribute" -> its variable."""
        return self.schema.variables

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that have a distribution, and the references that do."""
        return tuple(by_attribute(self._families))

    @property
    def num_parameters(self) -> int:
        """The number of independent parameters, each counted once however many objects share it."""
        return sum(cpd.num_parameters for cpd in self._cpds)

    @property
    def dependencies(self) -> tuple[Dependency, ...]:
        """Which attributes depend on which, by class."""
        return tuple(dependencies(self.schema, self._families))

    @property
    def is_stratified(self) -> bool:
        """Whether no tables can make objects depend on themselves in a circle; where not, each instance is checked.

        Cycles among classes are harmless over slots of `Schema(acyclic=...)`.
        """
        return not open_cycle(self.dependencies)

    def cpd(self, name: str) -> CPD:
        """The distribution of an attribute, "class.attribute"; where it has several, the first one."""
        found = [cpd for cpd in self._cpds if cpd.variable.name == name]
        if not found:
            raise UnknownVariable.named(name, (cpd.variable.name for cpd in self._cpds), self._place)
        return found[0]

    def with_cpd(self, cpd: CPD) -> RelationalModel:
        """A model with this distribution in place of that of its attribute with the same parents, or added."""
        key = cpd.variable.name, cpd.parent_names
        kept = [one for one in self._cpds if (one.variable.name, one.parent_names) != key]
        return RelationalModel(self.schema, [*kept, cpd], notes=self.notes)

    def without_cpd(self, name: str, parents: Iterable[str] | None = None) -> RelationalModel:
        """A model without the distributions of an attribute, or without the one that has these parents."""
        self.cpd(name)
        given = None if parents is None else tuple(parents)
        kept = [one for one in self._cpds if one.variable.name != name or given not in (None, one.parent_names)]
        return RelationalModel(self.schema, kept, notes=self.notes)

    # --- the network that it stands for ---

    def read(self, tables: TablesLike) -> Instance:
        """The tables by the model's schema, checked: what all questions take in place of tables, to read them once."""
        return Instance.read(self.schema, tables)

    def ground(self, tables: TablesLike) -> BayesianNetwork:
        """The Bayesian network of all attributes of all objects, given the objects and references of some tables.

        What the tables have of attributes with a distribution is no part of it: see `evidence`. Attributes without one
        stand in it with the value that they have. Aggregates are variables of their own, which inference takes in small
        steps, however many objects they are of. O(objects). The cells that a `ReferenceCPD` picks from are those of the
        tables, whose partition attributes must be known.

        >>> import plausible as pb
        >>> schema = pb.Schema(coin={"id": ["dime", "cent"]})
        >>> model = pb.RelationalModel(schema, [pb.TableCPD("coin.side", [0.5, 0.5], states=["heads", "tails"])])
        >>> list(model.ground({"coin": {"id": ["dime", "cent"]}}).variables)
        ['coin[dime].side', 'coin[cent].side']
        """
        grounding = self._grounding(tables)
        grounding.refuse_cycles()
        cpds = grounding.cpds(range(grounding.num_nodes), self._on(grounding))
        return BayesianNetwork(cpds, notes=self.notes)

    def evidence(self, tables: TablesLike) -> dict[str, Any]:
        """What the tables tell of attributes with a distribution, as evidence of the ground network."""
        grounding = self._grounding(tables)
        return dict(observed_evidence(grounding, range(grounding.num_nodes)))

    # --- questions ---

    @keyword_hints
    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        tables: TablesLike,
        engine: EngineChoice = "auto",
        budget: Budget | None = None,
    ) -> Factor:
        """P(targets | tables, evidence, do): what is known of attributes of objects, such as "student[anna].grade".

        Only the part of the ground network is made that the answer can depend on. It is exact where that is cheap
        enough; else estimates with their errors, as `info` says. Where thousands of attributes have a say, the answer
        about one of them is that of `predict_proba`.

        Parameters
        ----------
        targets
            Attributes of objects.
        evidence
            Findings besides those of the tables.
        do
            Attributes of objects that are set from outside.
        tables
            The objects, their references, and what is known of attributes.
        """
        if engine == "auto" and not do and isinstance(targets, str):
            together = self._together(targets, findings_of(evidence), tables, budget)
            if together is not None:
                return together
        part, findings = self._part(targets, evidence, do, tables)
        return part.query(targets, findings, engine=engine, budget=budget)

    def _together(
        self, target: str, findings: Mapping[str, Any], tables: TablesLike, budget: Budget | None
    ) -> Factor | None:
        """The answer about one of very many objects that hang together, as `predict_proba` has it; else none."""
        grounding = self._grounding(tables)
        node = grounding.node(target)
        if grounding.has_open_references or len(requisite(grounding, [node], (), (), ()).nodes) <= _MANY:
            return None
        self._on(grounding)  # refuses cells of uncertain size, as any other question about single objects does
        nodes = {name: grounding.node(name) for name in findings}
        _refuse_contradictions(grounding, nodes, findings)
        found, beliefs = read_findings(
            findings, {name: grounding.variable(nodes[name]) for name in findings}, self._place
        )
        is_plain = not (found.soft or found.values or beliefs)
        if not is_plain or any(v.is_continuous for cpd in self._cpds for v in cpd.scope):
            return None
        columns = {name: np.array(grounding.instance.column(name)) for name in grounding.attributes}
        for name, state in found.hard.items():
            attribute, place = grounding.attribute_of(nodes[name])
            columns[attribute][place] = state
        known = Grounding(self.schema, self._families, grounding.instance.with_columns(columns))
        attribute, place = grounding.attribute_of(node)
        rows, info = Collective(known, self._cpds).beliefs(attribute, "auto", budget)
        return Factor((grounding.variable(node),), rows[place]).with_info(info)

    def marginals(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        tables: TablesLike,
        engine: EngineChoice = "auto",
        budget: Budget | None = None,
    ) -> dict[str, Factor]:
        """P(X | tables, evidence, do) of each of some attributes of objects; see `predict_proba` for all of a class."""
        part, findings = self._part(targets, evidence, do, tables)
        return part.marginals(findings, targets=targets, engine=engine, budget=budget)

    def explain(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        tables: TablesLike,
        budget: Budget | None = None,
    ) -> Plan:
        """Show how `query` would be answered, and what it would cost, without answering it."""
        part, findings = self._part(targets, evidence, do, tables)
        return part.explain(targets, findings, budget=budget)

    def mpe(
        self,
        evidence: EvidenceLike | None = None,
        *,
        tables: TablesLike,
        engine: Any = None,
        budget: Budget | None = None,
    ) -> Assignment:
        """The most probable values of all attributes of all objects given the tables, with their `.log_probability`."""
        instance = self.read(tables)  # once
        network, grounding, given = self.ground(instance), self._grounding(instance), findings_of(evidence)
        _refuse_contradictions(grounding, {name: grounding.node(name) for name in given}, given)
        best = network.mpe({**self.evidence(instance), **given}, engine=engine, budget=budget)
        names = [grounding.name(node) for node in range(grounding.num_nodes)]
        return Assignment({name: best[name] for name in names}, log_probability=best.log_probability, info=best.info)

    def _part(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None,
        do: Mapping[str, State] | None,
        tables: TablesLike,
    ) -> tuple[BayesianNetwork, dict[str, Any]]:
        """The network that a question touches, and what is known of it."""
        grounding = self._grounding(tables)
        names = [targets] if isinstance(targets, str) else list(targets)
        given, settings = dict(findings_of(evidence)), dict(settings_of(do))
        nodes = {name: grounding.node(name) for name in (*names, *given, *settings)}
        read_names(names, nodes, self._place)
        _refuse_contradictions(grounding, nodes, given)
        found, beliefs = read_findings(given, {name: grounding.variable(nodes[name]) for name in given}, self._place)
        for name, value in settings.items():
            if name in found.hard and given[name] != value:
                raise contradicted(name, given[name], value)
        weighed = {nodes[name] for name in (*found.soft, *beliefs)}
        observed = {nodes[name] for name in (*found.hard, *found.values)}
        cut = {nodes[name] for name in settings}
        self._refuse_cells(settings, grounding)
        fixed = grounding.is_known.copy()
        fixed[list(cut)] = False
        part = requisite(grounding, [nodes[name] for name in names], observed, weighed, cut)
        network = BayesianNetwork(
            grounding.cpds(part.nodes, self._on(grounding), fixed),
            inputs=[grounding.variable(node) for node in part.inputs],
            notes=self.notes,
        )
        findings = dict(observed_evidence(grounding, (*part.nodes, *part.inputs)))
        return network, {
            **findings,
            **{name: value for name, value in given.items() if name in network},
            **{name: value for name, value in settings.items() if name in network},
        }

    # --- all objects at once ---

    def predict_proba(
        self, tables: TablesLike, target: str, *, engine: EngineChoice = "auto", budget: Budget | None = None
    ) -> pd.DataFrame:
        """P(attribute | tables) of every object of a class: a row for each, by its id, and a column for each state.

        All that the tables lack is inferred together. The answer is exact where what is unknown hangs together without
        cycles, or in a clique tree within the budget; else it is that of loopy belief propagation. The frame's
        `attrs["info"]` says which. It is no exact one either where references are chosen by attributes that are not
        known of all objects: cells then have the size that the known ones make expect.

        Parameters
        ----------
        target
            "class.attribute".
        """
        import pandas as pd

        grounding = self._grounding(tables)
        grounding.refuse_cycles()
        owner, _ = self.schema.split(target)
        self._check_own(target)
        if grounding.has_open_references:
            beliefs, info = self._one_by_one(grounding, target, engine, budget)
        else:
            beliefs, info = Collective(grounding, self._cpds).beliefs(target, engine, budget)
        states = list(grounding.class_variable(target).states)
        frame = pd.DataFrame(beliefs, columns=states, index=grounding.instance.ids[owner])
        frame.attrs["info"] = info
        return frame

    def predict(
        self, tables: TablesLike, target: str, *, engine: EngineChoice = "auto", budget: Budget | None = None
    ) -> pd.Series[Any]:
        """The most probable state of an attribute of every object of a class, by its id."""
        import pandas as pd

        beliefs = self.predict_proba(tables, target, engine=engine, budget=budget)
        states = np.array([*beliefs.columns, None], dtype=object)[:-1]
        best = states[beliefs.to_numpy().argmax(axis=1)]
        return pd.Series(best, index=beliefs.index, name=target.partition(".")[2]).infer_objects()

    def log_likelihood(
        self, tables: TablesLike, *, engine: EngineChoice = "auto", budget: Budget | None = None
    ) -> float:
        """log P(what the tables tell | their objects and references); a log-density where there are numbers.

        Complete tables take a pass over their rows. Where values are missing they are summed out: exactly if that can
        be done, as for `predict_proba`; the number is then an `Estimate` with its `info`.
        """
        grounding = self._grounding(tables)
        grounding.refuse_cycles()
        if grounding.is_known.all():
            return math.fsum(
                float(_log_probabilities(grounding, ground, cpd).sum())
                for ground, cpd in zip(grounding.families, self._on(grounding), strict=True)
                if len(ground.rows)
            )
        if grounding.has_open_references:
            network = self.ground(grounding.instance)
            return network.log_probability(self.evidence(grounding.instance), engine=engine, budget=budget)
        return Collective(grounding, self._cpds).log_likelihood(engine, budget)

    def sample(self, tables: TablesLike, seed: Seed = None) -> dict[str, pd.DataFrame]:
        """Draw all attributes with a distribution anew, for the objects and references of some tables: tables again.

        References with a distribution are drawn, too.
        """
        grounding = self._grounding(tables)
        return draw_attributes(grounding, self._cpds, self.dependencies, generator_of(seed)).to_frames()

    # --- inside ---

    def _grounding(self, tables: TablesLike) -> Grounding:
        """The model on tables; that on the last instance is kept, as an instance never changes."""
        instance, kept = self.read(tables), self._last
        if kept is None or kept.instance is not instance:
            kept = self._last = Grounding(self.schema, self._families, instance)
        return kept  # not `_last`, which other threads may have set since

    def _check_own(self, target: str) -> None:
        """Refuse what has no distribution."""
        if target not in self.attributes:
            if own := inherited(target, self.schema):
                raise UnknownVariable(f"{target!r} is {own!r} of objects that are both: ask for {own!r}.")
            raise UnknownVariable.named(target, self.attributes, "the attributes with a distribution in this model")

    def _on(self, grounding: Grounding) -> list[CPD]:
        """The distributions, those of references over the objects that there are."""
        return [
            cpd.on(grounding.instance) if isinstance(cpd, ReferenceCPD) and len(ground.rows) else cpd
            for cpd, ground in zip(self._cpds, grounding.families, strict=True)
        ]

    def _one_by_one(
        self, grounding: Grounding, target: str, engine: EngineChoice, budget: Budget | None
    ) -> tuple[Floats, QueryInfo]:
        """P(target | tables) of each object by the ground network, which takes references that are not known."""
        network, start = self.ground(grounding.instance), grounding.starts[target]
        names = [grounding.name(start + place) for place in range(len(grounding.instance.column(target)))]
        found = network.marginals(self.evidence(grounding.instance), targets=names, engine=engine, budget=budget)
        info = next(factor.info for factor in found.values())
        return np.array([found[name].values for name in names]), info or QueryInfo("what the tables have")

    def _refuse_cells(self, settings: Iterable[str], grounding: Grounding) -> None:
        """Refuse to set what references are chosen by, which would move objects to other cells."""
        chosen_by = {term.chain.target for family in self._families for term in family.partition or ()}
        for name in settings:
            if grounding.attribute_of(grounding.node(name))[0] in chosen_by:
                raise NotSupported(
                    f"do= sets {name!r}, by which references are chosen: their cells are those of the tables. Set it "
                    "there."
                )

    # --- files ---

    def to_record(self) -> dict[str, Any]:
        """The schema and the distributions, as files have them."""
        return {"schema": self.schema.to_record(), "cpds": [cpd_record(cpd) for cpd in self.cpds]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RelationalModel:
        """The inverse of `to_record`."""
        schema = Schema.from_record(record["schema"])
        return cls(schema, [cpd_of(one) for one in record["cpds"]])

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RelationalModel):
            return NotImplemented
        return self.schema == other.schema and self.cpds == other.cpds

    def __hash__(self) -> int:
        return hash((self.schema, self.cpds))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without what was read."""
        return _rebuilt, (self.schema, self.cpds, self.notes)

    def __repr__(self) -> str:
        sizes = {"class": len(self.schema.classes), "attribute": len(self.attributes), "parameter": self.num_parameters}
        return f"<RelationalModel: {', '.join(counted(size, thing) for thing, size in sizes.items())}>"

    def _shown(self) -> TextTable:
        rows = [(cpd.variable.name, ", ".join(cpd.parent_names), cpd.kind) for cpd in self._cpds]
        return TextTable(("attribute", "parents", "distribution"), tuple(rows), 3)

    def __str__(self) -> str:
        return f"{title_of(self)}\n\n{self._shown()}"

    def _repr_html_(self) -> str:
        return f"<p>{title_of(self)}</p>{self._shown().to_html()}"


def _refuse_contradictions(grounding: Grounding, nodes: Mapping[str, int], given: Mapping[str, Any]) -> None:
    """Refuse evidence on what the tables have, unless it says the same."""
    for name, value in given.items():
        known = grounding.finding(nodes[name]) if grounding.is_known[nodes[name]] else value
        if known != value:
            raise InvalidModel(f"evidence= says that {name!r} is {value!r}, but the tables say {known!r}. Change one.")


def _log_probabilities(grounding: Grounding, ground: GroundFamily, cpd: CPD) -> Floats:
    """log P(child | parents) of each object of a family, all of them known."""
    columns: dict[str, Any] = {
        one.term.text: term_values(one.term, grounding.instance, ground.rows) for one in ground.terms
    }
    ends = ground.children - grounding.starts[ground.family.attribute]
    columns[ground.family.name] = grounding.instance.column(ground.family.attribute)[ends]
    return np.broadcast_to(cpd.log_probability(columns), ground.rows.shape)


def cpd_record(cpd: CPD) -> dict[str, Any]:
    """A distribution with its variables and their states, as files have it."""
    scope = [variable_record(variable) for variable in (*cpd.parents, cpd.variable)]
    return {"scope": scope, "kind": cpd.kind, **cpd.to_record()}


def cpd_of(record: Mapping[str, Any]) -> CPD:
    """The inverse of `cpd_record`."""
    *parents, child = map(variable_of, record["scope"])
    parts = {key: part for key, part in record.items() if key not in ("scope", "kind")}
    kind = ReferenceCPD if record["kind"] == ReferenceCPD.kind else KINDS[record["kind"]]
    return kind.from_record(child, tuple(parents), parts)


def _rebuilt(schema: Schema, cpds: Sequence[CPD], notes: Notes) -> RelationalModel:
    return RelationalModel(schema, cpds, notes=notes)
