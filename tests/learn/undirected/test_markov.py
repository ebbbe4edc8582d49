"""Learning the weights of Markov networks: worked numbers, and laws against enumeration."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import plausible as pb
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.engine_partition import EnginePartition, MessagePartition
from plausible.learn.undirected.named_objectives import read_objective
from plausible.learn.undirected.sample import Sample


def chain_rows():
    """100 rows of A - B - C with 40 times (a1, b1), 40 times (b0, c1), and nothing else of these."""
    rows = [(1, 1, 0)] * 20 + [(1, 1, 1)] * 20 + [(0, 0, 1)] * 20 + [(1, 0, 1)] * 20 + [(0, 0, 0)] * 20
    return pd.DataFrame(rows, columns=list("ABC"))


CHAIN = [
    pb.Feature(["A", "B"], lambda a, b: a == 1 and b == 1, name="x"),
    pb.Feature(["B", "C"], lambda b, c: b == 0 and c == 1, name="y"),
]


def enumerated(features, variables):
    """All assignments, and the value of each feature there: written without the library's arrays."""
    names = list(variables)
    cells = list(itertools.product(*(variables[name].states for name in names)))
    table = np.zeros((len(cells), len(features)))
    for row, cell in enumerate(cells):
        state = dict(zip(names, cell, strict=True))
        for column, feature in enumerate(features):
            table[row, column] = sum(float(feature.function(*(state[n] for n in scope))) for scope in feature.scopes)
    return cells, table


def random_case(seed, *, num_rows=60, ternary=True):
    """Features over random scopes of up to three of five variables, some tied, and random rows."""
    rng = np.random.default_rng(seed)
    variables = {f"V{i}": pb.Variable(f"V{i}", 3 if ternary and i % 2 else 2) for i in range(5)}
    names, features = list(variables), []
    for number in range(6):
        scope = rng.choice(names, size=int(rng.integers(1, 4)), replace=False).tolist()
        table = rng.normal(size=[variables[n].num_states for n in scope]).round(2)
        features.append(pb.Feature(scope, lambda *s, t=table: t[s], name=f"f{number}"))
    tied = [["V0", "V2"], ["V4", "V2"]]
    features.append(pb.Feature(tied, lambda a, b: a == b, name="tied"))
    features.append(pb.Feature([[name] for name in names], lambda v: float(v), name="sum"))
    frame = pd.DataFrame({n: rng.integers(0, v.num_states, num_rows) for n, v in variables.items()})
    return features, variables, frame


def log_likelihood(features, variables, frame, weights):
    """Σ_m log P(row) by summing over all assignments; None cells are summed out."""
    cells, table = enumerated(features, variables)
    logs = table @ weights
    log_z = np.logaddexp.reduce(logs)
    total = 0.0
    for row in frame[list(variables)].itertuples(index=False):
        fits = [all(pd.isna(r) or r == c for r, c in zip(row, cell, strict=True)) for cell in cells]
        total += np.logaddexp.reduce(logs[fits]) - log_z
    return total


# --- worked numbers: the chain A - B - C ---


def test_the_chain_has_the_worked_optimum():
    """x = y = ln 4, log-likelihood -188.66968, moments 0.4."""
    fit = pb.learn.markov(CHAIN, chain_rows())
    assert fit.converged
    assert fit.weights["x"] == pytest.approx(math.log(4), abs=1e-5)
    assert fit.weights["y"] == pytest.approx(math.log(4), abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-188.66968, abs=1e-5)
    assert fit.network.query(["A", "B"]).values[1, 1] == pytest.approx(0.4, abs=1e-6)
    assert fit.kind == "exact"
    assert fit.moment_gap < 1e-6
    assert abs(fit.duality_gap) < 1e-5
    assert -fit.information() == pytest.approx(np.array([[-24, 16], [16, -24]]), abs=1e-3)


def test_the_surface_has_the_worked_values():
    """ℓ(x, y) on a grid, which shows how Z couples the two."""
    fit = pb.learn.markov(CHAIN, chain_rows())
    surface = fit.surface({"x": [0, 1, 2, 5], "y": [0, 1, -1, 2, 5]})
    found = [surface.loc[0, 0], surface.loc[1, 1], surface.loc[2, 2], surface.loc[1, -1], surface.loc[5, 5]]
    assert found == pytest.approx([-207.94415, -189.95560, -191.32224, -231.96706, -239.30097], abs=1e-5)
    assert surface.index.name == "x"
    assert surface.columns.name == "y"
    assert fit.surface({"y": [math.log(2)]}).shape == (1, 1)


def test_the_best_other_weight_follows_from_one():
    """Given x = 0 the best y is ln 2, with ℓ = -202.53262: a weight fixed by a narrow prior."""
    fit = pb.learn.markov(CHAIN, chain_rows(), prior={"x": pb.GaussianPrior(1e-12)})
    assert fit.weights["y"] == pytest.approx(math.log(2), abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-202.53262, abs=1e-5)


@pytest.mark.parametrize(
    ("prior", "weight", "value"),
    [
        (pb.GaussianPrior(1.0), 1.238125, -188.85052),
        (pb.HyperbolicPrior(), 1.282397, None),
        (pb.LaplacePrior(1 / 5), 0.847298, None),
        (pb.LaplacePrior(1 / 10), 0.405465, None),
        (pb.LaplacePrior(1 / 15.001), 0.0, -207.94415),
    ],
    ids=repr,
)
def test_priors_shrink_the_chain_as_worked(prior, weight, value):
    """MAP weights under each prior; L1 rates on ℓ/M are 100 times smaller than on the total."""
    fit = pb.learn.markov(CHAIN, chain_rows(), prior=prior, tolerance=1e-9)
    assert [*fit.weights.values()] == pytest.approx([weight, weight], abs=2e-6)
    if value is not None:
        assert fit.log_likelihood == pytest.approx(value, abs=1e-5)


def test_scores_of_the_chain_are_the_worked_ones():
    """BIC of two, one and no feature; MAP and Laplace scores."""
    rows = chain_rows()
    assert pb.learn.markov(CHAIN, rows).bic() == pytest.approx(-193.27485, abs=1e-5)
    with pytest.warns(pb.learn.ConstantFeature, match="'none'"):
        one = pb.learn.markov([CHAIN[0], pb.Feature(["C"], lambda c: 0.0, name="none")], rows)
    assert one.log_likelihood - 0.5 * math.log(100) == pytest.approx(-204.83521, abs=1e-5)
    fit = pb.learn.markov(CHAIN, rows, prior=pb.GaussianPrior(1.0), tolerance=1e-9)
    assert fit.objective == pytest.approx(-192.22135, abs=1e-5)
    assert fit.laplace() == pytest.approx(-193.36162, abs=1e-5)


@pytest.mark.parametrize("function", [lambda f: f == 1, lambda f: f != 1, [2.0, 2.0]], ids=["never", "always", "table"])
def test_a_feature_that_is_the_same_for_all_states_is_announced_with_the_states(function):
    """One that compares with 1 where states are words has no say; the right comparison has the log odds as weight."""
    rows = {"flu": ["no", "yes", "no", "no"], "cold": ["no", "no", "yes", "no"]}
    with pytest.warns(pb.learn.ConstantFeature, match="'flu' is the same for all.*'flu' has the states 'no', 'yes'"):
        fit = pb.learn.markov([pb.Feature(["flu"], function)], rows)
    assert fit.weights["flu"] == 0
    right = pb.Feature(["flu"], lambda f: f == "yes")
    assert pb.learn.markov([right], rows).weights["flu"] == pytest.approx(math.log(1 / 3), abs=1e-5)
    pb.learn.markov([pb.Feature([["flu"], ["cold"]], lambda f: f == "yes", name="ill")], rows)
    pb.learn.markov([pb.Feature(["one"], lambda one: 1.0)], {"one": ["a", "a"]})  # one state: nothing to compare with


def test_iterative_scaling_goes_the_worked_way():
    """IPS from 0: x = .470004, y = .609766, then .777488, .878132, ...; it never goes down."""
    points = []
    pb.learn.markov(CHAIN, chain_rows(), optimizer="ips", max_steps=3, progress=lambda s: points.append(s.point.copy()))
    assert points[0] == pytest.approx([0.470004, 0.609766], abs=1e-6)
    assert points[1] == pytest.approx([0.777488, 0.878132], abs=1e-6)
    assert points[2] == pytest.approx([0.968109, 1.035227], abs=1e-6)
    for name in ("ips", "gis"):
        fit = pb.learn.markov(CHAIN, chain_rows(), optimizer=name, tolerance=1e-8)
        assert (np.diff(fit.trace) >= -1e-10).all()
        assert [*fit.weights.values()] == pytest.approx([math.log(4)] * 2, abs=1e-5)


def test_viterbi_objective_has_the_worked_values():
    """.4 x + .4 y - max(0, x, y), at most 0."""
    fit = pb.learn.markov(CHAIN, chain_rows(), objective="viterbi", max_steps=0)
    surface = fit.surface({"x": [0, 1, -1], "y": [0, 1, -1]}) / 100
    found = [surface.loc[0, 0], surface.loc[1, 1], surface.loc[1, 0], surface.loc[-1, -1]]
    assert found == pytest.approx([0, -0.2, -0.6, -0.8])
    assert fit.kind == "upper bound"


def test_the_bound_from_two_submodels_is_the_worked_one():
    """At θ = ln 4 each the bound on log Z is 3.6375862; the best lower bound on ℓ/M is -2.0253262 at ln 2 / 2."""
    split = pb.learn.SubmodelLikelihood([[2, 0], [0, 2]], [0.5, 0.5])
    fit = pb.learn.markov(CHAIN, chain_rows(), objective=split, tolerance=1e-9)
    assert [*fit.weights.values()] == pytest.approx([math.log(2) / 2] * 2, abs=1e-6)
    assert fit.objective / 100 == pytest.approx(-2.0253262, abs=1e-7)
    assert fit.kind == "lower bound"
    at_truth = fit.surface({"x": [math.log(4)], "y": [math.log(4)]}).iloc[0, 0] / 100
    assert 0.8 * math.log(4) - at_truth == pytest.approx(3.6375862, abs=1e-7)


def test_dimensions_leave_out_what_is_redundant():
    """The diamond has 16 weights of which 8 are free, the chain of tables 8 and 5."""
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (50, 4)), columns=list("ABCD"))
    assert pb.learn.markov("A - B - C - D - A", rows).dimension() == 8
    assert pb.learn.markov("A - B - C", rows).dimension() == 5
    assert pb.learn.markov(CHAIN, rows).dimension() == 2


# --- laws ---


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["likelihood", "pseudolikelihood", "composite", "piecewise"])
def test_gradients_are_those_of_the_value(name, seed):
    """Central differences of every objective agree with its gradient."""
    features, variables, frame = random_case(seed)
    source = Sample.of(Design.of(features, variables), pb.data.TableStatistics(pb.Table.read(frame, variables)))
    objective, rng = read_objective(name).on(source), np.random.default_rng(seed)
    point = rng.normal(size=len(features))
    gradient = objective.at(point)[1]
    for move in np.eye(len(features)) * 1e-5:
        slope = (objective.at(point + move)[0] - objective.at(point - move)[0]) / 2e-5
        assert gradient @ (move / 1e-5) == pytest.approx(slope, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_is_that_of_enumeration(seed):
    """ℓ of complete and of incomplete rows is the sum over all assignments."""
    features, variables, frame = random_case(seed)
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.3):
        holes = frame.astype(object).mask(rng.random(frame.shape) < share)
        source = Sample.of(Design.of(features, variables), pb.data.TableStatistics(pb.Table.read(holes, variables)))
        point = rng.normal(size=len(features))
        expected = log_likelihood(features, variables, holes, point)
        assert read_objective("likelihood").on(source).at(point)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("optimizer", [None, "conjugate-gradient", "newton", "proximal"])
def test_the_maximum_matches_moments_and_has_the_most_entropy(seed, optimizer):
    """At the optimum every mean is that of the data, and a general minimiser finds no higher likelihood."""
    features, variables, frame = random_case(seed)
    options = {"optimizer": optimizer, "tolerance": 1e-7, "max_steps": 20_000}
    fit = pb.learn.markov(features, frame, variables=variables.values(), **options)
    assert fit.converged
    cells, table = enumerated(features, variables)
    model = fit.network.joint().reorder(list(variables)).values.ravel()
    places = {cell: place for place, cell in enumerate(cells)}
    seen = table[[places[row] for row in frame[list(variables)].itertuples(index=False, name=None)]].mean(axis=0)
    assert model @ table == pytest.approx(seen, abs=2e-6)

    def loss(weights):
        return len(frame) * (np.logaddexp.reduce(table @ weights) - seen @ weights)

    assert fit.log_likelihood >= -minimize(loss, np.zeros(len(features)), method="BFGS").fun - 1e-5
    assert -model @ np.log(model) == pytest.approx(-fit.log_likelihood / len(frame), abs=1e-5)


def test_pseudolikelihood_is_the_sum_of_conditionals():
    """Each conditional is read off the enumerated joint."""
    features, variables, frame = random_case(3)
    source = Sample.of(Design.of(features, variables), pb.data.TableStatistics(pb.Table.read(frame, variables)))
    point = np.random.default_rng(3).normal(size=len(features))
    table = enumerated(features, variables)[1]
    joint = np.exp(table @ point).reshape([v.num_states for v in variables.values()])
    expected = 0.0
    for row in frame[list(variables)].itertuples(index=False, name=None):
        for place in range(len(row)):
            free = tuple(slice(None) if p == place else s for p, s in enumerate(row))
            expected += math.log(joint[row] / joint[free].sum())
    assert read_objective("pseudolikelihood").on(source).at(point)[0] == pytest.approx(expected)
    assert read_objective(pb.learn.CompositeLikelihood([[n] for n in variables])).on(source).at(point)[0] == (
        pytest.approx(expected)
    )
    whole = pb.learn.CompositeLikelihood([list(variables)])
    assert read_objective(whole).on(source).at(point)[0] == pytest.approx(
        log_likelihood(features, variables, frame, point)
    )
    blocks = [list(variables)[:2], list(variables)[1:], list(variables)]  # which share variables
    one_by_one = [read_objective(pb.learn.CompositeLikelihood([block])).on(source).at(point) for block in blocks]
    value, gradient = read_objective(pb.learn.CompositeLikelihood(blocks)).on(source).at(point)
    assert value == pytest.approx(sum(each for each, _ in one_by_one))
    np.testing.assert_allclose(gradient, sum(each for _, each in one_by_one), atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_multiconditional_likelihood_mixes_both_directions(share):
    """share · log P(y | x) + (1 - share) · log P(x | y), also where targets are missing."""
    features, variables, frame = random_case(5)
    targets = ["V1", "V3"]
    holes = frame.astype(object)
    holes.loc[::3, "V1"] = None
    source = Sample.of(Design.of(features, variables), pb.data.TableStatistics(pb.Table.read(holes, variables)))
    point = np.random.default_rng(5).normal(size=len(features))

    def summed(kept):
        return log_likelihood(features, variables, holes.assign(**dict.fromkeys({*holes} - {*kept})), point)

    others = [name for name in variables if name not in targets]
    both = summed(list(variables))
    expected = share * (both - summed(others)) + (1 - share) * (both - summed(targets))
    objective = read_objective(pb.learn.Multiconditional(targets, share)).on(source)
    assert objective.at(point)[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_counting_on_chordal_graphs_is_the_climbed_optimum(seed):
    """The closed form has the likelihood of the climb, zeros included, with no step."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 3, (25, 5)), columns=list("ABCDE"))
    graph = "A - B - C - A; C - D; D - E"
    counted = pb.learn.markov(graph, frame)
    climbed = pb.learn.markov(graph, frame, optimizer="l-bfgs", tolerance=1e-8)
    assert counted.num_steps == 0
    assert climbed.num_steps > 0
    assert counted.log_likelihood == pytest.approx(climbed.log_likelihood, abs=1e-4)
    assert counted.network.is_close(climbed.network, 1e-3)
    assert counted.infinite
    assert set(counted.infinite.values()) == {-math.inf}


def test_a_diamond_has_no_closed_form():
    """Four variables in a circle are climbed, and match the pairs of the data."""
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (80, 4)), columns=list("ABCD"))
    fit = pb.learn.markov("A - B - C - D - A", frame, tolerance=1e-9)
    assert fit.num_steps > 0
    for pair in ("AB", "BC", "CD", "AD"):
        seen = pd.crosstab(frame[pair[0]], frame[pair[1]]).to_numpy() / len(frame)
        assert fit.network.query(list(pair)).values == pytest.approx(seen, abs=1e-7)


def test_pseudo_moments_match_for_belief_propagation():
    """After matching, loopy propagation believes the pairs of the data; on a tree that is the maximum likelihood."""
    frame = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 4)), columns=list("ABCD"))
    loop = pb.learn.markov("A - B - C - D - A", frame, objective="pseudo-moment-matching")
    belief = loop.network.query(["B", "C"], engine=pb.LoopyBP())
    seen = pd.crosstab(frame["B"], frame["C"]).to_numpy() / len(frame)
    assert belief.values == pytest.approx(seen, abs=1e-6)
    assert np.abs(loop.network.query(["B", "C"]).values - seen).max() > 1e-6
    tree = pb.learn.markov("A - B - C - D", frame, objective="pseudo-moment-matching")
    assert tree.log_likelihood == pytest.approx(pb.learn.markov("A - B - C - D", frame).log_likelihood)


def test_features_never_or_always_on_are_told_and_their_limit_taken():
    """A feature at its extreme in every row has an infinite weight, and what contradicts it is ruled out."""
    frame = pd.DataFrame({"A": [0, 1, 1, 0, 1], "B": [0, 0, 1, 0, 1]})
    never = pb.Feature(["A", "B"], lambda a, b: a == 0 and b == 1, name="never")
    more = pb.Feature(["A"], lambda a: a, name="a")
    fit = pb.learn.markov([never, more], frame)
    assert fit.infinite == {"never": -math.inf}
    assert fit.network.query(["A", "B"]).values[0, 1] == 0
    assert fit.network.query("A").values[1] == pytest.approx(0.6, abs=1e-6)
    limit = pb.learn.markov([never, more], frame, prior={"never": pb.GaussianPrior(1e8)}, tolerance=1e-9)
    assert fit.log_likelihood == pytest.approx(limit.log_likelihood, abs=1e-2)
    assert fit.log_likelihood > limit.log_likelihood


def test_hidden_variables_are_learned_and_never_go_down():
    """A hidden common cause: the climb is monotone, and better than independence."""
    rng = np.random.default_rng(4)
    hidden = rng.integers(0, 2, 300)
    frame = pd.DataFrame({name: np.where(rng.random(300) < 0.85, hidden, 1 - hidden) for name in "ABC"})
    scopes = [["H", "A"], ["H", "B"], ["H", "C"]]
    fit = pb.learn.markov(scopes, frame, variables=[pb.Variable("H", 2)], restarts=2, seed=1)
    assert (np.diff(fit.trace) >= -1e-9).all()
    alone = pb.learn.markov(["A", "B", "C"], frame).log_likelihood
    best = pb.learn.markov("A - B - C - A", frame).log_likelihood
    assert alone + 20 < fit.log_likelihood <= best + 1e-6


def test_standard_errors_are_those_of_many_samples():
    """The spread of weights over samples is what one sample says, for likelihood and pseudolikelihood."""
    features = [
        pb.Feature(["A", "B"], lambda a, b: a == b, name="same"),
        pb.Feature(["B", "C"], lambda b, c: b == c, name="other"),
        pb.Feature(["A"], lambda a: a, name="a"),
    ]
    tables = [feature.values([pb.Variable(n, 2) for n in feature.scopes[0]]) for feature in features]
    net = pb.MarkovNetwork(
        pb.Factor(dict.fromkeys(feature.scopes[0], 2), np.exp(0.5 * table))
        for feature, table in zip(features, tables, strict=True)
    )
    for objective in ("likelihood", "pseudolikelihood"):
        fits = [pb.learn.markov(features, net.sample(400, seed=s), objective=objective) for s in range(60)]
        spread = np.std([list(fit.weights.values()) for fit in fits], axis=0)
        told = np.mean([list(fit.standard_errors().values()) for fit in fits[:5]], axis=0)
        assert told == pytest.approx(spread, rel=0.35)


def test_engines_in_the_gradient_train_and_say_what_they_are():
    """A tree-reweighted engine gives a lower bound on the likelihood, loopy propagation an approximation."""
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 2, (50, 4)), columns=list("ABCD"))
    exact = pb.learn.markov("A - B - C - D - A", frame, prior=pb.GaussianPrior(1.0))
    bound = pb.learn.markov(
        "A - B - C - D - A", frame, prior=pb.GaussianPrior(1.0), engine=pb.inference.TreeReweightedBP()
    )
    assert bound.kind == "lower bound"
    assert bound.objective <= exact.objective
    loopy = pb.learn.markov("A - B - C - D - A", frame, prior=pb.GaussianPrior(1.0), engine=pb.LoopyBP())
    assert loopy.kind == "approximation"
    assert loopy.network.is_close(exact.network, 0.05)
    tree = pb.learn.markov("A - B - C", frame, prior=pb.GaussianPrior(1.0), engine=pb.LoopyBP())
    assert tree.kind == "exact"


def two_minded_rows():
    """Rows that are nearly all zeros, or nearly all ones, with many cycles: no messages have both at once."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 9))
    for i in range(9):
        for j in ((i + 1) % 9, (i + 3) % 9):
            rows[:, j] = np.where(rng.random(200) < 0.7, rows[:, i], rows[:, j])
    pairs = [[f"X{i}", f"X{(i + step) % 9}"] for i in range(9) for step in (1, 3)]
    return pairs, pd.DataFrame(rows, columns=[f"X{i}" for i in range(9)])


def test_a_climb_goes_nowhere_where_its_engine_has_not_settled_or_cannot_be_right():
    """Messages cut short are not trusted, nor a log-likelihood above zero; what holds a climb up is told."""
    pairs, rows = two_minded_rows()
    loopy = pb.learn.markov(pairs, rows, engine=pb.LoopyBP())
    assert loopy.stopped_by == "stuck"
    assert loopy.objective <= 0
    assert "By what the engine tells no step leads higher" in str(loopy)
    short = pb.learn.markov(pairs, rows, engine=pb.LoopyBP(max_steps=2), max_steps=20)
    assert short.network.log_partition(engine=pb.LoopyBP(max_steps=2000)) == pytest.approx(
        short.network.log_partition(), abs=1.0
    )
    far = {f"X{i}=0, X{(i + 1) % 9}=1": 3.0 for i in range(8)}
    with pytest.raises(pb.errors.InvalidArgument, match=r"from the start\. The messages have not settled"):
        pb.learn.markov(pairs, rows, engine=pb.LoopyBP(max_steps=1), start=far)
    bound = pb.learn.markov(pairs, rows, engine=pb.inference.TreeReweightedBP(schedule="sequential", max_steps=2))
    assert bound.converged


def test_a_network_is_learned_from_where_it_is():
    """A Markov network as the model keeps its zeros, states and scopes."""
    net = pb.MarkovNetwork(pb.Factor({"A": ["x", "y"], "B": 2}, [[1, 0], [2, 3]]), pb.Factor({"B": 2}, [1, 2]))
    frame = pd.DataFrame({"A": ["x", "y", "y", "y"], "B": [0, 0, 1, 1]})
    fit = pb.learn.markov(net, frame)
    assert fit.network.query(["A", "B"]).values == pytest.approx(np.array([[0.25, 0], [0.25, 0.5]]), abs=1e-6)
    for options in ({}, {"prior": pb.GaussianPrior(1.0)}, {"optimizer": "gis"}):
        with pytest.raises(pb.errors.ModelContradicted, match="A=x, B=1 out by a zero, but 2 rows"):
            pb.learn.markov(net, pd.DataFrame({"A": ["x", "x", "y"], "B": [1, 1, 0]}), **options)


def test_runs_go_on_where_they_stopped():
    """Three steps and the rest are the whole climb."""
    features, variables, frame = random_case(1)
    whole = pb.learn.markov(features, frame, variables=variables.values(), tolerance=1e-8)
    part = pb.learn.markov(features, frame, variables=variables.values(), max_steps=3)
    assert part.stopped_by == "step limit"
    rest = pb.learn.markov(features, frame, variables=variables.values(), tolerance=1e-8, resume=part.run)
    assert list(rest.weights.values()) == pytest.approx(list(whole.weights.values()), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "data", "options", "text"),
    [
        ([pb.Feature(["A"], lambda a: math.nan, name="bad")], {"A": [0, 1]}, {}, "'bad' is nan at A=0"),
        ([pb.Feature(["A"], lambda a: "x", name="bad")], {"A": [0, 1]}, {}, "no number"),
        ([["A", "Z"]], {"A": [0, 1]}, {}, "'Z'"),
        ([["A"], ["A"]], {"A": [0, 1]}, {}, "Two features are called 'A'"),
        ([["A"]], {"A": [0.5, 1.25, 3.75]}, {}, "column of numbers"),
        ([["A"]], {"A": [0, 1]}, {"objective": "pseudolikelyhood"}, "Did you mean 'pseudolikelihood'"),
        ([["A"]], {"A": [0, 1]}, {"optimizer": "lbfgs"}, "Did you mean 'l-bfgs'"),
        ([["A"]], {"A": [0, 1]}, {"optimizer": "newtn"}, "Did you mean 'newton'"),
        ([["A"]], {"A": [0, 1]}, {"objective": "pseudo-moment-matchin"}, "Did you mean 'pseudo-moment-matching'"),
        ([["A"]], {"A": [0, 1]}, {"optimizer": "ipf", "objective": "pseudolikelihood"}, "leave objective="),
        ([["A"]], {"A": [0, 1]}, {"optimizer": "ipf", "engine": pb.LoopyBP()}, "leave objective="),
        ([["A"]], {"A": [0, 1]}, {"prior": 3.0}, "is no prior"),
        ([["A"]], {"A": [0, 1]}, {"start": {"B=0": 1.0}}, "start= names it"),
        ([["A"]], {"A": [0, 1]}, {"start": {"A=0": math.nan}}, "must be a number"),
        ([pb.Feature("A", lambda a, b: 1.0, name="two")], {"A": [0, 1]}, {}, "'two' fails at A=0"),
        ([["A"]], {"A": [0, None, 1]}, {"objective": "pseudolikelihood"}, "cells are missing"),
        ([], {"A": [0, 1]}, {}, "no features"),
        (3, {"A": [0, 1]}, {}, "no undirected model"),
        ([pb.Feature(["A"], [1.0, 2.0, 3.0])], {"A": [0, 1]}, {}, "has the shape"),
    ],
)
def test_mistakes_are_named(model, data, options, text):
    """What is wrong, where, and what to do."""
    with pytest.raises(pb.PlausibleError, match=text.replace("(", r"\(")):
        pb.learn.markov(model, data, **options)


@pytest.mark.parametrize("graph", ["A - B - C - D - A; E", "A - B - C - A; C - D - E - C; A - E", "A - B; C - D; E"])
@pytest.mark.parametrize("num_rows", [40, 300])
def test_proportional_fitting_ends_at_the_maximum(graph, num_rows):
    """Fitting on cliques has the likelihood of the climb, zeros included, and never goes down."""
    rng = np.random.default_rng(num_rows)
    frame = pd.DataFrame({name: rng.integers(0, 2 + place % 2, num_rows) for place, name in enumerate("ABCDE")})
    climbed = pb.learn.markov(graph, frame, optimizer="l-bfgs", tolerance=1e-9, max_steps=5000)
    fitted = pb.learn.markov(graph, frame, optimizer="ipf", tolerance=1e-10, max_steps=20_000)
    assert fitted.converged
    assert fitted.log_likelihood == pytest.approx(climbed.log_likelihood, abs=1e-4)
    for scope in fitted.network.factors:
        seen = frame.groupby(list(scope.names)).size() / num_rows
        belief = fitted.network.query(list(scope.names))
        for states, share in seen.items():
            at = dict(zip(scope.names, states if isinstance(states, tuple) else (states,), strict=True))
            assert belief[at] == pytest.approx(share, abs=1e-6)


def test_proportional_fitting_of_a_hundred_variables_needs_no_joint_table():
    """A long chain of ten states, and pairs around it: the cliques are small."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 10, 2000)]
    for _ in range(59):
        columns.append(np.where(rng.random(2000) < 0.6, columns[-1], rng.integers(0, 10, 2000)))
    frame = pd.DataFrame({f"V{place}": column for place, column in enumerate(columns)})
    graph = pb.UndirectedGraph([(f"V{i}", f"V{i + 1}") for i in range(59)])
    fitted = pb.learn.markov(graph, frame, optimizer="ipf")
    assert fitted.log_likelihood == pytest.approx(pb.learn.markov(graph, frame).log_likelihood, rel=1e-6)


@pytest.mark.parametrize("engine", [pb.LoopyBP(), pb.inference.TreeReweightedBP()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_messages_in_learning_are_those_of_the_engine(engine, seed):
    """Beliefs and log Z from messages kept from step to step are those that the engine gives anew."""
    features, variables, frame = random_case(seed)
    statistics = pb.data.TableStatistics(pb.Table.read(frame, variables))
    kept = read_objective("likelihood").on(Sample.of(Design.of(features, variables), statistics, engine))
    assert isinstance(kept.parts[0][1], MessagePartition)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        point = rng.normal(scale=0.5, size=len(features))
        value, gradient = kept.at(point)
        fresh = EnginePartition(kept.design, engine)
        other, beliefs = fresh.at(kept.design.logs(point))
        assert value == pytest.approx(kept.linear @ point - kept.total * other, abs=1e-3)
        assert gradient == pytest.approx(kept.linear - kept.total * kept.design.expected(beliefs), abs=1e-3)


def test_a_scope_within_others_is_read_from_the_one_that_it_was_merged_into():
    """AB lies in ABC, and so in ABCE, and in ABD, which believe different things of it: the slope is the value's."""
    scopes = (("A", "B"), ("A", "B", "C"), ("A", "B", "D"), ("A", "B", "C", "E"), ("C", "D"))
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=(2,) * len(scope)) for scope in scopes]
    features = [
        pb.Feature(scope, table, name=str(n)) for n, (scope, table) in enumerate(zip(scopes, tables, strict=True))
    ]
    design = Design.of(features, {name: pb.Variable(name, 2) for name in "ABCDE"})
    frame = pd.DataFrame(rng.integers(0, 2, (20, 5)), columns=list("ABCDE"))
    statistics = pb.data.TableStatistics(pb.Table.read(frame, design.variables))
    goal = read_objective("likelihood").on(Sample.of(design, statistics, pb.LoopyBP(tolerance=1e-13)))
    point = rng.normal(size=len(features))
    steps = 1e-5 * np.eye(len(features))
    slopes = [(goal.at(point + step)[0] - goal.at(point - step)[0]) / 2e-5 for step in steps]
    assert goal.at(point)[1] == pytest.approx(slopes, abs=1e-5)


def test_pseudolikelihood_of_the_whole_distribution_recovers_its_weights():
    """Three ±1 variables in a clique, each assignment weighted by its probability: near-copies do no harm then."""
    sign = (-1.0, 1.0)
    truth = {"AB": 2.5, "BC": 0.4, "AC": 0.4}
    features = [pb.Feature(list(pair), lambda a, b: sign[a] * sign[b], name=pair) for pair in truth]
    cells = pd.DataFrame(list(itertools.product((0, 1), repeat=3)), columns=list("ABC"))
    logs = sum(w * cells[p[0]].map(sign.__getitem__) * cells[p[1]].map(sign.__getitem__) for p, w in truth.items())
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    table = pb.Table.read(cells, weights=1000 * shares)
    for objective in ("pseudolikelihood", "likelihood"):
        fit = pb.learn.markov(features, table, objective=objective, tolerance=1e-10)
        assert dict(fit.weights) == pytest.approx(truth, abs=1e-5)
    few = pb.learn.markov(features, table.take(range(0)).weighted(None), prior=pb.GaussianPrior(1.0))
    assert dict(few.weights) == pytest.approx(dict.fromkeys(truth, 0.0))  # without rows the prior decides


def test_one_weight_is_tied_over_a_relational_skeleton():
    """Students who study in pairs agree on their grades: one weight, one row of the whole class (ex. 20.2)."""
    pairs = [("anna", "ben"), ("ben", "carl"), ("dora", "eva"), ("anna", "carl")]
    names = ["anna", "ben", "carl", "dora", "eva"]
    pair = pb.Feature([list(both) for both in pairs], lambda a, b: a == b, name="study pair")
    grade = pb.Feature([[name] for name in names], lambda g: g == "high", name="high")
    seen = dict(zip(names, [["high"], ["high"], ["low"], ["low"], ["low"]], strict=True))
    variables = [pb.Variable(name, ["low", "high"]) for name in names]
    fit = pb.learn.markov([pair, grade], seen, variables=variables, prior=pb.GaussianPrior(1.0), tolerance=1e-9)
    cells, table = enumerated([pair, grade], {one.name: one for one in variables})
    at = table[cells.index(("high", "high", "low", "low", "low"))]

    def loss(weights):
        return weights @ weights / 2 - at @ weights + np.logaddexp.reduce(table @ weights)

    other = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
    assert list(fit.weights.values()) == pytest.approx(other.x, abs=1e-5)


def test_small_weights_bound_the_ratio_of_two_assignments():
    """log P(ξ)/P(ξ') = Σ θ_i (f_i(ξ) - f_i(ξ')), told by energies."""
    fit = pb.learn.markov(CHAIN, chain_rows(), prior=pb.GaussianPrior(1.0))
    first, second = {"A": 1, "B": 1, "C": 0}, {"A": 0, "B": 0, "C": 1}
    odds = fit.network.energy(second) - fit.network.energy(first)
    assert odds == pytest.approx(fit.weights["x"] - fit.weights["y"])
    assert abs(odds) <= sum(map(abs, fit.weights.values()))


@pytest.mark.parametrize("seed", range(3))
def test_more_features_never_fit_worse(seed):
    """The likelihood score grows with the set of features, so that it can't choose among them."""
    features, variables, frame = random_case(seed)
    scores = [
        pb.learn.markov([*features[:number], features[-1]], frame, variables=variables.values()).log_likelihood
        for number in range(1, len(features))
    ]
    assert (np.diff(scores) >= -1e-4).all()


def test_copies_of_a_feature_share_what_an_l1_penalty_leaves_open():
    """With L1 only the sum of the weights of two copies is determined, with L2 each of them."""
    twins = [pb.Feature(["A", "B"], CHAIN[0].function, name=name) for name in ("one", "two")]
    alone = pb.learn.markov([CHAIN[0]], chain_rows(), prior=pb.LaplacePrior(0.2), tolerance=1e-9)
    both = pb.learn.markov(twins, chain_rows(), prior=pb.LaplacePrior(0.2), tolerance=1e-9)
    assert sum(both.weights.values()) == pytest.approx(alone.weights["x"], abs=1e-6)
    other = pb.learn.markov(
        twins, chain_rows(), prior=pb.LaplacePrior(0.2), tolerance=1e-9, start={"one": both.weights["one"] + 0.1}
    )
    assert other.run.state.value == pytest.approx(both.run.state.value, abs=1e-6)
    ridge = pb.learn.markov(twins, chain_rows(), prior=pb.GaussianPrior(1.0), tolerance=1e-9, start={"one": 1.0})
    assert ridge.weights["one"] == pytest.approx(ridge.weights["two"], abs=1e-6)


def test_a_hidden_variable_makes_as_many_maxima_as_in_the_directed_form():
    """Exchanging the states of the hidden cause gives other weights with the same likelihood."""
    rng = np.random.default_rng(8)
    cause = rng.integers(0, 2, 400)
    frame = pd.DataFrame({name: np.where(rng.random(400) < 0.9, cause, 1 - cause) for name in "ABC"})
    features = [pb.Feature(["H", name], lambda h, x: h == x, name=name) for name in "ABC"]
    hidden = [pb.Variable("H", 2)]
    ways = [
        pb.learn.markov(features, frame, variables=hidden, start=dict.fromkeys("ABC", start), tolerance=1e-8)
        for start in (1.0, -1.0)
    ]
    assert ways[0].log_likelihood == pytest.approx(ways[1].log_likelihood, abs=1e-5)
    assert ways[0].weights["A"] == pytest.approx(-ways[1].weights["A"], abs=1e-3)
    assert ways[0].weights["A"] > 1


def test_piecewise_training_is_the_dual_of_most_entropy_in_each_piece():
    """max Σ_c H(β_c) with the means of the data, pieces that need not agree, equals -objective / M (ex. 20.10)."""
    frame = chain_rows()
    fit = pb.learn.markov(CHAIN, frame, objective="piecewise", tolerance=1e-9)
    share, total = 0.4, 0.0
    for _ in CHAIN:  # one cell of four has probability 0.4, the others share the rest evenly
        total += -share * math.log(share) - (1 - share) * math.log((1 - share) / 3)
    assert -fit.objective / len(frame) == pytest.approx(total, abs=1e-7)


def test_learning_with_convex_messages_is_a_maximum_of_their_entropy():
    """The beliefs of reweighted messages at the learned weights match the means, and the objective is their entropy."""
    frame = pd.DataFrame(np.random.default_rng(5).integers(0, 2, (90, 4)), columns=list("ABCD"))
    engine = pb.inference.TreeReweightedBP(tolerance=1e-12)
    for chosen in (engine, pb.LoopyBP(tolerance=1e-12)):
        fit = pb.learn.markov("A - B - C - D - A", frame, engine=chosen, tolerance=1e-7)
        assert fit.converged
        for pair in ("AB", "BC", "CD", "AD"):
            seen = pd.crosstab(frame[pair[0]], frame[pair[1]]).to_numpy() / len(frame)
            assert fit.network.query(list(pair), engine=chosen).values == pytest.approx(seen, abs=1e-5)


def test_a_run_on_other_data_goes_on_from_its_weights_only():
    """What was remembered of the old objective is dropped; a run of other weights is refused."""
    features, variables, frame = random_case(1)
    more = pd.concat([frame, frame.iloc[:7], frame.iloc[:7]])
    prior = pb.GaussianPrior(1.0)
    options = {"variables": variables.values(), "tolerance": 1e-8}
    old = pb.learn.markov(features, frame, prior=prior, **options)
    fresh = pb.learn.markov(features, more, prior=prior, **options)
    again = pb.learn.markov(features, more, prior=prior, resume=old.run, **options)
    assert again.objective == pytest.approx(fresh.objective, abs=1e-6)
    with pytest.raises(pb.PlausibleError, match="same 7 weights"):
        pb.learn.markov(features[:-1], frame, resume=old.run, **options)
    with pytest.raises(pb.PlausibleError, match=r"fit\.run"):
        pb.learn.markov(features, frame, resume=old, **options)


@pytest.mark.parametrize("function", [lambda a: a == "y", lambda a: 0.0])
def test_a_lone_feature_that_is_never_on_has_its_limit(function):
    """One feature that no row has, or that is zero everywhere, which is announced."""
    with nullcontext() if function("y") else pytest.warns(pb.learn.ConstantFeature):
        fit = pb.learn.markov(
            [pb.Feature(["a"], function, name="m")], {"a": ["x", "x"]}, variables=[pb.Variable("a", ["x", "y"])]
        )
    assert fit.network.query("a").values[1] in (0.0, pytest.approx(0.5))


def test_a_table_of_one_state_changes_nothing_for_messages():
    """What is certain has the belief one."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1, 0, 1, 1, 0, 1], "b": [0, 1, 1, 1, 0, 0, 1, 0, 1], "k": 0})
    for scopes in ([["a", "b"], ["k"]], [["k"], ["a", "b"]]):
        fit = pb.learn.markov(scopes, frame, prior=pb.GaussianPrior(1.0), engine=pb.LoopyBP())
        exact = pb.learn.markov(scopes, frame, prior=pb.GaussianPrior(1.0))
        assert fit.objective == pytest.approx(exact.objective, abs=1e-6)


@pytest.mark.parametrize("weight", [5.0, 300.0, 700.0, 746.0, 1e4])
def test_log_z_is_told_however_unlikely_most_states_are(weight):
    """Three pairs that all want to differ, which only two can: six assignments have 2 w, so log Z = 2 w + log 6."""
    features = [pb.Feature(list(p), np.array([[0.0, 1], [1, 0]]), name=p) for p in ("ab", "bc", "ac")]
    rows = {"a": [0, 1, 0, 0], "b": [1, 0, 0, 1], "c": [0, 0, 1, 1]}
    start = dict.fromkeys(("ab", "bc", "ac"), weight)
    fit = pb.learn.markov(features, rows, start=start, max_steps=0)
    log_z = 2 * weight + math.log(6 + 2 * math.exp(-2 * weight))
    assert fit.log_likelihood == pytest.approx(4 * (2 * weight - log_z), rel=1e-9)
    assert fit.run.state.gradient == pytest.approx([3 - 8 / 3, 2 - 8 / 3, 3 - 8 / 3], abs=0.02)
    covariance = np.where(np.eye(3, dtype=bool), 2 / 9, -1 / 9)
    if weight > 100:
        assert fit.information() == pytest.approx(4 * covariance, abs=1e-9)
    seen = {name: rows[name] for name in "ab"}
    hidden = pb.learn.markov(features, seen, start=start, max_steps=0, variables=[pb.Variable("c", 2)])
    expected = 0.0
    for a, b in zip(rows["a"], rows["b"], strict=True):
        terms = [weight * ((a != b) + (b != c) + (a != c)) for c in (0, 1)]
        expected += np.logaddexp(*terms) - log_z
    assert hidden.log_likelihood == pytest.approx(expected, rel=1e-9)


def test_means_that_cannot_be_no_rows_and_runs_of_other_models_are_refused():
    """Each mistake is told by its own name, not by what it leads to."""
    both = [pb.Variable("A", 2), pb.Variable("B", 2)]
    same = pb.Feature(["A", "B"], np.eye(2), name="same")
    rows = {"A": [0, 0, 1, 1], "B": [0, 0, 1, 0]}
    with pytest.raises(pb.PlausibleError, match=r"PseudoData has 1.5 as the mean of 'same'.* from 0 to 1"):
        pb.learn.markov([same], rows, prior=pb.learn.PseudoData(1e4, {"same": 1.5}))
    for nothing in ({"A": [], "B": []}, pd.DataFrame({"A": [], "B": []})):
        with pytest.raises(pb.PlausibleError, match="no rows, so that nothing tells the weights"):
            pb.learn.markov("A - B", nothing, variables=both)
        prior = pb.GaussianPrior(1.0)
        assert pb.learn.markov([same], nothing, variables=both, prior=prior).weights["same"] == pytest.approx(0)
    other = pb.learn.markov([same], rows)
    with pytest.raises(pb.PlausibleError, match="the same 4 weights"):
        pb.learn.markov("A - B", rows, resume=other.run)
