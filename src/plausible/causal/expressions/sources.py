"""Where the numbers of an expression come from: a network, a compiled engine, or a joint table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from plausible.errors import NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.variables import Variable

__all__ = ["CanBeAsked", "Distribution", "Source"]


class CanBeAsked(Protocol):
    """A model that gives exact joint tables of some of its variables."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""

    def query(self, targets: Any, /) -> Factor:
        """The joint distribution of some variables."""


#: A network, an engine, or the joint distribution as a factor.
Source: TypeAlias = "CanBeAsked | Factor"


class Distribution:
    """The observed distribution, of which any joint table can be had; each is asked for once."""

    __slots__ = ("_answers", "_source", "variables")

    def __init__(self, source: Source) -> None:
        self._answers: dict[frozenset[str], Factor] = {}
        if isinstance(source, Factor):
            self._source: Source = source.normalize()
            self.variables: Mapping[str, Variable] = {variable.name: variable for variable in source.scope}
        elif hasattr(source, "query") and hasattr(source, "variables"):
            self._source, self.variables = source, source.variables
        else:
            raise NotSupported(
                f"An estimand is evaluated on a network, a compiled engine or a joint Factor, not on a "
                f"{type(source).__name__}. From data, learn a network first, as with learn.parameters(graph, data)."
            )

    def variable(self, name: object) -> Variable:
        """The variable of that name."""
        if not isinstance(name, str) or name not in self.variables:
            raise UnknownVariable.named(name, self.variables, "the distribution that the estimand is evaluated on")
        return self.variables[name]

    def joint(self, names: Sequence[str]) -> Factor:
        """P(names), with the axes in this order."""
        key = frozenset(names)
        if key not in self._answers:
            source = self._source
            self._answers[key] = source.marginal(names) if isinstance(source, Factor) else source.query(list(names))
        return self._answers[key].reorder(list(names))
