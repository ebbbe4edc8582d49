"""Functional causal models: deterministic mechanisms, and noise with a joint distribution."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.frozen import Frozen
from plausible.base.tolerances import WRITTEN_ROUNDING
from plausible.causal.functional.responses import ResponseVariable
from plausible.cpds import CPD, DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import InvalidArgument, InvalidFactor, InvalidModel, UnknownVariable, counted
from plausible.factors import Factor
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

    # --- what is there ---

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
        if name not in self._functions:
            raise UnknownVariable.named(name, self._functions, "this functional model")
        return self._functions[name]

    # --- questions ---

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

    # --- as a value ---

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
