"""Error bars on answers: how far they move with parameters that are themselves uncertain."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from plausible.base import Floats, QueryInfo
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.variables import EvidenceLike, State
from plausible.variables.evidence import findings_of, settings_of

if TYPE_CHECKING:
    from plausible.inference.sensitivity.derivatives import Derivatives


Slopes: TypeAlias = Mapping[str, Floats]


@runtime_checkable
class ParameterUncertainty(Protocol):
    """What is known about the parameters of a network."""

    @property
    def estimated(self) -> Collection[str]:
        """The variables whose parameters are uncertain, too, but of which nothing is known here."""

    def variance_along(self, slopes: Slopes) -> float:
        """The variance of Σ slope · θ over all entries of all tables, by the names of their variables."""


@runtime_checkable
class HasPosterior(Protocol):
    """A fit that holds what is known about the parameters."""

    @property
    def posterior(self) -> ParameterUncertainty:
        """What is known about the parameters."""


class _Differentiable(Protocol):
    """A network that answers for derivatives."""

    def derivatives(self, evidence: Any = None, query: Any = None) -> Derivatives:
        """dP(e)/dθ, or dP(x | e)/dθ."""

    @property
    def graph(self) -> DAG:
        """Its graph."""

    def intervene(self, do: Mapping[str, State]) -> _Differentiable:
        """The mutilated network of do(X = x)."""


def with_error_bars(
    network: Any,
    answer: Factor,
    evidence: EvidenceLike | None,
    do: Mapping[str, State] | None,
    uncertainty: ParameterUncertainty | HasPosterior,
) -> Factor:
    """An answer whose `.info` has a standard deviation for each number, by the delta method.

    Var P(x | e) ≈ g' Σ g, where g is the gradient of the answer in all entries of all tables, taken at the network's
    own, and Σ their covariance. It falls as 1/N, and is exact where the answer is linear in the parameters. Refused
    where other distributions that were estimated matter, such as Gaussian ones: their part would be left out.
    """
    settings = settings_of(do)
    asked: _Differentiable = network.intervene(settings) if settings else network
    findings = dict(findings_of(evidence))
    known = _known(uncertainty)
    _refuse_unknown_part(known, asked.graph, {*findings, *(variable.name for variable in answer.scope)}, settings)
    deviations = np.zeros(answer.values.shape)
    for place in np.ndindex(deviations.shape):
        cell = {variable.name: variable.states[i] for variable, i in zip(answer.scope, place, strict=True)}
        slopes = {name: s for name, s in _slopes(asked, cell, findings).items() if name not in settings}
        deviations[place] = math.sqrt(max(known.variance_along(slopes), 0.0))
    deviations.setflags(write=False)
    info = answer.info if isinstance(answer.info, QueryInfo) else QueryInfo("")
    return answer.with_info(replace(info, error=float(deviations.max(initial=0.0)), standard_deviations=deviations))


def _known(uncertainty: object) -> ParameterUncertainty:
    """What is known about the parameters, also where it is given inside of a fit."""
    held = uncertainty.posterior if isinstance(uncertainty, HasPosterior) else uncertainty
    if not isinstance(held, ParameterUncertainty):
        raise InvalidArgument(
            f"uncertainty= is what is known about the parameters, such as fit_parameters(...).posterior, not a "
            f"{type(uncertainty).__name__}."
        )
    return held


def _refuse_unknown_part(
    known: ParameterUncertainty, graph: DAG, asked: Collection[str], settings: Collection[str]
) -> None:
    """Refuse error bars that would leave out part of the uncertainty; only ancestors of what is asked about matter."""
    relevant = {*asked, *graph.ancestors(asked)} - set(settings)
    left_out = sorted(name for name in known.estimated if name in relevant)
    if left_out:
        raise NotSupported(
            f"The parameters of {', '.join(map(repr, left_out))} were estimated, too, but are no tables: error bars "
            "would leave out how uncertain they are. Leave out uncertainty=, or ask what does not depend on them."
        )


def _slopes(network: _Differentiable, cell: Mapping[str, State], findings: Mapping[str, Any]) -> Slopes:
    """The gradient of P(cell | findings)."""
    if len(cell) == 1:
        return network.derivatives(findings, query=next(iter(cell.items()))).of_value
    for name in cell:
        if name in findings:
            raise NotSupported(
                f"Error bars of a joint answer can't have evidence on one of its own variables: leave out {name!r}."
            )
    below, above = network.derivatives(findings), network.derivatives({**findings, **cell})
    if not below.value:
        raise NotSupported("The evidence is too improbable for error bars of a joint answer; ask for one variable.")
    share = above.value / below.value
    return {name: (above[name] - share * below[name]) / below.value for name in below.of_value}
