"""Plate models: distributions that all members of plates share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from plausible.base.frozen import Frozen
from plausible.base.hints import PLATE_HINTS, Hinted
from plausible.base.method_names import keyword_hints, own_methods
from plausible.base.records import TextTable
from plausible.cpds import CPD
from plausible.errors import InvalidModel, counted
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.choice import EngineChoice
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.network_parts import read_cpds
from plausible.models.relations.grounding import Grounding
from plausible.models.relations.instance import Instance
from plausible.models.relations.plate_lowering import Lowering, PlateNaming
from plausible.models.relations.plate_members import Plates
from plausible.models.relations.relational_model import RelationalModel, cpd_of, cpd_record
from plausible.models.shown_parts import title_of
from plausible.variables import Assignment, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of


@own_methods
class PlateModel(Frozen, Hinted):
    """A network whose parts repeat: each distribution is that of an attribute of all members of the plates it lies in.

    P(all attributes) is a product over distributions and, for each, over all combinations of members of its plates. It
    is a `RelationalModel` on the objects that the plates have.

    Parameters
    ----------
    cpds
        Distributions of attributes, named with the plates that they lie in: "grade[student,course]", "policy". A parent
        lies in no other plates than its child. "grade[anna,algebra]" is the distribution of one instance, in place of
        the shared one; its parents may be any instances.
    plates
        Plate -> its members: a list, how many (0, 1, ...), or a table with a column "id". Attributes of crossing plates
        are of all combinations of members; ("student", "course") -> pairs, or a table with a column for each, keeps
        them to these. Plates in others are told likewise: ("course", "section") -> which sections each course has. What
        tables tell of attributes is known, None is not; a parent may be given by them and need no distribution.

    Examples
    --------
    >>> import plausible as pb
    >>> model = pb.PlateModel(
    ...     [
    ...         pb.TableCPD("wits[student]", [0.5, 0.5], states=["low", "high"]),
    ...         pb.TableCPD("grade[student,course]", [[0.3, 0.7], [0.8, 0.2]], parents=["wits[student]"],
    ...                     states=["A", "B"]),
    ...     ],
    ...     plates={"student": ["anna", "bob"], "course": ["algebra", "logic"]},
    ... )
    >>> list(model.unroll().variables)[:4]
    ['wits[anna]', 'wits[bob]', 'grade[anna,algebra]', 'grade[anna,logic]']
    >>> print(model.query("grade[anna,logic]", {"grade[anna,algebra]": "A"}))
    grade[anna,logic] | value
    ------------------+---------
    A                 | 0.663636
    B                 | 0.336364

    Shared distributions are learned where the tables of plates tell the attributes:

    >>> told = {"student": {"id": ["anna", "bob"], "wits": ["high", "low"]}, "course": ["algebra", "logic"],
    ...         ("student", "course"): {"student": ["anna", "bob"], "course": ["logic", "logic"], "grade": ["A", "B"]}}
    >>> of_many = model.with_plates(told)
    >>> fit = pb.learn.relational(of_many.relational_model, of_many.tables, prior=pb.K2())
    >>> learned = model.with_distributions(fit.model)
    >>> learned.cpds[1].values.round(2)
    array([[0.33, 0.67],
           [0.67, 0.33]])
    """

    __slots__ = ("_cpds", "_lowering", "_plates", "relational_model", "tables")

    kind: ClassVar[str] = "plate-model"
    _hints = PLATE_HINTS

    #: The relational model, whose classes are the plates and their crossings: "student&course.grade".
    relational_model: RelationalModel
    #: The objects, and what is known of them, as the questions of `relational_model` take them.
    tables: Instance

    def __init__(self, cpds: CPD | Iterable[CPD], plates: Mapping[Any, Any] | Plates) -> None:
        listed = read_cpds((cpds,))
        self._plates = Plates.read(plates)
        self._lowering = Lowering(listed, self._plates)
        tables = self._lowering.tables(self._plates)
        schema = self._lowering.schema(tables)
        self._cpds, lowered = self._lowering.cpds(schema, listed)
        self.relational_model = RelationalModel(schema, lowered)
        known = Instance.read(self.relational_model.schema, tables)
        self.tables = replace(known, naming=PlateNaming(self._lowering))
        if self._lowering.own:  # others can't be in a circle
            _ = Grounding(self.relational_model.schema, self.relational_model.families, self.tables).generations

    # --- what is there ---

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The distributions, as given."""
        return self._cpds

    @property
    def variables(self) -> Mapping[str, Variable]:
        """ "grade[student,course]" -> its variable, of the attributes with a distribution."""
        return {cpd.variable.name: cpd.variable for cpd in self._cpds if self._lowering.is_shared(cpd)}

    @property
    def plates(self) -> Mapping[str, tuple[str, ...]]:
        """Plate -> its members."""
        return dict(self._plates.members)

    @property
    def num_parameters(self) -> int:
        """The number of independent parameters, each counted once however many instances share it."""
        return self.relational_model.num_parameters

    def with_plates(self, plates: Mapping[Any, Any]) -> PlateModel:
        """The same distributions over other members.

        Those of single instances that are not there, or whose parents are not, are left out.
        """
        read = Plates.read(plates)
        if lacking := next((name for name in self._plates.members if name not in read.members), None):
            raise InvalidModel(f"plates= lacks {lacking!r}. A plate without members is {{{lacking!r}: []}}.")
        return PlateModel([cpd for cpd in self._cpds if self._lowering.is_there(cpd, read)], read)

    def with_distributions(self, relational_model: RelationalModel) -> PlateModel:
        """The same plates with the distributions of `relational_model` as it was learned, for example."""
        found = {(cpd.variable.name, cpd.parent_names): cpd for cpd in relational_model.cpds}
        _, lowered = self._lowering.cpds(self.relational_model.schema, self._cpds)
        changed = []
        for own, old in zip(self._cpds, lowered, strict=True):
            new = found.get((old.variable.name, old.parent_names))
            if new is None or new.scope != old.scope:
                raise InvalidModel(
                    f"The relational model has no distribution of {own.variable.name!r} with the same parents and "
                    "states: it is learned from model.relational_model and model.tables."
                )
            changed.append(new.over(own.variable, own.parents))
        return PlateModel(changed, self._plates)

    # --- the network that it stands for ---

    def unroll(self, plates: Mapping[Any, Any] | None = None) -> BayesianNetwork:
        """The network of all instances, such as "grade[anna,algebra]", for the model's members or for others.

        What tables of plates tell of attributes with a distribution is no part of it. O(instances).
        """
        model = self if plates is None else self.with_plates(plates)
        return model.relational_model.ground(model.tables)

    # --- questions ---

    @keyword_hints
    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: EngineChoice = "auto",
        budget: Budget | None = None,
    ) -> Factor:
        """P(targets | evidence, do) and what tables tell; only the part that matters is unrolled.

        Parameters
        ----------
        targets
            Instances, such as "grade[anna,algebra]".
        """
        return self.relational_model.query(targets, evidence, do, tables=self.tables, engine=engine, budget=budget)

    def marginals(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: EngineChoice = "auto",
        budget: Budget | None = None,
    ) -> dict[str, Factor]:
        """P(X | evidence, do) of each of some instances."""
        return self.relational_model.marginals(targets, evidence, do, tables=self.tables, engine=engine, budget=budget)

    def mpe(
        self, evidence: EvidenceLike | None = None, *, engine: Any = None, budget: Budget | None = None
    ) -> Assignment:
        """The most probable values of all instances, with their `.log_probability`."""
        return self.relational_model.mpe(evidence, tables=self.tables, engine=engine, budget=budget)

    def log_likelihood(
        self, evidence: EvidenceLike | None = None, *, engine: EngineChoice = "auto", budget: Budget | None = None
    ) -> float:
        """log P(evidence, and what tables tell)."""
        if evidence is None:
            return self.relational_model.log_likelihood(self.tables, engine=engine, budget=budget)
        found = {**self.relational_model.evidence(self.tables), **findings_of(evidence)}
        return self.unroll().log_probability(found, engine=engine, budget=budget)

    # --- files ---

    def to_record(self) -> dict[str, Any]:
        """Distributions and plates, as files have them."""
        return {"cpds": [cpd_record(cpd) for cpd in self._cpds], "plates": self._plates.to_record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> PlateModel:
        """The inverse of `to_record`."""
        return cls([cpd_of(one) for one in record["cpds"]], Plates.from_record(record["plates"]))

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlateModel):
            return NotImplemented
        return self._cpds == other._cpds and self._plates.to_record() == other._plates.to_record()

    def __hash__(self) -> int:
        return hash(self._cpds)

    def __reduce__(self) -> tuple[object, ...]:
        return PlateModel.from_record, (self.to_record(),)

    def __repr__(self) -> str:
        sizes = {"plate": len(self._plates.members), "distribution": len(self._cpds), "parameter": self.num_parameters}
        return f"<PlateModel: {', '.join(counted(size, thing) for thing, size in sizes.items())}>"

    def _shown(self) -> TextTable:
        rows = [
            (cpd.variable.name, ", ".join(cpd.parent_names), cpd.kind, f"{self._num_instances(cpd):,}")
            for cpd in self._cpds
        ]
        return TextTable(("attribute", "parents", "distribution", "instances"), tuple(rows), 3)

    def _num_instances(self, cpd: CPD) -> int:
        _, lowered = self._lowering.cpds(self.relational_model.schema, [cpd])
        return self.tables.num_objects(lowered[0].variable.name.partition(".")[0])

    def __str__(self) -> str:
        return f"{title_of(self)}\n\n{self._shown()}"

    def _repr_html_(self) -> str:
        return f"<p>{title_of(self)}</p>{self._shown().to_html()}"
