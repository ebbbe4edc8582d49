"""The posterior over all tables of a network: rows come in, networks with their uncertainty come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from plausible.base import Flags, Floats, Positions, Seed, generator_of
from plausible.cpds import CPD, TableCPD
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, counted
from plausible.learn.estimation.families import Families, ParameterKnowledge, check_knowledge, read_families
from plausible.learn.estimation.priors import Estimate, FamilyPosterior, PriorLike, pseudo_counts, refuse_unknown
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class ParameterPosterior:
    """Independent Dirichlet distributions over the rows of all tables: an immutable value, more data give a new one.

    By global and local independence of parameters the posterior of complete data is the product over families and
    over states of their parents (Spiegelhalter & Lauritzen 1990). Made by `parameter_posterior`.

    >>> from plausible.learn.estimation.priors import K2
    >>> rows = {"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}
    >>> posterior = parameter_posterior("rain -> grass", rows, K2())
    >>> posterior["rain"].mean
    array([0.6, 0.4])
    >>> posterior.partial_fit({"rain": ["yes"], "grass": ["wet"]})["rain"].mean
    array([0.5, 0.5])
    """

    #: Name -> the posterior of its table. Tied variables have one, under the name of the first.
    families: Mapping[str, FamilyPosterior]
    owners: Mapping[str, str]  # Tied variable -> the one whose table it shares
    fixed: Mapping[str, CPD]  # Name -> CPD that is given, and not learned
    variables: Mapping[str, Variable]  # Name -> variable
    parents: Mapping[str, tuple[str, ...]]  # Name -> the names of its parents
    #: Those of `fixed` that were estimated from data: their numbers are uncertain, too, but have no posterior here.
    estimated: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> FamilyPosterior:
        """The posterior of the table of a variable."""
        if name in self.estimated:
            raise NotSupported(
                f"The CPD of {name!r} is no table, but {self.fixed[name].kind}: only tables have posteriors."
            )
        if name in self.fixed:
            raise InvalidArgument(f"The CPD of {name!r} is fixed: there is nothing to be uncertain about.")
        owner = self.owners.get(name, name)
        if owner not in self.families:
            raise UnknownVariable.named(name, self.variables, "this posterior")
        return self.families[owner]

    def __iter__(self) -> Iterator[str]:
        """The names of the variables whose tables are learned."""
        return (name for name in self.variables if name not in self.fixed)

    def network(self, estimate: Estimate = "mean") -> BayesianNetwork:
        """The network of posterior means, which predicts best; of modes ("map"); or of frequencies ("mle")."""
        return self.network_of({name: family.of(estimate) for name, family in self.families.items()})

    def network_of(self, tables: Mapping[str, Floats]) -> BayesianNetwork:
        """The network with these tables, an array for each of `families`, and the fixed CPDs."""
        cpds = []
        for name, variable in self.variables.items():
            parents = [self.variables[parent] for parent in self.parents[name]]
            is_fixed = name in self.fixed
            cpd = self.fixed[name] if is_fixed else TableCPD(variable, tables[self.owners.get(name, name)], parents)
            cpds.append(cpd)
        return BayesianNetwork(cpds)

    def sample(self, num_networks: int, seed: Seed = None) -> list[BayesianNetwork]:
        """Networks drawn from the posterior: each row from its Dirichlet distribution."""
        generator = generator_of(seed)
        # In the order of names, so that the order of columns does not matter.
        drawn = {name: self.families[name].sample(generator, num_networks) for name in sorted(self.families)}
        return [self.network_of({name: array[i] for name, array in drawn.items()}) for i in range(num_networks)]

    def partial_fit(self, data: TableLike, decay: float = 1.0) -> ParameterPosterior:
        """The posterior after more complete rows, in time linear in them; the earlier ones need not be kept.

        Of each count the share `decay` is left after one more row: a row that is k rows old counts decay^k, so that
        about 1 / (1 - decay) rows are remembered. One forgets nothing. Priors are not forgotten.
        """
        if not 0 <= decay <= 1:
            raise InvalidArgument(f"decay= is the share of each count that is left, between 0 and 1, not {decay!r}.")
        table = self._read(data)
        left = decay**table.num_rows
        if decay < 1:
            ages = np.arange(table.num_rows - 1, -1, -1)
            table = table.weighted(decay**ages * (1.0 if table.weights is None else table.weights))
        counted = _tied_counts(Families(self.variables, self.parents, TableStatistics(table)), self)
        return self._with_counts({name: left * f.counts + counted[name] for name, f in self.families.items()})

    def forgetting(self, share: float) -> ParameterPosterior:
        """The posterior in which each case so far counts only as much as `share` says."""
        if not 0 <= share <= 1:
            raise InvalidArgument(f"What is left of each case is between 0 and 1, not {share!r}.")
        return self._with_counts({name: share * family.counts for name, family in self.families.items()})

    def _with_counts(self, counts: Mapping[str, Floats]) -> ParameterPosterior:
        families = {
            name: FamilyPosterior(family.child, family.parents, family.prior, counts[name])
            for name, family in self.families.items()
        }
        return replace(self, families=MappingProxyType(families))

    def _read(self, data: TableLike) -> Table:
        table = Table.read(data, self.variables)
        for name, variable in self.variables.items():
            UnknownVariable.check(name, table.variables, "the data")
            if table.variables[name] != variable:
                raise InvalidArgument(
                    f"The table has other states of {name!r} than the posterior: {list(table.variables[name].states)}, "
                    f"not {list(variable.states)}. Read it with variables=posterior.variables."
                )
        return table

    def log_predictive(self, data: TableLike) -> Floats:
        """log P(row | all data so far) of each complete row, parameters integrated out; each as the next one.

        The product over families of (α_xu + N_xu) / (α_u + N_u); where tables are tied, each use of a table in the row
        counts for the next. Where a variable was set from outside, its own distribution does not count.
        """
        table = self._read(data).select(self.variables)
        for name in table.missing:
            raise InvalidArgument(f"{name!r} is missing in some rows; ask network().compile().log_likelihood(data).")
        columns = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
        columns |= dict(zip(table.continuous, table.numbers, strict=True))
        counting = {name: ~table.interventions[name] for name in table.interventions}
        total = np.zeros(table.num_rows)
        for name, cpd in self.fixed.items():
            total += np.where(counting.get(name, True), cpd.log_probability(columns), 0.0)
        for owner, family in self.families.items():
            sharing = [owner, *(name for name, other in self.owners.items() if other == owner)]
            places = [tuple(columns[other] for other in (*self.parents[name], name)) for name in sharing]
            cells = [np.ravel_multi_index(place, family.counts.shape) for place in places]
            total += _log_uses(family, cells, [counting.get(name, np.True_) for name in sharing])
        return total

    @property
    def log_marginal_likelihood(self) -> float:
        """log P(all data so far), parameters integrated out: the sum of log-predictives of the rows, one by one.

        Fixed CPDs have no parameters and do not count; nor is it a probability once cases were forgotten.
        """
        return sum(family.log_marginal_likelihood for family in self.families.values())

    def variance_along(self, slopes: Mapping[str, Floats]) -> float:
        """The variance of Σ slope · θ, over all entries θ of all tables: what the delta method needs.

        The slopes are shaped like the tables; families that are not learned do not count.
        """
        shared: dict[str, Floats] = {}
        for name, array in slopes.items():
            owner = self.owners.get(name, name)
            if owner in self.families:
                family = self.families[owner]
                if array.shape != family.counts.shape:
                    raise InvalidArgument(
                        f"The table of {name!r} has the shape {array.shape}, but its posterior {family.counts.shape}. "
                        "Take the network from the posterior: posterior.network()."
                    )
                shared[owner] = shared.get(owner, np.zeros(array.shape)) + array
        return sum(self.families[owner].variance_along(array) for owner, array in shared.items())

    def __repr__(self) -> str:
        rows = sum(family.unseen.size for family in self.families.values())
        return f"<ParameterPosterior of {counted(rows, 'row')} of {counted(len(self.families), 'table')}>"


def parameter_posterior(
    graph: object, data: DataLike, prior: PriorLike = None, *, knowledge: ParameterKnowledge | None = None
) -> ParameterPosterior:
    """The posterior over all tables of a network, given complete rows.

    The data, as complete rows or statistics of them, are counted once. Without a prior, pseudo-counts are zero. CPDs
    that are fixed, and tables that are tied, are `knowledge`; continuous variables must be fixed.
    """
    known = knowledge or ParameterKnowledge()
    families = read_families(graph, data, known.fixed, getattr(prior, "network", None))
    check_knowledge(known, families.parents)
    refuse_unknown(prior, list(families.variables))
    return posterior_of(families, prior, known, list(families.variables))


def posterior_of(
    families: Families, prior: PriorLike, knowledge: ParameterKnowledge, names: list[str]
) -> ParameterPosterior:
    """The posterior of the tables of some variables; all others must be fixed or not be asked about."""
    fixed = {name: cpd.bind(families.variables) for name, cpd in knowledge.fixed_cpds.items()}
    empty = ParameterPosterior({}, knowledge.owners, fixed, families.variables, families.parents)
    learned = [name for name in names if name not in fixed and name not in knowledge.owners]
    for name in learned:
        numbers = [v.name for v in (*families.parents_of(name), families.variables[name]) if v.is_continuous]
        if numbers:
            raise NotSupported(
                f"The posterior of {name!r} is that of a table, but {numbers[0]!r} is continuous. Fix the CPD of "
                f"{name!r} with knowledge=ParameterKnowledge(fixed=[...])."
            )
    start = {}
    for name in learned:
        child, parents = families.variables[name], families.parents_of(name)
        alpha = pseudo_counts(prior, child, parents)
        start[name] = FamilyPosterior(child, parents, alpha, np.zeros([v.num_states for v in (*parents, child)]))
    prepared = replace(empty, families=MappingProxyType(start))
    return prepared._with_counts(_tied_counts(families, prepared))


def _tied_counts(families: Families, posterior: ParameterPosterior) -> dict[str, Floats]:
    """Name -> the counts of its family, and of those that share its table."""
    own = families.counts_of([*posterior.families, *posterior.owners])
    counts = {name: own[name] for name in posterior.families}
    for name, owner in posterior.owners.items():
        more = own[name]
        if more.shape != counts[owner].shape:
            raise InvalidArgument(
                f"{name!r} is tied to {owner!r}, but its table has the shape {more.shape}, not {counts[owner].shape}."
            )
        counts[owner] = counts[owner] + more
    return counts


def _log_uses(family: FamilyPosterior, uses: list[Positions], counting: list[Flags | np.bool_]) -> Floats:
    """log of the predictive probability of cells drawn one after the other from a table, in rows where not set."""
    cells, strengths = family.parameters.ravel(), family.strength.ravel()
    num_states = family.child.num_states
    total = np.zeros(len(uses[0]))
    for place, use in enumerate(uses):
        before = list(zip(uses[:place], counting, strict=False))
        same_cell = sum(((use == earlier) & drawn for earlier, drawn in before), np.zeros(len(use)))
        same_row = sum(((use // num_states == e // num_states) & drawn for e, drawn in before), np.zeros(len(use)))
        strength = strengths[use // num_states] + same_row
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(strength > 0, (cells[use] + same_cell) / strength, 1.0 / num_states)
            total += np.where(counting[place], np.log(chance), 0.0)
    return total
