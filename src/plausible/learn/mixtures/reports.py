"""What clusters are like, and what they predict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Floats, check_count, html_of_print, repr_of_print
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.classifiers.estimator import read_features
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.variables import State


class ClusterFeature(NamedTuple):
    """A feature that sets a cluster apart: a state and its probability, or a mean; and the same for all rows.

    `lift` is log P(state | cluster) - log P(state), or the distance of the means in standard deviations of all rows.
    """

    name: str
    state: State | None
    value: float
    overall: float
    lift: float


class ClusterProfile(NamedTuple):
    """A cluster: its weight, and the features that set it apart the most, the most telling one first."""

    cluster: int
    weight: float
    features: tuple[ClusterFeature, ...]

    def __str__(self) -> str:
        told = ", ".join(
            f"{f.name} {f.value:.4g}" if f.state is None else f"{f.name}={f.state} {f.value:.0%}" for f in self.features
        )
        return f"cluster {self.cluster} ({self.weight:.1%}): {told}"

    def __repr__(self) -> str:
        return repr_of_print(self)

    def _repr_html_(self) -> str:
        return html_of_print(self)


def cluster_profiles(clustering: MixtureClustering, top: int = 5) -> tuple[ClusterProfile, ...]:
    """Each cluster with the `top` most telling features of a fitted mixture, one value of each.

    A state counts P(x | k) |log P(x | k)/P(x)|, a mean its distance from that of all rows in standard deviations.

    >>> X = {"sky": ["clear", "grey"] * 9, "wind": [1.5, 9.5] * 9}
    >>> print(cluster_profiles(MixtureClustering(2, covariance="diagonal").fit(X), top=1)[0].features[0].name)
    wind
    """
    clustering._check_fitted()
    check_count("top", top)
    found, weights, means = [], clustering.weights_, clustering.means_
    overall = weights @ means
    lifts = (means - overall) / np.sqrt(weights @ (_variances(clustering) + (means - overall) ** 2))
    for cluster, weight in enumerate(weights.tolist()):
        told = []
        for variable in clustering.space_.discrete:
            table = clustering.tables_[variable.name]
            here, everywhere = table[cluster], weights @ table
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(here > 0, np.log(here / everywhere), -np.inf)
                tells = np.where(here > 0, here * np.abs(logs), 0.0)
            best = int(tells.argmax())
            numbers = float(here[best]), float(everywhere[best]), float(logs[best])
            told.append((float(tells[best]), ClusterFeature(variable.name, variable.states[best], *numbers)))
        for j, variable in enumerate(clustering.space_.continuous):
            numbers = float(means[cluster, j]), float(overall[j]), float(lifts[cluster, j])
            told.append((abs(numbers[2]), ClusterFeature(variable.name, None, *numbers)))
        told.sort(key=lambda pair: (-pair[0], pair[1].name))
        found.append(ClusterProfile(cluster, weight, tuple(feature for _, feature in told[:top])))
    return tuple(found)


def _variances(clustering: MixtureClustering) -> Floats:
    """Of the numbers, within each cluster."""
    within: Floats = clustering.covariances_
    return np.diagonal(within, axis1=1, axis2=2) if within.ndim == 3 else within


def feature_information(clustering: MixtureClustering) -> dict[str, float]:
    """Name -> how much a feature tells of the cluster: I(X; cluster) in nats, the greatest first.

    Of numbers, which have no closed form, it is the bound ½ log(total variance / geometric mean of the variances
    within clusters), at most the entropy of the clusters.

    >>> rows = {"beard": ["no", "yes"] * 20, "kilt": ["no", "yes"] * 20, "luck": ["good", "good", "bad", "bad"] * 10}
    >>> {name: round(value, 2) for name, value in feature_information(MixtureClustering(2).fit(rows)).items()}
    {'beard': 0.66, 'kilt': 0.66, 'luck': 0.0}
    """
    clustering._check_fitted()
    weights, found = clustering.weights_, {}
    for name, table in clustering.tables_.items():
        overall = weights @ table
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(table > 0, table * np.log(table / overall), 0.0)
        found[name] = max(0.0, float(weights @ terms.sum(axis=1)))
    within = _variances(clustering)
    total = weights @ (within + (clustering.means_ - weights @ clustering.means_) ** 2)
    entropy = -float(weights[weights > 0] @ np.log(weights[weights > 0]))
    bounds = np.clip(0.5 * (np.log(total) - weights @ np.log(within)), 0.0, entropy)
    found |= {v.name: float(bounds[j]) for j, v in enumerate(clustering.space_.continuous)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def irrelevant_features(clustering: MixtureClustering, data: Any) -> tuple[str, ...]:
    """Features that BIC would rather have independent of the cluster (K&F 19.4.3.3).

    Twice the gain in likelihood of a feature that is irrelevant grows with its parameters only, and here it is about
    2 n I(X; cluster): what is below (K - 1) · parameters · log n is irrelevant.

    The rows that it was fitted to say how many tell of each feature.

    >>> rows = {"beard": ["no", "yes"] * 20, "kilt": ["no", "yes"] * 20, "luck": ["good", "good", "bad", "bad"] * 10}
    >>> irrelevant_features(MixtureClustering(2).fit(rows), rows)
    ('luck',)
    """
    table = data if isinstance(data, Table) else Table.read(read_features(data, clustering._columns_))
    used, found = int((clustering.weights_ > 0).sum()), []
    for name, information in feature_information(clustering).items():
        variable = clustering._variables_[name]
        rows = table.total * (1 - table.missing.get(name, 0) / max(1, table.num_rows))
        free = 2 if variable.is_continuous else variable.num_states - 1
        if 2 * rows * information <= (used - 1) * free * np.log(max(rows, 1.0)):
            found.append(name)
    return tuple(found)


def predict_feature(clustering: MixtureClustering, data: Any, name: str) -> Floats:
    """P(feature | all others) for each row: a column for each state; of a number its conditional mean, one column.

    P(x_i | others) = Σ_k P(k | others) P(x_i | k, others); what the rows hold of the feature itself is not looked at.

    >>> X = {"sky": ["clear", "grey"] * 9, "wind": [1.5, 9.5] * 9}
    >>> found = MixtureClustering(2, covariance="diagonal").fit(X)
    >>> predict_feature(found, {"sky": ["clear", "grey"]}, "wind").round(1).ravel().tolist()
    [1.6, 9.4]
    """
    clustering._check_fitted()
    UnknownVariable.check(name, clustering._variables_, "this mixture")
    columns = {} if isinstance(data, Table) else read_features(data, clustering._columns_)
    source = data.select([n for n in data.variables if n != name]) if isinstance(data, Table) else columns
    if not isinstance(data, Table):
        length = len(next(iter(columns.values()), ()))
        variable = clustering._variables_[name]
        columns[name] = np.full(length, np.nan) if variable.is_continuous else [None] * length
    table = clustering._evidence(source)
    shares = clustering._posterior(clustering._log_joint(table))
    if name in clustering.tables_:
        return np.asarray(shares @ clustering.tables_[name])
    number = [variable.name for variable in clustering.space_.continuous].index(name)
    if clustering.covariances_.ndim == 2:
        return np.asarray(shares @ clustering.means_[:, [number]])
    numbers, found = table.numbers.T, np.empty((table.num_rows, len(clustering.weights_)))
    patterns, places = np.unique(~np.isnan(numbers), axis=0, return_inverse=True)
    for place, known in enumerate(patterns):
        rows = np.flatnonzero(places.reshape(-1) == place)
        inside = clustering.covariances_[:, known][:, :, known]
        slopes = np.linalg.solve(inside, clustering.covariances_[:, known, number][:, :, None])[:, :, 0]
        differences = numbers[rows][:, known] - clustering.means_[:, None, known]
        found[rows] = (clustering.means_[:, number, None] + (differences @ slopes[:, :, None])[:, :, 0]).T
    return np.asarray((shares * found).sum(axis=1, keepdims=True))


def item_probabilities(
    clustering: MixtureClustering, bought: Iterable[str], *, are_others_absent: bool = False
) -> dict[str, float]:
    """P(item | set of purchases) for all other items, the most probable first (K&F box 19.A).

    The features have two states each, of which the second stands for a purchase. With `are_others_absent` each item
    not named is known not to be bought, but for the one asked about; else nothing is known of it.

    >>> rows = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]] * 5
    >>> shop = MixtureClustering(2).fit({name: column for name, column in zip("abc", zip(*rows))})
    >>> list(item_probabilities(shop, ["a"]))
    ['b', 'c']
    """
    clustering._check_fitted()
    variables, chosen = clustering._variables_, list(bought)
    UnknownVariable.check_all(chosen, variables, "this mixture")
    for name, variable in variables.items():
        if variable.is_continuous or variable.num_states != 2:
            raise InvalidArgument(f"{name!r} is no item: that has two states, not bought and bought.")
    others = [name for name in variables if name not in chosen]
    base = {name: variables[name].states[1] for name in chosen}
    absent = {name: variables[name].states[0] if are_others_absent else None for name in others}
    columns = {name: [base[name] if name in base else absent[name]] * max(1, len(others)) for name in variables}
    for row, name in enumerate(others):
        columns[name][row] = None
    shares = clustering.predict_proba(columns)
    found = {name: float(shares[row] @ clustering.tables_[name][:, 1]) for row, name in enumerate(others)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
