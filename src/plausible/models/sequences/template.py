"""Templates of networks over time: the distributions of the first slices, and those of all later ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

from plausible.base.records import html_of_print
from plausible.cpds import CPD
from plausible.errors import InvalidModel, UnknownVariable, shortened
from plausible.graphs import DAG
from plausible.models.network_parts import ByName, read_inputs
from plausible.variables import Variable

_INDEXED = re.compile(r"(?P<name>.+)\[(?P<index>-?\d+)\]", re.DOTALL)


class Lagged(NamedTuple):
    """A variable so many steps back; `lag` is 0 in the slice itself."""

    name: str
    lag: int

    def __str__(self) -> str:
        return f"{self.name}[-{self.lag}]" if self.lag else self.name

    def _repr_html_(self) -> str:
        return html_of_print(self)

    def older(self, steps: int = 1) -> Lagged:
        """The same variable as it is called so many steps later."""
        return Lagged(self.name, self.lag + steps)


def indexed(text: str) -> tuple[str, int | None]:
    """A name and the number in brackets behind it, if there is one: "X[-1]" is `("X", -1)`."""
    match = _INDEXED.fullmatch(text)
    return (text, None) if match is None else (match["name"], int(match["index"]))


def lagged(text: str) -> Lagged:
    """The variable that "X" or "X[-1]" means in a slice."""
    name, index = indexed(text)
    if index is not None and index >= 0:
        raise InvalidModel(f"{text!r} is a variable of one slice: write {name!r}, or '{name}[-1]' for one step before.")
    return Lagged(name, -(index or 0))


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """The distributions of a network over time. In those of a slice, "X[-1]" is X one step before."""

    variables: Mapping[str, Variable]  # of one slice, inputs first
    inputs: tuple[str, ...]
    #: Name -> distribution, in each of the first slices; the last mapping is that of all later ones.
    slices: tuple[Mapping[str, CPD], ...]

    @classmethod
    def read(cls, initial: Any, transition: Any, inputs: Iterable[Variable]) -> Template:
        """Check the parts of a network over time and put them together."""
        given = read_inputs(inputs)
        later = _by_child(_cpds("transition", transition))
        firsts = _first_slices(_cpds("initial", initial))
        variables = _variables(given, firsts, later)
        later = {**{name: cpd for name, cpd in firsts[0].items() if name not in later}, **later} if firsts else later
        bound = {name: _bound(cpd, None, variables) for name, cpd in later.items()}
        early = [{name: _bound(cpd, at, variables) for name, cpd in cpds.items()} for at, cpds in enumerate(firsts)]
        names = [name for name in variables if name not in {variable.name for variable in given}]
        num_first = max(1, len(firsts), *(longest_lag(cpd) for cpd in bound.values()))
        slices = []
        for at in range(num_first):
            own = early[at] if at < len(early) else {}
            slices.append({name: own.get(name) or _fitting(bound[name], at) for name in names})
        slices.append({name: bound[name] for name in names})
        template = cls(variables, tuple(variable.name for variable in given), tuple(map(ByName, slices)))
        for at in range(len(slices)):
            template.order(at)  # which refuses cycles
        return template

    @property
    def num_first(self) -> int:
        """How many slices have distributions of their own, at the beginning."""
        return len(self.slices) - 1

    @property
    def later(self) -> Mapping[str, CPD]:
        """The distributions of all slices but the first ones."""
        return self.slices[-1]

    @property
    def reach(self) -> int:
        """How many steps any distribution looks back."""
        return max((longest_lag(cpd) for cpds in self.slices for cpd in cpds.values()), default=0)

    def reaching(self, lag: int) -> Template:
        """The same, told apart in so many first slices that later ones all have one so far back."""
        more = max(0, lag - self.num_first)
        return replace(self, slices=(*self.slices, *[self.later] * more)) if more else self

    def cpds_at(self, step: int) -> Mapping[str, CPD]:
        """The distributions of a slice."""
        return self.slices[min(step, self.num_first)]

    def parents_at(self, number: int) -> dict[str, tuple[Lagged, ...]]:
        """Name -> parents, in one of `slices`."""
        return {name: tuple(map(lagged, cpd.parent_names)) for name, cpd in self.slices[number].items()}

    def order(self, number: int) -> list[str]:
        """The variables of one of `slices`, parents in the same slice first."""
        edges = [
            (parent.name, name)
            for name, parents in self.parents_at(number).items()
            for parent in parents
            if not parent.lag
        ]
        return [str(node) for node in DAG(edges, nodes=self.variables).topological_order]

    @property
    def continuous(self) -> frozenset[str]:
        """The names of the continuous variables."""
        return frozenset(name for name, variable in self.variables.items() if variable.is_continuous)

    def handed_on(self, number: int, known: Collection[str], asked: Collection[Lagged] = ()) -> tuple[Lagged, ...]:
        """The variables of one of `slices`, and of those before it, that later ones depend on, but for those known.

        Those that are `asked` about in each slice are handed on, too.
        """
        needed: set[Lagged] = set()
        for parents in (*self.parents_at(len(self.slices) - 1).values(), asked):
            for parent in parents:
                needed |= {Lagged(parent.name, age) for age in range(parent.lag)}
        for later in range(len(self.slices) - 2, number, -1):
            used = {parent for parents in self.parents_at(later).values() for parent in parents if parent.lag}
            used |= {one for one in asked if 0 < one.lag <= later}
            passed = {one for one in needed if one.lag}
            needed = {Lagged(one.name, one.lag - 1) for one in used | passed}
        ranks = {name: rank for rank, name in enumerate(self.variables)}
        hidden = (one for one in needed if one.name not in known)
        return tuple(sorted(hidden, key=lambda one: (one.lag, ranks[one.name])))


def longest_lag(cpd: CPD) -> int:
    """How far back the parents of a distribution lie."""
    return max((lagged(name).lag for name in cpd.parent_names), default=0)


def _cpds(which: str, given: Any) -> list[tuple[int, CPD]]:
    """The distributions given, each with the number of the list that it is in, where there are several lists."""
    parts = [given] if isinstance(given, CPD) else given
    if isinstance(parts, (str, Mapping)) or not isinstance(parts, Iterable):
        _refuse(which, parts)
    listed: list[tuple[int, CPD]] = []
    for number, part in enumerate(parts):
        inner = [part] if isinstance(part, CPD) else part
        if not isinstance(inner, (list, tuple)) or not all(isinstance(cpd, CPD) for cpd in inner):
            _refuse(which, part)
        if inner is part and which == "transition":
            raise InvalidModel("transition= is one list of CPDs, which are those of all slices but the first ones.")
        listed += [(number if inner is part else 0, cpd) for cpd in inner]
    return listed


def _refuse(which: str, part: object) -> NoReturn:
    raise InvalidModel(
        f"{which}= of a dynamic Bayesian network is a list of CPDs, not {shortened(part)}. A CPD is "
        "TableCPD('rain', [0.5, 0.5]) in the first slice, TableCPD('rain', rows, parents=['rain[-1]']) later."
    )


def _by_child(listed: list[tuple[int, CPD]]) -> dict[str, CPD]:
    found: dict[str, CPD] = {}
    for _, cpd in listed:
        name, index = indexed(cpd.variable.name)
        if index is not None:
            raise InvalidModel(
                f"transition= has a CPD of {cpd.variable.name!r}: it tells {name!r} from the slices before, so call "
                f"the variable {name!r} and give parents such as '{name}[-1]'."
            )
        if name in found:
            raise InvalidModel(f"transition= has two distributions of {name!r}.")
        found[name] = cpd
    return found


def _first_slices(listed: list[tuple[int, CPD]]) -> list[dict[str, CPD]]:
    """The distributions of each of the first slices, by the names that are the same in all."""
    slices: list[dict[str, CPD]] = []
    for number, cpd in listed:
        name, index = indexed(cpd.variable.name)
        if index is not None and index < 0:
            raise InvalidModel(
                f"initial= has a CPD of {cpd.variable.name!r}: slices are numbered from 0 on, {name}[0]."
            )
        at = number if index is None else index
        while len(slices) <= at:
            slices.append({})
        if name in slices[at]:
            raise InvalidModel(f"initial= has two distributions of {name!r} in slice {at}.")
        slices[at][name] = cpd
    return slices


def _variables(
    given: tuple[Variable, ...], firsts: list[dict[str, CPD]], later: Mapping[str, CPD]
) -> Mapping[str, Variable]:
    """Name -> variable; each has the same states in all slices."""
    found: ByName[Variable] = ByName({variable.name: variable for variable in given})
    for cpds in (*firsts, later):
        for name, cpd in cpds.items():
            variable = cpd.variable.renamed(name)
            if name in found and any(name == one.name for one in given):
                raise InvalidModel(f"{name!r} is an input and has a distribution: leave out one of the two.")
            if found.setdefault(name, variable) != variable:
                raise InvalidModel(
                    f"{name!r} has the states {list(found[name].states)} in one slice and {list(variable.states)} in "
                    "another: all slices have the same ones, in the same order."
                )
    if not found:
        raise InvalidModel("A dynamic Bayesian network has a variable at least: initial= and transition= are empty.")
    return found


def _bound(cpd: CPD, at: int | None, variables: Mapping[str, Variable]) -> CPD:
    """A distribution whose parents are variables, called as seen from their slice; `at` is one of the first slices."""
    name = indexed(cpd.variable.name)[0]
    named, parents = {}, []
    for text in cpd.parent_names:
        parent = _parent(text, at)
        if parent.name not in variables:
            where = f"this dynamic network, where it is a parent of {name!r}"
            raise UnknownVariable.named(parent.name, variables, where)
        if at is not None and parent.lag > at:
            raise InvalidModel(
                f"{name!r} in slice {at} has the parent {text!r}, which lies before the first slice. initial= tells "
                "the first slices without it; a CPD with this parent belongs in transition=."
            )
        named[text] = variables[parent.name].renamed(text)
        parents.append(variables[parent.name].renamed(str(parent)))
    return cpd.bind(named).over(variables[name], tuple(parents))


def _parent(text: str, at: int | None) -> Lagged:
    name, index = indexed(text)
    if at is not None and index is not None and index >= 0:  # the number of a slice
        if index > at:
            raise InvalidModel(f"A variable in slice {at} has the parent {text!r}, which comes later.")
        return Lagged(name, at - index)
    return lagged(text)


def _fitting(cpd: CPD, at: int) -> CPD:
    """The distribution of later slices in one of the first ones, where it can stand there."""
    if (lag := longest_lag(cpd)) > at:
        name = cpd.variable.name
        example = f"TableCPD({name!r}, ...)" if at == 0 else f"TableCPD('{name}[{at}]', ..., parents=[...])"
        raise InvalidModel(
            f"{name!r} looks back {lag} step{'s' if lag > 1 else ''}, so initial= must tell it in slice {at}: add "
            f"{example}."
        )
    return cpd
