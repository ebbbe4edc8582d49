"""The quadratic program behind cutting planes: how planes mix."""

from __future__ import annotations

from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SMALLEST


def best_mixture(gram: Floats, losses: Floats, mixture: Floats) -> Floats:
    """The α of the simplex with the largest losses·α - αᵀ gram α / 2, by active sets (Wolfe 1976), from a start."""
    mixture, size = mixture.copy(), len(losses)
    scale = max(float(np.abs(gram).max()), float(np.abs(losses).max()), SMALLEST)
    is_active = mixture > 0
    for _ in range(20 * size + 100):
        mixture, is_active = _on_face(gram, losses, mixture, is_active, scale)
        pull = losses - gram @ mixture
        new = int(np.argmax(pull))
        if is_active[new] or pull[new] - mixture @ pull <= 1e-13 * scale:
            break
        is_active[new] = True
    return mixture


def _on_face(gram: Floats, losses: Floats, mixture: Floats, is_active: Any, scale: float) -> tuple[Floats, Any]:
    """The best of the face of active planes, leaving those that would get a negative share."""
    while True:
        kept = np.flatnonzero(is_active)
        system = np.ones((kept.size + 1, kept.size + 1))
        system[:-1, :-1] = gram[np.ix_(kept, kept)] + 1e-14 * scale * np.eye(kept.size)
        system[-1, -1] = 0.0
        best = np.linalg.lstsq(system, np.append(losses[kept], 1.0), rcond=None)[0][:-1]
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
