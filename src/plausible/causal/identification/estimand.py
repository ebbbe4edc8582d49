"""Estimands: identified effects, written in probabilities of the observed distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plausible.base.records import Result, record
from plausible.causal.expressions.notation import Notation, Symbol, function_text
from plausible.causal.expressions.tables import Evaluation, Source
from plausible.causal.expressions.tree import Expression
from plausible.causal.identification.question import Effect, IDDerivation
from plausible.errors import InvalidArgument, suggestion
from plausible.factors import Factor
from plausible.graphs.nodes import Node


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
