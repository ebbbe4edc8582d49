"""What people answered, and what follows about each of them in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.decisions.attributes.outcome_tables import Floats
from plausible.errors import InvalidArgument

__all__ = ["Answers", "Conditioned", "condition", "read_answers", "read_background", "squares_of"]

#: Numbers in the matrices of all patterns of missing answers that are handled in one go.
_BLOCK = 2**22


class Answers(NamedTuple):
    """Answers of M people about K outcomes.

    Attributes
    ----------
    values
        M × K; zero where there is no answer.
    known
        M × K; whether there is one.
    background
        M × q; what else is known of each person, a column of ones first.
    patterns
        P × K; the different rows of `known`.
    pattern_of
        M; which of them each person has.
    """

    values: Floats
    known: NDArray[np.bool_]
    background: Floats
    patterns: NDArray[np.bool_]
    pattern_of: NDArray[np.int64]

    @property
    def num_known(self) -> NDArray[np.int64]:
        """The number of answers of each person."""
        return np.asarray(self.known.sum(axis=1), dtype=np.int64)

    def blocks(self, num_coordinates: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]]:
        """People, patterns and the pattern of each person, a bounded number of patterns at a time."""
        size = max(1, _BLOCK // max(1, num_coordinates**2))
        for start in range(0, len(self.patterns), size):
            people = np.flatnonzero((self.pattern_of >= start) & (self.pattern_of < start + size))
            yield people, self.patterns[start : start + size], self.pattern_of[people] - start


def read_answers(answers: npt.ArrayLike, num_outcomes: int, background: npt.ArrayLike | None = None) -> Answers:
    """From an array with a row for each person and a column for each outcome, NaN where there is no answer.

    >>> read_answers([[1.0, np.nan], [2.0, 3.0]], 2).num_known
    array([1, 2])
    """
    values = np.atleast_2d(np.asarray(answers, dtype=np.float64))
    if values.ndim != 2 or values.shape[1] != num_outcomes:
        raise InvalidArgument(
            f"The answers need a row for each person and a column for each of the {num_outcomes} outcomes, "
            f"not the shape {values.shape}."
        )
    known = ~np.isnan(values)
    if not np.isfinite(values[known]).all():
        raise InvalidArgument("An answer is infinite; leave it out as NaN.")
    patterns, pattern_of = np.unique(known, axis=0, return_inverse=True)
    filled = np.where(known, values, 0.0)
    return Answers(filled, known, read_background(background, len(values)), patterns, pattern_of.reshape(-1))


def read_background(background: npt.ArrayLike | None, num_people: int) -> Floats:
    """A column of ones, and the covariates of each person after it."""
    ones = np.ones((num_people, 1))
    if background is None:
        return ones
    columns = np.asarray(background, dtype=np.float64)
    columns = columns.reshape(num_people, -1) if columns.ndim < 2 else columns
    if len(columns) != num_people or not np.isfinite(columns).all():
        raise InvalidArgument(f"background= needs a row of finite numbers for each of {num_people} people.")
    return np.hstack([ones, columns])


class Conditioned(NamedTuple):
    """What answers say about people whose coordinates θ have a Gaussian prior.

    Attributes
    ----------
    people
        Which ones.
    patterns
        Their patterns of known answers.
    pattern_of
        Which of these each of them has.
    means
        E[θ | answers], a row for each person.
    covariances
        Cov[θ | answers], one for each pattern.
    log_determinants
        log det(C / noise) of the covariance C of the known answers of each person.
    squares
        r · C⁻¹ r · noise, r being answers less what was expected.
    """

    people: NDArray[np.int64]
    patterns: NDArray[np.bool_]
    pattern_of: NDArray[np.int64]
    means: Floats
    covariances: Floats
    log_determinants: Floats
    squares: Floats


def condition(
    answers: Answers, design: Floats, means: Floats, covariance: Floats, noise: float
) -> Iterator[Conditioned]:
    """The posterior of θ ~ N(mean, Σ) given y = X θ + N(0, noise) for each person, in blocks.

    With G = Xᵀ W X / noise, W the known answers, the posterior covariance is S = (I + Σ G)⁻¹ Σ, which needs no inverse
    of Σ; the mean moves by δ = S Xᵀ W r / noise. People with the same pattern of answers share S.

    Parameters
    ----------
    answers
        Of M people about K outcomes.
    design
        X, K × p.
    means
        The prior mean of each person, M × p.
    covariance
        Σ, p × p, singular or not.
    noise
        The variance of the noise.
    """
    size = design.shape[1]
    for people, patterns, pattern_of in answers.blocks(size):
        gram = (patterns @ squares_of(design) / noise).reshape(-1, size, size)
        system = np.eye(size) + covariance @ gram
        posterior = np.linalg.solve(system, np.broadcast_to(covariance, system.shape))
        posterior = 0.5 * (posterior + posterior.transpose(0, 2, 1))
        known = answers.known[people]
        residual = known * (answers.values[people] - means[people] @ design.T)
        move = _moves(posterior, pattern_of, residual @ design / noise)
        squares = (residual * (residual - known * (move @ design.T))).sum(axis=1)
        determinants = np.linalg.slogdet(system)[1][pattern_of]
        yield Conditioned(people, patterns, pattern_of, means[people] + move, posterior, determinants, squares)


def squares_of(design: Floats) -> Floats:
    """x xᵀ of each row x, flat: K × p²."""
    return np.asarray((design[:, :, None] * design[:, None, :]).reshape(len(design), -1))


def _moves(posterior: Floats, pattern_of: NDArray[np.int64], pulls: Floats) -> Floats:
    """S times the pull of each person, S being that of the pattern; a bounded number of people at a time."""
    moves = np.empty_like(pulls)
    size = max(1, _BLOCK // max(1, posterior[0].size))
    for start in range(0, len(pulls), size):
        part = slice(start, start + size)
        moves[part] = (posterior[pattern_of[part]] @ pulls[part, :, None])[:, :, 0]
    return moves
