"""The door to relational models from tables with keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, generator_of
from plausible.base.query_info import QueryInfo
from plausible.base.records import Result, record
from plausible.errors import InvalidArgument, UnknownVariable, counted, shortened, warn_caller
from plausible.inference.budget import Budget
from plausible.inference.choice import EngineChoice
from plausible.learn.estimation.families import CPDLearner, UnidentifiedParameters
from plausible.learn.estimation.priors import Estimate, PriorLike
from plausible.learn.relations.parameters import (
    EMState,
    Task,
    estimate_of,
    learn_complete,
    learn_incomplete,
    refuse_no_objects,
    refuse_unknown_references,
)
from plausible.learn.relations.references import ReferencesLike, search_references
from plausible.learn.relations.structure import check_candidates, search_parents
from plausible.learn.scores.score import Score
from plausible.models.relations.families import (
    Family,
    in_order,
    read_family,
    read_reference,
    refuse_reference_cycles,
)
from plausible.models.relations.grounding import Grounding
from plausible.models.relations.instance import Instance
from plausible.models.relations.references import ReferenceCPD
from plausible.models.relations.relational_model import RelationalModel, TablesLike
from plausible.models.relations.schema import Schema
from plausible.search.run import Run, Stops


@record(eq=False)
class RelationalFit(Result):
    """A relational model learned from tables; made by `learn.relational`."""

    _told = ("model", "log_likelihood", "score", "num_steps", "converged")

    model: RelationalModel  # The model
    log_likelihood: float  # log P(what the tables tell) under it
    #: "class.attribute" -> its parents; where it has several distributions, those of each.
    parents: Mapping[str, tuple[tuple[str, ...], ...]]
    score: float | None  # That of what was searched for: the structure, the references
    num_steps: int  # Of expectation maximisation, or of the search
    converged: bool  # Whether both came to their end
    trace: tuple[float, ...]  # The objective of expectation maximisation, from its start on; else empty
    info: QueryInfo  # How hidden values were inferred in the last step

    def __str__(self) -> str:
        lines = [f"{self.model!r}, log-likelihood {self.log_likelihood:.6g}"]
        lines += [
            f"{name} <- {', '.join(own) if own else 'nothing'}" for name, lists in self.parents.items() for own in lists
        ]
        chosen = [cpd for cpd in self.model.cpds if isinstance(cpd, ReferenceCPD)]
        lines += [f"{cpd.slot} is chosen by {', '.join(cpd.partition) or 'nothing'}" for cpd in chosen]
        return "\n".join(lines)

    def __repr__(self) -> str:
        how = "" if self.converged else ", not converged"
        return f"<RelationalFit of {self.model!r}, log-likelihood {self.log_likelihood:.6g}{how}>"


#: So many walks of the search by default: they cost little, as scores are kept.
_WALKS = 10

ParentsLike = Mapping[str, Sequence[str] | Sequence[Sequence[str]] | str]


@keyword_hints
def learn_relational(
    schema: Schema | RelationalModel,
    tables: TablesLike,
    parents: ParentsLike | None = None,
    *,
    prior: PriorLike = None,
    references: ReferencesLike = None,
    hidden: Mapping[str, Any] | None = None,
    inputs: Iterable[str] = (),
    estimate: Estimate | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    score: str | Score | None = None,
    max_length: int = 2,
    max_parents: int = 3,
    aggregates: Iterable[str] = ("mode", "mean", "count"),
    candidates: Mapping[str, Sequence[str]] | None = None,
    restarts: int | None = None,
    seed: Seed = 0,
    max_steps: int = 200,
    tolerance: float = 1e-7,
    time_limit: float | None = None,
    progress: Callable[[Any], object] | None = None,
    engine: EngineChoice = "auto",
    budget: Budget | None = None,
) -> RelationalFit:
    """Learn a relational model: the distributions of given dependencies, or the dependencies too.

    All objects of a class count for its distributions, which are learned from tables with a row for each object:
    parents are looked up over references and aggregated, all objects at once. Values that are missing, also of whole
    hidden attributes, are inferred together for all objects, in each step of expectation maximisation: exactly where
    what is unknown hangs together without cycles, or in a clique tree within the budget, else by loopy belief
    propagation (`fit.info` says which).

    Parameters
    ----------
    schema
        The classes and references. Or a model: its dependencies, or what they begin with where values are missing.
    tables
        Class -> its table.
    parents
        "class.attribute" -> its parents, as `RelationalModel` names them; all other attributes have none. A list of
        lists gives several distributions, of which objects take the first whose parents they have. Left out, the
        dependencies are searched for.
    prior
        Of tables: one for all, or "class.attribute" -> its own, as of `learn.parameters`.
    references
        "class.slot" -> the partition and the parents of its `ReferenceCPD`, such as
        `{"cites.cited": {"partition": ["paper.topic"], "parents": ["cites.citing.topic"]}}`. All other references are
        given by the tables. What these are chosen by must be known. A list of slots, or `True` for all, searches for
        partition and parents, after the dependencies: a partition is refined by one more attribute, or abstracted from
        it again; parents come and go (Getoor, Friedman, Koller & Taskar 2002).
    hidden
        "class.attribute" -> its states, or how many, of attributes that no table has.
    inputs
        Attributes that tables always give, and that get no distribution.
    estimate, kinds
        As of `learn.parameters`.
    score
        That of structures: a name or a `Score`. By default "bdeu", with numbers "conditional-gaussian-bic". Where
        values are missing, families are scored on the objects that know all of them.
    max_length
        Over how many slots parents may lie. The search goes in phases: own attributes, then over one slot, and so on
        (Getoor, Friedman, Koller & Taskar 2001). It takes no dependency that tables could turn into a cycle.
    max_parents
        Of an attribute.
    aggregates
        What is made of many objects.
    candidates
        "class.attribute" -> the only parents that it may get, in place of all over so many slots.
    restarts
        How often expectation maximisation begins anew, by default never, and the search walks away from its best
        structure, by default ten times.

    Examples
    --------
    >>> import plausible as pb
    >>> tables = {
    ...     "student": {"id": ["anna", "bob"], "wits": ["high", "low"]},
    ...     "registration": {"student": ["anna", "anna", "bob", "bob"], "grade": ["A", "A", "B", "A"]},
    ... }
    >>> schema = pb.Schema(tables, keys={"registration.student": "student"})
    >>> fit = pb.learn.relational(schema, tables, {"registration.grade": ["registration.student.wits"]}, prior=pb.K2())
    >>> print(fit.model.cpds[1])
    registration.student.wits | registration.grade=A | registration.grade=B
    --------------------------+----------------------+---------------------
    high                      |                 0.75 |                 0.25
    low                       |                  0.5 |                  0.5
    """
    if isinstance(tables, Schema | RelationalModel):
        raise InvalidArgument("The schema comes before the tables: learn.relational(schema, tables).")
    if parents is not None and not isinstance(parents, Mapping):
        raise InvalidArgument(
            "parents= maps an attribute to its parents, such as {'registration.grade': ['registration.student.wits']}, "
            f"not {shortened(parents)}."
        )
    if restarts is not None:
        check_count("restarts", restarts)
    check_count("max_length", max_length)
    check_count("max_parents", max_parents)
    generator = generator_of(seed)
    start = schema if isinstance(schema, RelationalModel) else None
    base = start.schema if start is not None else schema
    if not isinstance(base, Schema):
        raise InvalidArgument(f"Learning a relational model begins with a Schema or a model, not {shortened(schema)}.")
    base = base.with_variables(hidden or {})
    instance = Instance.read(base, tables)
    given = _named(base, inputs)
    found = None
    check_candidates(candidates, base)
    if parents is None and start is None:
        alone = [read_family(base, name, ()) for name in base.variables if name not in given]
        found = search_parents(
            Grounding(base, alone, instance), score=score or _fitting_score(base), max_length=max_length,
            max_parents=max_parents, aggregates=aggregates, candidates=candidates,
            restarts=_WALKS if restarts is None else restarts, seed=int(generator.integers(2**31)),
            time_limit=time_limit, progress=progress,
        )  # fmt: skip
        parents = found.parents
    families = list(start.families) if parents is None and start is not None else _families(base, parents or {}, given)
    structure_score = None if found is None else found.score
    if isinstance(references, Mapping):
        families += _references(base, references)
    elif references:
        chosen, gained = search_references(
            instance, references, families, score=score or "bdeu", max_length=max_length, max_parents=max_parents,
            aggregates=aggregates, candidates=candidates,
        )  # fmt: skip
        families += chosen
        structure_score = (structure_score or 0.0) + gained
    refuse_reference_cycles(base, families)
    grounding = Grounding(base, families, instance)
    refuse_no_objects(grounding)
    refuse_unknown_references(grounding)
    grounding.refuse_cycles()
    for name in (*(prior if isinstance(prior, Mapping) else ()), *(kinds or {})):
        if name not in _parents(families):
            raise UnknownVariable.named(name, _parents(families), "the attributes that get a distribution here")
    task = Task(grounding, prior, estimate_of(prior, estimate), kinds or {})
    if grounding.is_known.all():
        cpds, unidentified = learn_complete(task)
        _warn(unidentified)
        model = RelationalModel(base, cpds)
        num_steps, converged = (0, True) if found is None else (found.num_steps, found.converged)
        known = QueryInfo("what the tables have")
        log_likelihood = model.log_likelihood(instance)
        return RelationalFit(
            model, log_likelihood, _parents(families), structure_score, num_steps, converged, (), known
        )
    starts = None if start is None else [*start.cpds]
    runs = learn_incomplete(
        task, starts=starts, restarts=restarts or 0, generator=generator,
        stops=Stops(tolerance, max_steps, time_limit, progress), engine=engine, budget=budget,
    )  # fmt: skip
    run: Run[EMState] = runs[0]
    model = RelationalModel(base, run.state.cpds)
    converged = run.converged and (found is None or found.converged)
    told = run.state.log_likelihood, _parents(families), structure_score
    return RelationalFit(model, *told, run.num_steps, converged, tuple(run.trace), run.state.info)


def _fitting_score(schema: Schema) -> str:
    """A score of states; of states and numbers, where there are numbers."""
    has_numbers = any(variable.is_continuous for variable in schema.variables.values())
    return "conditional-gaussian-bic" if has_numbers else "bdeu"


def _named(schema: Schema, names: Iterable[str]) -> set[str]:
    """The attributes of these names."""
    listed = {names} if isinstance(names, str) else set(names)
    for name in listed:
        schema.variable(name)
    return listed


def _families(schema: Schema, parents: ParentsLike, inputs: set[str]) -> list[Family]:
    """The families that `parents=` means; attributes that it does not name have no parents."""
    families = []
    for name, given in parents.items():
        listed: list[Any] = [given] if isinstance(given, str) else list(given)
        several = bool(listed) and not isinstance(listed[0], str)
        families += [read_family(schema, name, own) for own in (listed if several else [listed])]
    told = {family.attribute for family in families}
    if both := sorted(told & inputs):
        raise InvalidArgument(
            f"{both[0]!r} is among inputs=, which get no distribution, and has parents=. Leave out one."
        )
    families += [read_family(schema, name, ()) for name in schema.variables if name not in told | inputs]
    order = {name: place for place, name in enumerate(schema.variables)}
    families.sort(key=lambda family: order[family.attribute])
    return [families[at] for at in in_order(families)]


def _references(schema: Schema, references: Mapping[str, Mapping[str, Sequence[str] | str]]) -> list[Family]:
    """The families of references that `references=` means."""
    families = []
    for name, options in references.items():
        known = ("partition", "parents")
        if not isinstance(options, Mapping) or not set(options) <= set(known):
            raise InvalidArgument(
                f"references= maps {name!r} to {{'partition': [...], 'parents': [...]}}, not to {options!r}."
            )
        partition, parents = (
            [given] if isinstance(given := options.get(key, ()), str) else list(given) for key in known
        )
        families.append(read_reference(schema, name, parents, partition))
    return families


def _parents(families: Iterable[Family]) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for family in families:
        found[family.name] = (*found.get(family.name, ()), tuple(term.text for term in family.terms))
    return found


def _warn(unidentified: Mapping[str, int]) -> None:
    if unidentified:
        names = ", ".join(map(repr, list(unidentified)[:5]))
        warn_caller(
            f"There is no object for {counted(sum(unidentified.values()), 'row')} of {names}; what is missing is "
            "uniform. Give a prior=, such as BDeu(10).",
            UnidentifiedParameters,
        )
