"""Whole applications: side chains of proteins, pictures on a grid, and tastes, each from data whose source is known."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import plausible as pb

# --- side chains: eight learned weights of energy terms, best positions with proofs ---

ROTAMERS, RESIDUES = 3, 6
TRUTH = np.array([1.0, -0.8, 0.6, 0.9, -1.1, 0.5, 0.7, -0.6])
CONTACTS = [(i, i + 1) for i in range(RESIDUES - 1)] + [(0, 3), (1, 5)]
TARGETS = [f"r{i}" for i in range(RESIDUES)]


def own_term(number, rotamer, angle):
    return math.cos(angle + number * rotamer)


def pair_term(number, first, second, distance):
    return math.sin(distance + (number + 1) * (first - second)) / (1 + distance**2)


def energy_terms():
    """Four terms of a residue alone, and four of residues in contact."""
    own = [
        pb.Feature([[f"r{i}", f"c{i}"] for i in range(RESIDUES)], lambda r, c, k=k: own_term(k, r, c), name=f"own{k}")
        for k in range(4)
    ]
    places = [[f"r{i}", f"r{j}", f"d{i}{j}"] for i, j in CONTACTS]
    return own + [pb.Feature(places, lambda a, b, d, k=k: pair_term(k, a, b, d), name=f"pair{k}") for k in range(4)]


def all_energies(row, folds):
    """The eight terms of all folds of a protein, summed over its places."""
    found = np.zeros((len(folds), 8))
    for k in range(4):
        own = [[own_term(k, r, row[f"c{i}"]) for r in range(ROTAMERS)] for i in range(RESIDUES)]
        found[:, k] = sum(np.array(own[i])[folds[:, i]] for i in range(RESIDUES))
        for i, j in CONTACTS:
            table = np.array([[pair_term(k, a, b, row[f"d{i}{j}"]) for b in range(ROTAMERS)] for a in range(ROTAMERS)])
            found[:, 4 + k] += table[folds[:, i], folds[:, j]]
    return found


def proteins(number, seed):
    """Positions drawn from the true weights by enumeration, and the energies of all."""
    rng, folds = np.random.default_rng(seed), np.array(list(itertools.product(range(ROTAMERS), repeat=RESIDUES)))
    rows, energies = [], []
    for _ in range(number):
        row = {f"c{i}": rng.uniform(-3, 3) for i in range(RESIDUES)}
        row |= {f"d{i}{j}": rng.uniform(-2, 2) for i, j in CONTACTS}
        energies.append(all_energies(row, folds))
        logs = 1.5 * energies[-1] @ TRUTH
        fold = folds[rng.choice(len(folds), p=np.exp(logs - np.logaddexp.reduce(logs)))]
        rows.append(row | {f"r{i}": int(fold[i]) for i in range(RESIDUES)})
    return pd.DataFrame(rows), energies, folds


@pytest.mark.slow
def test_side_chains_are_predicted_by_learned_energies_better_than_by_given_ones():
    """Eight weights within their errors of the true ones; by reweighted messages too more is right, and proved best."""
    train, _, _ = proteins(60, 0)
    test, energies, folds = proteins(40, 1)
    same = {"prior": pb.GaussianPrior(25.0), "tolerance": 1e-4}
    exact = pb.learn.crf(energy_terms(), train, TARGETS, **same)
    off = np.array([exact.weights[name] for name in exact.weights]) - 1.5 * TRUTH
    assert (np.abs(off) < 4 * np.array(list(exact.standard_errors().values()))).all()
    engine = pb.inference.TreeReweightedBP(tolerance=1e-5)
    fit = pb.learn.crf(energy_terms(), train, TARGETS, engine=engine, **same)
    learned = np.array(list(fit.weights.values()))
    given = test[TARGETS].to_numpy()

    def right(weights):
        best = [folds[int(np.argmax(one @ weights))] for one in energies]
        return float((np.array(best) == given).mean())

    assert right(learned) > right(np.sign(TRUTH)) - 0.01
    assert right(learned) > right(np.full(8, 1.0)) + 0.15
    assert right(learned) > right(1.5 * TRUTH) - 0.05
    proved = 0
    for number in range(10):
        net = fit.network(test.drop(columns=TARGETS).iloc[number].to_dict())
        best, logs = net.mpe(engine=pb.inference.LinearRelaxation()), energies[number] @ learned
        proved += best.info.exact
        if best.info.exact:
            assert tuple(best[name] for name in TARGETS) == tuple(folds[int(np.argmax(logs))])
    assert proved >= 7


# --- pictures on a grid, trained in three ways ---

SIZE = 6
SITES = list(itertools.product(range(SIZE), range(SIZE)))
PIXELS = [f"y{i}_{j}" for i, j in SITES]


def pictures(number, seed):
    """Blobs in two colours, under noise."""
    rng = np.random.default_rng(seed)
    centres, radii = rng.uniform(1, SIZE - 2, (number, 2)), rng.uniform(1.5, 3.2, number)
    far = np.array([np.hypot(i - centres[:, 0], j - centres[:, 1]) for i, j in SITES])
    truth = (far < radii).T.astype(int)
    seen = truth + rng.normal(scale=0.8, size=truth.shape)
    columns = {f"y{i}_{j}": truth[:, k] for k, (i, j) in enumerate(SITES)}
    return pd.DataFrame(columns | {f"x{i}_{j}": seen[:, k] for k, (i, j) in enumerate(SITES)})


@pytest.mark.slow
def test_pictures_are_segmented_by_each_of_three_ways_to_train():
    """Margins and bounds label pixels better than their brightness does, pseudolikelihood trusts neighbours too much.

    The best labelling of each is a cut.
    """
    pairs = [[f"y{i}_{j}", f"y{i + 1}_{j}"] for i, j in SITES if i < SIZE - 1]
    pairs += [[f"y{i}_{j}", f"y{i}_{j + 1}"] for i, j in SITES if j < SIZE - 1]
    features = [
        pb.Feature(pairs, lambda a, b: a == b, name="smooth"),
        pb.Feature([[f"y{i}_{j}", f"x{i}_{j}"] for i, j in SITES], lambda y, x: y * (x - 0.5), name="bright"),
    ]
    train, test = pictures(20, 3), pictures(20, 4)
    ways = {
        "pseudolikelihood": {"objective": "pseudolikelihood"},
        "reweighted": {"engine": pb.inference.TreeReweightedBP(tolerance=1e-4)},
        "margin": {"objective": "margin", "engine": pb.GraphCut()},
    }
    same = {"prior": pb.GaussianPrior(10.0), "variables": [pb.Variable(y, 2) for y in PIXELS], "tolerance": 1e-3}
    fits = {name: pb.learn.crf(features, train, PIXELS, **same, **way) for name, way in ways.items()}
    truth = test[PIXELS].to_numpy()
    by_brightness = float(((test[[f"x{i}_{j}" for i, j in SITES]].to_numpy() > 0.5) == truth).mean())
    scores = {name: fit.score(test) for name, fit in fits.items()}
    assert min(scores["reweighted"], scores["margin"]) > max(by_brightness + 0.08, scores["pseudolikelihood"])
    assert fits["pseudolikelihood"].weights["smooth"] > fits["reweighted"].weights["smooth"]
    row = test.drop(columns=PIXELS).iloc[0].to_dict()
    for fit in fits.values():
        net = fit.network(row)
        cut = net.mpe(engine=pb.GraphCut())
        assert net.energy(cut) == pytest.approx(net.energy(net.mpe()))


# --- tastes: one rating from all others ---


@pytest.mark.slow
def test_one_rating_is_told_from_all_others_as_well_as_by_the_truth():
    """Pseudolikelihood with L1: held-out log-loss near that of the mixture behind the ratings; noise left out."""
    rng = np.random.default_rng(5)
    taste = rng.integers(0, 2, 3000)
    names = [f"film{i}" for i in range(6)]
    films = {name: (rng.random(3000) < np.where(taste == i % 2, 0.8, 0.3)).astype(int) for i, name in enumerate(names)}
    ratings = pd.DataFrame({**films, "noise": rng.integers(0, 2, 3000)})
    train, test = ratings[:2000], ratings[2000:]
    pairs = [
        pb.Feature(list(two), lambda a, b: a == b, name=" ".join(two)) for two in itertools.combinations(ratings, 2)
    ]
    singles = [pb.Feature([name], lambda likes: likes, name=name) for name in ratings]
    prior = {pair.name: pb.LaplacePrior(1 / 80) for pair in pairs}
    fit = pb.learn.markov([*singles, *pairs], train, objective="pseudolikelihood", prior=prior)
    assert not any(weight for name, weight in fit.weights.items() if "noise" in name and name != "noise")
    likes = test[names].to_numpy()
    chances = np.array([[0.8 if i % 2 == kind else 0.3 for i in range(6)] for kind in (0, 1)])
    logs = likes @ np.log(chances.T) + (1 - likes) @ np.log(1 - chances.T)  # of each row, by taste
    for film in range(6):
        without = logs - np.where(likes[:, [film]], np.log(chances[:, film]), np.log(1 - chances[:, film]))
        shares = np.exp(without - np.logaddexp.reduce(without, axis=1)[:, None])
        best = shares @ chances[:, film]
        told = []
        for row in test[names].itertuples(index=False):
            measure = [
                sum(w * _on(n, {**row._asdict(), names[film]: k}) for n, w in fit.weights.items()) for k in (0, 1)
            ]
            told.append(1 / (1 + math.exp(measure[0] - measure[1])))
        losses = [-np.log(np.where(likes[:, film] == 1, p, 1 - p)).mean() for p in (np.array(told), best)]
        alone = train[names[film]].mean()
        base = -np.log(np.where(likes[:, film] == 1, alone, 1 - alone)).mean()
        assert losses[0] < losses[1] + 0.02
        assert losses[0] < base - 0.3 * (base - losses[1])


def _on(name, row):
    """The value of the feature of this name in a row of films."""
    parts = name.split()
    if "noise" in parts:
        return 0.0
    return float(row[parts[0]]) if len(parts) == 1 else float(row[parts[0]] == row[parts[1]])
