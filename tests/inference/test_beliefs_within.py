"""What "auto" says of its errors where no tables fit: certain bounds hold, estimates cover, silence is told."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress

import numpy as np
import pytest

import plausible as pb
from plausible.base.query_info import NO_ERROR, QueryInfo
from plausible.errors import ImpossibleEvidence, PlausibleError
from plausible.factors import Factor
from plausible.inference.approximate import Beliefs
from plausible.inference.engine_mistakes import engine_kinds
from plausible.inference.within_budget import BeliefsWithin, _agreed
from plausible.variables import Evidence, Variable

NOTHING = Evidence({}, {}, {})
#: So little that no tree fits, and mini-buckets are small.
LITTLE = pb.Budget(seconds=0.01, bytes=2**12)


def spins(side, seed, strength):
    """A grid with couplings of random size and sign."""
    rng = np.random.default_rng(seed)
    factors = [Factor({f"{r}_{c}": 2}, np.exp(rng.normal(size=2))) for r in range(side) for c in range(side)]
    for r, c in itertools.product(range(side), repeat=2):
        for other in ((r + 1, c), (r, c + 1)):
            if max(other) < side:
                coupling = strength * rng.normal()
                table = np.exp([[coupling, -coupling], [-coupling, coupling]])
                factors.append(Factor({f"{r}_{c}": 2, f"{other[0]}_{other[1]}": 2}, table))
    return factors


def random_factors(seed):
    """Twelve factors of up to three of eight variables, some with one state; every third model has zeros."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"x{i}", int(rng.integers(1, 4))) for i in range(8)]
    factors = []
    for _ in range(12):
        scope = tuple(variables[i] for i in rng.choice(8, size=int(rng.integers(1, 4)), replace=False))
        table = np.exp(1.5 * rng.normal(size=[variable.num_states for variable in scope]))
        factors.append(Factor(scope, table * (rng.random(table.shape) < 0.85) if seed % 3 == 0 else table))
    return factors


def joint_of(factors):
    """The whole table, in the order of the names, by plain broadcasting; and the names."""
    variables = {variable.name: variable for factor in factors for variable in factor.scope}
    names, sizes = list(variables), [variable.num_states for variable in variables.values()]
    table = np.ones(sizes)
    for factor in factors:
        places = [names.index(name) for name in factor.names]
        values = factor.values.transpose(np.argsort(places))
        table = table * values.reshape([size if i in places else 1 for i, size in enumerate(sizes)])
    return table, list(variables.values())


MODELS = [
    *(
        pytest.param(spins(4, seed, strength), id=f"grid {seed} {strength}")
        for seed in range(15)
        for strength in (0.5, 1.5)
    ),
    *(pytest.param(random_factors(seed), id=f"factors {seed}") for seed in range(30)),
]


@pytest.mark.parametrize("factors", MODELS)
def test_certain_bounds_of_log_z_hold_and_the_error_covers(factors):
    """log Z by enumeration lies between the bounds, and is no further from the estimate than the error says."""
    table, _ = joint_of(factors)
    found = BeliefsWithin(LITTLE).log_total(factors, NOTHING)
    assert found.is_bound
    if table.sum() == 0:
        assert found.lower == -math.inf
        return
    truth = math.log(table.sum())
    assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
    assert found.lower <= float(found) <= found.upper
    assert found.info.error is not None
    assert abs(float(found) - truth) <= found.info.error + 1e-9
    assert found.info.exact or found.info.advice


@pytest.mark.parametrize("seed", range(4))
def test_the_lower_bound_is_the_best_of_what_was_tried(seed):
    """In grids with zeros mean field is mostly above mini-buckets, whose minima are zero; both are below the truth."""
    rng, factors = np.random.default_rng(seed), []
    for r, c, down in itertools.product(range(4), range(4), (True, False)):
        other = (r + down, c + (not down))
        if max(other) < 4:
            table = np.exp(rng.normal(size=(3, 3))) * ((rng.random((3, 3)) >= 0.2) | np.eye(3, dtype=bool))
            factors.append(Factor({f"{r}_{c}": 3, f"{other[0]}_{other[1]}": 3}, table))
    found, truth = BeliefsWithin(LITTLE).log_total(factors, NOTHING), pb.MarkovNetwork(factors).log_partition()
    assert pb.MeanField().log_total(factors, NOTHING).lower - 1e-9 <= found.lower <= truth + 1e-9


def test_errors_of_beliefs_cover_nearly_always():
    """True errors, by enumeration, are at most three times the estimate in 95 % of the models, each as a whole."""
    covered = []
    for parameters in MODELS:
        (factors,) = parameters.values
        table, variables = joint_of(factors)
        if table.sum() == 0:
            with pytest.raises(ImpossibleEvidence):
                BeliefsWithin(LITTLE).marginals(factors, variables, NOTHING)
            continue
        beliefs = BeliefsWithin(LITTLE).marginals(factors, variables, NOTHING)
        error, truth = 0.0, table / table.sum()
        for place, variable in enumerate(variables):
            marginal = truth.sum(axis=tuple(axis for axis in range(truth.ndim) if axis != place))
            error = max(error, float(np.abs(beliefs[variable.name].flat - marginal).max()))
        info = beliefs[variables[0].name].info
        assert info.error is not None
        covered.append(error <= 3 * info.error + 1e-9)
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize("factors", MODELS[::5])
def test_the_error_of_one_belief_covers_it(factors):
    """A query, for which mini-buckets bound the states, and a joint that no factor has."""
    table, variables = joint_of(factors)
    if table.sum() == 0:
        return
    truth = table / table.sum()
    for places in ((0,), (1, len(variables) - 1)):
        found = BeliefsWithin(LITTLE).query(factors, [variables[place] for place in places], NOTHING)
        marginal = truth.sum(axis=tuple(axis for axis in range(truth.ndim) if axis not in places))
        assert np.abs(found.values - marginal).max() <= 3 * found.info.error + 1e-9


@pytest.mark.parametrize("factors", MODELS[:40:3])
def test_a_marginal_map_is_no_worse_than_its_error_says(factors):
    """By enumeration, of few assignments and of many: the best one, and the value of the one found."""
    table, variables = joint_of(factors)
    if table.sum() == 0:
        return
    net, axes = pb.MarkovNetwork(*factors), range(len(variables))
    for number in (2, len(variables) // 2 + 1):
        sums = table.sum(axis=tuple(axes[number:]))
        found = net.map([variable.name for variable in variables[:number]], engine="auto", budget=LITTLE)
        value = sums[tuple(v.states.index(found[v.name]) for v in variables[:number])]
        assert math.log(sums.max() / value) <= found.info.error + 1e-9
        if not found.info.exact:
            assert found.log_product.lower - 1e-9 <= math.log(value) <= found.log_product.upper + 1e-9
            assert found.info.advice


def test_a_grid_that_messages_miss_has_bounds_by_the_largest_tables_that_fit():
    """20x20 spins: the estimate is within two of log Z by a tree with room, and the same every time."""
    net = pb.MarkovNetwork(*spins(20, 1, 1.0))
    found = net.log_partition(engine="auto", budget=pb.Budget(bytes=2**24))
    truth = net.log_partition()
    assert found.lower <= truth <= found.upper
    assert found.info.error == pytest.approx(max(found.upper - float(found), float(found) - found.lower))
    assert found.upper - found.lower < 20
    wider = BeliefsWithin().log_total(net.factors, NOTHING)
    assert abs(float(wider) - truth) < 2
    assert wider.upper - wider.lower < 5
    assert float(net.log_partition(engine="auto", budget=pb.Budget(bytes=2**24))) == float(found)


#: Question -> how it was answered, with an engine.
QUESTIONS = {
    "query": lambda net, seen, **way: net.query(list(net.variables)[3], seen, **way).info,
    "joint": lambda net, seen, **way: net.query(list(net.variables)[3:5], seen, **way).info,
    "marginals": lambda net, seen, **way: next(iter(net.marginals(seen, **way).values())).info,
    "log_probability": lambda net, seen, **way: net.log_probability(seen, **way).info,
    "log_partition": lambda net, seen, **way: net.log_partition(seen, **way).info,
    "mpe": lambda net, seen, **way: net.mpe(seen, **way).info,
    "map": lambda net, seen, **way: net.map(list(net.variables)[3:5], seen, **way).info,
    "expected_counts": lambda net, seen, **way: net.expected_counts({name: [seen[name]] for name in seen}, **way).info,
    "sample": lambda net, seen, **way: net.sample(10, 0, seen, **way).attrs["info"],
}
OPTIONS = {"CollapsedGibbs": {"sampled": ["0_0", "1_1"]}, "CollapsedParticles": {"sampled": ["0_0", "1_1"]}}


@pytest.mark.parametrize("name", sorted(engine_kinds()))
def test_no_engine_is_silent_about_an_unknown_error(name):
    """Every engine in every question on a grid with cycles: what is not exact tells an error, or that none is known."""
    net, told = pb.MarkovNetwork(*spins(3, 2, 1.0)), []
    for ask in QUESTIONS.values():
        with suppress(PlausibleError):  # not every engine answers every question, or takes every model
            told.append(ask(net, {"2_2": 1}, engine=engine_kinds()[name](**OPTIONS.get(name, {}))))
    assert all(info.exact or info.error is not None or NO_ERROR in info.advice for info in told)
    assert not any(info.exact and info.advice for info in told if "rows are worth" not in info.advice)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seconds", [1e-6, 0.01, 10.0])
def test_auto_always_knows_its_error(question, seconds):
    """In every question, with little and with much time, of factors and of distributions: an error, or exact."""
    grid, alarm = pb.MarkovNetwork(*spins(4, 2, 1.0)), pb.examples.load("alarm")
    for net, evidence in ((grid, {"3_3": 1}), (alarm, {"CVP": "HIGH", "BP": "LOW"})):
        info = QUESTIONS[question](net, evidence, engine="auto", budget=pb.Budget(seconds=seconds, bytes=2**10))
        assert info.error is not None
        assert info.exact or info.advice


def test_what_is_not_known_is_said_once_and_only_where_it_is_not_known():
    silent = QueryInfo("messages", exact=False, error=None)
    assert silent.advice == NO_ERROR
    assert QueryInfo("messages", exact=False, error=None, advice=f"Try more. {NO_ERROR}").advice.count(NO_ERROR) == 1
    assert QueryInfo("messages", exact=False, error=0.1, advice=silent.advice).advice == ""
    assert QueryInfo("tree").advice == ""


def _told(value, error=None, *, converged=True, r_hat=None):
    info = QueryInfo("", exact=False, error=error, converged=converged, r_hat=r_hat)
    return Beliefs((np.array([value, 1 - value]),), info)


@pytest.mark.parametrize(
    ("messages", "draws", "value", "error", "converged"),
    [
        (_told(0.5), _told(0.51, 0.02), 0.5, 0.03, True),
        (_told(0.9), _told(0.1, 0.01), 0.1, 0.81, False),
        (_told(0.9, converged=False), _told(0.1, 0.01), 0.1, 0.81, False),
        (_told(0.9), _told(0.1, 0.01, converged=False), 0.9, 0.81, False),
        (_told(0.5), _told(0.25, 0.1, converged=False, r_hat=3.0), 0.5, 1.0, False),
        (_told(0.5), _told(0.5, None), 0.5, 1.0, True),
    ],
)
def test_two_ways_are_off_by_their_difference_at_least(messages, draws, value, error, converged):
    """Chains may all be stuck in one place, and messages settle far off: what they differ by always counts."""
    agreed = _agreed(messages, draws)
    assert agreed.tables[0][0] == value
    assert agreed.info.error == pytest.approx(error)
    assert agreed.info.converged == converged
