"""Parts of models as tables for people: variables, distributions, factors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from plausible.base import TextTable, html_page, num_shown
from plausible.cpds import CPD
from plausible.factors import Factor
from plausible.variables import Variable
from plausible.variables.variable import states_cell

#: Lists in a cell that are longer are cut.
_MAX_LISTED = 12


class NetworkLike(Protocol):
    """A Bayesian network, as far as its table shows it."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""

    @property
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution."""


def network_table(network: NetworkLike) -> TextTable:
    """A row for each variable: states, parents, kind of distribution and number of parameters."""
    shown = list(network.variables.items())[: num_shown(len(network.variables))]
    rows = tuple((name, states_cell(variable), *_distribution(network, name)) for name, variable in shown)
    header = ("variable", "states", "parents", "distribution", "parameters")
    return TextTable(header, rows, 1, len(network.variables) - len(rows))


def _distribution(network: NetworkLike, name: str) -> tuple[str, str, str]:
    if name not in network.cpds:
        return ("", "input", "")
    cpd = network.cpds[name]
    return (_listed(cpd.parent_names), cpd.kind, str(cpd.num_parameters))


def variables_table(variables: Collection[Variable]) -> TextTable:
    """A row for each variable: its states."""
    shown = list(variables)[: num_shown(len(variables))]
    rows = tuple((variable.name, states_cell(variable)) for variable in shown)
    return TextTable(("variable", "states"), rows, 2, len(variables) - len(rows))


def factors_table(factors: Sequence[Factor], names: Iterable[str] | None = None) -> TextTable:
    """A row for each factor: its name or number, its variables and number of entries."""
    shown = factors[: num_shown(len(factors))]
    labels = [f"factor {place + 1}" for place in range(len(shown))] if names is None else names
    rows = tuple((label, _listed(factor.names), str(factor.size)) for label, factor in zip(labels, shown, strict=False))
    return TextTable(("factor", "variables", "entries"), rows, 1, len(factors) - len(rows))


def learned_html(network: NetworkLike, title: str) -> str:
    """What was learned, in a sentence, and the network below."""
    return html_page(title, network_table(network))


def title_of(value: object) -> str:
    """What a value prints as, without the brackets that it has in a shell."""
    return repr(value).removeprefix("<").removesuffix(">")


def _listed(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _MAX_LISTED else ""
    return f"{', '.join(names[:_MAX_LISTED])}{more}"


def family_text(cpd: CPD) -> str:
    """P(child | parents)."""
    given = f" | {', '.join(cpd.parent_names)}" if cpd.parent_names else ""
    return f"P({cpd.variable.name}{given})"
