"""What identification is asked and answers: effects in graphs of bit sets, made smaller by rules, and estimands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plausible.base import Result, record
from plausible.causal.discovery.pag_readings import effect_in_pag, refuse_query
from plausible.causal.expressions.notation import Notation, Symbol, function_text
from plausible.causal.expressions.tables import Evaluation, Source
from plausible.causal.expressions.tree import Expression
from plausible.causal.queries.observed import CausalLike, refuse_overlap
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.factors import Factor
from plausible.graphs import DAG, MAG, PAG, PDAG, Edge
from plausible.graphs.causal_graph import CausalGraph, latent_projection, read_causes
from plausible.graphs.mark_masks import bits
from plausible.graphs.nodes import Node, NodeIndex, Nodes


@dataclass(frozen=True, slots=True)
class MaskGraph:
    """A causal graph whose nodes are numbered along a topological order."""

    nodes: tuple[Node, ...]  # The node at each position; parents come before their children.
    parents: tuple[int, ...]  # For each position the bit set of those that an edge `->` or `<->` joins to it.
    children: tuple[int, ...]
    siblings: tuple[int, ...]
    members: int  # The nodes that are there; the others were projected out.

    @classmethod
    def of(cls, graph: DAG | CausalGraph) -> MaskGraph:
        """The graph as bit sets."""
        nodes = graph.topological_order
        position = {node: place for place, node in enumerate(nodes)}
        parents, children, siblings = ([0] * len(nodes) for _ in range(3))
        edges = [Edge.of(a, "->", b) for a, b in graph.edges] if isinstance(graph, DAG) else graph.edges
        for edge in edges:
            a, b = position[edge.left], position[edge.right]
            forward, backward = (children, parents) if edge.is_directed else (siblings, siblings)
            forward[a] |= 1 << b
            backward[b] |= 1 << a
        return cls(nodes, tuple(parents), tuple(children), tuple(siblings), (1 << len(nodes)) - 1)

    def mask(self, nodes: Iterable[Node]) -> int:
        """The bit set of some nodes."""
        chosen = set(nodes)
        return sum(1 << place for place, node in enumerate(self.nodes) if node in chosen)

    def names(self, mask: int) -> tuple[Node, ...]:
        """The nodes of a bit set, in topological order."""
        return tuple(self.nodes[place] for place in bits(mask))

    def ancestors(self, mask: int, within: int) -> int:
        """The nodes themselves and all with a directed path to one of them inside of `within`."""
        return _closure(self.parents, mask & within, within)

    def above(self, mask: int, cut_into: int) -> int:
        """The nodes themselves and all their ancestors in the graph without the edges into `cut_into`."""
        below = self.ancestors(mask, self.members & ~cut_into)
        return mask | self._with_parents(below, self.members)

    def descendants(self, mask: int, within: int) -> int:
        """The nodes themselves and all that a directed path inside of `within` leads to from them."""
        return _closure(self.children, mask & within, within)

    def district(self, mask: int, within: int) -> int:
        """The nodes themselves and all that paths of edges `<->` inside of `within` join to them."""
        return _closure(self.siblings, mask & within, within)

    def districts(self, within: int) -> list[int]:
        """The partition of `within` into districts, ordered by their first nodes."""
        found: list[int] = []
        while within:
            found.append(self.district(within & -within, within))
            within &= ~found[-1]
        return found

    def pillow(self, place: int, within: int) -> int:
        """All that a node without children in `within` depends on there: its district and that one's parents."""
        return self._with_parents(self.district(1 << place, within), within) & ~(1 << place)

    def separated(self, x: int, y: int, given: int, cut_into: int = 0, cut_out_of: int = 0) -> bool:
        """Whether X ⟂ Y | Z without arrowheads at `cut_into` and without edges `->` out of `cut_out_of`; linear."""
        if x & y:
            return False
        by_tail, by_arrow = self._steps(x, cut_into, cut_out_of, up=True, down=True)
        seen_tail = seen_arrow = 0
        while by_tail | by_arrow:
            if (by_tail | by_arrow) & y:
                return False
            seen_tail |= by_tail
            seen_arrow |= by_arrow
            everywhere = self._steps(by_tail & ~given, cut_into, cut_out_of, up=True, down=True)
            onwards = self._steps(by_arrow & ~given, cut_into, cut_out_of, up=False, down=True)
            back = self._steps(by_arrow & given, cut_into, cut_out_of, up=True, down=False)
            by_tail = (everywhere[0] | onwards[0] | back[0]) & ~seen_tail
            by_arrow = (everywhere[1] | onwards[1] | back[1]) & ~seen_arrow
        return True

    def _steps(self, mask: int, cut_into: int, cut_out_of: int, *, up: bool, down: bool) -> tuple[int, int]:
        """The nodes that one step leads to by their tail, and by their arrowhead."""
        by_tail = by_arrow = 0
        for place in bits(mask):
            if up and not cut_into >> place & 1:
                by_tail |= self.parents[place] & ~cut_out_of
                by_arrow |= self.siblings[place] & ~cut_into
            if down and not cut_out_of >> place & 1:
                by_arrow |= self.children[place] & ~cut_into
        return by_tail, by_arrow

    def _with_parents(self, nodes: int, within: int) -> int:
        around = nodes
        for place in bits(nodes):
            around |= self.parents[place]
        return around & within

    def projected(self, place: int) -> MaskGraph:
        """The latent projection that takes one node away."""
        one = 1 << place
        parents, children, siblings = list(self.parents), list(self.children), list(self.siblings)
        above, below, beside = parents[place], children[place], siblings[place]
        for child in bits(below):
            parents[child] = (parents[child] | above) & ~one
            siblings[child] = (siblings[child] | below | beside) & ~(1 << child)
        for parent in bits(above):
            children[parent] = (children[parent] | below) & ~one
        for sibling in bits(beside):
            siblings[sibling] = (siblings[sibling] | (below & ~(1 << sibling))) & ~one
        parents[place] = children[place] = siblings[place] = 0
        rows = tuple(parents), tuple(children), tuple(siblings)
        return replace(self, parents=rows[0], children=rows[1], siblings=rows[2], members=self.members & ~one)


def _closure(rows: Sequence[int], start: int, within: int) -> int:
    found = frontier = start
    while frontier:
        reached = 0
        for place in bits(frontier):
            reached |= rows[place]
        frontier = reached & within & ~found
        found |= frontier
    return found


@record
class Effect(Result):
    """The question P(outcome | do(treatment), given), about variables and not yet about their values.

    >>> print(Effect(("C",), ("S",), ("G",)))
    P(C | do(S), G)
    """

    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...] = ()
    given: tuple[Node, ...] = ()

    def __str__(self) -> str:
        conditions = [f"do({node_list(self.treatment)})"] if self.treatment else []
        conditions += [node_list(self.given)] if self.given else []
        return f"P({node_list(self.outcome)}{' | ' if conditions else ''}{', '.join(conditions)})"


def node_list(nodes: tuple[Node, ...]) -> str:
    """The nodes with commas between."""
    return ", ".join(map(str, nodes))


@record
class IDStep(Result):
    """One step: the rule that allows it, and what it says here."""

    rule: str
    statement: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.statement}"


@record
class IDDerivation(Result):
    """The steps from the question to the estimand; prints as a numbered list."""

    _rows = "steps"

    steps: tuple[IDStep, ...]

    def __iter__(self) -> Iterator[IDStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))


def read_question(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, given: Nodes, observed: Nodes | None
) -> tuple[CausalGraph, Effect]:
    """The question in names that the graph knows, with latent variables projected out."""
    found = getattr(graph, "graph", graph)
    if isinstance(found, PAG) and outcome in found.nodes and treatment in found.nodes:
        refuse_query(found, outcome, treatment)
        raise NotSupported(
            "Identification is about one graph, and a PAG stands for a class of them; here all of them agree: "
            f"{effect_in_pag(found, outcome, treatment)} Ask effect_in_pag(...), or estimate_effect(...) with data."
        )
    if isinstance(found, PDAG | MAG | PAG):
        raise NotSupported(
            f"Identification is about one graph, and a {type(found).__name__} stands for a class of them. What all "
            "members agree on: adjustment_sets(...) or estimate_effect(...), and effect_in_pag(...) for a PAG."
        )
    causes = read_causes(graph)
    index = NodeIndex(causes.nodes)
    effect = Effect(*(index.names(index.select(nodes)) for nodes in (outcome, treatment, given)))
    if not effect.outcome:
        raise InvalidArgument("An effect needs an outcome: name at least one node.")
    refuse_overlap({"outcome": effect.outcome, "treatment": effect.treatment, "given": effect.given})
    if observed is None:
        return CausalGraph(causes), effect
    seen = set(index.names(index.select(observed)))
    for node in (*effect.outcome, *effect.treatment, *effect.given):
        if node not in seen:
            raise InvalidArgument(
                f"{effect} asks about {node!r}, which observed= leaves out: nothing is known of its distribution."
            )
    return latent_projection(causes, observed=seen), effect


def reduce_question(graph: MaskGraph, effect: Effect) -> tuple[Effect, list[IDStep]]:
    """The same question with fewer treatments and fewer conditions.

    Treatments without an effect are deleted (rule 3); conditions that could as well be treatments become these (rule 2,
    the loop of the algorithm IDC). When no condition can be exchanged any more, the conditional effect is identifiable
    if and only if P(outcome, given | do(treatment)) is.

    Shpitser & Pearl (2006), Identification of conditional interventional distributions, UAI.
    """
    steps: list[IDStep] = []
    effect = _without_idle(graph, effect, steps)
    while exchanged := next((node for node in effect.given if _is_exchangeable(graph, effect, node)), None):
        given = tuple(node for node in effect.given if node != exchanged)
        after = replace(effect, treatment=(*effect.treatment, exchanged), given=given)
        steps.append(IDStep("rule 2", f"{effect} = {after}"))
        effect = _without_idle(graph, after, steps)
    return effect, steps


def _without_idle(graph: MaskGraph, effect: Effect, steps: list[IDStep]) -> Effect:
    """Delete one treatment after the other that separation shows to be without effect."""
    for node in effect.treatment:
        others = tuple(other for other in effect.treatment if other != node)
        # Rule 3: Y ⟂ X | W, Z in the graph without edges into W, nor into X unless it is an ancestor of Z.
        one, rest, given = graph.mask([node]), graph.mask(others), graph.mask(effect.given)
        cut_into = rest if one & graph.above(given, rest) else rest | one
        if graph.separated(graph.mask(effect.outcome), one, rest | given, cut_into):
            after = replace(effect, treatment=others)
            steps.append(IDStep("rule 3", f"{effect} = {after}"))
            effect = after
    return effect


def _is_exchangeable(graph: MaskGraph, effect: Effect, node: Node) -> bool:
    """Rule 2: Y ⟂ Z | X, W in the graph without edges into X or out of Z."""
    one, treatment, given = graph.mask([node]), graph.mask(effect.treatment), graph.mask(effect.given)
    return graph.separated(graph.mask(effect.outcome), one, treatment | given & ~one, treatment, one)


@record
class Estimand(Result):
    """An effect as a function of the observed distribution; made by `identify`."""

    query: Effect  # The effect
    expression: Expression  # The expression tree that equals it in every model of the graph
    derivation: IDDerivation  # How it was got
    #: The nodes that it adjusts for, where it is Σ_w P(y | x, w) P(w); None for every other form.
    adjustment: tuple[Node, ...] | None = None

    @property
    def variables(self) -> tuple[Node, ...]:
        """The observed variables whose distribution has to be known."""
        return tuple(sorted(self.expression.variables, key=str))

    @property
    def arbitrary(self) -> tuple[Node, ...]:
        """Variables that stand in the expression with any value: the graph says that it does not matter which."""
        asked = {*self.query.outcome, *self.query.treatment, *self.query.given}
        return tuple(sorted({s.variable for s in self.expression.free if s.variable not in asked}, key=str))

    @property
    def formula(self) -> str:
        """The expression as text; where values in it are arbitrary, it says so."""
        notation = Notation.of(self.variables)
        free = ", ".join(notation.symbol(Symbol(node)) for node in self.arbitrary)
        return f"{self.expression}{f', for any {free}' if free else ''}"

    @property
    def latex(self) -> str:
        """The expression in LaTeX, without dollar signs."""
        return self.expression.latex

    @property
    def python(self) -> str:
        """A Python function `effect(joint)` that computes the effect with NumPy alone.

        Its answer has the axes (treatment, given, outcome), as far as the expression depends on them.
        """
        return function_text(
            self.expression, self._axes, arbitrary=[Symbol(node) for node in self.arbitrary], title=str(self.query)
        )

    def __str__(self) -> str:
        asked = (*self.query.outcome, *self.query.treatment, *self.query.given)
        notation = Notation.of(list(dict.fromkeys([*asked, *self.variables])))
        roles = (self.query.outcome, self.query.treatment, self.query.given)
        effect = Effect(*(tuple(notation.symbol(Symbol(node)) for node in nodes) for nodes in roles))
        return f"{effect} = {self.formula}"

    @property
    def _axes(self) -> tuple[Symbol, ...]:
        return tuple(map(Symbol, (*self.query.treatment, *self.query.given, *self.query.outcome)))

    def evaluate(
        self, source: Source, do: Mapping[str, Any] | None = None, evidence: Mapping[str, Any] | None = None
    ) -> Factor:
        """The effect under an observed distribution, exactly.

        Raises `PositivityViolation` where the effect depends on probabilities given what never happens. `do` and
        `evidence` ask for the part that is determined.

        Parameters
        ----------
        source
            A network or a compiled engine, of which only the tables are asked that the expression names, never the
            whole joint; or the joint distribution as a factor.
        do
            Treatment -> state: only this intervention.
        evidence
            Condition -> state: only given this.

        Returns
        -------
        Factor
            P(outcome | do(treatment), given) over (treatment, given, outcome), less what `do` and `evidence` fix;
            constant along treatments that have no effect.

        Examples
        --------
        >>> from plausible.causal.identification.algorithm import identify
        >>> joint = Factor({"X": 2, "Z": 2, "Y": 2}, [[[0.24, 0.06], [0.04, 0.06]], [[0.18, 0.02], [0.20, 0.20]]])
        >>> effect = identify("Z -> X -> Y; Z -> Y", outcome="Y", treatment="X")
        >>> print(effect)
        P(y | do(x)) = Σ_z P(y | x, z) P(z)
        >>> effect.evaluate(joint, do={"X": 1}).values.round(3)
        array([0.7, 0.3])
        """
        settings = {**_known(do, self.query.treatment, "do="), **_known(evidence, self.query.given, "evidence=")}
        evaluation = Evaluation(source)
        table = evaluation.value(self.expression)
        arbitrary = [Symbol(node) for node in self.arbitrary]
        return evaluation.factor(table, self._axes, arbitrary=arbitrary, fixed=settings)


def _known(settings: Mapping[str, Any] | None, nodes: tuple[Node, ...], argument: str) -> Mapping[str, Any]:
    for name in settings or {}:
        if name not in nodes:
            raise InvalidArgument(f"{argument} fixes {name!r}, which the effect does not ask.{suggestion(name, nodes)}")
    return settings or {}
