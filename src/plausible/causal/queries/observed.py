"""What can be seen of a causal network some of whose variables are latent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, latent_projection
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, State
from plausible.variables.evidence import findings_of


@dataclass(frozen=True, slots=True)
class ObservedModel:
    """A causal network seen through some of its variables.

    It has a causal graph and answers questions, but it is no `BayesianNetwork`: where latent variables act on several
    observed ones, the distribution of these does not factorise into one CPD for each node given its parents in the
    graph.
    """

    network: BayesianNetwork  # The truth, with the latent variables in it
    observed: tuple[str, ...]  # The names of the variables that can be seen

    @property
    def latent(self) -> tuple[str, ...]:
        """The names of the other variables."""
        return tuple(name for name in self.network.variables if name not in self.observed)

    @property
    def graph(self) -> CausalGraph:
        """The latent projection of the network's graph: `<->` where observed variables share a latent cause."""
        return latent_projection(self.network.graph, observed=self.observed)

    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
    ) -> Factor:
        """P(targets | evidence, do), all about observed variables; see `BayesianNetwork.query`.

        Parameters
        ----------
        targets
            A name or several.
        evidence
            What is seen.
        do
            What is set.
        """
        named = [targets] if isinstance(targets, str) else list(targets)
        for name in (*named, *findings_of(evidence), *findings_of(do)):
            if name not in self.observed:
                hidden = " It is latent." if name in self.network.variables else ""
                raise UnknownVariable(f"{name!r} is not one of the observed variables {list(self.observed)}.{hidden}")
        return self.network.query(named, evidence, do)


def observed_model(network: BayesianNetwork, observed: str | Iterable[str]) -> ObservedModel:
    """The model over some variables of a causal network; the others are latent.

    Parameters
    ----------
    network
        A causal network with its latent variables.
    observed
        What can be seen, a name or several.

    Examples
    --------
    >>> from plausible import TableCPD
    >>> noisy = [[0.9, 0.1], [0.2, 0.8]]
    >>> net = BayesianNetwork(
    ...     TableCPD("U", [0.5, 0.5]), TableCPD("X", noisy, ["U"]), TableCPD("Y", [noisy, noisy], ["X", "U"])
    ... )
    >>> observed_model(net, ["X", "Y"]).graph
    CausalGraph('X -> Y; X <-> Y')
    """
    names = [observed] if isinstance(observed, str) else list(observed)
    for name in names:
        if name not in network.variables:
            raise UnknownVariable.named(name, network.variables, "this network")
    if not names:
        raise InvalidArgument("Nothing is observed: name one variable or more.")
    return ObservedModel(network, tuple(name for name in network.variables if name in set(names)))
