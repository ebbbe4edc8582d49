"""The factors of a model on an instance, given what is known, on flat arrays: all objects of a kind at a time.

Objects that share a distribution and know the same of its variables have factors of one shape, a *block*, which is cut
out of the distribution's table at once. Aggregates become chains over small variables of their own, as
`AggregateCPD.to_factors` has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.cpds import CPD
from plausible.cpds.summaries import Summary, links
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.inference.propagation.belief_graph import Clusters
from plausible.models.relations.grounding import GroundFamily, Grounding, GroundTerm, aggregate_cpd
from plausible.models.relations.references import ReferenceCPD
from plausible.models.relations.term_values import term_values
from plausible.models.relations.terms import COUNT_FUNCTIONS
from plausible.variables import Variable

#: An axis whose value is known, in what says which axes of a block are one variable.
_KNOWN = -1


class Axis(NamedTuple):
    """One variable of a family, for each of its objects."""

    size: int  # of the table
    codes: Ints  # the position where it is known, else -1
    variables: Ints  # the variable where it is not, else -1


@dataclass(frozen=True, slots=True)
class Block:
    """Factors of one shape."""

    family: int  # the number of the family; -1 for links of an aggregate
    places: Ints  # which of its objects they are of
    #: Which axes of the family's table are left, in order; an axis that is the same variable as an earlier one is not.
    axes: tuple[int, ...]
    #: For each axis of the table the axis of the factor that it lies along; -1 where it is known.
    along: tuple[int, ...]
    shape: tuple[int, ...]  # of a factor
    first: int  # the number of the first of the factors; -1 where they have fewer than two axes


@dataclass(slots=True)
class _Builder:
    """What has been put together so far."""

    sizes: list[int]
    log_constant: float = 0.0
    num_factors: int = 0
    fields: list[tuple[Ints, Floats]] = field(default_factory=list)
    scopes: list[Ints] = field(default_factory=list)
    logs: list[Floats] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def new_variables(self, number: int, size: int) -> Ints:
        """So many more variables."""
        first = len(self.sizes)
        self.sizes += [size] * number
        return np.arange(first, first + number)

    def add(self, scopes: Ints, logs: Floats) -> int:
        """Factors over the variables in the rows of `scopes`; the number of the first one, -1 if they are fields."""
        if scopes.shape[1] == 0:
            self.log_constant += float(logs.sum())
            return -1
        if scopes.shape[1] == 1:
            self.fields.append((scopes[:, 0], logs.reshape(len(scopes), -1)))
            return -1
        self.scopes.append(scopes)
        self.logs.append(logs.reshape(len(scopes), -1))
        first, self.num_factors = self.num_factors, self.num_factors + len(scopes)
        return first


class GroundFactors:
    """Π P(child | parents) over all objects, what is known put in."""

    def __init__(self, grounding: Grounding, cpds: Sequence[CPD]) -> None:
        self.grounding = grounding
        _refuse_numbers(cpds)
        hidden = np.flatnonzero(~grounding.is_known)
        #: For each node its variable here, -1 where it is known.
        self.variable_of = np.full(grounding.num_nodes, -1, dtype=np.int64)
        self.variable_of[hidden] = np.arange(len(hidden))
        build = _Builder(self._sizes_of(hidden))
        #: Whether cells that references are chosen from have their expected sizes.
        self.is_approximate = False
        #: For each family the table of the logarithms of its numbers.
        self.tables = [self._log_table(cpd, ground) for cpd, ground in zip(cpds, grounding.families, strict=True)]
        self.axes: list[list[Axis]] = []
        for number, ground in enumerate(grounding.families):
            axes = [*(self._axis(build, ground, term) for term in ground.terms), *self._child_axes(build, ground)]
            self.axes.append(axes)
            if not axes:  # a reference to any object
                build.log_constant += len(ground.rows) * float(self.tables[number])
                continue
            for block in _blocks(build, number, axes, self.tables[number]):
                build.blocks.append(block)
        self.blocks = tuple(build.blocks)
        self.log_constant = build.log_constant
        if self.log_constant == -np.inf:
            raise ImpossibleEvidence("The values in the tables have probability zero under this model.")
        self.clusters = _clusters(build)

    def _sizes_of(self, nodes: Ints) -> list[int]:
        grounding = self.grounding
        names = grounding.attributes
        references = grounding.schema.references  # those that have a distribution are known
        sizes = np.array([1 if name in references else grounding.schema.variable(name).num_states for name in names])
        lengths = np.diff([*grounding.starts.values(), grounding.num_nodes])
        every: list[int] = np.repeat(sizes, lengths)[nodes].tolist()
        return every

    # --- axes ---

    def _log_table(self, cpd: CPD, ground: GroundFamily) -> Floats:
        """The logarithms of a table; of a reference with an axis for each attribute that it is chosen by."""
        if not isinstance(cpd, ReferenceCPD):
            return _log_table(cpd)
        if not len(ground.rows):
            return np.zeros(cpd.values.shape)
        logs, is_exact = cpd.log_choices(self.grounding.instance)
        self.is_approximate |= not is_exact
        sizes = [term.variable(self.grounding.schema).num_states for term in ground.family.partition or ()]
        return logs.reshape((*logs.shape[:-1], *sizes))

    def _child_axes(self, build: _Builder, ground: GroundFamily) -> list[Axis]:
        """What a family is of: an attribute, or those by which the object that is referred to was chosen."""
        schema = self.grounding.schema
        if ground.family.is_reference:
            chosen_by = ground.family.cell_terms(schema)
            return [self._axis(build, ground, self.grounding.certain_term(term, ground.rows)) for term in chosen_by]
        return [self._node_axis(schema.variable(ground.family.attribute).num_states, ground.children)]

    def _node_axis(self, size: int, nodes: Ints) -> Axis:
        return Axis(size, self.grounding.codes[nodes].astype(np.int64), self.variable_of[nodes])

    def _axis(self, build: _Builder, ground: GroundFamily, term: GroundTerm) -> Axis:
        size = term.variable.num_states
        if term.links is not None:
            return self._aggregate_axis(build, ground, term)
        if term.nodes is None:
            assert term.constants is not None
            return Axis(size, term.constants.astype(np.int64), np.full(len(ground.rows), -1))
        axis = self._node_axis(size, term.nodes)
        if term.constants is None:
            return axis
        is_there = term.nodes >= 0
        return Axis(size, np.where(is_there, axis.codes, term.constants), np.where(is_there, axis.variables, -1))

    def _aggregate_axis(self, build: _Builder, ground: GroundFamily, term: GroundTerm) -> Axis:
        """Known where what it is of decides it; else a variable of its own, at the end of a chain."""
        assert term.links is not None
        codes = term_values(term.term, self.grounding.instance, ground.rows).astype(np.int64)
        open_places = np.flatnonzero(codes < 0)
        variables = np.full(len(ground.rows), -1)
        size = term.variable.num_states
        variables[open_places] = build.new_variables(len(open_places), size)
        source = self.grounding.schema.variable(term.term.chain.target)
        lengths = term.links.lengths[open_places]
        for number in np.unique(lengths).tolist():
            places = open_places[lengths == number]
            starts = term.links.starts[:-1][places]
            inputs = term.links.ends[starts[:, None] + np.arange(number)]
            summary = _summary(term, source, number)
            self._add_chains(build, summary, inputs, variables[places], size)
        return Axis(size, codes, variables)

    def _add_chains(self, build: _Builder, summary: Summary, inputs: Ints, results: Ints, size: int) -> None:
        """Chains of objects whose aggregates are of as many nodes, of which different ones are known."""
        codes = self.grounding.codes[inputs]
        is_open = codes < 0
        steps = np.concatenate([summary.steps, np.zeros_like(summary.steps[:1])])  # the last one for what is not known
        sums = steps[np.where(is_open, -1, codes)].sum(axis=1)
        sums = sums if summary.cap is None else np.minimum(sums, summary.cap)
        keys, owners = np.unique(np.column_stack([is_open.sum(axis=1), sums]), axis=0, return_inverse=True)
        for which, (num_open, *start) in enumerate(keys.tolist()):
            chosen = np.flatnonzero(owners.ravel() == which)
            own = inputs[chosen][is_open[chosen]].reshape(len(chosen), num_open)
            before: Ints | None = None
            for place, link in enumerate(links(summary, num_open, tuple(start), None, size)):
                is_last = place == num_open - 1
                width = size if is_last else int(link.max()) + 1
                after = results[chosen] if is_last else build.new_variables(len(chosen), width)
                table = _log_one_hot(link, width)
                scope = [self.variable_of[own[:, place]], after]
                if before is None:
                    table = table[0]
                else:
                    scope = [before, *scope]
                build.add(np.column_stack(scope), np.broadcast_to(table, (len(chosen), *table.shape)))
                before = after


def _summary(term: GroundTerm, source: Variable, number: int) -> Summary:
    """What decides the aggregate of so many objects."""
    parents = [source.renamed(str(place)) for place in range(number)]
    child = term.variable if term.term.function in COUNT_FUNCTIONS else source.renamed(term.term.text)
    return aggregate_cpd(term.term, child, parents).summary


def _log_one_hot(link: Ints, width: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.eye(width)[link]))


def _refuse_numbers(cpds: Iterable[CPD]) -> None:
    for cpd in cpds:
        if any(variable.is_continuous for variable in cpd.scope):
            raise NotSupported(
                f"The distribution of {cpd.variable.name!r} speaks of numbers, and values of the tables are missing: "
                "ask query(...) about single objects, which takes them."
            )


def _log_table(cpd: CPD) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(cpd.to_table().values))


def _blocks(build: _Builder, family: int, axes: list[Axis], table: Floats) -> Iterator[Block]:
    """The factors of a family, objects of one shape together."""
    num = len(axes[0].codes)
    if not num:
        return
    variables = np.column_stack([axis.variables for axis in axes])
    kinds = np.full(variables.shape, _KNOWN)
    for axis in range(len(axes)):
        for earlier in range(axis, -1, -1):
            same = (variables[:, axis] >= 0) & (variables[:, axis] == variables[:, earlier])
            kinds[same, axis] = earlier
    widths = np.array([*build.sizes, 0])[variables]  # a parent that may be missing has a state more than its source
    patterns, owners = np.unique(np.column_stack([kinds, widths]), axis=0, return_inverse=True)
    for which, pattern in enumerate(patterns.tolist()):
        places = np.flatnonzero(owners.ravel() == which)
        along, sizes = pattern[: len(axes)], pattern[len(axes) :]
        kept = tuple(axis for axis in range(len(axes)) if along[axis] == axis)
        shape = tuple(sizes[axis] for axis in kept)
        places_along = tuple(_KNOWN if along[axis] < 0 else kept.index(along[axis]) for axis in range(len(axes)))
        index = []
        for axis, place in enumerate(places_along):
            if place == _KNOWN:
                index.append(axes[axis].codes[places].reshape(-1, *[1] * len(kept)))
            else:
                index.append(np.arange(shape[place]).reshape(1, *(-1 if i == place else 1 for i in range(len(kept)))))
        logs = np.broadcast_to(table[tuple(index)], (len(places), *shape))
        first = build.add(variables[places][:, list(kept)], logs)
        yield Block(family, places, kept, places_along, shape, first)


def _clusters(build: _Builder) -> Clusters:
    sizes = np.array(build.sizes, dtype=np.int64)
    starts, fields = starts_of(sizes), np.zeros(int(sizes.sum()))
    for variables, logs in build.fields:
        cells = starts[variables][:, None] + np.arange(logs.shape[1])
        np.add.at(fields, cells.ravel(), logs.ravel())
    arities = np.concatenate([[0], *(np.full(len(scopes), scopes.shape[1]) for scopes in build.scopes)])[1:]
    lengths = np.concatenate([[0], *(np.full(len(logs), logs.shape[1]) for logs in build.logs)])[1:]
    nothing = np.empty(0, dtype=np.int64)
    return Clusters(
        sizes,
        fields,
        starts_of(arities.astype(np.int64)),
        np.concatenate([nothing, *(scopes.ravel() for scopes in build.scopes)]),
        starts_of(lengths.astype(np.int64)),
        np.concatenate([np.empty(0), *(logs.ravel() for logs in build.logs)]),
    )
