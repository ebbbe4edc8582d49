"""Learning the weights of formulas: worked numbers, and enumeration of all worlds."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import formula_oracle as oracle
import plausible as pb
from refusals import refuses

PREDICATES = {"Smokes": ["person"], "Friends": ["person", "person"]}
SMOKES_X, SMOKES_Y = ("atom", "Smokes", (("variable", "x"),)), ("atom", "Smokes", (("variable", "y"),))
FRIENDS = ("atom", "Friends", (("variable", "x"), ("variable", "y")))
TREES = {
    "rate": SMOKES_X,
    "influence": ("implies", ("and", (SMOKES_X, FRIENDS)), SMOKES_Y),
    "friends": ("and", (FRIENDS, ("not", ("same", "x", "y")))),
}
PEOPLE = {"person": ["ann", "bob"]}
WORLD = {("Smokes", ("ann",)): True, ("Smokes", ("bob",)): False, ("Friends", ("ann", "ann")): False,
         ("Friends", ("ann", "bob")): True, ("Friends", ("bob", "ann")): True,
         ("Friends", ("bob", "bob")): False}  # fmt: skip
ALL_WORLDS = list(oracle.worlds(("Smokes", "Friends")))


def told(world):
    """A world as the library takes it."""
    return {oracle.called(atom): state for atom, state in world.items()}


def model_of(names=tuple(TREES), weights=None):
    """The formulas of these names."""
    weights = weights or {}
    formulas = [pb.Formula(oracle.written(TREES[name]), weights.get(name, 0.0), name=name) for name in names]
    return pb.RelationalMarkovNetwork(formulas, PREDICATES)


def counts(names, worlds):
    """True groundings: worlds x formulas."""
    return np.array([[oracle.num_true(TREES[name], world) for name in names] for world in worlds], dtype=float)


def log_likelihood(names, weights, world, given=(), hidden=()):
    """log P(what is seen | what is given), by a sum over all worlds."""
    table = counts(names, ALL_WORLDS) @ weights

    def agrees(other, atoms):
        return all(other[atom] == world[atom] for atom in atoms)

    seen = [atom for atom in world if atom not in hidden]
    context = [atom for atom in world if atom[0] in given]
    above = [value for value, other in zip(table, ALL_WORLDS, strict=True) if agrees(other, seen)]
    below = [value for value, other in zip(table, ALL_WORLDS, strict=True) if agrees(other, context)]
    return oracle.log_sum(above) - oracle.log_sum(below)


def log_pseudolikelihood(names, weights, world):
    """Σ log P(atom | all others)."""
    total = 0.0
    for atom, state in world.items():
        pair = counts(names, [world, {**world, atom: not state}]) @ weights
        total += pair[0] - oracle.log_sum(pair)
    return total


def test_study_pairs_share_one_weight():
    """Each pair agrees with odds e^w / (m - 1), so that w = ln((m - 1) p / (1 - p)); the gradient is n - E[n].

    Pairs of students who work together, with grades of m = 3 states (Koller & Friedman 2009, ex. 6.18 and 20.2).
    """
    pairs = [(f"s{2 * n}", f"s{2 * n + 1}") for n in range(10)]
    grades = {student: "B" if n < 7 or student < "s18" else "A" for n, pair in enumerate(pairs) for student in pair}
    grades |= {pair[1]: "C" for pair in pairs[7:]}
    agree = sum(grades[one] == grades[other] for one, other in pairs)
    assert agree == 7
    template = pb.Formula("StudyPair(s, t) & Grade(s) = Grade(t)", name="alike")
    model = pb.RelationalMarkovNetwork(
        [template], {"StudyPair": ["student", "student"], "Grade": (["student"], ["A", "B", "C"])}
    )
    world = {"StudyPair": pd.DataFrame(pairs), "Grade": pd.DataFrame(list(grades.items()))}
    given = {"given": ["StudyPair"], "closed": ["StudyPair"]}
    fit = pb.learn.relational_markov(model, {"student": sorted(grades)}, world, tolerance=1e-9, **given)
    assert fit.weights["alike"] == pytest.approx(math.log(2 * 0.7 / 0.3), abs=1e-7)
    assert fit.log_likelihood == pytest.approx(7 * math.log(0.7 / 3) + 3 * math.log(0.3 / 6))
    assert fit.model.weights == fit.weights
    assert fit.converged
    assert fit.kind == "exact"
    value, gradient = fit._climb.objective.at(np.array([0.4]))
    e = math.exp(0.4)
    assert value == pytest.approx(7 * 0.4 - 10 * math.log(3 * e + 6))
    assert gradient == pytest.approx([7 - 10 * e / (e + 2)])
    assert fit.standard_errors()["alike"] == pytest.approx((10 * 0.7 * 0.3) ** -0.5)
    net = fit.model.ground({"student": ["ann", "ben"]}, {"StudyPair": [("ann", "ben")]}, closed=["StudyPair"])
    assert net.query("Grade(ben)", evidence={"Grade(ann)": "A"})["A"] == pytest.approx(0.7)


@pytest.mark.parametrize("given", [(), ("Friends",)])
def test_the_general_model_of_pairs_and_grades_is_that_of_enumeration(given):
    """Objective and gradient of the likelihood of one world, at any weights; with a prior its best weights."""
    names = list(TREES)
    fit = pb.learn.relational_markov(
        model_of(), PEOPLE, told(WORLD), given=given, prior=pb.GaussianPrior(2.0), tolerance=1e-9,
        fixed=["friends"] if given else (),
    )  # fmt: skip
    learned = names[:2] if given else names
    for weights in (np.zeros(3), np.array([0.3, -0.8, 1.1])):
        point = weights[: len(learned)]
        exact = log_likelihood(learned, point, WORLD, given)
        value, gradient = fit._climb.objective.at(point)
        assert value == pytest.approx(exact, abs=1e-12)
        for place in range(len(learned)):
            step = np.zeros(len(learned))
            step[place] = 1e-5
            slope = log_likelihood(learned, point + step, WORLD, given)
            slope -= log_likelihood(learned, point - step, WORLD, given)
            assert gradient[place] == pytest.approx(slope / 2e-5, abs=1e-8)
    best = minimize(
        lambda w: w @ w / 4 - log_likelihood(learned, w, WORLD, given), np.zeros(len(learned)), options={"gtol": 1e-8}
    )
    assert [fit.weights[name] for name in learned] == pytest.approx(best.x, abs=1e-5)


def test_the_model_expects_as_many_true_groundings_as_there_are():
    """At the maximum of the likelihood of several worlds, E[n_i] is the mean of n_i over them."""
    names = ["rate", "influence"]
    worlds = [ALL_WORLDS[place] for place in (5, 17, 36, 40, 62)]
    fit = pb.learn.relational_markov(model_of(names), PEOPLE, [told(one) for one in worlds], tolerance=1e-10)
    table = counts(names, ALL_WORLDS)
    logs = table @ [fit.weights[name] for name in names]
    share = np.exp(logs - oracle.log_sum(logs))
    assert share @ table == pytest.approx(counts(names, worlds).mean(axis=0), abs=1e-7)
    exact = sum(log_likelihood(names, np.array(list(fit.weights.values())), world) for world in worlds)
    assert fit.log_likelihood == pytest.approx(exact)
    covariance = (table * share[:, None]).T @ table - np.outer(share @ table, share @ table)
    assert fit.covariance() == pytest.approx(np.linalg.inv(5 * covariance), rel=1e-5, abs=1e-9)


def test_worlds_may_have_constants_of_their_own():
    """Two classes of different sizes tell one weight; so does one world of all of them, which never meet."""
    model = pb.RelationalMarkovNetwork(
        [pb.Formula("Pair(s, t) & High(s) & High(t)", name="both"), pb.Formula("High(s)", name="high")],
        {"Pair": ["student", "student"], "High": ["student"]},
    )
    classes = [{"student": ["a1", "a2"]}, {"student": ["b1", "b2", "b3"]}]
    worlds = [
        {"Pair": [("a1", "a2")], "High": ["a1", "a2"]},
        {"Pair": [("b1", "b2"), ("b2", "b3")], "High": ["b2"]},
    ]
    options = {"given": ["Pair"], "closed": ["Pair", "High"], "prior": pb.GaussianPrior(1.0), "tolerance": 1e-10}
    apart = pb.learn.relational_markov(model, classes, worlds, **options)
    whole = {"Pair": worlds[0]["Pair"] + worlds[1]["Pair"], "High": ["a1", "a2", "b2"]}
    together = pb.learn.relational_markov(model, {"student": ["a1", "a2", "b1", "b2", "b3"]}, whole, **options)
    assert apart.weights == pytest.approx(together.weights, abs=1e-7)
    assert apart.log_likelihood == pytest.approx(together.log_likelihood)
    assert [*together._data.design.variables][:2] == ["High(a1)", "High(a2)"]


def test_hidden_atoms_are_summed_out():
    """The likelihood of what is seen, and its gradient, by a sum over all worlds that agree with it."""
    names = ["rate", "influence"]
    hidden = [("Smokes", ("bob",)), ("Friends", ("ann", "bob"))]
    world = {oracle.called(atom): state for atom, state in WORLD.items() if atom not in hidden}
    fit = pb.learn.relational_markov(
        model_of(names),
        PEOPLE,
        world,
        hidden=["Smokes", "Friends"],
        prior=pb.GaussianPrior(1.0),
        tolerance=1e-9,
        seed=0,
    )
    for point in (np.array([0.5, -0.4]), np.array([fit.weights[name] for name in names])):
        assert fit._climb.objective.at(point)[0] == pytest.approx(log_likelihood(names, point, WORLD, (), hidden))
    best = minimize(
        lambda w: w @ w / 2 - log_likelihood(names, w, WORLD, (), hidden), np.zeros(2), options={"gtol": 1e-9}
    )
    assert list(fit.weights.values()) == pytest.approx(best.x, abs=1e-5)
    with pytest.raises(pb.errors.NotSupported, match="pseudolikelihood is not defined"):
        pb.learn.relational_markov(
            model_of(names), PEOPLE, world, hidden=["Smokes", "Friends"], objective="pseudolikelihood"
        )


def test_the_pseudolikelihood_is_each_atom_given_all_others():
    """Value, best weights, and the likelihood beside it."""
    names = list(TREES)
    fit = pb.learn.relational_markov(
        model_of(), PEOPLE, told(WORLD), objective="pseudolikelihood", prior=pb.GaussianPrior(1.0), tolerance=1e-9
    )
    point = np.array([0.2, 0.7, -0.5])
    assert fit._climb.objective.at(point)[0] == pytest.approx(log_pseudolikelihood(names, point, WORLD))
    best = minimize(lambda w: w @ w / 2 - log_pseudolikelihood(names, w, WORLD), np.zeros(3), options={"gtol": 1e-9})
    assert list(fit.weights.values()) == pytest.approx(best.x, abs=1e-5)
    assert fit.log_likelihood == pytest.approx(log_likelihood(names, best.x, WORLD), abs=1e-5)
    assert math.isnan(fit.standard_errors()["rate"])  # of a single world nothing tells the spread
    assert str(fit).startswith("log-likelihood")


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood", "composite", "piecewise"])
def test_weights_that_are_fixed_stay_and_count(objective):
    """The best of the others with that one where it is; told values are those of all weights."""
    model = model_of(weights={"friends": 0.9})
    prior = {"rate": pb.GaussianPrior(1.0), "influence": pb.GaussianPrior(1.0)}
    options = {"objective": objective, "tolerance": 1e-9}
    fit = pb.learn.relational_markov(model, PEOPLE, told(WORLD), fixed=["friends"], prior=prior, **options)
    assert fit.model.weights["friends"] == 0.9
    assert list(fit.weights) == ["rate", "influence"]
    free = pb.learn.relational_markov(model, PEOPLE, told(WORLD), prior=pb.GaussianPrior(1.0), **options)
    point = np.array([*fit.weights.values(), 0.9])
    value, gradient = free._climb.objective.at(point)
    assert fit._climb.objective.at(point[:2])[0] == pytest.approx(value)
    assert gradient[:2] == pytest.approx(point[:2], abs=1e-6)
    assert fit.log_likelihood == pytest.approx(log_likelihood(list(TREES), point, WORLD))
    assert fit.objective == pytest.approx(value - point[:2] @ point[:2] / 2 - math.log(2 * math.pi))


def test_formulas_that_always_hold_get_infinite_weights():
    """The limit of the likelihood; a prior gives finite ones, and formulas of infinite weight are kept."""
    world = told({**WORLD, ("Friends", ("ann", "bob")): False})
    fit = pb.learn.relational_markov(model_of(["influence"]), PEOPLE, world)
    assert fit.weights == {"influence": math.inf} == fit.infinite
    assert fit.model.formulas[0].is_hard
    assert fit.log_likelihood == pytest.approx(
        -math.log(sum(oracle.num_true(TREES["influence"], one) == 4 for one in ALL_WORLDS))
    )
    again = pb.learn.relational_markov(
        model_of(weights={"influence": math.inf}), PEOPLE, world, prior=pb.GaussianPrior(1.0), tolerance=1e-9
    )
    assert list(again.weights) == ["rate", "friends"]
    kept = [one for one in ALL_WORLDS if oracle.num_true(TREES["influence"], one) == 4]
    table, at = counts(["rate", "friends"], kept), counts(["rate", "friends"], [WORLD])[0] - [0, 1]
    best = minimize(lambda w: w @ w / 2 - at @ w + oracle.log_sum(table @ w), np.zeros(2), options={"gtol": 1e-9})
    assert list(again.weights.values()) == pytest.approx(best.x, abs=1e-5)
    refuses(pb.errors.ModelContradicted, "has the weight inf, but is false in the world at x=ann, y=bob",
            pb.learn.relational_markov, model_of(weights={"influence": math.inf}), PEOPLE, told(WORLD))  # fmt: skip


def test_atoms_in_no_formula_are_uniform():
    """They add log 1/2 each to the likelihood, and nothing to the weights."""
    fit = pb.learn.relational_markov(model_of(["rate"]), PEOPLE, told(WORLD), tolerance=1e-9)
    assert fit.weights["rate"] == pytest.approx(0, abs=1e-6)
    assert fit.log_likelihood == pytest.approx(6 * math.log(0.5))


def test_more_worlds_recover_the_weights_that_made_them():
    """Draws of the ground network, taken as worlds again: estimates within four standard errors, by both objectives."""
    true = {"rate": -0.5, "influence": 0.8, "friends": 0.3}
    people = {"person": ["ann", "bob", "carl"]}
    rows = model_of(weights=true).ground(people).sample(150, seed=1)
    worlds = rows.to_dict("records")
    for objective in ("likelihood", "pseudolikelihood"):
        fit = pb.learn.relational_markov(model_of(), people, worlds, objective=objective)
        for name, error in fit.standard_errors().items():
            assert 0 < error < 0.5
            assert abs(fit.weights[name] - true[name]) < 4 * error


def test_the_pseudolikelihood_of_many_groundings_needs_no_inference():
    """A hundred people who are given their friends: no table is wider than two."""
    rng = np.random.default_rng(0)
    people = [f"q{n}" for n in range(100)]
    friends = {tuple(rng.choice(people, 2, replace=False).tolist()) for _ in range(300)}
    world = {"Friends": friends, "Smokes": [name for name in people if rng.random() < 0.4]}
    closed = {"given": ["Friends"], "closed": ["Friends", "Smokes"], "objective": "pseudolikelihood"}
    fit = pb.learn.relational_markov(
        model_of(["rate", "influence"]), {"person": people}, world, prior=pb.GaussianPrior(1.0),
        budget=pb.Budget(seconds=0.01), **closed,
    )  # fmt: skip
    assert fit.converged
    assert math.isnan(fit.log_likelihood)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (
            {"worlds": {"Smokes": ["ann"]}},
            pb.errors.InvalidEvidence,
            r"does not tell Smokes\(bob\): name 'Smokes' in closed",
        ),
        ({"worlds": []}, pb.errors.InvalidArgument, "no worlds"),
        ({"constants": [PEOPLE] * 2, "worlds": [told(WORLD)]}, pb.errors.InvalidArgument, "for 2 worlds, but 1 worlds"),
        ({"fixed": ["rates"]}, pb.errors.UnknownVariable, "Did you mean 'rate'"),
        ({"fixed": list(TREES)}, pb.errors.InvalidArgument, "nothing to learn"),
        ({"given": ["Smokes", "Friends"]}, pb.errors.InvalidArgument, "nothing tells the weights"),
        ({"given": ["Friend"]}, pb.errors.UnknownVariable, "given= names 'Friend'.*Did you mean 'Friends'"),
        ({"given": ["Friends"], "hidden": ["Friends"]}, pb.errors.InvalidArgument, "in given= and in hidden="),
        ({"model": "Smokes(x)"}, pb.errors.InvalidArgument, "no RelationalMarkovNetwork"),
        ({"prior": {"rates": pb.GaussianPrior(1.0)}}, pb.errors.InvalidArgument, "Did you mean 'rate'"),
        ({"objective": "likely"}, pb.errors.InvalidArgument, "is no objective"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(change, error, match):
    """With what to give instead."""
    arguments = {"model": model_of(), "constants": PEOPLE, "worlds": told(WORLD), **change}
    refuses(error, match, pb.learn.relational_markov, **arguments)


def test_a_formula_that_nothing_tells_of_is_warned_of():
    """All of its atoms are given."""
    model = pb.RelationalMarkovNetwork(["Friends(x, y)", "Smokes(x)"], PREDICATES)
    with pytest.warns(pb.PlausibleWarning, match=r"No grounding of the formula Friends\(x, y\)"):
        fit = pb.learn.relational_markov(model, PEOPLE, told(WORLD), given=["Friends"])
    assert fit.weights["Friends(x, y)"] == 0


def test_a_climb_goes_on_from_where_it_was():
    """`resume=` takes the run of an earlier fit."""
    begun = pb.learn.relational_markov(model_of(), PEOPLE, told(WORLD), prior=pb.GaussianPrior(1.0), max_steps=1)
    ended = pb.learn.relational_markov(model_of(), PEOPLE, told(WORLD), prior=pb.GaussianPrior(1.0), resume=begun.run)
    assert not begun.converged
    assert ended.converged
    assert ended.objective > begun.objective
