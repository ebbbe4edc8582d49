"""The quadratic program behind cutting planes: how planes mix."""

from __future__ import annotations

from typing import Any

import numpy as np

from plausible.base.arrays import Floats


def best_mixture(gram: Floats, losses: Floats, mixture: Floats) -> Floats:
    """The α of the simplex with the largest losses·α - αᵀ gram α / 2, by active sets (Wolfe 1976), from a start.

    Planes may be of very different lengths, the roots of the diagonal, as where features are in millions.
    """
    mixture, size, sizes = mixture.copy(), len(losses), np.abs(gram)
    is_active = mixture > 0
    for _ in range(20 * size + 100):
        mixture, is_active = _on_face(gram, losses, mixture, is_active)
        pull = losses - gram @ mixture
        noise = 1e-13 * float((np.abs(losses) + sizes @ mixture).max())
        new = int(np.argmax(pull))
        if is_active[new] or pull[new] - mixture @ pull <= noise:
            break
        is_active[new] = True
    return mixture


def _on_face(gram: Floats, losses: Floats, mixture: Floats, is_active: Any) -> tuple[Floats, Any]:
    """The best of the face of active planes, leaving those that would get a negative share."""
    lengths = np.sqrt(gram.diagonal())
    units = 1 / np.where(lengths > 0, lengths, 1.0)  # what is solved for are shares times lengths
    while True:
        kept = np.flatnonzero(is_active)
        scales = units[kept]
        system = np.zeros((kept.size + 1, kept.size + 1))
        system[:-1, :-1] = gram[np.ix_(kept, kept)] * np.outer(scales, scales) + 1e-14 * np.eye(kept.size)
        system[-1, :-1] = system[:-1, -1] = scales
        best = scales * np.linalg.lstsq(system, np.append(losses[kept] * scales, 1.0), rcond=None)[0][:-1]
        now = mixture[kept]
        if kept.size == 1 or (best >= 0).all():
            mixture = np.zeros_like(mixture)
            mixture[kept] = best / best.sum() if kept.size > 1 else 1.0
            return mixture, is_active
        falls = best < 0
        shares = now[falls] / (now[falls] - best[falls])
        moved = np.maximum(now + shares.min() * (best - now), 0.0)
        moved[np.flatnonzero(falls)[int(np.argmin(shares))]] = 0.0
        mixture = np.zeros_like(mixture)
        mixture[kept] = moved / moved.sum()
        is_active = mixture > 0
