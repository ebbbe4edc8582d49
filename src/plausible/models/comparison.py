"""How two networks differ: in structure and numbers, in divergence, in the order of their states."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import FrozenMapping, Result, picture_by, record
from plausible.cpds import CPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.graphs.comparison import StructureComparison, compare_structure
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.compiled_engines import ExactEngine
from plausible.variables import Evidence, Variable

if TYPE_CHECKING:
    from plausible.base.pictured import Picture


def with_states_of(network: BayesianNetwork, variables: Mapping[str, Variable]) -> BayesianNetwork:
    """The same distribution with states in the order that they have in `variables`.

    Variables with other states stay as they are, and so does a network in which numbers depend on states that moved.
    Distributions over variables that move become tables.
    """
    moved = {
        name: variables[name]
        for name, variable in network.variables.items()
        if name in variables and _differ_in_order(variable, variables[name])
    }
    touched = [cpd for cpd in network.cpds.values() if any(variable.name in moved for variable in cpd.scope)]
    if not touched or any(variable.is_continuous for cpd in touched for variable in cpd.scope):
        return network
    cpds = [_moved(cpd, moved) for cpd in network.cpds.values()]
    inputs = [moved.get(name, variable) for name, variable in network.variables.items() if name in network.inputs]
    return BayesianNetwork(*cpds, inputs=inputs, notes=network.notes)


def _differ_in_order(one: Variable, other: Variable) -> bool:
    if one.is_continuous or other.is_continuous or one == other:
        return False
    return one.num_states == other.num_states and all(map(one.has_state, other.states))


def _moved(cpd: CPD, moved: Mapping[str, Variable]) -> CPD:
    if not any(variable.name in moved for variable in cpd.scope):
        return cpd
    factor = cpd.to_factor().reorder([variable.name for variable in cpd.scope])
    wanted = [moved.get(variable.name, variable) for variable in cpd.scope]
    places = [[old.index(state) for state in new.states] for old, new in zip(cpd.scope, wanted, strict=True)]
    return TableCPD(wanted[-1], factor.values[np.ix_(*places)], wanted[:-1])


def kl_divergence_networks(p: BayesianNetwork, q: BayesianNetwork) -> float:
    """D(P || Q) = E_P[log P(x) - log Q(x)] in nats, family by family; infinite where Q rules out what P allows.

    Both logarithms are sums over families, so that only the marginals of families under P are needed:
    D = Σ_i Σ P(x_i, u_i) log P(x_i | u_i) - Σ_i Σ P(x_i, v_i) log Q(x_i | v_i), with the parents u in P and v in Q.

    One calibration of a clique tree of P, and a query to P for each family of Q that is in no clique of it.

    Parameters
    ----------
    p, q
        Discrete networks over the same variables with the same states, in any order; their graphs may differ.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> fair, loaded = (BayesianNetwork(TableCPD("coin", row)) for row in ([0.5, 0.5], [0.75, 0.25]))
    >>> round(kl_divergence_networks(fair, loaded), 6)
    0.143841
    """
    q = with_states_of(q, p.variables)
    _check_comparable(p, q)
    marginal = _family_marginals(p)
    return max(_expected_log(p, marginal) - _expected_log(q, marginal), 0.0)


def _expected_log(q: BayesianNetwork, marginal: Callable[[list[str]], Factor]) -> float:
    """E_P[log Q(x)], where `marginal` gives the marginals under P."""
    total = 0.0
    for cpd in q.cpds.values():
        family = [variable.name for variable in cpd.scope]
        weights = marginal(family).reorder(family).flat
        logs = cpd.to_factor().log().flat
        live = weights > 0
        total += float(np.dot(weights[live], logs[live]))
        if total == -math.inf:
            break
    return total


def _family_marginals(p: BayesianNetwork) -> Callable[[list[str]], Factor]:
    """P(family), read off a clique of P that has it all, else by a query; answers are kept."""
    cliques = _clique_beliefs(p)
    # The cliques of each variable: those of a whole family are among those of its rarest member.
    holders: dict[str, list[int]] = {name: [] for name in p.variables}
    for number, belief in enumerate(cliques):
        for name in belief.names:
            holders.setdefault(name, []).append(number)
    known: dict[frozenset[str], Factor] = {}

    def marginal(family: list[str]) -> Factor:
        key = frozenset(family)
        if key not in known:
            near = (cliques[number] for number in min((holders[name] for name in family), key=len))
            holding = (clique for clique in near if key.issubset(clique.names))
            belief = min(holding, key=attrgetter("size"), default=None)
            known[key] = p.query(family) if belief is None else belief.marginal(family)
        return known[key]

    return marginal


def _clique_beliefs(p: BayesianNetwork) -> list[Factor]:
    """The marginal of each clique of P, from one calibration; none where there is no clique tree or it underflows."""
    try:
        engine = p.compile()
    except (NotSupported, TooLarge):
        # Single queries may still have an answer, or the error that names the variable.
        return []
    if not isinstance(engine, ExactEngine):
        return []
    compiled = engine.sums
    variables, program = list(compiled.variables.values()), compiled.program
    cliques = [[variables[place] for place in program.clique(number)] for number in range(program.num_cliques)]
    try:
        return compiled.joints(cliques, Evidence.read({}, {}))
    except ImpossibleEvidence:
        return []


def _check_comparable(p: BayesianNetwork, q: BayesianNetwork) -> None:
    left: Mapping[str, object] = p.variables
    if p.inputs or q.inputs:
        raise InvalidModel("A network with inputs is no single distribution: its divergence depends on the inputs.")
    for name in {*left, *q.variables}:
        if left.get(name) != q.variables.get(name):
            raise InvalidModel(f"{name!r} is not the same variable in both networks: name and states must agree.")


@record
class NetworkComparison(Result):
    """How two networks over the same variables differ."""

    structure: StructureComparison  # Edges that are the same, missing, extra or reversed
    #: For each discrete family that is the same in both networks, the largest difference between two probabilities.
    parameters: Mapping[str, float]
    incomparable: tuple[str, ...]  # The variables whose parents differ, or that are an input of the estimate

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", FrozenMapping(self.parameters))

    @property
    def largest_difference(self) -> float:
        """The largest difference between two probabilities of comparable families; 0 where there are none."""
        return max(self.parameters.values(), default=0.0)

    def picture(self, *, focus: Any = "auto") -> Picture:
        """Both graphs in one: common edges plain, added green, removed red and dashed, reversed violet."""
        return picture_by("picture_of_comparison", self, focus)

    def __str__(self) -> str:
        lines = [str(self.structure), f"largest difference of parameters {self.largest_difference:.6g}"]
        worst = sorted(self.parameters.items(), key=lambda item: -item[1])[:5]
        lines += [f"  {name}: {difference:.6g}" for name, difference in worst if difference > 0]
        if self.incomparable:
            lines.append(f"other parents ({len(self.incomparable)}): {', '.join(self.incomparable)}")
        return "\n".join(lines)


def compare(reference: BayesianNetwork, estimate: BayesianNetwork) -> NetworkComparison:
    """Compare two networks over the same variables: their graphs, and the CPDs whose parents are the same.

    States are compared by name, whatever their order.

    >>> from plausible.cpds import TableCPD
    >>> rain = TableCPD("rain", [0.8, 0.2])
    >>> meant = BayesianNetwork(rain, TableCPD("wet", [[0.9, 0.1], [0.2, 0.8]], parents=["rain"]))
    >>> found = BayesianNetwork(rain, TableCPD("wet", [[0.9, 0.1], [0.25, 0.75]], parents=["rain"]))
    >>> print(compare(meant, found))
    structural Hamming distance 0
    skeleton     precision 1.000, recall 1.000, F1 1.000
    orientation  precision 1.000, recall 1.000, F1 1.000
    same (1): rain -> wet
    largest difference of parameters 0.05
      wet: 0.05
    """
    structure = compare_structure(reference.graph, estimate.graph)
    estimate = with_states_of(estimate, reference.variables)
    for name, variable in reference.variables.items():
        if estimate.variables[name] != variable:
            raise InvalidModel(
                f"{name!r} has the states {list(variable.states)} in the reference, but other ones in the estimate: "
                f"{list(estimate.variables[name].states)}. What is learned from rows that lack a state has it if they "
                "are read with variables=reference.variables."
            )
    parameters: dict[str, float] = {}
    incomparable: list[str] = []
    for name, cpd in reference.cpds.items():
        if name not in estimate.cpds or set(cpd.parent_names) != set(estimate.cpd(name).parent_names):
            incomparable.append(name)
        elif not any(variable.is_continuous for variable in cpd.scope):
            difference = cpd.to_factor() - estimate.cpd(name).to_factor()
            parameters[name] = max(difference.max(), -difference.min())
    return NetworkComparison(structure, parameters, tuple(incomparable))
