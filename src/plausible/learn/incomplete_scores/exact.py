"""P(data | graph) itself, by summing over all completions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.learn.log_gamma import log_rising
from plausible.search.clock import Clock


class CompletionSums(NamedTuple):
    """The different counts that completions have, and the log of how many completions have them.

    `counts` has the shape (different counts, entries of all tables).
    """

    counts: Floats
    log_numbers: Floats


def exact_log_marginal(task: ScoreTask) -> float:
    """log Σ over completions H of P(D, H | G), each of which has a closed form.

    Completions with the same counts are as probable as each other, so that counts are summed over, and how many
    completions have them. Cost: the number of different counts, which grows as a power of the number of rows with the
    number of entries that missing cells leave open; for tiny data.
    """
    counts, log_numbers = exact_completions(task)
    return float(np.logaddexp.reduce(log_numbers + task.log_marginal(counts)))


def exact_completions(task: ScoreTask) -> CompletionSums:
    """The different counts of all families that completions have, and the log of how many completions have them."""
    cases, clock = task.cases, Clock.of(task.time_limit)
    weights = cases.weights
    _refuse_large(_least_counts(task) * len(task.pseudo_counts), task.options.max_entries)
    base = np.zeros(len(task.pseudo_counts))
    counts, log_numbers = np.zeros((1, len(base))), np.zeros(1)
    for case in range(cases.num_cases):
        added = _additions(task, case)
        if len(added) == 1:
            base += weights[case] * added[0]
            continue
        if weights[case] != round(weights[case]):
            raise InvalidArgument(
                f"Row {cases.first_row(case)} has missing cells and weighs {weights[case]}: completions are summed for "
                "whole rows. Take score='cheeseman-stutz' or 'variational', which take weights."
            )
        for _ in range(round(weights[case])):
            _refuse_large(len(counts) * len(added) * len(base), task.options.max_entries)
            if clock.is_over:
                raise TooLarge(
                    f"Completions were not summed within time_limit={task.time_limit:.3g} seconds, and part of a sum "
                    "is no score. Take score='cheeseman-stutz', or raise the limit."
                )
            wider = (counts[:, None] + added).reshape(-1, len(base))
            counts, log_numbers = _merged(wider, np.repeat(log_numbers, len(added)))
    return CompletionSums(counts + base, log_numbers)


def _least_counts(task: ScoreTask) -> float:
    """No fewer different counts than so many, by cases whose completions change counts independently of each other.

    Rows of a case of weight w with k completions divide them in C(w + k - 1, k - 1) ways; where the changes of some
    cases are linearly independent, different ways for each of them have different counts.
    """
    weights, size = task.cases.weights, len(task.pseudo_counts)
    basis, least = np.zeros((0, size)), 0.0
    for case in np.argsort(-weights, kind="stable").tolist():
        added = _additions(task, case)
        changes = added[1:] - added[0]
        fresh = changes - changes @ basis.T @ basis
        singular, directions = np.linalg.svd(fresh, full_matrices=False)[1:] if fresh.size else (np.ones(0), fresh)
        if len(basis) + len(changes) <= size and (singular > 1e-9).all():
            basis = np.concatenate([basis, directions])
            least += float(log_rising(weights[case] + 1.0, len(changes))) - math.lgamma(len(added))
        if len(basis) == size:
            break
    return math.exp(min(least, 700.0))


def _additions(task: ScoreTask, case: int) -> Floats:
    """What each completion of a case adds to the counts: shape (completions, entries)."""
    cases, tables = task.cases, task.tables
    sizes = [variable.num_states for variable in cases.variables.values()]
    seen = cases.codes[case]
    free = np.flatnonzero(seen < 0)
    shape = [sizes[column] for column in free]
    _refuse_large(math.prod(shape) * len(task.pseudo_counts), task.options.max_entries)
    codes = np.repeat(seen[:, None].astype(np.intp), math.prod(shape), axis=1)
    codes[free] = np.indices(shape).reshape(len(free), math.prod(shape))
    places = {name: place for place, name in enumerate(cases.variables)}
    added = np.zeros((codes.shape[1], len(task.pseudo_counts)))
    for name, shape_of_table in tables.shapes.items():
        if name not in cases.setting_names[int(cases.settings[case])]:
            family = tuple(codes[places[other]] for other in (*task.parents[name], name))
            entry = tables.part(name).start + np.ravel_multi_index(family, shape_of_table)
            added[np.arange(len(added)), entry] = 1.0
    return added


def _merged(counts: Floats, log_numbers: Floats) -> CompletionSums:
    """Equal counts once, with the log of the sum of their numbers."""
    different, places = np.unique(counts, axis=0, return_inverse=True)
    places = places.ravel()
    peaks = np.full(len(different), -np.inf)
    np.maximum.at(peaks, places, log_numbers)
    shares = np.bincount(places, np.exp(log_numbers - peaks[places]), len(different))
    return CompletionSums(different, np.asarray(peaks + np.log(shares)))


def _refuse_large(num_entries: float, most: int) -> None:
    if num_entries > most:
        raise TooLarge(
            f"The completions have {num_entries:.3g} counts to keep, more than {most}: the exact score is for tiny "
            "data. Take score='cheeseman-stutz', or raise max_entries of ScoreOptions."
        )
