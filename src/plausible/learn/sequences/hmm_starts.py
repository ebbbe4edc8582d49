"""Where EM for hidden Markov models begins: emissions from a mixture that knows no time, chains near uniform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SMALLEST
from plausible.data.sequences import Sequences
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.mixtures.em import MixtureProblem, best_mixture, expect
from plausible.learn.mixtures.model import MixtureKind, MixtureSpace
from plausible.learn.sequences.emission_learner import EmissionRules
from plausible.learn.sequences.emission_learners import learner_of
from plausible.learn.sequences.hmm_form import HMMForm
from plausible.models.sequences.emissions import CategoricalEmission, Emission, ProductEmission
from plausible.models.sequences.gaussian_emissions import GaussianMixtureEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.search.run import Stops

#: How shares of states are drawn.
STARTS = ("mixture", "random")
#: A mixture is fitted to so many rows at most, in so many steps.
_MIXTURE_ROWS, _MIXTURE_STEPS = 5_000, 50


def started(form: HMMForm, method: str, rules: EmissionRules, rng: np.random.Generator) -> HiddenMarkovModel:
    """The model with emissions learned from shares of states that are drawn, and transitions near uniform."""
    model, sequences, given = form
    if method not in STARTS:
        raise InvalidArgument(f"start={method!r}: expected one of {', '.join(STARTS)}, or a model.")
    num_states = model.num_states
    shares = _shares(sequences, model.emission, num_states, method, rng)
    if model.state.name in sequences.columns:  # what is known of states
        told = sequences.weights(model.state.name)
        shares = shares * told
        lost = shares.sum(axis=1) == 0
        shares[lost] = told[lost]
        shares /= shares.sum(axis=1, keepdims=True)
    emission = _emission_of(model.emission, given, sequences, shares, rules, rng)
    stay = (
        0.5 / num_states + 0.5 * np.eye(num_states)
        if method == "mixture"
        else np.full((num_states,) * 2, 1 / num_states)
    )
    noise = rng.dirichlet(np.full(num_states, 5.0), size=model.transition.shape[:-1])
    transition = 0.8 * stay + 0.2 * noise
    initial = 0.8 / num_states + 0.2 * rng.dirichlet(np.full(num_states, 5.0))
    return HiddenMarkovModel._of(model.state, initial, transition, emission, model.transition_inputs)


def _emission_of(
    emission: Emission,
    given: Sequence[Emission],
    sequences: Sequences,
    shares: Floats,
    rules: EmissionRules,
    rng: np.random.Generator,
) -> Emission:
    """The emission that shares of states at each step make; tables are kept away from zero and from each other."""
    if any(emission is part for part in given):
        return emission
    if isinstance(emission, ProductEmission):
        return ProductEmission(_emission_of(part, given, sequences, shares, rules, rng) for part in emission.parts)
    rows = emission.observed(sequences)
    sums = np.zeros((rows.num_rows, emission.num_states))
    np.add.at(sums, rows.row_of, shares)
    learner = learner_of(emission, rows, rules)
    if isinstance(emission, GaussianMixtureEmission):
        emission = _spread_components(emission, sequences, shares, rng)
    best: Emission = learner.maximized(emission, learner.statistics(emission, sums))
    if isinstance(best, CategoricalEmission):
        table = 0.9 * best.table + 0.1 * rng.dirichlet(np.full(best.symbol.num_states, 2.0), size=best.num_states)
        return CategoricalEmission(table, best.symbol)
    return best


def _spread_components(
    emission: GaussianMixtureEmission, sequences: Sequences, shares: Floats, rng: np.random.Generator
) -> GaussianMixtureEmission:
    """Components at rows of their state that are drawn, as wide as the columns are."""
    numbers = np.stack([sequences.columns[variable.name] for variable in emission.variables], axis=1)
    known = ~np.isnan(numbers).any(axis=1)
    rows, own = numbers[known], shares[known]
    if not len(rows):
        return emission
    means = np.empty(emission.means.shape)
    for state in range(emission.num_states):
        chances = own[:, state] + 1e-12
        means[state] = rows[rng.choice(len(rows), size=emission.num_components, p=chances / chances.sum())]
    variances = np.maximum(rows.var(axis=0), SMALLEST)
    covariances = np.broadcast_to(np.diag(variances), emission.covariances.shape)
    return emission.with_parameters(emission.weights, means, covariances)


def _shares(sequences: Sequences, emission: Emission, num_states: int, method: str, rng: np.random.Generator) -> Floats:
    """How much of each step belongs to each state: from a mixture of its rows, or at random."""
    numbers = [variable for variable in emission.variables if variable.is_continuous]
    several = len(emission.variables) > 1 or numbers
    if method == "random" or not several or sequences.num_steps <= num_states:
        return rng.dirichlet(np.ones(num_states), size=sequences.num_steps)
    table = _table_of(sequences, emission)
    kind = MixtureKind(covariance="diagonal")
    space = MixtureSpace.of(table, kind.covariance)
    chosen = table
    if table.num_rows > _MIXTURE_ROWS:
        chosen = table.take(np.sort(rng.choice(table.num_rows, size=_MIXTURE_ROWS, replace=False)))
    problem = MixtureProblem(space.encode(chosen), space, kind)
    stops = Stops(tolerance=1e-4, max_steps=_MIXTURE_STEPS)
    best = best_mixture(problem, num_states, "k-means++", 0, int(rng.integers(2**31)), stops)[0].state.parameters
    rows = space.encode(table, is_grouped=False)
    shares: Floats = expect(rows, best, kind).shares.T[rows.places]
    return shares


def _table_of(sequences: Sequences, emission: Emission) -> Table:
    """The observed columns, without their order in time."""
    discrete = [variable for variable in emission.variables if not variable.is_continuous]
    numbers = [variable for variable in emission.variables if variable.is_continuous]
    codes = np.empty((len(discrete), sequences.num_steps), dtype=np.int32)
    values = np.empty((len(numbers), sequences.num_steps))
    for place, variable in enumerate(discrete):
        codes[place] = sequences.columns[variable.name]
    for place, variable in enumerate(numbers):
        values[place] = sequences.columns[variable.name]
    return Table({variable.name: variable for variable in (*discrete, *numbers)}, codes, values)
