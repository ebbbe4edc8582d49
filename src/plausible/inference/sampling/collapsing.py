"""Variables summed out of a problem before it is sampled, and how to get beliefs about them back."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plausible.errors import TooLarge
from plausible.factors import Factor, product
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable

__all__ = ["Collapse"]

#: No table over a variable that goes and its neighbours may have more entries.
MAX_ENTRIES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Collapse:
    """A problem without some of its variables; made by `Collapse.of`.

    Attributes
    ----------
    problem
        Over the others: its product is the sum over those that went.
    conditionals
        For each variable that went, in that order, P(it | others that were still there), it being the last axis.
    """

    problem: Problem
    conditionals: tuple[Factor, ...]

    @classmethod
    def of(cls, problem: Problem, names: Collection[str]) -> Collapse:
        """Sum out the named variables, those first that leave the smallest tables; unknown names are passed over."""
        factors, waiting = list(problem.factors), [v for v in problem.variables if v.name in set(names)]
        if not waiting:
            return cls(problem, ())
        conditionals: list[Factor] = []
        while waiting:
            entries, place = min((_entries(factors, v), place) for place, v in enumerate(waiting))
            variable = waiting.pop(place)
            if entries > MAX_ENTRIES:
                raise TooLarge(
                    f"Summing {variable.name!r} out would build a table with {entries:.3g} entries; the limit is "
                    f"{MAX_ENTRIES}. Leave it out of collapsed=."
                )
            touching = [factor for factor in factors if variable.name in factor.names]
            joint = product(touching)
            separator = [name for name in joint.names if name != variable.name]
            factors = [f for f in factors if variable.name not in f.names] + [joint.marginalize(variable.name)]
            conditionals.append(joint.reorder([*separator, variable.name]).normalize(over=variable.name))
        rest = Problem.of(factors, Evidence.read({}, {}))
        return cls(replace(rest, log_scale=rest.log_scale + problem.log_scale), tuple(conditionals))

    def sampled(self, names: Sequence[str]) -> tuple[str, ...]:
        """The variables still there whose joint belief gives that of the named ones."""
        wanted = dict.fromkeys(names)
        for conditional in self.conditionals:
            *separator, variable = conditional.names
            if variable in wanted:
                del wanted[variable]
                wanted |= dict.fromkeys(separator)
        return tuple(wanted)

    def expand(self, names: Sequence[str], tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Beliefs (..., states of each name) from those over `sampled(names)`: Σ P(gone | kept) P(kept)."""
        have = list(self.sampled(names))
        used: list[Factor] = []
        wanted = dict.fromkeys(names)
        for conditional in self.conditionals:
            if conditional.names[-1] in wanted:
                used.append(conditional)
                wanted |= dict.fromkeys(conditional.names)
        labels = {name: label for label, name in enumerate(dict.fromkeys([*have, *wanted]))}
        operands: list[object] = [tables, [Ellipsis, *(labels[name] for name in have)]]
        for conditional in used:
            operands += [conditional.values, [labels[name] for name in conditional.names]]
        output = [Ellipsis, *(labels[name] for name in names)]
        return np.asarray(np.einsum(*operands, output, optimize=len(used) > 1))  # type: ignore[call-overload]

    def draw(
        self, columns: Mapping[str, NDArray[np.int64]], generator: np.random.Generator, num_rows: int
    ) -> dict[str, NDArray[np.int64]]:
        """States of the variables that went, a row each, given those of the others."""
        drawn: dict[str, NDArray[np.int64]] = {}
        for conditional in reversed(self.conditionals):  # what went last depends on what stayed alone
            *separator, name = conditional.names
            given = tuple({**columns, **drawn}[other] for other in separator)
            thresholds = np.cumsum(conditional.values, axis=-1)[given]
            levels = generator.random(num_rows) * thresholds[..., -1]
            drawn[name] = (levels[:, None] >= thresholds[..., :-1]).sum(axis=1)
        return drawn


def _entries(factors: Sequence[Factor], variable: Variable) -> float:
    """The size of the table that summing a variable out builds."""
    sizes = {v.name: v.num_states for f in factors if variable.name in f.names for v in f.scope}
    return math.prod(map(float, sizes.values()))
