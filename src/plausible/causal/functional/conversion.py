"""Functional models of networks and of trials, and the network that a functional model shows."""

from __future__ import annotations

import math
from itertools import product as cartesian
from typing import Literal

import numpy as np
import numpy.typing as npt

from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.responses import COMPLIANCE, MAX_ENTRIES, OUTCOME, ResponseVariable
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD, DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors import Factor, product
from plausible.models import BayesianNetwork
from plausible.models.network_parts import conditional_table
from plausible.variables import Variable

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
            f"A functional model is made of a discrete BayesianNetwork without inputs, not {network}."
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
            'many for a table. Use coupling="comonotone", or write it as a function of smaller noise variables.'
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
