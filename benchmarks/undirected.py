"""Learning undirected models beside ipfn and scikit-learn: CPU seconds of one thread, both sides in one run."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import plausible as pb
from benchmarks.report import table
from plausible.data.table import Table
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.named_objectives import read_objective
from plausible.learn.undirected.proportional_fitting import fit_proportionally
from plausible.learn.undirected.sample import Sample
from plausible.search import Stops

#: Side of the pictures, and how many.
SIDE, PICTURES = 20, 50


def run() -> str:
    """What each task takes, here and by the peer, and how far the answers agree."""
    warnings.simplefilter("ignore")
    rows = [
        *_dense_tables(10, 2),
        *_dense_tables(8, 4),
        _chain(),
        *_lassos(200, 1000),
        *_lassos(1000, 2000),
        _neighbourhoods(100, 10_000),
        *_fields(),
    ]
    return table(["task", "ours s", "peer s", "ratio", "how good"], rows)


def _seconds(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    shortest, answer = float("inf"), None
    for _ in range(repeats):
        begin = time.process_time()
        answer = work()
        shortest = min(shortest, time.process_time() - begin)
    return shortest, answer


def _dense_tables(num_variables: int, num_states: int) -> list[list[object]]:
    """Proportional fitting of all pairs of a dense table: the fitting alone, and the whole call."""
    joint = np.random.default_rng(0).gamma(1.0, size=(num_states,) * num_variables) + 0.05
    joint /= joint.sum()
    pairs = list(itertools.combinations(range(num_variables), 2))
    wanted = [joint.sum(axis=tuple(axis for axis in range(num_variables) if axis not in pair)) for pair in pairs]
    means = {(f"X{i}", f"X{j}"): one for (i, j), one in zip(pairs, wanted, strict=True)}
    variables = {f"X{i}": pb.Variable(f"X{i}", range(num_states)) for i in range(num_variables)}
    sample = Sample(Design.of([pb.Feature(scope) for scope in means], variables), _means=np.concatenate(wanted, None))
    sample.tree  # noqa: B018  (compiled before)
    fitting, fitted = _seconds(lambda: fit_proportionally(sample, Stops(1e-8, 50)))
    whole, _ = _seconds(lambda: pb.learn.maximum_entropy(variables, means, optimizer="ipf"))

    def peer() -> Any:
        from ipfn import ipfn

        given = list(map(list, pairs))
        return ipfn.ipfn(np.ones(joint.shape), wanted, given, convergence_rate=1e-8, max_iteration=50).iteration()

    theirs, name = _peer(peer), f"IPF, {num_variables} variables x {num_states} states, {len(pairs)} pairs"
    told = f"gap {fitted.state.gap:.0e}, {fitted.num_steps} sweeps"
    return [
        [name, fitting, *_beside(fitting, theirs), told],
        [f"{name}, whole call", whole, *_beside(whole, theirs), ""],
    ]


def _peer(work: Callable[[], Any]) -> float | None:
    try:
        return _seconds(work)[0]
    except ImportError:
        return None


def _beside(ours: float, theirs: float | None) -> list[object]:
    return [theirs, None if theirs is None else theirs / ours]


def _chain() -> list[object]:
    """A chain of 100 variables, far beyond a dense table: by fitting, from 2,000 rows."""
    rng = np.random.default_rng(0)
    rows = rng.integers(10, size=(2000, 100))
    for column in range(1, 100):
        rows[:, column] = np.where(rng.random(2000) < 0.6, rows[:, column - 1], rows[:, column])
    data = {f"X{column}": rows[:, column] for column in range(100)}
    graph = " - ".join(data)
    seconds, fit = _seconds(lambda: pb.learn.markov(graph, data, optimizer="ipf"), 1)
    exact = pb.learn.markov(graph, data)
    told = f"likelihood off by {abs(fit.log_likelihood - exact.log_likelihood):.0e}"
    return ["IPF, chain of 100 x 10 states, 2,000 rows", seconds, None, None, told]


def correlations(num_variables: int, num_rows: int) -> NDArray[np.float64]:
    """Of rows whose precision matrix is a chain with a pair at random for every second variable."""
    rng = np.random.default_rng(0)
    precision = np.eye(num_variables) + 0.25 * (np.eye(num_variables, k=1) + np.eye(num_variables, k=-1))
    for i, j in rng.integers(num_variables, size=(num_variables // 2, 2)).tolist():
        if i != j:
            precision[i, j] = precision[j, i] = 0.15
    precision += max(0.0, 0.4 - float(np.linalg.eigvalsh(precision)[0])) * np.eye(num_variables)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return np.corrcoef(rng.normal(size=(num_rows, num_variables)) @ root.T, rowvar=False)


def _lassos(num_variables: int, num_rows: int) -> list[list[object]]:
    """The graphical lasso of one penalty, and a path of 20 down to it."""
    S, penalty = correlations(num_variables, num_rows), 0.1
    ours, fit = _seconds(lambda: pb.learn.graphical_lasso(covariance=S, penalty=penalty), 2)
    penalties = np.geomspace(np.abs(S - np.eye(num_variables)).max(), penalty, 20)
    path, _ = _seconds(lambda: pb.learn.graphical_lasso(covariance=S, penalty=penalties, num_rows=num_rows), 1)

    def peer() -> Any:
        from sklearn.covariance import graphical_lasso

        return graphical_lasso(S, penalty, tol=1e-4)[1]

    theirs, X = _seconds(peer, 1)
    value = -np.linalg.slogdet(X)[1] + np.sum(S * X) + penalty * (np.abs(X).sum() - np.trace(X))
    told = f"{fit.num_edges} edges, gap {fit.duality_gap:.0e}, {value - fit.objective:.0e} below scikit-learn"
    name = f"graphical lasso, {num_variables} variables"
    return [
        [name, ours, theirs, theirs / ours, told],
        [f"{name}, path of 20", path, None, None, f"{path / ours:.2g} of one"],
    ]


def spins(num_variables: int, num_rows: int) -> NDArray[np.float64]:
    """Rows of ±1 by twenty sweeps of Gibbs sampling, where each variable has about four neighbours."""
    rng = np.random.default_rng(0)
    coupling = rng.normal(scale=0.4, size=(num_variables,) * 2) * (rng.random((num_variables,) * 2) < 4 / num_variables)
    coupling = np.triu(coupling, 1) + np.triu(coupling, 1).T
    rows = rng.choice([-1.0, 1.0], size=(num_rows, num_variables))
    for _ in range(20):
        for place in range(num_variables):
            odds = 2 * rows @ coupling[:, place]
            rows[:, place] = np.where(rng.random(num_rows) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
    return rows


def _neighbourhoods(num_variables: int, num_rows: int) -> list[object]:
    """An L1-penalised logistic regression of each variable on all others."""
    from sklearn.linear_model import LogisticRegression

    rows, strength = spins(num_variables, num_rows), 0.02
    data = {f"X{place}": (column > 0).astype(int) for place, column in enumerate(rows.T)}
    ours, found = _seconds(lambda: pb.learn.markov_structure(data, "neighbourhood", strength=strength, rule="or"))

    def peer() -> set[frozenset[str]]:
        edges = set()
        for place in range(num_variables):
            regression = LogisticRegression(
                penalty="l1", solver="liblinear", C=1 / (strength * num_rows), intercept_scaling=10
            ).fit(np.delete(rows, place, axis=1), rows[:, place])
            others = np.delete(np.arange(num_variables), place)[regression.coef_[0] != 0]
            edges |= {frozenset((f"X{place}", f"X{other}")) for other in others}
        return edges

    theirs, edges = _seconds(peer, 1)
    apart = len(edges ^ {frozenset(map(str, edge)) for edge in found.graph.edges})
    told = f"{found.graph.num_edges} edges, {apart} others than scikit-learn's, conditions to {found.kkt_residual:.0e}"
    return [f"neighbourhoods, {num_variables} binary variables, {num_rows:,} rows", ours, theirs, theirs / ours, told]


def _fields() -> list[list[object]]:
    """One value and gradient of a conditional random field on a grid, for all pictures together, after the first."""
    rng = np.random.default_rng(0)
    cells = [(i, j) for i in range(SIDE) for j in range(SIDE)]
    labels = (rng.normal(size=(PICTURES, SIDE, SIDE)).cumsum(axis=1) > 0).astype(int)
    data = {f"Y{i},{j}": labels[:, i, j] for i, j in cells}
    data |= {f"x{i},{j}": labels[:, i, j] + rng.normal(size=PICTURES) for i, j in cells}
    beside = [
        (f"Y{i},{j}", f"Y{i + a},{j + b}") for i, j in cells for a, b in ((0, 1), (1, 0)) if max(i + a, j + b) < SIDE
    ]
    features = [
        pb.Feature(beside, lambda a, b: a == b, name="same"),
        pb.Feature([(f"Y{i},{j}", f"x{i},{j}") for i, j in cells], lambda y, x: y * x, name="push"),
    ]
    targets, rows = [f"Y{i},{j}" for i, j in cells], list[list[object]]()
    engines = {
        "LoopyBP": pb.inference.LoopyBP(),
        "TreeReweightedBP": pb.inference.TreeReweightedBP(),
        "TreeReweightedBP, sequential": pb.inference.TreeReweightedBP(schedule="sequential"),
    }
    for title, engine in engines.items():
        fit = pb.learn.crf(features, data, targets=targets, engine=engine, max_steps=0)
        ground = fit._form.ground(Table.read(data, {**fit._form.targets, **fit._form.inputs}))
        labelled = fit._form.labels(Table.read(data, {**fit._form.targets, **fit._form.inputs})), np.ones(1)
        objective = read_objective("likelihood").on(Sample(ground, None, engine, _rows=labelled))
        objective.at(np.array([0.3, 0.5]))
        seconds, (value, _) = _seconds(lambda o=objective: o.at(np.array([0.32, 0.55])), 1)
        name = f"gradient of a grid field, {SIDE} x {SIDE}, {PICTURES} pictures, {title}"
        rows.append([name, seconds, None, None, f"objective {value:.6g}"])
    return rows


if __name__ == "__main__":
    print(run())
