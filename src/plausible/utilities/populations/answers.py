"""What people answered, and what follows about each of them in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Flags, Floats, Ints
from plausible.errors import InvalidArgument
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


def squares_of(design: Floats) -> Floats:
    """x xᵀ of each row x, flat: K × p²."""
    return np.asarray((design[:, :, None] * design[:, None, :]).reshape(len(design), -1))
