"""Networks over time that are linear Gaussian throughout: a Kalman filter tells numbers that are hidden, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import LinearGaussianCPD
from plausible.data.sequences import Sequences
from plausible.errors import NotSupported
from plausible.kernels.kalman_beliefs import KalmanSystem
from plausible.models.sequences.kalman_runs import ObservedNumbers, filtered, impossible_once, log_densities, smoothed
from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem
from plausible.models.sequences.observations import NumberBeliefs, StepBeliefs, StepEvidence
from plausible.models.sequences.state_estimates import width_of
from plausible.models.sequences.template import Template, lagged

#: What the state is called that is always one.
_ONE = "1"


@dataclass(frozen=True, slots=True, eq=False)
class GaussianSlices:
    """The numbers of a slice as the state of a linear dynamical system, some of which rows show as they are.

    x_0 ~ N(mean, start), x_t = transition x_t-1 + constant + w_t, w ~ N(0, noise). What has no distribution is always
    given: it is taken as N(0, 1), and the density of that is left out again.
    """

    names: tuple[str, ...]
    given: tuple[str, ...]
    mean: Floats
    start: Floats
    transition: Floats
    constant: Floats
    noise: Floats

    @classmethod
    def of(cls, template: Template) -> GaussianSlices | None:
        """From distributions, all of them linear Gaussians that look back one step at most; else none."""
        cpds = [cpd for cpds in template.slices for cpd in cpds.values()]
        if template.num_first > 1 or not all(isinstance(cpd, LinearGaussianCPD) for cpd in cpds):
            return None
        names = tuple(template.variables)
        (_, mean, start), (transition, constant, noise) = (_moved(template, at, names) for at in (0, 1))
        given = tuple(name for name in names if name not in template.later)
        return cls(names, given, mean, start, transition, constant, noise)

    def log_likelihoods(self, sequences: Sequences) -> Floats:
        """log p(o_t | o_1 ... o_t-1) of each step."""
        logs = log_densities(self._system(sequences), self._observed(sequences)) - self._left_out(sequences)
        return impossible_once(logs, sequences.starts)

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
        size, has_constant = len(self.names), bool(self.constant.any())
        states = (*self.names, _ONE) if has_constant else self.names
        full = len(states)
        transition, noise, start = np.eye(full), np.zeros((full, full)), np.zeros((full, full))
        transition[:size, :size], noise[:size, :size], start[:size, :size] = self.transition, self.noise, self.start
        if has_constant:
            transition[:size, size] = self.constant
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
        seen, size = self._seen(sequences), len(self.names)
        shown = np.zeros((len(seen), size))
        shown[np.arange(len(seen)), [self.names.index(name) for name in seen]] = 1.0
        return KalmanSystem(
            self.transition[None],
            self.noise[None],
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
        offsets = np.tile(self.constant, (sequences.num_steps, 1))
        return ObservedNumbers(values, offsets, np.array(sequences.starts, dtype=np.int64))

    def _left_out(self, sequences: Sequences) -> Floats:
        """The logarithms of the densities of what is given."""
        total = np.zeros(sequences.num_steps)
        for name in self.given:
            total -= 0.5 * (math.log(2 * math.pi) + sequences.columns[name] ** 2)
        return total


def gaussian_beliefs(evidence: StepEvidence, level: float, *, is_smoothed: bool) -> StepBeliefs | None:
    """The beliefs of a network that is linear Gaussian throughout; none for others."""
    slices = None if evidence.settings else GaussianSlices.of(evidence.template)
    return None if slices is None else slices.beliefs(evidence.sequences, level, is_smoothed=is_smoothed)


def linear_system_of(template: Template, observed: Sequence[str]) -> LinearDynamicalSystem:
    """A network over time as a linear dynamical system, where it is one."""
    slices = GaussianSlices.of(template)
    if slices is None or slices.given:
        raise NotSupported(
            "A linear dynamical system has linear Gaussian distributions that look back one step at most, and no "
            "inputs: this network has others. A number two steps back is one step before a variable that copies it: "
            'LinearGaussianCPD("copy", 0.0, {"X[-1]": 1.0}, 0.0).'
        )
    return slices.system(observed)


def _moved(template: Template, number: int, names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """x = before x[-1] + constant + N(0, noise) of one of the slices, its equations solved for x."""
    size, places = len(names), {name: place for place, name in enumerate(names)}
    within, before = np.zeros((size, size)), np.zeros((size, size))
    constant, variances = np.zeros(size), np.ones(size)
    for name, cpd in template.slices[number].items():
        assert isinstance(cpd, LinearGaussianCPD)
        constant[places[name]], variances[places[name]] = cpd.intercept, cpd.variance
        for text, slope in zip(cpd.parent_names, cpd.coefficients, strict=True):
            parent, lag = lagged(text)
            (before if lag else within)[places[name], places[parent]] = slope
    solved = np.linalg.solve(np.eye(size) - within, np.column_stack([before, constant, np.diag(np.sqrt(variances))]))
    root = np.ascontiguousarray(solved[:, size + 1 :])
    return np.ascontiguousarray(solved[:, :size]), np.ascontiguousarray(solved[:, size]), root @ root.T
