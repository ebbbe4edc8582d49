"""What people answered, and Gaussian populations of utilities by EM: parameters, the step, the best of several runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base import Flags, Floats, Ints, Seed, check_count, generator_of
from plausible.errors import InvalidArgument
from plausible.search.run import CONVERGED, Clock, Run, Stops, best_run, iterate
from plausible.utilities.attributes.additive_utility import UtilityBasis
from plausible.utilities.attributes.outcome_tables import read_numbers

#: Numbers in the matrices of all patterns of missing answers that are handled in one go.
_BLOCK = 2**22


class Answers(NamedTuple):
    """Answers of M people about K outcomes."""

    values: Floats  # M × K; zero where there is no answer
    known: Flags  # M × K; whether there is one
    background: Floats  # M × q; what else is known of each person, a column of ones first
    patterns: Flags  # P × K; the different rows of `known`
    pattern_of: Ints  # M; which of them each person has

    @property
    def num_known(self) -> Ints:
        """The number of answers of each person."""
        return np.asarray(self.known.sum(axis=1), dtype=np.int64)

    def blocks(self, num_entries: int) -> Iterator[tuple[Ints, Flags, Ints]]:
        """People, patterns and the pattern of each person: so many patterns at a time as matrices of a size allow."""
        size = max(1, _BLOCK // max(1, num_entries))
        for start in range(0, len(self.patterns), size):
            people = np.flatnonzero((self.pattern_of >= start) & (self.pattern_of < start + size))
            yield people, self.patterns[start : start + size], self.pattern_of[people] - start


def read_answers(answers: npt.ArrayLike, num_outcomes: int, background: npt.ArrayLike | None = None) -> Answers:
    """From an array with a row for each person and a column for each outcome, NaN where there is no answer."""
    values = np.atleast_2d(read_numbers(answers, "answers="))
    if values.ndim != 2 or values.shape[1] != num_outcomes:
        raise InvalidArgument(
            f"The answers need a row for each person and a column for each of the {num_outcomes} outcomes, "
            f"not the shape {values.shape}."
        )
    known = ~np.isnan(values)
    if not np.isfinite(values[known]).all():
        raise InvalidArgument("An answer is infinite; leave it out as NaN.")
    # NumPy finds no different rows among rows of no columns.
    patterns, pattern_of = (
        np.unique(known, axis=0, return_inverse=True) if num_outcomes else (known[:1], np.zeros(len(known), np.int64))
    )
    filled = np.where(known, values, 0.0)
    return Answers(filled, known, read_background(background, len(values)), patterns, pattern_of.reshape(-1))


def read_background(background: npt.ArrayLike | None, num_people: int) -> Floats:
    """A column of ones, and the covariates of each person after it."""
    ones = np.ones((num_people, 1))
    if background is None:
        return ones
    columns = read_numbers(background, "background=")
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != num_people or not np.isfinite(columns).all():
        raise InvalidArgument(f"background= needs a row of finite numbers for each of {num_people} people.")
    return np.hstack([ones, columns])


class Conditioned(NamedTuple):
    """What answers say about people whose coordinates θ have a Gaussian prior."""

    people: Ints  # Which ones
    patterns: Flags  # Their patterns of known answers
    pattern_of: Ints  # Which of these each of them has
    moves: Floats  # E[θ | answers] less the prior mean, a row for each person
    covariances: Floats  # Cov[θ | answers], one for each pattern
    log_determinants: Floats  # log det(C / noise) of the covariance C of the known answers of each person
    squares: Floats  # r · C⁻¹ r · noise, r being answers less what was expected


def condition(
    answers: Answers, design: Floats, means: Floats, covariance: Floats, noise: float
) -> Iterator[Conditioned]:
    """The posterior of θ ~ N(mean, Σ) given y = X θ + N(0, noise) for each person, in blocks.

    With Σ = L Lᵀ and θ = mean + L z, z is the least squares solution of [A; I] z = [r / √noise; 0], where A = W X L /
    √noise, W the known answers and r = W (y - X mean). If Q R = [A; I], its lower half Q₂ is R⁻¹: so z = Q₂ Q₁ᵀ r /
    √noise and the posterior covariance is (L Q₂)(L Q₂)ᵀ. Nothing is subtracted and no inverse of Σ is needed: small
    posterior variances come out to full precision. People with the same pattern of answers share Q. The design X is
    K × p, the means M × p, the covariance Σ singular or not.
    """
    num_outcomes, size = design.shape
    # L with L Lᵀ = Σ; eigenvalues that are negative by rounding count as zero.
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = np.asarray(vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    scaled = design @ root / np.sqrt(noise)
    for people, patterns, pattern_of in answers.blocks((num_outcomes + size) * size):
        below = np.broadcast_to(np.eye(size), (len(patterns), size, size))
        left, right = np.linalg.qr(np.concatenate([patterns[:, :, None] * scaled, below], axis=1))
        upper, lower = left[:, :num_outcomes], left[:, num_outcomes:]
        spread = root @ lower
        known = answers.known[people]
        residual = known * (answers.values[people] - means[people] @ design.T)
        # The matrix of each person's pattern times the person's row; a bounded number of people at a time.
        matrices, rows = lower @ upper.transpose(0, 2, 1), residual / np.sqrt(noise)
        hidden = np.empty((len(rows), size))
        stride = max(1, _BLOCK // max(1, size * num_outcomes))
        for start in range(0, len(rows), stride):
            part = slice(start, start + stride)
            hidden[part] = (matrices[pattern_of[part]] @ rows[part, :, None])[:, :, 0]
        moves = hidden @ root.T
        missed = residual - known * (moves @ design.T)
        yield Conditioned(
            people,
            patterns,
            pattern_of,
            moves,
            spread @ spread.transpose(0, 2, 1),
            2.0 * np.log(np.abs(np.diagonal(right, axis1=1, axis2=2))).sum(axis=1)[pattern_of],
            (missed**2).sum(axis=1) + noise * (hidden**2).sum(axis=1),
        )


@dataclass(frozen=True, slots=True)
class PopulationPrior:
    """What is assumed, before any answer, of the covariance Σ of people's utilities.

    >>> PopulationPrior("parts")
    PopulationPrior(covariance='parts', shrinkage=1.0)
    """

    #: "full"; "parts", parts of the utility that are independent of each other; "diagonal", all coordinates.
    covariance: Literal["full", "parts", "diagonal"] = "full"
    #: How many imagined people, with independent coordinates of the spread of the answers, are added to the covariance;
    #: zero is maximum likelihood.
    shrinkage: float = 1.0

    def __post_init__(self) -> None:
        if self.covariance not in ("full", "parts", "diagonal"):
            raise InvalidArgument(f"covariance={self.covariance!r}: there are 'full', 'parts' and 'diagonal'.")
        if not self.shrinkage >= 0:
            raise InvalidArgument(f"shrinkage={self.shrinkage!r} is a number of people: zero or more.")


class ClassParameters(NamedTuple):
    """θ ~ N(A z, Σ) for a person with background z."""

    mean: Floats  # A, p × q
    covariance: Floats  # Σ, p × p


@dataclass(frozen=True, slots=True, eq=False)
class PopulationProblem:
    """Answers, one basis for each class of people, and what is assumed of covariances."""

    answers: Answers  # Of all people
    bases: tuple[UtilityBasis, ...]  # The decomposition of each class
    designs: tuple[Floats, ...]  # For each class, K × p: the value of outcome k is its row times θ
    prior: PopulationPrior  # What is assumed of the covariance of each class
    scales: tuple[Floats, ...]  # For each class, the variances of the coordinates of the people that the prior imagines

    def allowed(self, number: int) -> Floats:
        """One where the covariance of a class may be other than zero."""
        basis = self.bases[number]
        if self.prior.covariance == "full":
            return np.ones((basis.size, basis.size))
        if self.prior.covariance == "diagonal":
            return np.eye(basis.size)
        mask = np.zeros((basis.size, basis.size))
        for block in basis.blocks:
            mask[block, block] = 1.0
        return mask

    def log_prior(self, parameters: tuple[ClassParameters, ...]) -> float:
        """The logarithm of the prior density of the covariances, up to a constant."""
        if not self.prior.shrinkage:
            return 0.0
        total = 0.0
        for (_, covariance), scale in zip(parameters, self.scales, strict=True):
            total -= float(np.linalg.slogdet(covariance)[1])
            total -= float(np.trace(np.linalg.solve(covariance, np.diag(scale))))
        return 0.5 * self.prior.shrinkage * total


def log_likelihoods(
    problem: PopulationProblem, number: int, parameters: ClassParameters, noise: float
) -> tuple[Floats, list[Conditioned]]:
    """log p(answers) of each person under one class, and what the answers say about them."""
    answers = problem.answers
    means = answers.background @ parameters.mean.T
    blocks = list(condition(answers, problem.designs[number], means, parameters.covariance, noise))
    values = np.zeros(len(answers.values))
    for block in blocks:
        values[block.people] = -0.5 * (block.log_determinants + block.squares / noise)
    return values - 0.5 * answers.num_known * np.log(2 * np.pi * noise), blocks


def maximize(
    problem: PopulationProblem, number: int, before: ClassParameters, blocks: list[Conditioned], weights: Floats
) -> tuple[ClassParameters, float]:
    """The parameters of one class, people counting by their weights, and Σ w E[(y - X θ)²] over known answers.

    The mean is a regression on the background z, the covariance around it has its prior. All sums are over deviations
    δ = θ - A z from the means before.
    """
    answers, design = problem.answers, problem.designs[number]
    size, width = design.shape[1], answers.background.shape[1]
    cross, second = np.zeros((size, width)), np.zeros((size, size))  # Σ w E[δ] zᵀ and Σ w E[δ δᵀ]
    error, squared = 0.0, (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)  # x xᵀ of each row x, flat
    for block in blocks:
        background = answers.background[block.people]
        share = weights[block.people]
        shares = np.bincount(block.pattern_of, share, minlength=len(block.patterns))
        cross += (share[:, None] * block.moves).T @ background
        second += (share[:, None] * block.moves).T @ block.moves + np.tensordot(shares, block.covariances, axes=1)
        means = background @ before.mean.T + block.moves
        missed = answers.known[block.people] * (answers.values[block.people] - means @ design.T)
        spread = block.covariances.reshape(len(block.patterns), -1) @ squared.T
        error += float(share @ (missed**2).sum(axis=1) + shares @ (spread * block.patterns).sum(axis=1))
    squares = (weights[:, None] * answers.background).T @ answers.background
    # Means over people, not sums: of a class that hardly anybody is left in the inverse of a sum would overflow.
    weight = float(weights.sum())
    least = max(weight, np.finfo(float).smallest_subnormal)
    change = (cross / least) @ np.linalg.pinv(squares / least)
    scatter = second - change @ cross.T
    scatter = 0.5 * (scatter + scatter.T) + problem.prior.shrinkage * np.diag(problem.scales[number])
    total = max(weight + problem.prior.shrinkage, np.finfo(float).tiny)
    return ClassParameters(before.mean + change, np.asarray(problem.allowed(number) * scatter / total)), error


#: The least variance of the noise, as a share of the variance of the answers.
_LEAST_NOISE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class PopulationState:
    """The parameters after an M-step, and the objective of those before it."""

    classes: tuple[ClassParameters, ...]  # The Gaussian of each class
    weights: Floats  # The share of each class
    noise: float  # The variance of the noise, the same in all classes
    #: The objective of the parameters before: log-likelihood and the logarithm of the prior density of the covariances;
    #: -inf at a start.
    value: float = -np.inf
    num_steps: int = 0  # The steps made
    restart: int = 0  # Which of several runs this is


def start(problem: PopulationProblem, rng: np.random.Generator | None = None) -> PopulationState:
    """Means by least squares on all answers, wide covariances; moved at random where a generator is given."""
    answers = problem.answers
    people, outcomes = np.nonzero(answers.known)
    variance = float(np.var(answers.values[answers.known])) or 1.0
    occurring = np.linalg.pinv(answers.background) @ answers.background
    classes = []
    for design, scale in zip(problem.designs, problem.scales, strict=True):
        rows = np.einsum("np,nq->npq", design[outcomes], answers.background[people]).reshape(len(people), -1)
        fitted = np.linalg.lstsq(rows, answers.values[people, outcomes], rcond=1e-10)[0]
        mean = fitted.reshape(design.shape[1], -1)
        if rng is not None:
            # Along backgrounds that occur only: steps of EM never change the others.
            mean = mean + np.sqrt(scale)[:, None] * rng.normal(size=mean.shape) @ occurring
        classes.append(ClassParameters(mean, np.diag(scale)))
    weights = np.full(len(classes), 1.0 / len(classes))
    return PopulationState(tuple(classes), weights, 0.1 * variance)


def class_posteriors(log_joint: Floats) -> tuple[Floats, Floats]:
    """P(class | answers) and log p(answers) of each person, from log P(class) p(answers | class), class × person."""
    top = log_joint.max(axis=0)
    shares = np.exp(log_joint - top)
    totals = shares.sum(axis=0)
    return shares / totals, top + np.log(totals)


def step(problem: PopulationProblem, state: PopulationState) -> PopulationState:
    """One E-step and one M-step; the objective never falls (Dempster, Laird & Rubin 1977)."""
    found = [log_likelihoods(problem, c, one, state.noise) for c, one in enumerate(state.classes)]
    with np.errstate(divide="ignore"):  # a class that nobody is in has the weight zero
        log_weights = np.log(state.weights)
    posteriors, log_totals = class_posteriors(np.array([values for values, _ in found]) + log_weights[:, None])
    value = float(log_totals.sum()) + problem.log_prior(state.classes)
    updated = [
        maximize(problem, c, one, blocks, posteriors[c])
        for c, (one, (_, blocks)) in enumerate(zip(state.classes, found, strict=True))
    ]
    squares = sum(error for _, error in updated)
    number = sum(float(share @ problem.answers.num_known) for share in posteriors)
    floor = _LEAST_NOISE * (float(np.var(problem.answers.values[problem.answers.known])) or 1.0)
    return replace(
        state,
        classes=tuple(one for one, _ in updated),
        weights=posteriors.mean(axis=1),
        noise=max(squares / max(number, 1.0), floor),
        value=value,
        num_steps=state.num_steps + 1,
    )


def best_population(
    problem: PopulationProblem, restarts: int, seed: Seed, stops: Stops
) -> tuple[Run[PopulationState], ...]:
    """The runs, the best first, each until a step gains no more than the tolerance for each person."""
    check_count("restarts", restarts)
    are_alike = len({basis.scopes for basis in problem.bases}) < len(problem.bases)
    starts = (
        replace(start(problem, rng if number or are_alike else None), restart=number)
        for number, rng in enumerate(generator_of(seed).spawn(1 + restarts))
    )
    enough = stops.tolerance * len(problem.answers.values)

    def settled(run: Run[PopulationState]) -> str:
        return CONVERGED if run.trace[-1] - run.trace[-2] <= enough else ""

    def climb(state: PopulationState, clock: Clock) -> Run[PopulationState]:
        return iterate(partial(step, problem), state, stops, [settled], objective=attrgetter("value"), clock=clock)

    return best_run(climb, starts, stops.time_limit)
