"""Which counterfactuals experiments can answer: counterfactual graphs, and the algorithms ID* and IDC*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from plausible.causal.counterfactuals.potential import (
    CounterfactualEstimand,
    ExperimentTerm,
    Free,
    Potential,
    Setting,
    SumOfProducts,
)
from plausible.causal.queries.observed import CausalLike, fresh_name
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotIdentifiable, UnknownVariable
from plausible.graphs import DAG, CausalGraph, Edge
from plausible.graphs.graph_input import read_as
from plausible.variables import Jeffrey, State
from plausible.variables.evidence import Likelihood

World: TypeAlias = "tuple[tuple[str, Setting], ...]"


class Constant(NamedTuple):
    """A variable that is set, or that may be replaced by the state which the event gives it."""

    state: State


@dataclass(slots=True)
class MergedCopy:
    """A variable in one or more worlds, between which it can't differ."""

    variable: str  # Its name in the causal graph.
    # For each parent what it is in these worlds: constants, or the positions of copies. There are several only where
    # these are known to be in the same state.
    parents: dict[str, dict[int | Constant, None]]
    state: Constant | None = None  # What the event says, if anything.


@dataclass(slots=True)
class CounterfactualGraph:
    """The copies, causes first, and where each world has which."""

    copies: list[MergedCopy] = field(default_factory=list)
    places: dict[World, dict[str, int | Constant]] = field(default_factory=dict)

    def place(self, term: Potential) -> int | Constant:
        """What a potential response is."""
        return self.places[term.settings][term.variable]


def counterfactual_graph(
    graph: CausalGraph, event: Mapping[Potential, State], merging: Collection[Potential]
) -> CounterfactualGraph | None:
    """The copies of variables that an event is about, and their ancestors; None where the event contradicts itself.

    Two copies of a variable are one if each of their parents is the same copy, or is known to be in the same state: by
    intervention, or by the event itself (Shpitser & Pearl 2008, lemma 24).
    """
    found = CounterfactualGraph(places={term.settings: {} for term in event})
    needed = graph.ancestors([term.variable for term in event]) | {term.variable for term in event}
    for variable in map(str, graph.topological_order):
        if variable in needed and not _add(found, variable, graph, event, merging):
            return None
    return found


def _add(
    found: CounterfactualGraph,
    variable: str,
    graph: CausalGraph,
    event: Mapping[Potential, State],
    merging: Collection[Potential],
) -> bool:
    """Add the copies of a variable in all worlds; False where two states are given to one of them."""
    known: dict[tuple[int | Constant, ...], int] = {}
    for world, places in found.places.items():
        settings = dict(world)
        if variable in settings:
            places[variable] = Constant(settings[variable])
            continue
        parents = {str(parent): places[str(parent)] for parent in graph.parents(variable)}
        # A copy whose state is known stands for that state.
        states = {
            found.place(term): Constant(event[term]) for term in reversed(list(merging)) if term.variable in parents
        }
        key = tuple(place if isinstance(place, Constant) else states.get(place, place) for place in parents.values())
        if key not in known:
            known[key] = len(found.copies)
            found.copies.append(MergedCopy(variable, {name: {} for name in parents}))
        places[variable] = known[key]
        copy = found.copies[known[key]]
        for name, place in parents.items():
            copy.parents[name][place] = None
    for term, state in event.items():
        if term.variable == variable:
            place = found.place(term)
            if not isinstance(place, Constant):
                copy = found.copies[place]
                copy.state = copy.state or Constant(state)
                if copy.state != Constant(state):
                    return False
    return True


Event = Mapping[Potential, State]
#: The same, where the name of a variable stands for what it was without any intervention.
EventLike = Mapping[Potential, State] | Mapping[str, State] | Mapping[Potential | str, State]


def identify_counterfactual(
    graph: CausalLike, event: EventLike, given: EventLike | None = None
) -> CounterfactualEstimand:
    """P(event | given) in terms of interventional distributions, if these determine it whatever the mechanisms are.

    The event is factored over the districts of its counterfactual graph; a district is the outcome of one experiment
    unless it needs a variable in two states at once, such as Y_x and Y_x', or X = x' and Y_x where X <-> Y. Conditions
    that act like interventions are made interventions first. Only what can't be identified is refused, if variables
    have three states or more; with two, subtraction answers some refused questions: P(Y_0, X=1) is P(Y_0) - P(Y, X=0).
    Raises `NotIdentifiable`: two models agree on all experiments and not on the answer; `hedge` lists the district that
    is to blame. See Shpitser & Pearl (2008), Complete identification methods for the causal hierarchy, algorithms ID*
    and IDC*. The denominator is identified by itself here, as conditions may merge copies that the event alone keeps
    apart.

    Parameters
    ----------
    graph
        A DAG or causal graph; `<->` is a latent common cause.
    event
        Potential responses, not nested -> states, all at once: `{Potential("Y", {"X": 1}): 1}`.
    given
        Potential responses -> states that are known; `{"X": 1}` is short for `{Potential("X"): 1}`.

    Examples
    --------
    >>> treated = {"X": 1}
    >>> print(identify_counterfactual("X -> M -> Y; X <-> Y", {Potential("Y", {"X": 0}): 1}, treated))
    Σ_{m} P(X=1, Y=1 | do(M=m)) P(M=m | do(X=0)) / (P(X=1))
    >>> identify_counterfactual("X -> Y; X <-> Y", {Potential("Y", {"X": 0}): 1}, treated)
    Traceback (most recent call last):
        ...
    plausible.errors.NotIdentifiable: P(Y[X=0]=1 | X=1) is not identifiable from experiments: the district X, Y[X=0] ...
    """
    causes = CausalGraph(read_as(graph, CausalGraph, DAG))
    asked, told = (
        {Potential(term) if isinstance(term, str) else term: state for term, state in part.items()}
        for part in (event, given or {})
    )
    sides = (", ".join(f"{term}={state}" for term, state in part.items()) for part in (asked, told))
    question = f"P({' | '.join(side for side in sides if side)})"
    wanted, known = _read(causes, asked), _read(causes, told)
    if known is None or counterfactual_graph(causes, known, list(known)) is None:
        raise ImpossibleEvidence(f"What is given in {question} can't happen.")
    while wanted is not None and (exchanged := _exchanged(causes, wanted, known)) is not None:
        wanted, known = exchanged
    both = None if wanted is None else _joined(known, wanted)
    numerator = SumOfProducts(is_zero=True) if both is None else _identified(causes, both, question)
    if numerator.is_zero:
        return CounterfactualEstimand(numerator)
    return CounterfactualEstimand(numerator, _identified(causes, known, question))


def _read(graph: CausalGraph, event: Event) -> dict[Potential, State] | None:
    """The event without what its own interventions make sure (ID*, line 3); None where they forbid it (line 2)."""
    found: dict[Potential, State] = {}
    for term, state in event.items():
        if not isinstance(term, Potential):
            raise InvalidArgument(f"An event maps potential responses to states: Potential({term!r}), not {term!r}.")
        UnknownVariable.check_all((term.variable, *term.do), graph.nodes, "this graph")
        if nested := [value for value in term.do.values() if isinstance(value, Potential)]:
            raise InvalidArgument(f"{term} is nested: identification takes states as settings, not {nested[0]}.")
        if not isinstance(state, Hashable) or isinstance(state, (Likelihood, Jeffrey)):
            raise InvalidArgument(
                f"{term} is said to be {state!r}: identification takes one state of each. The probability of one of "
                "several states is the sum of theirs."
            )
        if term.variable not in term.do:
            found[term] = state
        elif term.do[term.variable] != state:
            return None
    return found


def _joined(one: Event, two: Event) -> dict[Potential, State] | None:
    """Both events; None where they contradict each other outright."""
    if any(one.get(term, state) != state for term, state in two.items()):
        return None
    return {**one, **two}


def _identified(graph: CausalGraph, event: Event, question: str) -> SumOfProducts:
    """P(event) by the districts of its counterfactual graph (ID*, lines 4 to 9)."""
    found = counterfactual_graph(graph, event, list(event))
    if found is None:
        return SumOfProducts(is_zero=True)
    # The copies in the event and their ancestors, as far as these are not known.
    front = [place for term in event if not isinstance(place := found.place(term), Constant)]
    seen = set(front)
    while front:
        for places in found.copies[front.pop()].parents.values():
            if len(places) == 1 and not isinstance(place := next(iter(places)), Constant) and place not in seen:
                seen.add(place)
                front.append(place)
    relevant = sorted(seen)
    # A name for the state of each copy that is summed over: m, m', ...
    taken: set[str] = set()
    hidden = [place for place in relevant if found.copies[place].state is None]
    symbols: dict[int, Free] = {}
    for place in hidden:
        variable = found.copies[place].variable
        symbols[place] = Free(fresh_name(variable.lower(), taken, "'"), variable)
    districts = _separation_graph(graph, found).subgraph(relevant).districts
    members = ([place for place in relevant if place in district] for district in districts)
    terms = [_experiment(found, places, symbols, question) for places in members]
    # The sum without what occurs once, as part of an outcome: it adds up to one.
    free = list(symbols.values())
    uses = Counter(value for term in terms for _, value in (*term.outcome, *term.do) if isinstance(value, Free))
    set_to = {value for term in terms for _, value in term.do}
    spare = {symbol for symbol in free if uses[symbol] == 1 and symbol not in set_to}
    kept = [ExperimentTerm(tuple(pair for pair in term.outcome if pair[1] not in spare), term.do) for term in terms]
    return SumOfProducts(
        tuple(symbol for symbol in free if symbol not in spare), tuple(term for term in kept if term.outcome)
    )


def _experiment(
    found: CounterfactualGraph, district: Sequence[int], symbols: Mapping[int, Free], question: str
) -> ExperimentTerm:
    """P(district | do(its other parents)), where no variable is needed in two states."""

    def value(place: int | Constant) -> State | Free:
        known = place if isinstance(place, Constant) else found.copies[place].state
        return known.state if known is not None else symbols[place]  # type: ignore[index]

    inside = {found.copies[place].variable: place for place in district}
    do: dict[str, State | Free] = {}
    is_possible = len(inside) == len(district)
    for place in district:
        for parent, places in found.copies[place].parents.items():
            state = value(next(iter(places)))
            if parent in inside:
                is_possible &= inside[parent] in places or value(inside[parent]) == state
            else:
                is_possible &= do.setdefault(parent, state) == state
    if not is_possible:
        names = []
        for place in district:
            variable = found.copies[place].variable
            worlds = [world for world, places in found.places.items() if places.get(variable) == place]
            names.append(min((str(Potential(variable, dict(world))) for world in worlds), key=len))
        raise NotIdentifiable(
            f"{question} is not identifiable from experiments: the district {', '.join(names)} needs some variable in "
            "two states at once, and no experiment has both. Assume a functional model, or ask for bounds.",
            hedge=tuple(names),
        )
    return ExperimentTerm(tuple((name, value(place)) for name, place in inside.items()), tuple(do.items()))


def _exchanged(
    graph: CausalGraph, wanted: Event, known: Event
) -> tuple[dict[Potential, State], dict[Potential, State]] | None:
    """The question with one condition made an intervention, by rule 2 in the counterfactual graph (IDC*, line 4).

    Copies are merged by what is given only, so that the graph holds for the condition alone as well. None where no
    condition can be exchanged.
    """
    both = _joined(known, wanted)
    found = None if both is None else counterfactual_graph(graph, both, list(known))
    if found is None:
        return None
    separation = _separation_graph(graph, found)
    observed = {term: place for term in known if not isinstance(place := found.place(term), Constant)}
    asked = {place for term in wanted if not isinstance(place := found.place(term), Constant)}
    for term, place in observed.items():
        others, targets = set(observed.values()) - {place}, asked - set(observed.values())
        if separation.without_outgoing(place).m_separated([place], sorted(targets), given=sorted(others)):
            setting = {term.variable: known[term]}
            return _set(found, wanted, place, setting), _set(found, known, place, setting)
    return None


def _set(found: CounterfactualGraph, event: Event, place: int, setting: Mapping[str, State]) -> dict[Potential, State]:
    """The event in worlds in which a copy is set; what is said about the copy itself is dropped."""
    changed: dict[Potential, State] = {}
    (variable,) = setting
    for term, state in event.items():
        if found.place(term) != place:
            is_there = found.places[term.settings].get(variable) == place
            changed[Potential(term.variable, {**term.do, **setting}) if is_there else term] = state
    return changed


def _separation_graph(graph: CausalGraph, found: CounterfactualGraph) -> CausalGraph:
    """The copies as a causal graph; copies of one variable, and of siblings, share latent causes."""
    edges: dict[Edge, None] = {}
    for place, copy in enumerate(found.copies):
        for places in copy.parents.values():
            edges |= {Edge.of(parent, "->", place): None for parent in places if not isinstance(parent, Constant)}
        near = {copy.variable, *graph.siblings(copy.variable)}
        for other in range(place):
            if found.copies[other].variable in near:
                edges[Edge.of(other, "<->", place)] = None
    return CausalGraph(edges, nodes=range(len(found.copies)))
