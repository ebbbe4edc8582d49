"""Direct and indirect effects in a network without latent causes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from plausible.base import WEIGHT_NOISE, Result, format_number, record
from plausible.causal.adjustment.mediators import recanting_witness
from plausible.causal.estimation.rows import expected_outcome, read_levels, state_scores
from plausible.causal.queries.observed import fresh_name, refuse_overlap
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.models.network_parts import rebuilt
from plausible.variables import State, Variable


@record
class MediatedEffects(Result):
    """The effect of x' instead of x on the mean of Y, and its ways."""

    #: Y, X and M.
    outcome: str
    treatment: str
    mediators: tuple[str, ...]
    levels: tuple[State, State]  # x and x'
    #: E[Y_{a, M_b}] for (a, b) = (x, x), (x, x'), (x', x) and (x', x'): the treatment is a, the mediators are as they
    #: would be under b.
    means: tuple[float, float, float, float]

    @property
    def total(self) -> float:
        """E[Y_x'] - E[Y_x] = direct + indirect at x'."""
        return self.means[3] - self.means[0]

    @property
    def direct(self) -> float:
        """The natural direct effect E[Y_{x', M_x}] - E[Y_x]: the mediators stay as they would have been."""
        return self.means[2] - self.means[0]

    @property
    def indirect(self) -> float:
        """The natural indirect effect E[Y_{x, M_x'}] - E[Y_x]: only the mediators change."""
        return self.means[1] - self.means[0]

    @property
    def total_indirect(self) -> float:
        """What the direct effect leaves of the total one: E[Y_x'] - E[Y_{x', M_x}]."""
        return self.means[3] - self.means[2]

    def __str__(self) -> str:
        names = ", ".join(self.mediators)
        change = f"{self.treatment}: {self.levels[0]} -> {self.levels[1]}"
        lines = [
            f"Effect of {change} on {self.outcome}",
            f"  total              {format_number(self.total)}",
            f"  natural direct     {format_number(self.direct)}",
            f"  natural indirect   {format_number(self.indirect)}, through {names}",
        ]
        apart = self.total - self.direct - self.indirect
        # Each is what four inferences leave of larger numbers.
        if abs(apart) > WEIGHT_NOISE * max(map(abs, self.means)):
            lines.append(
                f"  interaction        {format_number(apart)}: what {names} does depends on {self.treatment}, so that "
                "direct and indirect do not add up to the total"
            )
        return "\n".join(lines)


def mediated_effects(
    network: BayesianNetwork,
    outcome: str,
    treatment: str,
    mediators: str | Iterable[str],
    levels: tuple[State, State] | None = None,
    event: State | None = None,
) -> MediatedEffects:
    """Natural direct and indirect effects, exactly: every edge out of the treatment carries one of two values.

    Edges that lead to a mediator first carry the value that the mediators respond to, the others the value that acts
    directly. With the treatment split in two, E[Y_{a, M_b}] is an ordinary query. Without latent causes this is right
    wherever the effects can be told apart at all. With them, or where one knows how noise acts: `natural_effects` of a
    functional model. Raises `NotSupported` if an effect of the treatment acts both through the mediators and past them:
    no data tell the effects apart. See Pearl (2001), Direct and indirect effects, UAI; Avin, Shpitser & Pearl (2005),
    Identifiability of path-specific effects, IJCAI; Shpitser & Tchetgen Tchetgen (2016), Causal inference with a
    graphical hierarchy of interventions, Annals of Statistics 44.

    Parameters
    ----------
    network
        A causal network without latent causes: its edges are taken for all causes.
    levels
        x and x'; the two states of the treatment, or 0 and 1 for a continuous one, where left out.
    event
        The state of a discrete outcome whose probability is the mean; see `state_scores`.

    Examples
    --------
    >>> from plausible import LinearGaussianCPD
    >>> net = BayesianNetwork(
    ...     LinearGaussianCPD("X"), LinearGaussianCPD("M", 0, {"X": 0.5}), LinearGaussianCPD("Y", 0, {"X": 2, "M": 3})
    ... )
    >>> mediated_effects(net, "Y", "X", mediators="M")
    Effect of X: 0 -> 1 on Y
      total              3.5
      natural direct     2
      natural indirect   1.5, through M
    """
    y, x, m = _read(network, outcome, treatment, mediators)
    # What has no effect on the outcome mediates nothing.
    acting = tuple(name for name in m if name in network.graph.ancestors(outcome))
    witness = recanting_witness(network.graph, outcome, treatment, acting)
    if witness is not None:
        raise NotSupported(
            f"{witness!r} is an effect of {treatment!r} that acts on {outcome!r} both through {', '.join(map(repr, m))}"
            f" and past it: the natural effects can't be told apart. Count {witness!r} among the mediators, or ask for "
            "controlled_direct_effect."
        )
    scores = None if y.is_continuous else state_scores(y, event)
    low, high = read_levels(x, levels)
    split, twin = _split(network, x, acting)
    means = tuple(
        expected_outcome(split, y, scores, {treatment: direct, twin: indirect})
        for direct in (low, high)
        for indirect in (low, high)
    )
    return MediatedEffects(outcome, treatment, m, (low, high), (means[0], means[1], means[2], means[3]))


def controlled_direct_effect(
    network: BayesianNetwork,
    outcome: str,
    treatment: str,
    mediators: Mapping[str, State],
    levels: tuple[State, State] | None = None,
    event: State | None = None,
) -> float:
    """E[Y | do(x', m)] - E[Y | do(x, m)]: what the treatment does while the mediators are held where they are set.

    Parameters
    ----------
    mediators
        m: mediator -> its value.
    levels, event
        As for `mediated_effects`.

    Examples
    --------
    >>> from plausible import TableCPD
    >>> net = BayesianNetwork(
    ...     TableCPD("X", [0.5, 0.5]), TableCPD("M", [[0.8, 0.2], [0.3, 0.7]], ["X"]),
    ...     TableCPD("Y", [[[0.9, 0.1], [0.6, 0.4]], [[0.7, 0.3], [0.1, 0.9]]], ["X", "M"]),
    ... )
    >>> round(controlled_direct_effect(net, "Y", "X", {"M": 1}), 3)
    0.5
    """
    y, x, _ = _read(network, outcome, treatment, list(mediators))
    scores = None if y.is_continuous else state_scores(y, event)
    low, high = (
        expected_outcome(network, y, scores, {**mediators, treatment: level}) for level in read_levels(x, levels)
    )
    return high - low


def _read(
    network: BayesianNetwork, outcome: str, treatment: str, mediators: str | Iterable[str]
) -> tuple[Variable, Variable, tuple[str, ...]]:
    if not isinstance(network, BayesianNetwork):
        raise NotSupported(
            f"Direct and indirect effects are those of a network, not of a {type(network).__name__}. Fit one first, as "
            "in learn.parameters(graph, data)."
        )
    names = (mediators,) if isinstance(mediators, str) else tuple(dict.fromkeys(mediators))
    UnknownVariable.check_all((outcome, treatment, *names), network.variables, "this network")
    if not names:
        raise InvalidArgument("There is no mediator: mediators= is empty.")
    refuse_overlap({"outcome": (outcome,), "treatment": (treatment,), "mediators": names})
    return network.variables[outcome], network.variables[treatment], names


def _split(network: BayesianNetwork, treatment: Variable, mediators: tuple[str, ...]) -> tuple[BayesianNetwork, str]:
    """The network in which a second treatment acts on the mediators, and its name."""
    rest = network.graph.subgraph([node for node in network.graph.nodes if node not in mediators])
    sources = {parent for name in mediators for parent in network.graph.parents(name)} - set(mediators)
    to_mediators = {*mediators, *sources, *rest.ancestors(sources)}
    name = fresh_name(f"{treatment.name}'", set(network.variables), "'")
    twin = treatment.renamed(name)
    variables = {**network.variables, treatment.name: twin}
    cpds = {
        child: rebuilt(cpd, variables) if child in to_mediators and treatment.name in cpd.parent_names else cpd
        for child, cpd in network.cpds.items()
    }
    own = rebuilt(network.cpd(treatment.name), variables)
    return BayesianNetwork(*cpds.values(), own), name
