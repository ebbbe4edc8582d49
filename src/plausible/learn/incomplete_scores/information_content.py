"""How much a hidden variable tells of the observed ones, and what that says about the likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from types import MappingProxyType

import numpy as np

from plausible.base import SMALLEST, Floats, Result, record
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import compile_cases
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics
from plausible.learn.incomplete.problem import PlainEM, em_functional, read_problem
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@record(eq=False)
class InformationContent(Result):
    """What a hidden variable H tells under Q(h, x) = P̂(x) P(h | x, θ); made by `information_content`. In nats."""

    hidden: str  # H
    information: Mapping[str, float]  # Name -> I_Q(X; H), for the observed variables of the Markov blanket of H
    entropies: Mapping[str, float]  # Name -> H_Q(X) of the same variables
    entropy: float  # H_Q(H)
    joint_information: float  # I_Q(H; all that is observed)
    lower: float  # ℓ(θ) / M
    #: F(Q, θ') / M, where θ' is a step of EM after θ. For naive Bayes, Σ I(X; H) - I(H; X₁...Xₙ) - Σ H(X).
    functional: float
    upper: float  # ℓ(θ') / M
    #: (X, Y) -> I_Q(X; Y | H), for pairs of children of H: what they tell of each other that H does not explain.
    left: Mapping[tuple[str, str], float]

    def __str__(self) -> str:
        entropies = self.entropies
        lines = [f"  {name}: I = {told:.4f} of H = {entropies[name]:.4f}" for name, told in self.information.items()]
        head = f"{self.hidden}: H = {self.entropy:.4f} nats, of which a row tells {self.joint_information:.4f}; and of"
        sandwich = f"  {self.lower:.6f} <= {self.functional:.6f} <= {self.upper:.6f} nats a row"
        return "\n".join([head, *lines, sandwich])


def information_content(network: BayesianNetwork, data: TableLike, hidden: str) -> InformationContent:
    """I_Q(X; H) of each neighbour of a hidden variable, and ℓ(θ)/M ≤ F(Q, θ')/M ≤ ℓ(θ')/M.

    The functional in the middle is, for naive Bayes, Σ I(X_i; H) - I(H; X₁...Xₙ) - Σ H(X_i): the likelihood rises with
    what H tells of each variable, less what all tell of H. (Koller & Friedman 2009, proposition 19.2, leave
    I(H; X₁...Xₙ) out, and the upper bound then fails.) Nothing in it charges for the number of states of H. The data
    have no column of H. Costs two steps of EM, and counts of pairs.

    Two copies of a fair coin: H explains them wholly.

    >>> from plausible.cpds import TableCPD
    >>> copy = [[1.0, 0.0], [0.0, 1.0]]
    >>> net = BayesianNetwork(TableCPD("H", [0.5, 0.5]), TableCPD("X", copy, ["H"]), TableCPD("Y", copy, ["H"]))
    >>> found = information_content(net, {"X": [0, 1], "Y": [0, 1]}, "H")
    >>> round(found.lower, 4), round(found.functional, 4), round(found.upper, 4)
    (-0.6931, -0.6931, -0.6931)
    """
    UnknownVariable.check(hidden, network.variables, "this network")
    cases = Cases.of(network.variables, data)
    if cases.num_cases and cases.visibility[hidden] != "hidden":
        raise InvalidArgument(f"{hidden!r} is observed in some rows: information content is of a hidden variable.")
    statistics = ExpectedStatistics(network, cases)
    seen = {name for name, kind in cases.visibility.items() if kind != "hidden"}
    blanket = [name for name in map(str, network.graph.markov_blanket(hidden)) if name in seen]
    pairs = {name: statistics.counts(name, [hidden]) for name in blanket}
    own = np.asarray(statistics.counts(hidden), dtype=np.float64)
    problem = read_problem(network, cases)
    before = problem.at(network)
    after = PlainEM().step(problem, before)
    total, left = max(cases.total, SMALLEST), {}
    children = [name for name in map(str, network.graph.children(hidden)) if name in seen]
    for other, one in combinations(children, 2):
        counts = np.asarray(statistics.counts(one, [hidden, other]), dtype=np.float64)
        shares = counts.sum(axis=(1, 2)) / max(counts.sum(), SMALLEST)
        left[other, one] = float(sum(p * _information(part) for p, part in zip(shares, counts, strict=True)))
    return InformationContent(
        hidden,
        MappingProxyType({name: _information(counts) for name, counts in pairs.items()}),
        MappingProxyType({name: _entropy(counts.sum(axis=0)) for name, counts in pairs.items()}),
        _entropy(own),
        _entropy(own) - _entropy_given_rows(network, cases, hidden),
        before.expectations.log_likelihood / total,
        em_functional(after.network, cases, completing=network).value / total,
        after.expectations.log_likelihood / total,
        MappingProxyType(left),
    )


def _entropy(counts: Floats) -> float:
    """-Σ p log p of counts."""
    shares = counts[counts > 0] / max(counts.sum(), SMALLEST)
    return float(-(shares @ np.log(shares)))


def _information(counts: Floats) -> float:
    """H(X) + H(Y) - H(X, Y) of a table of counts."""
    own, other = _entropy(counts.sum(axis=0)), _entropy(counts.sum(axis=1))
    return max(own + other - _entropy(counts.ravel()), 0.0)


def _entropy_given_rows(network: BayesianNetwork, cases: Cases, hidden: str) -> float:
    """The mean over rows of the entropy of P(h | row)."""
    tree = compile_cases(network, cases).tree
    tables = np.concatenate([cpd.to_factor().values.ravel() for cpd in network.cpds.values()])
    chances = tree.prepared_rows(cases.codes, hidden).answer(tables).marginals
    assert chances is not None
    logs = np.log(np.where(chances > 0, chances, 1.0))
    return float(-(cases.weights @ (chances * logs).sum(axis=1)) / max(cases.total, SMALLEST))


#: A model should have at most this share of the numbers that the data could tell.
_FEW = 0.5


@record
class ParameterBudget(Result):
    """Free parameters of a model, and of what it is to explain; made by `parameter_budget`."""

    num_parameters: int  # Independent parameters of the model
    joint_dimension: float  # Degrees of freedom of a joint distribution of the observed variables: Π |X| - 1
    empirical_dimension: float  # Those of the empirical distribution: different rows - 1, and at most `joint_dimension`
    num_rows: float  # How much all rows weigh

    @property
    def share(self) -> float:
        """Parameters of the model by degrees of freedom of the empirical distribution."""
        return self.num_parameters / self.empirical_dimension if self.empirical_dimension else math.inf

    @property
    def is_affordable(self) -> bool:
        """Whether the model has at most half of the numbers that the rows can tell: a rule of thumb."""
        return self.share <= _FEW

    def __str__(self) -> str:
        verdict = "within the budget" if self.is_affordable else "too many: take fewer states, or fewer parents"
        return (
            f"{counted(self.num_parameters, 'parameter')} explain "
            f"{self.empirical_dimension:.6g} degrees of freedom of the rows "
            f"({self.joint_dimension:.6g} of all distributions): {verdict}."
        )


def parameter_budget(
    graph: object, data: TableLike, *, hidden: Mapping[str, int] | Iterable[Variable] = ()
) -> ParameterBudget:
    """Count the parameters of a graph, and the degrees of freedom of what its observed variables show.

    A hidden variable pays where it explains them with far fewer numbers (Koller & Friedman 2009, §19.5.3). `graph`,
    `data` and `hidden` are as for `learn.em`.

    >>> rows = {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "c": [0, 1, 1, 0]}
    >>> print(parameter_budget("H -> a; H -> b; H -> c", rows, hidden={"H": 2}))
    7 parameters explain 3 degrees of freedom of the rows (7 of all distributions): too many: take fewer states, or
    fewer parents.
    """
    task = ScoreTask.of(graph, data, None, hidden)
    seen = [name for name, kind in task.cases.visibility.items() if kind != "hidden"]
    joint = math.prod(float(task.variables[name].num_states) for name in seen) - 1
    return ParameterBudget(task.tables.num_free, joint, min(joint, max(task.cases.num_cases - 1, 0)), task.cases.total)
