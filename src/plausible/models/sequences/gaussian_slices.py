"""Networks over time that are linear Gaussian throughout: a Kalman filter tells numbers that are hidden, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import LinearGaussianCPD
from plausible.data.sequences import Sequences
from plausible.errors import NotSupported
from plausible.kernels.kalman_beliefs import KalmanSystem
from plausible.models.sequences.kalman_runs import (
    ObservedNumbers,
    drawn_given,
    filtered,
    impossible_once,
    log_densities,
    smoothed,
)
from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem
from plausible.models.sequences.observations import NumberBeliefs, StepBeliefs, StepEvidence
from plausible.models.sequences.state_estimates import width_of
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable

#: What the state is called that is always one.
_ONE = "1"


@dataclass(frozen=True, slots=True, eq=False)
class GaussianSlices:
    """The numbers of a slice as the state of a linear dynamical system, some of which rows show as they are.

    x_0 ~ N(mean, start), x_t = transition x_t-1 + constant + w_t, w ~ N(0, noise), each of the first slices with
    matrices of its own. Where slices look further back, copies of numbers of slices before are part of the state. What
    has no distribution is always given: it is taken as N(0, 1), and the density of that is left out again.
    """

    names: tuple[str, ...]  # of the slice; copies come after these
    given: tuple[str, ...]
    mean: Floats
    start: Floats
    #: Of the first slices, and of all later ones: the last.
    transitions: Floats
    constants: Floats
    noises: Floats

    @classmethod
    def of(cls, template: Template) -> GaussianSlices | None:
        """From distributions, all of them linear Gaussians; else none."""
        if not all(isinstance(cpd, LinearGaussianCPD) for cpds in template.slices for cpd in cpds.values()):
            return None
        names = tuple(template.variables)
        parents = [template.parents_at(at).values() for at in range(len(template.slices))]
        reach = dict.fromkeys(names, 1)
        for parent, lag in (one for slice_ in parents for own in slice_ for one in own):
            reach[parent] = max(reach[parent], lag)
        state = [Lagged(name, age) for age in range(max(reach.values())) for name in names if age < reach[name]]
        moves = [_moved(template, at, state) for at in range(len(template.slices))]
        transitions, constants, noises = map(np.stack, zip(*moves, strict=True))
        given = tuple(name for name in names if name not in template.later)
        return cls(names, given, constants[0], noises[0], transitions, constants, noises)

    def log_likelihoods(self, sequences: Sequences) -> Floats:
        """log p(o_t | o_1 ... o_t-1) of each step."""
        logs = log_densities(self._system(sequences), self._observed(sequences)) - self._left_out(sequences)
        return impossible_once(logs, sequences.starts)

    def best(self, sequences: Sequences) -> tuple[Floats, float]:
        """The most probable numbers of each step, and their log-density, to which what is certain adds nothing."""
        _, answer = smoothed(self._system(sequences), self._observed(sequences), covariances=False)
        values = answer.means[:, : len(self.names)]
        found = dict(zip(self.names, values.T, strict=True))
        variables = {name: Variable(name) for name in self.names}
        whole = replace(sequences, variables=MappingProxyType(variables), columns=MappingProxyType(found))
        return values, float(self.log_likelihoods(whole).sum())

    def drawn(self, sequences: Sequences, num_paths: int, rng: np.random.Generator) -> Floats:
        """Numbers of each step given all rows: axes (step, path, number)."""
        paths = drawn_given(self._system(sequences), self._observed(sequences), num_paths, rng)
        return paths[:, :, : len(self.names)]

    def beliefs(self, sequences: Sequences, level: float, *, is_smoothed: bool) -> StepBeliefs:
        """What is known of each number at each step, given the rows up to it or all of them."""
        system, observed = self._system(sequences), self._observed(sequences)
        if is_smoothed:
            steps, answer = smoothed(system, observed)
            means, covariances = answer.means, answer.covariances
        else:
            steps = filtered(system, observed)
            means, covariances = steps.means, steps.covariances
        deviations = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
        numbers = {}
        for place, name in enumerate(self.names):
            mean, deviation = means[:, place], deviations[:, place]
            width = width_of(level) * deviation
            ends = np.stack([mean - width, mean + width], axis=1)
            numbers[name] = NumberBeliefs(np.stack([mean, deviation], axis=1), ends)
        logs = steps.log_densities - self._left_out(sequences)
        return StepBeliefs(logs, np.zeros((sequences.num_steps, 0)), numbers)

    def system(self, observed: Sequence[str]) -> LinearDynamicalSystem:
        """The linear dynamical system whose rows show some of the numbers; a state that is one carries constants."""
        size, has_constant = len(self.names), bool(self.constants[1].any())
        states = (*self.names, _ONE) if has_constant else self.names
        full = len(states)
        transition, noise, start = np.eye(full), np.zeros((full, full)), np.zeros((full, full))
        transition[:size, :size], noise[:size, :size], start[:size, :size] = (
            *(self.transitions[1], self.noises[1], self.start),
        )
        if has_constant:
            transition[:size, size] = self.constants[1]
        shown = np.zeros((len(observed), full))
        shown[np.arange(len(observed)), [self.names.index(name) for name in observed]] = 1.0
        return LinearDynamicalSystem(
            transition,
            shown,
            noise,
            np.zeros((len(observed), len(observed))),
            np.append(self.mean, 1.0)[:full],
            start,
            states=[f"true {name}" if name in observed else name for name in states],
            observations=list(observed),
        )

    # --- rows ---

    def _seen(self, sequences: Sequences) -> list[str]:
        return [name for name in self.names if name in sequences.columns]

    def _system(self, sequences: Sequences) -> KalmanSystem:
        seen, size = self._seen(sequences), len(self.mean)
        shown = np.zeros((len(seen), size))
        shown[np.arange(len(seen)), [self.names.index(name) for name in seen]] = 1.0
        return KalmanSystem(
            self.transitions,
            self.noises,
            shown[None],
            np.zeros((1, len(seen), len(seen))),
            self.mean,
            self.start,
            np.zeros((0, size)),
            np.zeros((0, size, size)),
            np.zeros((0, 0)),
        )

    def _observed(self, sequences: Sequences) -> ObservedNumbers:
        columns = [np.asarray(sequences.columns[name], dtype=np.float64) for name in self._seen(sequences)]
        values = np.stack(columns, axis=1) if columns else np.zeros((sequences.num_steps, 0))
        starts = np.array(sequences.starts, dtype=np.int64)
        positions = np.arange(sequences.num_steps) - np.repeat(starts[:-1], np.diff(starts))
        return ObservedNumbers(values, self.constants[np.minimum(positions, len(self.constants) - 1)], starts)

    def _left_out(self, sequences: Sequences) -> Floats:
        """The logarithms of the densities of what is given."""
        total = np.zeros(sequences.num_steps)
        for name in self.given:
            total -= 0.5 * (math.log(2 * math.pi) + sequences.columns[name] ** 2)
        return total


def gaussian_slices(evidence: StepEvidence) -> GaussianSlices | None:
    """A network that is linear Gaussian throughout, and in which no slice is set apart; none for others."""
    return None if evidence.settings else GaussianSlices.of(evidence.template)


def linear_system_of(template: Template, observed: Sequence[str]) -> LinearDynamicalSystem:
    """A network over time as a linear dynamical system, where it is one."""
    slices = GaussianSlices.of(template)
    if slices is None or slices.given or template.num_first > 1:
        raise NotSupported(
            "A linear dynamical system has linear Gaussian distributions that look back one step at most, and no "
            "inputs: this network, which answers by itself, has others. A number two steps back is one step before a "
            'variable that copies it: LinearGaussianCPD("copy", 0.0, {"X[-1]": 1.0}, 0.0).'
        )
    return slices.system(observed)


def _moved(template: Template, number: int, state: Sequence[Lagged]) -> tuple[Floats, Floats, Floats]:
    """x = before x[-1] + constant + N(0, noise) of one of the slices, its equations solved for x."""
    size, places = len(state), {one: place for place, one in enumerate(state)}
    within, before = np.zeros((size, size)), np.zeros((size, size))
    constant, variances = np.zeros(size), np.zeros(size)
    for place, (name, age) in enumerate(state):
        cpd = template.slices[number].get(name)
        if age:
            before[place, places[Lagged(name, age - 1)]] = float(number > 0)
        elif cpd is None:
            variances[place] = 1.0
        else:
            assert isinstance(cpd, LinearGaussianCPD)
            constant[place], variances[place] = cpd.intercept, cpd.variance
            for text, slope in zip(cpd.parent_names, cpd.coefficients, strict=True):
                parent, lag = lagged(text)
                (before if lag else within)[place, places[Lagged(parent, max(lag - 1, 0))]] = slope
    solved = np.linalg.solve(np.eye(size) - within, np.column_stack([before, constant, np.diag(np.sqrt(variances))]))
    root = np.ascontiguousarray(solved[:, size + 1 :])
    return np.ascontiguousarray(solved[:, :size]), np.ascontiguousarray(solved[:, size]), root @ root.T
