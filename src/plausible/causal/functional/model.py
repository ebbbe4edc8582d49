"""Functional causal models: deterministic mechanisms, noise with a joint distribution; of networks, and of trials."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product as cartesian
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import WRITTEN_ROUNDING, Argument, Frozen, Remedy
from plausible.causal.functional.responses import COMPLIANCE, MAX_ENTRIES, OUTCOME, ResponseVariable
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD, DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import InvalidArgument, InvalidFactor, InvalidModel, TooLarge, UnknownVariable, counted
from plausible.factors import Factor, product
from plausible.factors.alignment import scope_text
from plausible.graphs import DAG, CausalGraph, latent_projection
from plausible.models import BayesianNetwork
from plausible.models.lowering import point_mass
from plausible.models.network_parts import conditional_table
from plausible.variables import EvidenceLike, State, Variable
from plausible.variables.evidence import settings_of


def causes_of(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments, which are the causes of the variable `name`."""
    if not callable(function):
        raise InvalidModel(f"{name!r} needs a function of its causes, such as lambda X, U: X != U; not {function!r}.")
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidModel(f"The arguments of the function of {name!r} can't be read; wrap it in a lambda.") from None
    for argument in arguments:
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD, argument.POSITIONAL_ONLY):
            raise InvalidModel(
                f"The function of {name!r} takes {argument}: its arguments must be named after the causes of {name!r}."
            )
    return tuple(argument.name for argument in arguments)


#: A network over all noise, name -> probabilities, or CPDs and joint tables of groups that are independent.
NoiseLike: TypeAlias = "BayesianNetwork | CPD | Factor | Iterable[CPD | Factor] | Mapping[str, npt.ArrayLike]"


def read_noise(noise: NoiseLike) -> BayesianNetwork:
    """One network over all noise variables."""
    if isinstance(noise, BayesianNetwork):
        network = noise
    else:
        cpds: list[CPD] = []
        for name, probabilities in noise.items() if isinstance(noise, Mapping) else ():
            if isinstance(probabilities, (CPD, Factor)):
                raise InvalidModel(f"The noise {name!r} is mapped to {probabilities!r}: list such parts without names.")
            cpds.append(TableCPD(name, np.asarray(probabilities)))
        for part in () if isinstance(noise, Mapping) else [noise] if isinstance(noise, (CPD, Factor)) else noise:
            if not isinstance(part, (CPD, Factor)):
                raise InvalidModel(
                    "Noise is given by a mapping such as {'U': [0.5, 0.5]}, CPDs, joint Factors of groups or a "
                    f"BayesianNetwork, not by {part!r}."
                )
            cpds += [part] if isinstance(part, CPD) else chain_rule(part)
        network = BayesianNetwork(cpds)
    if network.inputs:
        raise InvalidModel(f"The noise variable {network.inputs[0]!r} has no distribution.")
    if not network.is_discrete:
        continuous = next(v.name for v in network.variables.values() if v.is_continuous)
        raise InvalidModel(
            f"The noise variable {continuous!r} is continuous: a FunctionalModel is discrete. "
            "See LinearEquations and AdditiveEquations."
        )
    return network


def chain_rule(joint: Factor) -> list[TableCPD]:
    """P(A, B, C) as P(A) P(B | A) P(C | A, B)."""
    if not abs(float(joint.values.sum()) - 1.0) <= WRITTEN_ROUNDING:
        raise InvalidFactor(
            f"The joint table of the noise {scope_text(joint.scope)} sums to {joint.values.sum():.10g}, not to one."
        )
    names = [variable.name for variable in joint.scope]
    return [conditional_table(joint.marginal(names[: place + 1]), name) for place, name in enumerate(names)]


class FunctionalModel(Frozen):
    """A discrete functional causal model: X = f_X(parents, noise), the noise having a joint distribution P(U).

    The same noise behind two variables, or dependent noise, is what confounds them. Unlike a Bayesian network, which
    knows P(X | parents) only, it says what each unit would have done, and so answers `counterfactual` questions. See
    Pearl (2009), Causality, section 1.4. Koller & Friedman (2009), definition 21.3.

    Parameters
    ----------
    functions
        A deterministic CPD or a `ResponseVariable` for each endogenous variable; or a mapping from names to Python
        functions whose arguments are named after the causes, then the results are the states in order of appearance.
    noise
        The distribution of all exogenous variables: name -> probabilities of the states 0, 1, ..., all independent; a
        `BayesianNetwork`; or CPDs and joint `Factor` tables of groups, the groups being independent.

    Examples
    --------
    >>> model = FunctionalModel(
    ...     {"X": lambda U_X: U_X, "Y": lambda X, U_Y: X != U_Y}, noise={"U_X": [0.3, 0.7], "U_Y": [0.9, 0.1]}
    ... )
    >>> model
    <FunctionalModel: X; Y(X); 2 noise variables, 2 parameters>
    >>> model.query("Y", do={"X": 1}).values
    array([0.1, 0.9])
    >>> model.graph
    CausalGraph('X -> Y')
    """

    __slots__ = ("_functions", "_variables", "graph", "network", "noise")

    #: All variables: the noise, and the functions as deterministic CPDs.
    network: BayesianNetwork
    #: The distribution of the exogenous variables.
    noise: BayesianNetwork
    #: The endogenous variables; `A <-> B` where they share noise or their noise is dependent.
    graph: CausalGraph
    _functions: dict[str, CPD]
    _variables: dict[str, Variable]

    def __init__(
        self, functions: Mapping[str, Callable[..., State]] | Iterable[CPD | ResponseVariable], noise: NoiseLike = ()
    ) -> None:
        self.noise = read_noise(noise)
        listed = _read_functions(functions, self.noise.variables)
        for cpd in listed:
            if cpd.variable.name in self.noise:
                raise InvalidModel(f"{cpd.variable.name!r} is noise and has a function too; rename one of them.")
        self.network = BayesianNetwork(*self.noise.cpds.values(), *listed)
        bound, names = self.network.cpds, [cpd.variable.name for cpd in listed]
        self._functions = {name: bound[name] for name in names}
        self._variables = {name: cpd.variable for name, cpd in self._functions.items()}
        for cpd in self._functions.values():
            # A plain or of many causes keeps its compact factors as a noisy-or that nothing inhibits.
            is_or = isinstance(cpd, NoisyOr) and np.all(np.isin([*cpd.activation, cpd.leak], [0.0, 1.0]))
            if not cpd.is_deterministic and not is_or:
                raise InvalidModel(
                    f"{cpd!r} is no function of its causes: move its chance into noise variables, or see "
                    "functional_model(network)."
                )
        self.graph = latent_projection(self.network.graph, observed=names)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """The endogenous variables: name -> variable, in the order of the functions."""
        return MappingProxyType(self._variables)

    @property
    def functions(self) -> Mapping[str, CPD]:
        """The deterministic CPD of each endogenous variable."""
        return MappingProxyType(self._functions)

    @property
    def num_parameters(self) -> int:
        """The number of independent parameters of the noise."""
        return self.noise.num_parameters

    @property
    def topological_order(self) -> tuple[str, ...]:
        """The endogenous variables, causes first."""
        return tuple(name for name in map(str, self.network.graph.topological_order) if name not in self.noise)

    def parents(self, name: str) -> tuple[str, ...]:
        """The endogenous parents of an endogenous variable."""
        return tuple(parent for parent in self._function(name).parent_names if parent not in self.noise)

    def noise_of(self, name: str) -> tuple[str, ...]:
        """The noise that the function of an endogenous variable takes."""
        return tuple(parent for parent in self._function(name).parent_names if parent in self.noise)

    def _function(self, name: str) -> CPD:
        UnknownVariable.check(name, self._functions, "this functional model")
        return self._functions[name]

    def query(
        self, targets: str | Iterable[str], evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> Factor:
        """P(targets | evidence, do): set variables lose their causes, noise included; see `BayesianNetwork.query`."""
        self._check_settings(do)
        return self.network.query(targets, evidence, do)

    def intervene(self, do: Mapping[str, State]) -> FunctionalModel:
        """The model in which some variables are constants; all noise stays as it is."""
        self._check_settings(do)
        variables = self.network.variables
        cpds = {name: point_mass(variables[name], value) for name, value in settings_of(do).items()}
        return FunctionalModel([cpds.get(name, cpd) for name, cpd in self.functions.items()], self.noise)

    def _check_settings(self, do: Mapping[str, State] | None) -> None:
        settings = settings_of(do)
        if not isinstance(settings, Mapping):
            raise InvalidArgument(f"An intervention is a mapping, such as do={{'X': 1}}, not {do!r}.")
        for name in settings:
            if name in self.noise:
                raise InvalidArgument(f"{name!r} is noise: interventions set endogenous variables.")
            self._function(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionalModel):
            return NotImplemented
        return self.network == other.network and self._functions.keys() == other._functions.keys()

    def __hash__(self) -> int:
        return hash((self.network, frozenset(self._functions)))

    def __repr__(self) -> str:
        shown = [f"{name}({', '.join(given)})" if (given := self.parents(name)) else name for name in self._functions]
        functions = "; ".join(shown[:8]) + ("; ..." if len(shown) > 8 else "")
        return (
            f"<FunctionalModel: {functions}; {counted(len(self.noise), 'noise variable')}, "
            f"{counted(self.num_parameters, 'parameter')}>"
        )


def _read_functions(functions: Any, noise: Mapping[str, Variable]) -> list[CPD]:
    if isinstance(functions, Mapping):
        # The functions as CPDs, causes first so that their states are known, then in the order given.
        causes = {name: causes_of(name, function) for name, function in functions.items()}
        for name, given in causes.items():
            for cause in given:
                if cause not in noise and cause not in functions:
                    place = f"this model, where it is a cause of {name!r}"
                    raise UnknownVariable.named(cause, [*functions, *noise], place)
        graph = DAG([(cause, name) for name, given in causes.items() for cause in given], nodes=[*noise, *functions])
        known, cpds = dict(noise), dict[str, CPD]()
        for name in map(str, graph.topological_order):
            if name in functions:
                cpds[name] = DeterministicCPD(name, functions[name], [known[cause] for cause in causes[name]])
                known[name] = cpds[name].variable
        return [cpds[name] for name in functions]
    listed = [part.cpd if isinstance(part, ResponseVariable) else part for part in functions]
    for cpd in listed:
        if not isinstance(cpd, CPD):
            raise InvalidModel(
                f"The functions of a model are deterministic CPDs and ResponseVariables, or a mapping from names to "
                f"Python functions; not {cpd!r}."
            )
    return listed


#: How the values of a variable for different parents hang together.
Coupling = Literal["independent", "comonotone"]
Table = npt.NDArray[np.float64]


def functional_model(network: BayesianNetwork, coupling: Coupling = "independent") -> FunctionalModel:
    """A functional model whose conditional distributions are those of a network, with independent noise.

    The network does not say which one: only how often X = x given the parents, not who would have what under other
    parents. A coupling chooses. A noisy-or brings a mechanism of its own, X = OR of Z_i, where the noisy copy
    Z_i = X_i AND U_i; its noisy copies "Z_X_parent" become endogenous variables.

    Parameters
    ----------
    network
        A discrete network without inputs.
    coupling
        "independent": P(μ) = Π_pa P(μ(pa) | pa), a new draw for each assignment to the parents. Functions of
        probability zero are left out; there may still be k^m of them. "comonotone": one level u, uniform in [0, 1),
        and X = the u-quantile of P(X | pa) in the order of the states, so that a unit changes as little as it can and
        binary effects have no defiers; at most m (k - 1) + 1 functions.

    Examples
    --------
    >>> net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", [[0.8, 0.2], [0.3, 0.7]], parents=["X"]))
    >>> responses = functional_model(net).noise.cpds["U_Y"]
    >>> responses.variable.states, responses.values.round(2)
    (((0, 0), (0, 1), (1, 0), (1, 1)), array([0.24, 0.56, 0.06, 0.14]))
    >>> responses = functional_model(net, "comonotone").noise.cpds["U_Y"]
    >>> responses.variable.states, responses.values.round(2)
    (((0, 0), (0, 1), (1, 1)), array([0.3, 0.5, 0.2]))
    """
    if coupling not in ("independent", "comonotone"):
        raise InvalidArgument(f'coupling= is "independent" or "comonotone", not {coupling!r}.')
    if not isinstance(network, BayesianNetwork) or network.inputs or not network.is_discrete:
        raise InvalidArgument(
            f"A functional model is made of a discrete BayesianNetwork without inputs, not {network!r}."
        )
    taken = set(network.variables)
    functions: list[CPD | ResponseVariable] = []
    noise: list[CPD] = []
    for cpd in network.cpds.values():
        if isinstance(cpd, NoisyOr):
            # Z_i = X_i AND U_i for each parent, and X = OR of all Z_i and of the leak.
            copies: list[Variable] = []
            for parent, chance in zip(cpd.parents, cpd.activation.tolist(), strict=True):
                passes = Variable(fresh_name(f"U_{cpd.variable.name}_{parent.name}", taken), [False, True])
                copy = Variable(fresh_name(f"Z_{cpd.variable.name}_{parent.name}", taken), [False, True])
                active = [state == cpd.active_states[parent.name] for state in parent.states]
                positions = [int(is_active and u) for is_active in active for u in (False, True)]
                functions.append(DeterministicCPD.from_record(copy, (parent, passes), {"positions": positions}))
                noise.append(TableCPD(passes, [1.0 - chance, chance]))
                copies.append(copy)
            leak = Variable(fresh_name(f"U_{cpd.variable.name}", taken), [False, True])
            noise.append(TableCPD(leak, [1.0 - cpd.leak, cpd.leak]))
            functions.append(NoisyOr(cpd.variable, [*copies, leak], [1.0] * (len(copies) + 1)))
            continue
        rows = np.asarray(cpd.to_table().values).reshape(-1, cpd.variable.num_states)
        types, chances = _independent(cpd, rows) if coupling == "independent" else _comonotone(rows)
        states = [[cpd.variable.states[code] for code in row] for row in types]
        name = fresh_name(f"U_{cpd.variable.name}", taken)
        response = ResponseVariable(cpd.variable, cpd.parents, types=[tuple(row) for row in states], name=name)
        functions.append(response)
        noise.append(TableCPD(response.noise, chances))
    return FunctionalModel(functions, noise)


def _independent(cpd: CPD, rows: Table) -> tuple[list[tuple[int, ...]], Table]:
    """The functions of positive probability, listed in order, and their probabilities."""
    support = [np.flatnonzero(row).tolist() for row in rows]
    digits = sum(math.log10(len(states)) for states in support)
    if digits + math.log10(len(rows)) > math.log10(MAX_ENTRIES):
        raise TooLarge(
            f"{cpd.variable.name!r} has about 10^{digits:.0f} response types of positive probability, which is too "
            "many for a table.",
            remedies=[
                Remedy("use ", Argument("coupling", "comonotone")),
                Remedy("write it as a function of smaller noise variables"),
            ],
        )
    types = list(cartesian(*support))
    chances = rows[np.arange(len(rows)), np.array(types, dtype=np.intp).reshape(len(types), len(rows))].prod(axis=1)
    return types, chances / chances.sum()


def _comonotone(rows: Table) -> tuple[list[tuple[int, ...]], Table]:
    """The quantile functions of all rows between neighbouring levels at which one of them jumps."""
    cumulative = np.cumsum(rows, axis=1)
    cumulative /= cumulative[:, -1:]
    levels = np.unique(np.concatenate([[0.0], cumulative[:, :-1].ravel(), [1.0]]))
    # Jumps of different rows at one level may miss each other by rounding; what lies between is no type.
    levels = levels[np.diff(levels, prepend=-1.0) > 1e-14 * levels]
    middles = (levels[1:] + levels[:-1]) / 2
    types = (middles[:, None, None] >= cumulative[None, :, :-1]).sum(axis=2)
    return [tuple(row) for row in types.tolist()], np.diff(levels) / levels[-1]


def observational_network(model: FunctionalModel) -> BayesianNetwork:
    """The distribution of the endogenous variables as a Bayesian network; many functional models share one.

    A variable whose noise is its own keeps its parents: P(x | pa) = Σ_u P(u) 1(f(pa, u) = x), for all pa, seen or not.
    A confounded one depends on those before it in its district, and on their parents (Tian & Pearl 2002, lemma 1); its
    edges are not causal then, and its rows are uniform where the others never occur.

    >>> model = FunctionalModel(
    ...     {"X": lambda U: U, "Y": lambda X, U, V: X != (U and V)},
    ...     noise=[TableCPD("U", [0.5, 0.5]), TableCPD("V", [0.75, 0.25])],
    ... )
    >>> print(observational_network(model).cpd("Y"))
    X | Y=False | Y=True
    --+---------+-------
    0 |       1 |      0
    1 |    0.25 |   0.75
    """
    order = model.topological_order
    cpds: dict[str, TableCPD] = {}
    for place, name in enumerate(order):
        district = model.graph.subgraph(order[: place + 1]).district(name)
        if len(district) == 1:  # its noise is independent of all that comes before it
            function, own = model.functions[name], model.noise_of(name)
            joint = [model.noise.query(own)] if own else []
            parents = [parent for parent in function.parents if parent.name not in own]
            table = product([function.to_factor(), *joint]).marginalize(own)
            values = table.reorder([*(parent.name for parent in parents), name]).values
            cpds[name] = TableCPD(function.variable, np.asarray(values), parents)
            continue
        scope = {parent for member in map(str, district) for parent in model.parents(member)} | district
        family = model.query([*(node for node in order if node in scope and node != name), name])
        cpds[name] = conditional_table(family, name)
    return BayesianNetwork([cpds[name] for name in model.variables])


def trial_model(responses: npt.ArrayLike, assigned: float = 0.5) -> FunctionalModel:
    """A -> T -> O, all binary: assignment, treatment taken, outcome; types of compliance and outcome are dependent.

    Randomisation makes A independent of the types, and a placebo keeps A from O but through T; so A is an instrument.
    See Balke & Pearl (1994), Counterfactual probabilities. Koller & Friedman (2009), example 21.18.

    Parameters
    ----------
    responses
        P(U_T, U_O), 4 × 4 with 15 free numbers: rows never taker, complier, defier, always taker; columns never well,
        helped, hurt, always well. State 1 of O is "well".

    Examples
    --------
    >>> import numpy as np
    >>> compliers = np.zeros((4, 4))
    >>> compliers[1] = [0.3, 0.4, 0.1, 0.2]
    >>> model = trial_model(compliers)
    >>> model.graph
    CausalGraph('A -> T; T -> O; T <-> O')
    >>> effect = model.query("O", do={"T": 1}) - model.query("O", do={"T": 0})
    >>> effect.values.round(6)
    array([-0.3,  0.3])
    """
    assignment, treatment, outcome = (Variable(name, 2) for name in "ATO")
    assigns = ResponseVariable(assignment)
    takes = ResponseVariable(treatment, [assignment], names=COMPLIANCE)
    fares = ResponseVariable(outcome, [treatment], names=OUTCOME)
    chance = TableCPD(assigns.noise, [1.0 - assigned, assigned])
    return FunctionalModel([assigns, takes, fares], [chance, Factor([takes.noise, fares.noise], responses)])
