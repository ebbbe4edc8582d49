"""Conditional Gaussians in NET files: `normal ( 1 + 2 * X, 0.5 )`, one for each assignment to the discrete parents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np

from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.errors import NotRepresentable
from plausible.io.assembly import Place, check_axes, count_text
from plausible.io.blocks import Value
from plausible.io.scanner import numbers, shown
from plausible.variables import Variable

_NORMAL: Final = re.compile(r"normal\s*\(([^,()]*),([^,()]*)\)")
_NUMBER: Final = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NAME: Final = r"[^\W\d]\w*"
_TERM: Final = re.compile(
    rf"\s*([+-]?)\s*(?:({_NUMBER})\s*\*\s*({_NAME})|({_NAME})(?:\s*\*\s*({_NUMBER}))?|({_NUMBER}))\s*(?=[+-]|\Z)"
)


def gaussian_cpd(variable: Variable, parents: Mapping[str, Variable], data: Value) -> CPD:
    """The distribution in the data of a potential; `parents` are keyed by their names in the file."""
    discrete = [parent for parent in parents.values() if not parent.is_continuous]
    continuous = {written: parent.name for written, parent in parents.items() if parent.is_continuous}
    shape = [parent.num_states for parent in discrete]
    matches = list(_NORMAL.finditer(data.source, data.start, data.end))
    if _NORMAL.sub("", data.raw).strip("() \t\r\n,") or not matches:
        raise data.place.error(f"Expected 'normal ( mean, variance )' for {variable.name!r}, not {shown(data.raw)}.")
    check_axes(variable.name, shape, data.place)
    if len(matches) != prod(shape):
        needed = count_text(prod(shape))
        raise data.place.error(f"{variable.name!r} needs {needed} normal distributions, not {len(matches)}.")
    means = [_mean(match, continuous) for match in matches]
    intercepts, variances = [mean.pop("") for mean in means], [_variance(match) for match in matches]
    if not discrete:
        return LinearGaussianCPD(variable, intercepts[0], means[0], variances[0], list(parents.values()))
    coefficients = {name: _shaped([mean[name] for mean in means], shape) for name in continuous.values()}
    return ConditionalGaussianCPD(
        variable, _shaped(intercepts, shape), coefficients, _shaped(variances, shape), list(parents.values())
    )


def _shaped(values: Sequence[float], shape: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64).reshape(shape)


def _variance(match: re.Match[str]) -> float:
    found = numbers(match[2])
    if found is None or found.size != 1:
        raise Place.at(match.string, match.start(2)).error(f"Expected a variance, not {shown(match[2])}.")
    return float(found[0])


def _mean(match: re.Match[str], continuous: Mapping[str, str]) -> dict[str, float]:
    """The coefficient of each continuous parent, and under the empty name the intercept."""
    total = dict.fromkeys(["", *continuous.values()], 0.0)
    position, end = match.span(1)
    while position < end:
        term = _TERM.match(match.string, position, end)
        if term is None:
            found = shown(match.string[position:end])
            raise Place.at(match.string, position).error(f"Expected a sum like '1.5 + 2 * X', not {found}.")
        name = term[3] or term[4]
        if name is not None and name not in continuous:
            raise Place.at(match.string, position).error(f"{name!r} is not a continuous parent of this node.")
        size = float(term[2] or term[5] or term[6] or 1.0)
        total[continuous[name] if name else ""] += -size if term[1] == "-" else size
        position = term.end()
    return total


# --- writing ---


def normal_texts(cpd: CPD, names: Mapping[str, str]) -> tuple[list[str], list[int]]:
    """`normal ( ... )` for each assignment to the discrete parents, and the sizes of these; `names` as written."""
    if isinstance(cpd, LinearGaussianCPD):
        coefficients = dict(zip(cpd.parent_names, cpd.coefficients.tolist(), strict=True))
        return [_normal(cpd.intercept, coefficients, cpd.variance, names)], []
    if not isinstance(cpd, ConditionalGaussianCPD):
        raise NotRepresentable(
            f"NET files hold continuous variables as conditional Gaussians; {cpd.variable.name!r} has a "
            f"{type(cpd).__name__}. Save as .json."
        )
    return list(_normals(cpd, names)), [parent.num_states for parent in cpd.discrete_parents]


def _normals(cpd: ConditionalGaussianCPD, names: Mapping[str, str]) -> Iterator[str]:
    coefficients = {name: array.ravel() for name, array in cpd.coefficients.items()}
    variances = cpd.variance.ravel()
    for row, intercept in enumerate(cpd.intercept.ravel()):
        here = {name: float(array[row]) for name, array in coefficients.items()}
        yield _normal(float(intercept), here, float(variances[row]), names)


def _normal(intercept: float, coefficients: Mapping[str, float], variance: float, names: Mapping[str, str]) -> str:
    terms = [repr(intercept)]
    for name, coefficient in coefficients.items():
        sign = "-" if np.signbit(coefficient) else "+"
        terms.append(f"{sign} {abs(coefficient)!r} * {names[name]}")
    return f"normal ( {' '.join(terms)}, {variance!r} )"
