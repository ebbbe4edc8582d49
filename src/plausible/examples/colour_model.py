"""What colours the parts of a picture have: a Gaussian for each, from scribbles or by clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.errors import InvalidArgument

#: Colours run from 0 to 1; no part of a picture is more uniform than this standard deviation.
_LEAST_DEVIATION = 0.02
#: Of k-means, and then of EM, in each run.
_ROUNDS = 25


@dataclass(frozen=True, slots=True, eq=False)
class ColourModel:
    """A mixture of Gaussians over colours, one for each segment of a picture."""

    weights: Floats  # The share of each of K segments
    #: Of the colours of each, shapes (K, c) and (K, c, c); c is 3 for red, green and blue.
    means: Floats
    covariances: Floats

    @classmethod
    def from_scribbles(cls, image: Floats, scribbles: Ints) -> ColourModel:
        """From pixels that someone has marked: all segments are as likely, each with the colours of its marks.

        Parameters
        ----------
        image
            Shape (rows, columns, c), colours from 0 to 1.
        scribbles
            Shape (rows, columns): the number of a segment, 0 to K - 1, or -1 where nothing is marked.

        Examples
        --------
        >>> image = np.array([[[0.1], [0.2], [0.5], [0.9]]])
        >>> ColourModel.from_scribbles(image, np.array([[0, 0, -1, 1]])).means.round(2).tolist()
        [[0.15], [0.9]]
        """
        if scribbles.shape != image.shape[:2]:
            raise InvalidArgument(f"Scribbles of shape {scribbles.shape} don't fit a picture of {image.shape[:2]}.")
        counts = np.bincount(scribbles[scribbles >= 0])
        if not len(counts) or not counts.all():
            missing = int(np.argmin(counts)) if len(counts) else 0
            raise InvalidArgument(f"No pixel is marked as segment {missing}; mark at least one of each.")
        shares = (scribbles.ravel()[:, None] == np.arange(len(counts))).astype(np.float64)
        fitted = _fitted(image.reshape(-1, image.shape[-1]), shares)
        return cls(np.full(len(counts), 1 / len(counts)), fitted.means, fitted.covariances)

    @classmethod
    def fit(cls, image: Floats, num_segments: int, *, restarts: int = 8, seed: int = 0) -> ColourModel:
        """From the picture alone: the most likely of several mixtures that EM finds.

        Each run begins with k-means++ (Arthur & Vassilvitskii 2007); its steps take time in proportion to pixels,
        segments and the square of c.

        Parameters
        ----------
        image
            Shape (rows, columns, c), colours from 0 to 1.
        num_segments
            K.
        restarts
            How many runs: there are local optima.

        Examples
        --------
        >>> image = np.array([[[0.1], [0.1], [0.2], [0.9]]])
        >>> sorted(ColourModel.fit(image, 2).means.round(2).tolist())
        [[0.13], [0.9]]
        """
        colours = image.reshape(-1, image.shape[-1])
        num_different = len(np.unique(colours, axis=0))
        if not 1 <= num_segments <= num_different or restarts < 1:
            raise InvalidArgument(
                f"num_segments={num_segments}, restarts={restarts}: a picture of {num_different} colours has from 1 to "
                "that many segments, and there is at least one run."
            )
        rng = np.random.default_rng(seed)
        models = [_mixture(colours, _clusters(colours, num_segments, rng)) for _ in range(restarts)]
        return max(models, key=lambda model: model.log_likelihood(colours))

    def log_likelihood(self, colours: Floats) -> float:
        """Σ log Σ_k w_k N(colour; μ_k, Σ_k); a constant is left out, as in `energies`."""
        energies = self.energies(colours)
        least = energies.min(axis=-1, keepdims=True)
        return float((np.log(np.exp(least - energies).sum(axis=-1, keepdims=True)) - least).sum())

    def energies(self, colours: Floats) -> Floats:
        """-log (w_k N(colour; μ_k, Σ_k)) of each colour, the last axis, for each segment k; a constant is left out.

        >>> one = ColourModel(np.ones(1), np.array([[0.5]]), np.array([[[0.25]]]))
        >>> one.energies(np.array([[0.5], [1.0]])).round(4).tolist()  # log 0.5, and half a square more
        [[-0.6931], [-0.1931]]
        """
        away = colours[..., None, :] - self.means
        squares = np.einsum("...ki,kij,...kj->...k", away, np.linalg.inv(self.covariances), away)
        with np.errstate(divide="ignore"):  # a segment that no pixel is left in
            return np.asarray(squares / 2 + np.linalg.slogdet(self.covariances)[1] / 2 - np.log(self.weights))


def _clusters(colours: Floats, num_segments: int, rng: np.random.Generator) -> Floats:
    """k-means: 1 where pixel i is in segment k, 0 elsewhere."""
    means = _first_means(colours, num_segments, rng)
    for _ in range(_ROUNDS):
        nearest = _square_distances(colours, means).argmin(axis=1)
        for segment in np.unique(nearest):
            means[segment] = colours[nearest == segment].mean(axis=0)
    nearest = _square_distances(colours, means).argmin(axis=1)
    return np.asarray(nearest[:, None] == np.arange(num_segments), dtype=np.float64)


def _mixture(colours: Floats, shares: Floats) -> ColourModel:
    """EM from the segments that pixels belong to at first."""
    model = _fitted(colours, shares)
    for _ in range(_ROUNDS):
        energies = model.energies(colours)
        shares = np.exp(energies.min(axis=1, keepdims=True) - energies)
        model = _fitted(colours, shares / shares.sum(axis=1, keepdims=True))
    return model


def _first_means(colours: Floats, num_segments: int, rng: np.random.Generator) -> Floats:
    """A random colour, and others drawn in proportion to the square of their distance from those chosen before."""
    means = [colours[rng.integers(len(colours))]]
    while len(means) < num_segments:
        squares = _square_distances(colours, np.array(means)).min(axis=1)
        means.append(colours[rng.choice(len(colours), p=squares / squares.sum())])
    return np.array(means)


def _square_distances(colours: Floats, means: Floats) -> Floats:
    return np.asarray(((colours[:, None, :] - means) ** 2).sum(axis=2))


def _fitted(colours: Floats, shares: Floats) -> ColourModel:
    """The most likely mixture where pixel i belongs to segment k with `shares[i, k]`."""
    totals = np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
    means = shares.T @ colours / totals[:, None]
    away = colours[:, None, :] - means
    spread = np.einsum("nk,nki,nkj->kij", shares, away, away) / totals[:, None, None]
    return ColourModel(
        shares.sum(axis=0) / max(shares.sum(), 1.0), means, spread + _LEAST_DEVIATION**2 * np.eye(colours.shape[1])
    )
