"""Variables summed out of a problem before it is sampled, and how to get beliefs about them back."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import union_scope
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable

#: No table over a variable that goes and its neighbours may have more entries.
MAX_ENTRIES = 2**20

#: The logarithms of floats with all their digits lie between minus this and this.
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class Collapse:
    """A problem without some of its variables; made by `Collapse.of`."""

    problem: Problem  # over the others: its product is the sum over those that went
    #: For each variable that went, in that order, P(it | others that were still there), it being the last axis.
    conditionals: tuple[Factor, ...]

    @classmethod
    def of(cls, problem: Problem, names: Collection[str]) -> Collapse:
        """Sum out the named variables, those first that leave the smallest tables; unknown names are passed over."""
        waiting = [variable for variable in problem.variables if variable.name in set(names)]
        if not waiting:
            return cls(problem, ())
        factors, conditionals, log_scale = list(problem.reduced), [], 0.0
        while waiting:
            entries, place = min((_entries(factors, v), place) for place, v in enumerate(waiting))
            variable = waiting.pop(place)
            if entries > MAX_ENTRIES:
                raise TooLarge(
                    f"Summing {variable.name!r} out would build a table with {entries:.3g} entries; the limit is "
                    f"{MAX_ENTRIES}. Leave it out of collapsed=."
                )
            touching = [factor for factor in factors if variable.name in factor.names]
            message, conditional, log_shift = _summed_out(touching, variable)
            factors = [factor for factor in factors if variable.name not in factor.names] + [message]
            conditionals.append(conditional)
            log_scale += log_shift
        # Factors without variables whose product has this logarithm, however large it is.
        count = math.ceil(abs(log_scale) / _LARGEST_LOG)
        factors += [Factor.scalar(math.exp(log_scale / max(count, 1)))] * count
        return cls(Problem.of(factors, Evidence.read({}, {})), tuple(conditionals))

    def sampled(self, names: Sequence[str]) -> tuple[str, ...]:
        """The variables still there whose joint belief gives that of the named ones."""
        wanted = dict.fromkeys(names)
        for conditional in self.conditionals:
            *separator, variable = conditional.names
            if variable in wanted:
                del wanted[variable]
                wanted |= dict.fromkeys(separator)
        return tuple(wanted)

    def expand(self, names: Sequence[str], tables: Floats) -> Floats:
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

    def draw(self, columns: Mapping[str, Ints], generator: np.random.Generator, num_rows: int) -> dict[str, Ints]:
        """States of the variables that went, a row each, given those of the others."""
        drawn: dict[str, Ints] = {}
        for conditional in reversed(self.conditionals):  # what went last depends on what stayed alone
            *separator, name = conditional.names
            given = tuple({**columns, **drawn}[other] for other in separator)
            thresholds = np.cumsum(conditional.values, axis=-1)[given]
            levels = generator.random(num_rows) * thresholds[..., -1]
            drawn[name] = (levels[:, None] >= thresholds[..., :-1]).sum(axis=1)
        return drawn


def _summed_out(touching: Sequence[Factor], variable: Variable) -> tuple[Factor, Factor, float]:
    """Σ_x Π φ up to a scale, P(x | the others), x being the last axis, and the logarithm of that scale.

    By logarithms: neither the product nor a factor scaled to a peak of one need have room in floats.
    """
    others = [other for other in union_scope([factor.scope for factor in touching]) if other.name != variable.name]
    scope = (*others, variable)
    labels = {each.name: label for label, each in enumerate(scope)}
    logs = np.zeros([each.num_states for each in scope])
    for factor in touching:
        order = sorted(range(len(factor.scope)), key=lambda axis: labels[factor.names[axis]])
        shape = [each.num_states if each.name in factor.names else 1 for each in scope]
        with np.errstate(divide="ignore"):
            logs += np.log(np.transpose(factor.values, order)).reshape(shape)
    peaks = logs.max(axis=-1, keepdims=True)
    shares = np.exp(logs - np.where(np.isneginf(peaks), 0.0, peaks))
    totals = shares.sum(axis=-1, keepdims=True)
    conditional = Factor(scope, shares / np.where(totals > 0, totals, 1.0))
    with np.errstate(divide="ignore"):
        log_message = (np.log(totals) + peaks)[..., 0]
    # The largest and, if there is room, the smallest are to be logarithms of floats.
    finite, log_scale = log_message[np.isfinite(log_message)], 0.0
    if finite.size:
        above = float(np.clip(finite.max() - finite.min() - _LARGEST_LOG, 0.0, _LARGEST_LOG))
        log_scale = float(finite.max()) - above
    return Factor(others, np.exp(log_message - log_scale)), conditional, log_scale


def _entries(factors: Sequence[Factor], variable: Variable) -> float:
    """The size of the table that summing a variable out builds."""
    sizes = {v.name: v.num_states for f in factors if variable.name in f.names for v in f.scope}
    return math.prod(map(float, sizes.values()))
