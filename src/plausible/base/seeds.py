"""Seeds: what `seed=` of every function takes, as a generator of random numbers."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias

import numpy as np

from plausible.errors import InvalidArgument

#: A whole number that is not negative, a generator, or `None` for numbers that differ from run to run.
Seed: TypeAlias = int | np.random.Generator | None


def generator_of(seed: Seed) -> np.random.Generator:
    """The generator that a seed stands for; a generator stands for itself and goes on where it is.

    >>> generator_of(1).integers(10, size=3).tolist() == generator_of(1).integers(10, size=3).tolist()
    True
    """
    if not isinstance(seed, bool):
        with suppress(TypeError, ValueError):
            return np.random.default_rng(seed)
    raise InvalidArgument(
        f"seed= takes a whole number that is not negative, or a numpy.random.Generator; not {seed!r}."
    )
