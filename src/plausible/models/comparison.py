"""How two Bayesian networks differ, in structure and in parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from plausible.base.records import record
from plausible.errors import InvalidModel
from plausible.graphs.comparison import StructureComparison, compare_structure
from plausible.models.alignment import with_states_of
from plausible.models.bayesian_network import BayesianNetwork

__all__ = ["NetworkComparison", "compare"]


@record
class NetworkComparison:
    """How two networks over the same variables differ.

    Attributes
    ----------
    structure
        Edges that are the same, missing, extra or reversed.
    parameters
        For each discrete family that is the same in both networks, the largest difference between two probabilities.
    incomparable
        The variables whose parents differ, or that are an input of the estimate.
    """

    structure: StructureComparison
    parameters: Mapping[str, float]
    incomparable: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __hash__(self) -> int:
        return hash((self.structure, frozenset(self.parameters.items()), self.incomparable))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: a read-only mapping can't be pickled."""
        return NetworkComparison, (self.structure, dict(self.parameters), self.incomparable)

    @property
    def largest_difference(self) -> float:
        """The largest difference between two probabilities of comparable families; 0 where there are none."""
        return max(self.parameters.values(), default=0.0)

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

    Parameters
    ----------
    reference
        The network that is meant.
    estimate
        The network that was found.

    Examples
    --------
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
