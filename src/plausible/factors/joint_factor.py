"""Joint factors: a probability and an expected utility that are carried through an elimination side by side."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np

from plausible.base import UTILITY_NOISE, Frozen
from plausible.errors import InvalidFactor
from plausible.factors.alignment import align, table_shape, union_scope
from plausible.factors.factor import Factor
from plausible.variables import Variable


class JointFactor(Frozen):
    """A pair γ = (φ, μ): a factor of probabilities and the utility that is expected where it applies.

    Distributions and rules are (φ, 0), utilities (1, μ). Utilities add and probabilities multiply, so that variables
    can be eliminated in any order and one elimination does for all utilities; a sum over all variables leaves
    (P(evidence), E[utility | evidence]).

    Parameters
    ----------
    probability
        φ, without negative entries; 1 where left out.
    utility
        μ, any finite numbers; 0 where left out.

    Notes
    -----
    Each operation costs a fixed multiple of what it costs on φ alone.

    References
    ----------
    Jensen, Jensen & Dittmer (1994), From influence diagrams to junction trees, UAI. Koller & Friedman (2009),
    Probabilistic graphical models, 23.4.3.

    Examples
    --------
    >>> rain = Factor({"rain": ["no", "yes"]}, [0.7, 0.3])
    >>> mood = Factor({"rain": ["no", "yes"]}, [10.0, -10.0])
    >>> weather = JointFactor(rain) * JointFactor(utility=mood)
    >>> weather.marginalize("rain").utility.sum()
    4.0
    """

    __slots__ = ("probability", "utility")

    probability: Factor
    utility: Factor

    def __init__(self, probability: Factor | None = None, utility: Factor | None = None) -> None:
        self.probability = Factor.scalar(1.0) if probability is None else probability
        self.utility = Factor.scalar(0.0) if utility is None else utility
        if self.probability.min() < 0:
            raise InvalidFactor(
                f"The probability of a joint factor is {self.probability.min():g} at "
                f"{dict(self.probability.argmin())!r}; it can't be negative."
            )
        if not np.isfinite(self.utility.flat).all():
            raise InvalidFactor("The utility of a joint factor has infinite entries; give finite numbers.")

    @property
    def scope(self) -> tuple[Variable, ...]:
        """The variables of either part."""
        return union_scope((self.probability.scope, self.utility.scope))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scope."""
        return tuple(variable.name for variable in self.scope)

    def __mul__(self, other: JointFactor) -> JointFactor:
        """The combination (φ φ', μ + μ')."""
        if not isinstance(other, JointFactor):
            return NotImplemented
        return _joint(self.probability * other.probability, self.utility + other.utility)

    def marginalize(self, names: str | Iterable[str]) -> JointFactor:
        """Sum variables out: (Σ φ, Σ φ μ / Σ φ), with 0/0 = 0.

        >>> pair = JointFactor(Factor({"X": 2}, [0.0, 0.0]), Factor({"X": 2}, [5.0, 7.0]))
        >>> pair.marginalize("X")
        JointFactor(probability=0, utility=0)
        """
        gone = [names] if isinstance(names, str) else list(names)
        probability = self.probability.extend(v for v in self.scope if v.name in set(gone))
        total = probability.marginalize(gone)
        weighted = (probability * self.utility).marginalize(gone)
        return _joint(total, weighted / total)

    def maximize(self, name: str) -> tuple[JointFactor, Factor]:
        """Take the action of a decision with the largest expected utility; and the rule that does.

        φ does not depend on the decision wherever it can be made at all, if everything that is not known by then has
        been summed out before: then this is the step max_D of a sum-max-sum elimination.

        Returns
        -------
        JointFactor, Factor
            What is left over the other variables, and the rule: a factor over these and the decision, 1 at the first
            of the best actions. Where no action is possible it is the first one.
        """
        decision = (self.utility if name in self.utility.names else self.probability).variable(name)
        rest = tuple(variable for variable in self.scope if variable.name != name)
        scope = (*rest, decision)
        shape = (*table_shape(rest), decision.num_states)
        mu, phi = (_spread(factor, scope).reshape(shape) for factor in (self.utility, self.probability))
        choice = first_best(np.where(phi > 0, mu, -np.inf))
        rule = choice[..., None] == np.arange(decision.num_states)
        left = [np.take_along_axis(part, choice[..., None], axis=-1)[..., 0] for part in (phi, mu)]
        return (
            _joint(*(Factor.trusted(rest, np.array(part, order="C")) for part in left)),
            Factor.trusted(scope, rule.astype(np.float64).reshape(table_shape(scope))),
        )

    def contract(self) -> Factor:
        """φ μ: the utility weighted by how probable each assignment is."""
        return self.probability * self.utility

    def is_close(self, other: JointFactor, tolerance: float = 1e-9) -> bool:
        """Whether both say the same wherever φ is not zero: μ means nothing elsewhere."""
        scope = union_scope((self.scope, other.scope))
        mine, theirs = ((_spread(f.probability, scope), _spread(f.contract(), scope)) for f in (self, other))
        return all(np.allclose(a, b, rtol=0, atol=tolerance) for a, b in zip(mine, theirs, strict=True))

    def __repr__(self) -> str:
        parts = (f"{f.sum():g}" if not f.scope else f"over {list(f.names)}" for f in (self.probability, self.utility))
        return "JointFactor(probability={}, utility={})".format(*parts)


def combined(factors: Iterable[JointFactor]) -> JointFactor:
    """The combination of any number of joint factors; (1, 0) for none."""
    return reduce(JointFactor.__mul__, factors, JointFactor())


def first_best(values: np.ndarray) -> np.ndarray:
    """The place of the first largest number along the last axis, up to rounding; 0 where all are -inf."""
    peaks = values.max(axis=-1, keepdims=True)
    sizes = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=-1, keepdims=True)
    return np.asarray(np.argmax(values >= peaks - UTILITY_NOISE * sizes, axis=-1))


def _joint(probability: Factor, utility: Factor) -> JointFactor:
    """From parts that are known to be right."""
    factor = object.__new__(JointFactor)
    factor.probability, factor.utility = probability, utility
    return factor


def _spread(factor: Factor, scope: tuple[Variable, ...]) -> np.ndarray:
    """The numbers of a factor over a larger scope, without the axes of one-state variables."""
    own = factor.flat.reshape(table_shape(factor.scope))
    return np.broadcast_to(align(own, factor.scope, scope), table_shape(scope))
