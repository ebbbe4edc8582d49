"""Functional models of Bayesian networks: one of the many that have the same conditional distributions."""

from __future__ import annotations

import math
from itertools import product as cartesian
from typing import Literal

import numpy as np
import numpy.typing as npt

from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.naming import fresh_name
from plausible.causal.functional.responses import MAX_ENTRIES, ResponseVariable
from plausible.cpds import CPD, DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import InvalidArgument, TooLarge
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["Coupling", "functional_model"]

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
            _add_noisy_or(cpd, taken, functions, noise)
            continue
        types, chances = _independent(cpd) if coupling == "independent" else _comonotone(cpd)
        states = [[cpd.variable.states[code] for code in row] for row in types]
        name = fresh_name(f"U_{cpd.variable.name}", taken)
        response = ResponseVariable(cpd.variable, cpd.parents, types=[tuple(row) for row in states], name=name)
        functions.append(response)
        noise.append(TableCPD(response.noise, chances))
    return FunctionalModel(functions, noise)


def _rows(cpd: CPD) -> Table:
    return np.asarray(cpd.to_table().values).reshape(-1, cpd.variable.num_states)


def _independent(cpd: CPD) -> tuple[list[tuple[int, ...]], Table]:
    """The functions of positive probability, listed in order, and their probabilities."""
    rows = _rows(cpd)
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


def _comonotone(cpd: CPD) -> tuple[list[tuple[int, ...]], Table]:
    """The quantile functions of all rows between neighbouring levels at which one of them jumps."""
    cumulative = np.cumsum(_rows(cpd), axis=1)
    cumulative /= cumulative[:, -1:]
    levels = np.unique(np.concatenate([[0.0], cumulative[:, :-1].ravel(), [1.0]]))
    # Jumps of different rows at one level may miss each other by rounding; what lies between is no type.
    levels = levels[np.diff(levels, prepend=-1.0) > 1e-14 * levels]
    middles = (levels[1:] + levels[:-1]) / 2
    types = (middles[:, None, None] >= cumulative[None, :, :-1]).sum(axis=2)
    return [tuple(row) for row in types.tolist()], np.diff(levels) / levels[-1]


def _add_noisy_or(cpd: NoisyOr, taken: set[str], functions: list[CPD | ResponseVariable], noise: list[CPD]) -> None:
    """Z_i = X_i AND U_i for each parent, and X = OR of all Z_i and of the leak."""
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
