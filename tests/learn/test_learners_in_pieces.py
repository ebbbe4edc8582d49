"""Every learner finds in pieces, none of which is kept, what it finds in the table; what needs rows says what to do."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from plausible.causal.discovery.fci import fci
from plausible.data import batches
from plausible.data.stream_statistics import StreamStatistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import NotSupported
from plausible.learn.bayesian.variational import variational_bayes
from plausible.learn.classifiers.kinds import NaiveBayesClassifier
from plausible.learn.confidence.chains import order_posterior, sample_orders, sample_structures
from plausible.learn.confidence.exact_posterior import edge_posterior
from plausible.learn.constraint_based.blanket_structure import markov_blanket, structure_from_blankets
from plausible.learn.constraint_based.parents_and_children import parents_and_children
from plausible.learn.constraint_based.pc import pc
from plausible.learn.estimation.families import data_fragmentation, graph_log_likelihood, log_likelihood
from plausible.learn.evaluation.cross_validation import cross_validate
from plausible.learn.incomplete_structures.latent_trees import learn_latent_tree
from plausible.learn.learned_parameters import fit_parameters, learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.scores.reading import SCORES, read_score
from plausible.learn.structure_methods import METHODS
from plausible.learn.undirected.graphical_lasso import graphical_lasso
from plausible.learn.undirected.learning import learn_markov
from plausible.learn.undirected_structures.learning import learn_markov_structure
from plausible.search.chains import ChainLengths

GRAPH = "a -> c <- b; c -> d; a -> e"
SHORT = ChainLengths(num_draws=10, num_chains=2, burn_in=10, thin=1)


def _frame(num_rows=400):
    rng = np.random.default_rng(1)
    a, b = rng.integers(2, size=num_rows), rng.integers(3, size=num_rows)
    c = (a + b + (rng.random(num_rows) < 0.2)) % 3
    d = np.where(rng.random(num_rows) < 0.15, rng.integers(2, size=num_rows), c > 0).astype(int)
    e = np.where(rng.random(num_rows) < 0.3, rng.integers(2, size=num_rows), a)
    x, y = rng.normal(size=(2, num_rows))
    z = x - y + a + rng.normal(size=num_rows)
    return pd.DataFrame({"c": c, "a": a, "e": e, "b": b, "d": d, "x": x, "z": z, "y": y})


FRAME = _frame()
STATES, NUMBERS, MIXED = ["c", "a", "e", "b", "d"], ["x", "z", "y"], ["a", "c", "x", "z"]
NETWORK = learn_parameters(GRAPH, FRAME[STATES], "bdeu:1")


def _parameters(data, **options):
    return {name: cpd.to_factor().values for name, cpd in fit_parameters(GRAPH, data, **options).network.cpds.items()}


def _told(found):
    """What can be compared of an answer."""
    if hasattr(found, "graph"):
        return str(found.graph)
    return str(found) if not isinstance(found, (float, np.ndarray, dict)) else found


SEARCHES = {
    method: partial(learn_structure, method=method, **options)
    for method in METHODS
    for options in [
        {
            "k2": {"order": ["a", "b", "c", "d", "e"]},
            "tan": {"class_variable": "c"},
            "annealing": {"max_steps": 100},
            "random-restarts": {"restarts": 2},
            "perturbation-restarts": {"restarts": 2},
            "basin-flooding": {"patience": 5},
        }.get(method, {})
    ]
}
#: Name -> the columns, and what is learned of them.
LEARNERS = {
    **{method: (STATES, search) for method, search in SEARCHES.items()},
    **{f"{name} of numbers": (NUMBERS, SEARCHES[name]) for name in ("hill-climbing", "ges", "chow-liu")},
    **{f"{name} of mixed": (MIXED, SEARCHES[name]) for name in ("hill-climbing", "tabu")},
    **{
        f"{kind} parameters": (STATES, partial(_parameters, prior="bdeu:1", kinds={"e": kind} if kind else None))
        for kind in ("", "tree", "noisy-or", "logistic")
    },
    "Gaussian parameters": (NUMBERS, lambda data: str(learn_parameters("x -> z; y -> z", data).cpd("z"))),
    "mixed parameters": (MIXED, lambda data: str(learn_parameters("a -> x -> z; c -> z", data).cpd("z"))),
    "log-likelihood": (STATES, lambda data: log_likelihood(NETWORK, data)),
    "likelihood of a graph": (STATES, partial(graph_log_likelihood, GRAPH)),
    "fragmentation": (STATES, partial(data_fragmentation, GRAPH)),
    "PC": (STATES, pc),
    "PC of numbers": (NUMBERS, pc),
    "PC of mixed": (MIXED, pc),
    "FCI": (STATES, fci),
    "blankets": (STATES, structure_from_blankets),
    "a blanket": (STATES, partial(markov_blanket, target="c")),
    "neighbours": (STATES, partial(parents_and_children, target="c")),
    "edge posterior": (STATES, lambda data: edge_posterior(data).strengths.edges),
    "order posterior": (STATES, lambda data: order_posterior(data, sorted(STATES)).log_evidence),
    "draws of orders": (STATES, lambda data: sample_orders(data, lengths=SHORT).strengths.edges),
    "draws of graphs": (STATES, lambda data: sample_structures(data, lengths=SHORT).strengths.edges),
    "Markov network": (STATES, lambda data: learn_markov("a - c - d", data).log_likelihood),
    **{
        f"{method} Markov structure": (STATES, partial(learn_markov_structure, method=method))
        for method in ("l1", "chow-liu", "chordal", "tests", "greedy")
    },
    "graphical lasso": (NUMBERS, lambda data: graphical_lasso(data, 0.1).precision),
}


@pytest.fixture
def in_pieces(tmp_path, monkeypatch):
    """The columns of the frame in two files, read in batches of some rows."""
    monkeypatch.setattr(batches, "rows_at_once", lambda num_columns: 100)
    FRAME.iloc[:250].to_parquet(tmp_path / "0.parquet", row_group_size=90)
    FRAME.iloc[250:].to_parquet(tmp_path / "1.parquet", row_group_size=90)
    return lambda columns: StreamStatistics(tmp_path, max_bytes=0, columns=columns)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_finds_in_pieces_what_it_finds_in_the_table(in_pieces, name):
    columns, learn = LEARNERS[name]
    expected, found = (_told(learn(data)) for data in (FRAME[columns], in_pieces(columns)))
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, table in expected.items():
            np.testing.assert_allclose(found[key], table, rtol=1e-9)
    elif isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_is_the_same_in_pieces(in_pieces, name):
    score = read_score(name)
    columns = NUMBERS if "gaussian" in name or name == "bge" else STATES
    child, *parents = columns
    for given in ([], parents[:1], parents[:2]):
        expected, found = (
            score.on(data).family(child, given)
            for data in (TableStatistics(Table.read(FRAME[columns])), in_pieces(columns))
        )
        assert found == (expected if columns is STATES else pytest.approx(expected, rel=1e-9))


NEED_ROWS = {
    "logistic distributions of numbers": (MIXED, partial(learn_parameters, "x -> a")),
    "pseudolikelihood": (STATES, partial(learn_markov, "a - c", objective="pseudolikelihood")),
    "cross-validation": (STATES, lambda data: cross_validate(data, lambda rows: NETWORK)),
    "latent trees": (STATES, learn_latent_tree),
    "variational Bayes": (STATES, partial(variational_bayes, GRAPH)),
    "classifiers": (STATES, lambda data: NaiveBayesClassifier().fit(data, [0] * 400)),
    "mixtures": (NUMBERS, lambda data: MixtureClustering(2).fit(data)),
}


@pytest.mark.parametrize("name", NEED_ROWS)
def test_what_needs_rows_says_what_to_give_it(in_pieces, name):
    columns, learn = NEED_ROWS[name]
    with pytest.raises(NotSupported, match=r"[Gg]ive (it |a )"):
        learn(in_pieces(columns))


#: (method, options) -> the most passes for each step.
PASSES = {
    "hill-climbing": ({"escapes": 0}, 0.6),
    "tabu": ({"max_steps": 100}, 0.6),
    "first-ascent": ({}, 1.0),
}


@pytest.mark.parametrize("method", PASSES)
def test_a_step_of_a_search_takes_less_than_a_pass(tmp_path, method):
    """As a pass scores what the next moves are likely to ask for; where nothing is read each step is one."""
    options, most = PASSES[method]
    rng = np.random.default_rng(0)
    columns = {"v0": rng.integers(3, size=3000)}
    for number in range(1, 16):
        parent = columns[f"v{rng.integers(number)}"]
        columns[f"v{number}"] = np.where(rng.random(3000) < 0.7, parent, rng.integers(3, size=3000))
    pd.DataFrame(columns).to_parquet(tmp_path / "rows.parquet")
    read, kept = (StreamStatistics(tmp_path / "rows.parquet", max_bytes=size) for size in (0, 1e9))
    found, expected = (learn_structure(statistics, method, **options) for statistics in (read, kept))
    assert found.graph == expected.graph
    assert read.num_passes <= most * found.num_steps + 3
    assert kept.num_passes <= expected.num_steps + 4
