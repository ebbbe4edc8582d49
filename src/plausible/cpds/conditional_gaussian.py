"""Conditional linear Gaussian CPDs: a linear Gaussian for each assignment to the discrete parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from plausible.base import Floats
from plausible.cpds.base import CPD, Columns, slice_at
from plausible.cpds.linear_gaussian import GaussianCPD, LinearGaussianCPD, gaussian_text
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    name_of,
    numbers,
    read_continuous_child,
    read_parents,
    record_field,
    record_list,
    state_index,
    state_label,
)
from plausible.errors import InvalidCPD, NotSupported, UnknownVariable
from plausible.factors.alignment import num_entries
from plausible.factors.gaussian import GaussianFactor
from plausible.variables import State, Variable


class ConditionalGaussianCPD(GaussianCPD):
    """A linear Gaussian for each state a of the discrete parents: Y ~ N(β_0(a) + Σ β_i(a) z_i, σ²(a)) (Lauritzen 1992).

    Parameters
    ----------
    intercept
        β_0: an array with one axis per discrete parent, in order; or one number for all states.
    coefficients
        Continuous parent -> β_i, shaped like the intercept. Parents without coefficients are discrete.
    variance
        σ², shaped like the intercept. Where it is zero, Y is a function of its parents, as in `LinearGaussianCPD`.
    parents
        Names or `Variable` objects, discrete and continuous, in any order.

    Examples
    --------
    >>> height = ConditionalGaussianCPD("height", intercept=[70.0, 75.0], coefficients={"age": [4.0, 3.5]},
    ...                                 variance=25.0, parents=[Variable("sex", ["f", "m"]), Variable("age")])
    >>> print(height)
    height | sex=f ~ N(70 + 4 age, 25)
    height | sex=m ~ N(75 + 3.5 age, 25)
    >>> height.mean({"sex": np.array([0, 1]), "age": np.array([10.0, 10.0])})
    array([110., 110.])
    >>> height.given({"sex": "m"}).coefficients
    array([3.5])
    """

    __slots__ = ("_coefficients", "_intercept", "_variance", "continuous_names", "discrete_names")

    kind: ClassVar[str] = "conditional-gaussian"
    discrete_names: tuple[str, ...]
    continuous_names: tuple[str, ...]
    _intercept: Floats
    #: One array for each continuous parent.
    _coefficients: tuple[Floats, ...]
    _variance: Floats

    def __init__(
        self,
        variable: VariableLike,
        intercept: npt.ArrayLike,
        coefficients: Mapping[str, npt.ArrayLike],
        variance: npt.ArrayLike,
        parents: VariableLike | Iterable[VariableLike],
    ) -> None:
        name = name_of(variable)
        self.variable = read_continuous_child(variable)
        self.parent_names, self._known_parents = read_parents(name, parents)
        for parent in coefficients:
            if parent not in self.parent_names:
                raise UnknownVariable.named(parent, self.parent_names, f"the parents of {name!r}")
        self.continuous_names = tuple(parent for parent in self.parent_names if parent in coefficients)
        self.discrete_names = tuple(parent for parent in self.parent_names if parent not in coefficients)
        self._intercept = numbers(intercept, f"The intercept of {name!r}")
        self._coefficients = tuple(
            numbers(coefficients[parent], f"The coefficients of {parent!r} for {name!r}")
            for parent in self.continuous_names
        )
        self._variance = numbers(variance, f"The variance of {name!r}")
        if (self._variance < 0).any():
            raise InvalidCPD(f"The variance of {name!r} is {self._variance.min():g} somewhere; it can't be negative.")
        self._settle()

    def _settle(self) -> None:
        for parent in self._known_parents:
            if parent is not None and parent.is_continuous != (parent.name in self.continuous_names):
                problem = "is continuous and needs" if parent.is_continuous else "has states and can't have"
                raise InvalidCPD(f"The parent {parent.name!r} of {self.variable.name!r} {problem} coefficients.")
        if self.is_bound:
            self._intercept = self._shaped(self._intercept, "intercept")
            pairs = zip(self.continuous_names, self._coefficients, strict=True)
            self._coefficients = tuple(self._shaped(array, f"coefficients of {parent!r}") for parent, array in pairs)
            self._variance = self._shaped(self._variance, "variance")
        else:
            self._check_shapes()

    def _check_shapes(self) -> None:
        """Arrays over parents known by name only must at least be shaped alike."""
        shapes = {array.shape for array in self._arrays if array.ndim}
        if len(shapes) > 1 or any(len(shape) != len(self.discrete_names) for shape in shapes):
            raise InvalidCPD(
                f"The arrays of {self.variable.name!r} have shapes {sorted(shapes)}; they need one axis for each "
                f"discrete parent in {list(self.discrete_names)}, and the same sizes."
            )

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return (self._intercept, *self._coefficients, self._variance)

    def _shaped(self, array: Floats, what: str) -> Floats:
        """An array over the discrete parents, from one or from a single number."""
        shape = tuple(parent.num_states for parent in self.discrete_parents)
        if array.ndim and array.shape != shape:
            axes = ", ".join(self.discrete_names)
            raise InvalidCPD(
                f"The {what} of {self.variable.name!r} has axes ({axes}) and needs shape {shape}, not {array.shape}."
            )
        return np.broadcast_to(array, shape)

    @property
    def discrete_parents(self) -> tuple[Variable, ...]:
        """The parents with states, in order: the axes of all arrays."""
        return tuple(parent for parent in self.parents if parent.name in self.discrete_names)

    @property
    def continuous_parents(self) -> tuple[Variable, ...]:
        """The parents with coefficients, in order."""
        return tuple(parent for parent in self.parents if parent.name in self.continuous_names)

    @property
    def intercept(self) -> Floats:
        """β_0 for each assignment to the discrete parents, read-only."""
        return self._intercept

    @property
    def coefficients(self) -> Mapping[str, Floats]:
        """Continuous parent -> β_i for each assignment to the discrete parents, read-only."""
        return dict(zip(self.continuous_names, self._coefficients, strict=True))

    @property
    def variance(self) -> Floats:
        """σ² for each assignment to the discrete parents, read-only."""
        return self._variance

    def given(self, assignment: Mapping[str, State]) -> LinearGaussianCPD:
        """The linear Gaussian CPD where every discrete parent has a state; other names are ignored."""
        missing = [name for name in self.discrete_names if name not in assignment]
        if missing:
            raise InvalidCPD(f"The CPD of {self.variable.name!r} needs a state of its discrete parent {missing[0]!r}.")
        where = f"The assignment for {self.variable.name!r}"
        place = tuple(state_index(parent, assignment[parent.name], where) for parent in self.discrete_parents)
        return LinearGaussianCPD(
            self.variable,
            float(self._intercept[place]),
            [float(array[place]) for array in self._coefficients],
            float(self._variance[place]),
            self.continuous_parents,
        )

    @property
    def num_parameters(self) -> int:
        """For each assignment to the discrete parents an intercept, the coefficients and a variance."""
        return num_entries(self.discrete_parents) * (2 + len(self.continuous_names))

    def _place(self, columns: Columns) -> tuple[npt.NDArray[Any], ...]:
        return tuple(self._column(columns, parent) for parent in self.discrete_parents)

    def mean(self, columns: Columns) -> Floats:
        """E[Y | a, z] of each row of parents."""
        place = self._place(columns)
        total = np.asarray(self._intercept[place])
        for parent, array in zip(self.continuous_parents, self._coefficients, strict=True):
            total = total + array[place] * self._column(columns, parent)
        return total

    def _variance_at(self, columns: Columns) -> Floats:
        return np.asarray(self._variance[self._place(columns)])

    def to_factors(self) -> tuple[GaussianFactor, ...]:
        """The density in canonical form, where the discrete parents leave no choice; otherwise refused."""
        if num_entries(self.discrete_parents) > 1:
            wide = next(parent.name for parent in self.discrete_parents if parent.num_states > 1)
            raise NotSupported(
                f"The CPD of {self.variable.name!r} is a different Gaussian for each state of {wide!r}, and their "
                "mixture is no single factor. Fix the discrete parents with given(...), or use log_probability()."
            )
        return self.given({parent.name: parent.states[0] for parent in self.discrete_parents}).to_factors()

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        axes = {name: axis for axis, name in enumerate(self.discrete_names)}
        here = {axes[name]: p for a, p in fixed.items() if (name := self.parent_names[a]) in axes}
        along = tuple(axes[name] for a in free if (name := self.parent_names[a]) in axes)
        coefficients = {name: slice_at(array, here) for name, array in self.coefficients.items()}
        arrays = [slice_at(self._intercept, here), slice_at(self._variance, here), *coefficients.values()]
        same = all(bool((a.max(axis=along) - a.min(axis=along)).max() <= tolerance) for a in arrays)
        named = [self.parent_names[a] for a in free if self.parent_names[a] in coefficients]
        return same and all(bool(np.abs(coefficients[name]).max() <= tolerance) for name in named)

    def to_record(self) -> dict[str, Any]:
        """All arrays in a row, the last discrete parent's state changing fastest."""
        self._require_bound()
        return {
            "intercept": self._intercept.ravel().tolist(),
            "coefficients": [array.ravel().tolist() for array in self._coefficients],
            "variance": self._variance.ravel().tolist(),
        }

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        shape = tuple(parent.num_states for parent in parents if not parent.is_continuous)
        continuous = [parent.name for parent in parents if parent.is_continuous]
        listed = record_list(variable, record, "coefficients")
        if len(listed) != len(continuous):
            raise InvalidCPD(f"The record of {variable.name!r} needs coefficients for {continuous}.")
        arrays = [
            _reshaped(variable, values, shape)
            for values in (
                record_field(variable, record, "intercept"),
                *listed,
                record_field(variable, record, "variance"),
            )
        ]
        return cls(variable, arrays[0], dict(zip(continuous, arrays[1:-1], strict=True)), arrays[-1], parents)

    def _content(self) -> object:
        return self.continuous_names, [array.tolist() for array in self._arrays]

    def _shown(self) -> TextLines:
        arrays = np.broadcast_arrays(*self._arrays)
        known = dict(zip(self.parent_names, self._known_parents, strict=True))
        lines = []
        for place in np.ndindex(arrays[0].shape):
            names = self.discrete_names[: len(place)]
            labels = [state_label(name, known[name], i) for name, i in zip(names, place, strict=True)]
            intercept, *coefficients, variance = (float(array[place]) for array in arrays)
            terms = zip(self.continuous_names, coefficients, strict=True)
            context = f" | {', '.join(labels)}" if labels else ""
            lines.append(f"{self.variable.name}{context} ~ {gaussian_text(intercept, terms, variance)}")
        return TextLines("", lines, "lines")

    def _is_close(self, other: CPD, tolerance: float) -> bool:
        if isinstance(other, LinearGaussianCPD):
            coefficients = dict(zip(other.parent_names, other.coefficients.tolist(), strict=True))
            other = ConditionalGaussianCPD(other.variable, other.intercept, coefficients, other.variance, other.parents)
        if not isinstance(other, ConditionalGaussianCPD):
            return False
        order = [other.discrete_names.index(name) for name in self.discrete_names]
        pairs = [(self._intercept, other._intercept), (self._variance, other._variance)]
        pairs += [(array, other.coefficients[name]) for name, array in self.coefficients.items()]
        return all(np.allclose(mine, its.transpose(order), rtol=0, atol=tolerance) for mine, its in pairs)


def _reshaped(variable: Variable, values: Any, shape: tuple[int, ...]) -> Floats:
    array = numbers(values, f"The record of {variable.name!r}")
    if array.shape != (int(np.prod(shape)),):
        raise InvalidCPD(f"The record of {variable.name!r} needs {int(np.prod(shape))} numbers, not {array.shape}.")
    return array.reshape(shape)
