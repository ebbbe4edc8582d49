"""Dynamic Bayesian networks: a network for the first slice of time, and one for each later slice given those before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from plausible.base.hints import DYNAMIC_HINTS
from plausible.base.method_names import own_methods
from plausible.base.options import check_count
from plausible.base.records import TextTable
from plausible.cpds import CPD, KINDS
from plausible.errors import InvalidModel, UnknownVariable, counted
from plausible.graphs import DAG
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.network_parts import variable_of, variable_record
from plausible.models.notes import Notes
from plausible.models.sequences.dynamic_answers import DynamicAnswers
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable
from plausible.variables.variable import states_cell

if TYPE_CHECKING:
    from plausible.base.pictured import Picture
    from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
    from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem

Edge = tuple[str, str]


@own_methods
class DynamicBayesianNetwork(DynamicAnswers):
    """A dynamic Bayesian network: P(slices) = P(first slice) Π P(slice t | slices before t), of any length.

    Distributions are those of an ordinary network, of any kind; "X[-1]" is X one step before, "X[-2]" two. Where the
    distribution of a variable looks back k steps, the first k slices need distributions of their own.

    Parameters
    ----------
    initial
        The CPDs of the first slice, which is slice 0. Those of slice 1 are of variables called "X[1]", or in a list of
        their own: `initial=[[those of slice 0], [those of slice 1]]`.
    transition
        The CPDs of all later slices. A variable that depends on its own slice only need be in one of the two.
    inputs
        Variables without a distribution, which rows always give.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> umbrella = DynamicBayesianNetwork(
    ...     initial=[TableCPD("rain", [0.5, 0.5], states=["yes", "no"])],
    ...     transition=[
    ...         TableCPD("rain", [[0.7, 0.3], [0.3, 0.7]], parents=["rain[-1]"], states=["yes", "no"]),
    ...         TableCPD("umbrella", [[0.9, 0.1], [0.2, 0.8]], parents=["rain"], states=["up", "down"]),
    ...     ],
    ... )
    >>> umbrella.graph
    DAG('rain[-1] -> rain; rain -> umbrella')
    >>> umbrella.filter({"umbrella": ["up", "up"]})["rain"].round(3)
         yes     no
    0  0.818  0.182
    1  0.883  0.117
    """

    kind: ClassVar[str] = "dynamic-bayesian-network"
    __slots__ = ("_compiled", "_template", "notes")

    _hints = DYNAMIC_HINTS
    _template: Template

    def __init__(
        self,
        initial: CPD | Iterable[Any],
        transition: CPD | Iterable[CPD],
        *,
        inputs: Iterable[Variable] = (),
        notes: Notes | None = None,
    ) -> None:
        self._template = Template.read(initial, transition, inputs)
        self._compiled = {}
        self.notes = notes or Notes()

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable of a slice; inputs come first."""
        return MappingProxyType(dict(self._template.variables))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables that have no distribution."""
        return self._template.inputs

    @property
    def initial(self) -> tuple[Mapping[str, CPD], ...]:
        """Name -> distribution, in each of the first slices."""
        return tuple(MappingProxyType(dict(cpds)) for cpds in self._template.slices[:-1])

    @property
    def transition(self) -> Mapping[str, CPD]:
        """Name -> distribution, in all later slices."""
        return MappingProxyType(dict(self._template.later))

    @property
    def order(self) -> int:
        """How many slices back a slice depends on."""
        return max((parent.lag for parent, _ in self._edges()), default=0)

    @property
    def graph(self) -> DAG:
        """The graph of a slice and what it depends on in slices before: "X[-1]" is X one step before."""
        edges = [(str(parent), child) for parent, child in self._edges()]
        before = dict.fromkeys(parent for parent, _ in self._edges() if parent.lag)
        lags = sorted(before, key=lambda one: -one.lag)
        return DAG(edges, nodes=[*map(str, lags), *self._template.variables])

    @property
    def persistence_edges(self) -> tuple[Edge, ...]:
        """The edges from a variable to itself in a later slice."""
        return tuple((str(parent), child) for parent, child in self._edges() if parent.lag and parent.name == child)

    @property
    def inter_slice_edges(self) -> tuple[Edge, ...]:
        """The edges from one slice to a later one, those of persistence among them."""
        return tuple((str(parent), child) for parent, child in self._edges() if parent.lag)

    @property
    def intra_slice_edges(self) -> tuple[Edge, ...]:
        """The edges within a slice."""
        return tuple((str(parent), child) for parent, child in self._edges() if not parent.lag)

    @property
    def interface(self) -> tuple[str, ...]:
        """The variables, of a slice and of those before it, that later slices depend on: given these, past and future
        are independent."""
        past = {
            Lagged(parent.name, age)
            for parents in self._template.parents_at(-1).values()
            for parent in parents
            for age in range(parent.lag)
        }
        ranks = list(self._template.variables)
        return tuple(map(str, sorted(past, key=lambda one: (one.lag, ranks.index(one.name)))))

    @property
    def num_parameters(self) -> int:
        """The number of independent parameters; distributions that slices share count once."""
        seen: list[CPD] = []
        for cpds in self._template.slices:
            seen += [cpd for cpd in cpds.values() if not any(cpd is other for other in seen)]
        return sum(cpd.num_parameters for cpd in seen)

    @property
    def is_discrete(self) -> bool:
        """Whether every variable is discrete."""
        return not any(variable.is_continuous for variable in self._template.variables.values())

    def _edges(self) -> list[tuple[Lagged, str]]:
        return [(parent, name) for name, parents in self._template.parents_at(-1).items() for parent in parents]

    # --- the network that it stands for ---

    def unroll(self, length: int) -> BayesianNetwork:
        """The Bayesian network over so many slices: the variables of slice t are called "X[t]", t from 0 on.

        >>> from plausible.cpds import TableCPD
        >>> walk = DynamicBayesianNetwork(
        ...     [TableCPD("X", [1.0, 0.0])], [TableCPD("X", [[0.9, 0.1], [0.0, 1.0]], parents=["X[-1]"])]
        ... )
        >>> walk.unroll(3).query("X[2]").values
        array([0.81, 0.19])
        """
        check_count("length", length, 1)
        template = self._template
        slices = [
            {name: variable.renamed(f"{name}[{at}]") for name, variable in template.variables.items()}
            for at in range(length)
        ]
        parents = [template.parents_at(number) for number in range(len(template.slices))]
        cpds = []
        for at, own in enumerate(slices):
            named = parents[min(at, template.num_first)]
            for name, cpd in template.cpds_at(at).items():
                scope = tuple(slices[at - parent.lag][parent.name] for parent in named[name])
                cpds.append(cpd.over(own[name], scope))
        given = [own[name] for own in slices for name in template.inputs]
        return BayesianNetwork(cpds, inputs=given, notes=Notes(self.notes.name, self.notes.description))

    def to_hmm(self, observed: str | Iterable[str], *, state: str = "state") -> HiddenMarkovModel:
        """The hidden Markov model whose states are the joint states of all that is not observed.

        Its matrix has the square of their number; the network itself answers without it.

        Parameters
        ----------
        observed
            The variables that rows have columns of.
        state
            What the joint state is called, where several variables are hidden.

        >>> from plausible.cpds import TableCPD
        >>> walk = DynamicBayesianNetwork(
        ...     [TableCPD("X", [1.0, 0.0])],
        ...     [TableCPD("X", [[0.9, 0.1], [0.0, 1.0]], ["X[-1]"]), TableCPD("Y", [[1, 0], [0.5, 0.5]], ["X"])],
        ... )
        >>> walk.to_hmm("Y").transition
        array([[0.9, 0.1],
               [0. , 1. ]])
        """
        from plausible.models.sequences.joint_states import hidden_markov_model_of

        return hidden_markov_model_of(
            self._template, (observed,) if isinstance(observed, str) else tuple(observed), state
        )

    def to_linear_system(self, observed: str | Iterable[str]) -> LinearDynamicalSystem:
        """The linear dynamical system whose state are the numbers of a slice, where all are linear Gaussian.

        A number that is observed is called "true x" as a state. Constants are carried by a state "1".

        Parameters
        ----------
        observed
            The variables that rows have columns of.

        >>> from plausible.cpds import LinearGaussianCPD
        >>> walk = DynamicBayesianNetwork(
        ...     [LinearGaussianCPD("x", 0.0)],
        ...     [LinearGaussianCPD("x", 0.0, {"x[-1]": 0.9}, 0.5), LinearGaussianCPD("y", 0.0, {"x": 1.0})],
        ... )
        >>> walk.to_linear_system("y").states
        ('x', 'true y')
        >>> walk.filter({"y": [1.0, 2.0]})["x"].round(3)
            mean  deviation
        0  0.500      0.707
        1  1.186      0.689
        """
        from plausible.models.sequences.gaussian_slices import linear_system_of

        named = (observed,) if isinstance(observed, str) else tuple(observed)
        for name in named:
            if name not in self._template.variables:
                raise UnknownVariable.named(name, self._template.variables, self._place)
        return linear_system_of(self._template, named)

    def with_cpd(self, cpd: CPD) -> DynamicBayesianNetwork:
        """A network in which one variable has another distribution in all slices but the first ones."""
        name = lagged(cpd.variable.name).name
        if name not in self._template.later:
            raise InvalidModel(f"{name!r} has no distribution in this network that could be replaced.")
        later = {**self._template.later, name: cpd}
        first = [list(cpds.values()) for cpds in self._template.slices[:-1]]
        return DynamicBayesianNetwork(first, list(later.values()), inputs=self._inputs(), notes=self.notes)

    def _inputs(self) -> list[Variable]:
        return [self._template.variables[name] for name in self._template.inputs]

    # --- files ---

    def to_record(self) -> dict[str, Any]:
        """The variables of a slice and the distributions of all, as files have them."""
        return {
            "variables": [variable_record(variable) for variable in self._template.variables.values()],
            "inputs": list(self._template.inputs),
            "initial": [[_cpd_record(cpd) for cpd in cpds.values()] for cpds in self._template.slices[:-1]],
            "transition": [_cpd_record(cpd) for cpd in self._template.later.values()],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> DynamicBayesianNetwork:
        """The inverse of `to_record`."""
        variables = {one["name"]: variable_of(one) for one in record["variables"]}
        inputs = [variables[name] for name in record.get("inputs", ())]
        initial = [[_cpd_of(one, variables) for one in part] for part in record["initial"]]
        return cls(initial, [_cpd_of(one, variables) for one in record["transition"]], inputs=inputs)

    # --- as a value ---

    def __len__(self) -> int:
        return len(self._template.variables)

    def __contains__(self, name: object) -> bool:
        return name in self._template.variables

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DynamicBayesianNetwork):
            return NotImplemented
        mine, its = self._template, other._template
        same_parts = (mine.variables, mine.inputs, mine.slices) == (its.variables, its.inputs, its.slices)
        return same_parts and list(mine.variables) == list(its.variables)

    def __hash__(self) -> int:
        return hash((tuple(self._template.variables), tuple(self._template.later.values())))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without what was compiled."""
        first = [list(cpds.values()) for cpds in self._template.slices[:-1]]
        return _rebuilt, (first, list(self._template.later.values()), self._inputs(), self.notes)

    def __repr__(self) -> str:
        edges = counted(len(self._edges()), "edge")
        return f"<DynamicBayesianNetwork: {counted(len(self), 'variable')} a slice, {edges}, order {self.order}>"

    def picture(self, *, focus: Any = "auto") -> Picture:
        """The graph of a slice, with what it depends on in slices before to its left.

        `unroll(length).picture(evidence)` shows several slices, with beliefs.

        Parameters
        ----------
        focus
            A variable or several: only what is around them is shown; `None` for all of a large graph.
        """
        return self.graph.picture(focus=focus)

    def _shown(self) -> list[TextTable]:
        rows = []
        for name, variable in self._template.variables.items():
            cpd = self._template.later.get(name)
            told = ("", "input") if cpd is None else (", ".join(cpd.parent_names), cpd.kind)
            rows.append((name, states_cell(variable), *told))
        return [TextTable(("variable", "states", "parents", "distribution"), tuple(rows), 4, 0)]


def _cpd_record(cpd: CPD) -> dict[str, Any]:
    return {"variable": cpd.variable.name, "parents": list(cpd.parent_names), "kind": cpd.kind, **cpd.to_record()}


def _cpd_of(record: Mapping[str, Any], variables: Mapping[str, Variable]) -> CPD:
    parts = {key: part for key, part in record.items() if key not in ("variable", "parents", "kind")}
    parents = tuple(variables[lagged(text).name].renamed(text) for text in record["parents"])
    return KINDS[record["kind"]].from_record(variables[record["variable"]], parents, parts)


def _rebuilt(
    initial: list[list[CPD]], transition: list[CPD], inputs: list[Variable], notes: Notes
) -> DynamicBayesianNetwork:
    return DynamicBayesianNetwork(initial, transition, inputs=inputs, notes=notes)
