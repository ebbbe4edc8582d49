"""Learning the parameters of a network from data: the front door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base import Flags, Floats, Remedy, Result, keyword_hints
from plausible.cpds import CPD
from plausible.cpds.reading import place_text
from plausible.data.column_types import warn_of_one_row
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, NotSupported, PlausibleWarning, counted, warn_caller
from plausible.learn.estimation.families import (
    CPDLearner,
    Families,
    FamilyTask,
    ParameterKnowledge,
    UnidentifiedParameters,
    check_knowledge,
    read_families,
)
from plausible.learn.estimation.learners import find_learners
from plausible.learn.estimation.posterior import ParameterPosterior, posterior_of
from plausible.learn.estimation.priors import Estimate, PriorLike, Unseen, is_no_prior, refuse_unknown
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.expectations import FamilyCounts
from plausible.models import BayesianNetwork
from plausible.models.shown_parts import learned_html, title_of
from plausible.search.checkpoint import AnyPath
from plausible.variables import State


class ExpectedCounts(PlausibleWarning):
    """Counts that were expected, where cells are missing, are taken for seen ones: a posterior is too narrow."""


@dataclass(frozen=True, slots=True, eq=False)
class ParameterFit(Result):
    """A network whose parameters were learned, and how much the data tell about them."""

    _told = ("network", "num_unidentified")

    network: BayesianNetwork  # The network
    posterior: ParameterPosterior  # Over its tables; other distributions are in it as estimated, without uncertainty
    #: Name -> where the data and the prior leave parameters open: for tables, trees and Gaussians a mask with an axis
    #: for each discrete parent, for noisy-or and logistic distributions one entry for each parent. Variables all of
    #: whose parameters are identified are left out.
    unidentified: Mapping[str, Flags]

    @property
    def num_unidentified(self) -> int:
        """How many rows, or parents, of all distributions are not identified."""
        return sum(int(mask.sum()) for mask in self.unidentified.values())

    def unidentified_rows(self, name: str) -> list[dict[str, State]]:
        """The states of the discrete parents for which the distribution of a variable is not identified."""
        cpd, mask = self.network.cpd(name), self.unidentified.get(name)
        parents = [parent for parent in cpd.parents if not parent.is_continuous]
        if mask is None:
            return []
        if cpd.kind in ("noisy-or", "logistic"):
            raise NotSupported(f"The {cpd.kind} distribution of {name!r} has no rows; unidentified[{name!r}] tells.")
        return [
            {parent.name: parent.states[i] for parent, i in zip(parents, place, strict=True)}
            for place in np.argwhere(mask).tolist()
        ]

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    def __repr__(self) -> str:
        return f"<ParameterFit of {self.network!r}, {counted(self.num_unidentified, 'row')} not identified>"


@keyword_hints
def learn_parameters(
    graph: object,
    data: DataLike,
    prior: PriorLike = None,
    *,
    estimate: Estimate | None = None,
    unseen: Unseen | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
) -> BayesianNetwork:
    """Learn the parameters of a network with a given graph; `fit_parameters` returns more detail.

    If cells are missing, this uses expectation maximisation, which assumes that they are missing at random (`learn.em`
    has more options, such as hidden variables and restarts). An `UnidentifiedParameters` warning says if the data do
    not determine some parameters and `unseen` does not say what to do.

    Parameters
    ----------
    graph
        A DAG, a string of arrows, or a network, which also sets the states of its variables, as do a network of fixed
        CPDs and that of a `BDe` prior.
    data
        Rows (a data frame, columns, a file, a matrix, a `Table`), with or without missing cells, or their statistics.
    prior
        The prior of tables and trees: one for all, or name -> prior. A prior is an object or a string: "k2", "bdeu:10",
        "dirichlet:1" or "none".
    estimate
        For tables and trees: the posterior "mean", the posterior mode ("map") or maximum likelihood ("mle"). By default
        the mean if there is a prior, else maximum likelihood.
    unseen
        What to do with table rows without cases: "uniform", "error", or "prior", which needs a prior for each such
        table.
    kinds
        Name -> kind of distribution, if not a table: "tree", "noisy-or", "logistic", or a learner such as
        `LogisticLearner(penalty=1)`. Continuous variables are linear Gaussian, discrete ones with continuous parents
        logistic.
    knowledge
        Fixed CPDs, tied tables, and starting values.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"rain": ["no", "yes", "no", "no"], "grass": ["dry", "wet", "wet", "dry"]}
    >>> print(pb.learn.parameters("rain -> grass", rows, prior=pb.BDeu(4)).cpd("grass"))
    rain | grass=dry | grass=wet
    -----+-----------+----------
    no   |       0.6 |       0.4
    yes  |  0.333333 |  0.666667
    """
    fit = fit_from_data(
        graph, data, prior, estimate=estimate, unseen=unseen or "uniform", kinds=kinds, knowledge=knowledge
    )[0]
    if unseen is None and fit.unidentified:
        names = ", ".join(map(repr, list(fit.unidentified)[:5])) + (", ..." if len(fit.unidentified) > 5 else "")
        warn_caller(
            f"There is no data for {counted(fit.num_unidentified, 'row')} of {names}; what is missing was filled in. "
            "Give a prior=, such as BDeu(10), or unseen='uniform' if that is meant; fit_parameters lists them.",
            UnidentifiedParameters,
        )
    return fit.network


def fit_parameters(
    graph: object,
    data: DataLike,
    prior: PriorLike = None,
    *,
    estimate: Estimate | None = None,
    unseen: Unseen = "uniform",
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
) -> ParameterFit:
    """As `learn.parameters`, with the posterior, and a list of what the data leave open.

    The likelihood is a product over families, so that each is learned on its own: a table by θ_{x|u} = (α_xu + N_xu) /
    (α_u + N_u), by its mode, or by N_xu / N_u. Where cells are missing, N are the counts expected under the network
    that expectation maximisation finds; the posterior then takes them for counted ones, which makes it too narrow, and
    an `ExpectedCounts` warning says so: draws of `sample_parameters` have the right width. Arguments are those of
    `learn.parameters`; table rows without cases are "uniform", an "error", or filled by the "prior", which each such
    table then needs.

    >>> from plausible.data.table import Table
    >>> from plausible.variables import Variable
    >>> fit = fit_parameters("rain -> grass", Table.read({"rain": [0, 0], "grass": [0, 1]}, [Variable("rain", 2)]))
    >>> fit.unidentified_rows("grass")
    [{'rain': 1}]
    """
    fit, missing = fit_from_data(graph, data, prior, estimate=estimate, unseen=unseen, kinds=kinds, knowledge=knowledge)
    if missing and fit.posterior.families:
        warn_caller(_of_expected_counts(missing))
    return fit


def _of_expected_counts(missing: Mapping[str, int]) -> ExpectedCounts:
    """The warning about a posterior of rows with missing cells."""
    columns = ", ".join(f"{name!r} ({number})" for name, number in list(missing.items())[:5])
    more = "" if len(missing) <= 5 else f" and {counted(len(missing) - 5, 'other column')}"
    cells = counted(sum(missing.values()), "missing cell")
    return ExpectedCounts(
        f"The posterior takes {cells} for seen, at their expected counts, in {columns}{more}: its intervals, and error "
        "bars of answers, are too narrow. The network itself is right.",
        remedies=[
            Remedy("take the draws of learn.sample_parameters(graph, data, prior) as uncertainty="),
            Remedy("fit the rows without a gap, learn.complete_rows(data), if gaps are there by chance alone"),
        ],
    )


def fit_from_data(
    graph: object,
    data: DataLike,
    prior: PriorLike = None,
    *,
    estimate: Estimate | None = None,
    unseen: Unseen = "uniform",
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
    checkpoint: AnyPath | None = None,
) -> tuple[ParameterFit, Mapping[str, int]]:
    """As `fit_parameters`, without its warning; and name -> how many of its cells were missing, of those that were.

    Where EM completes them, its `checkpoint` may be kept.
    """
    if unseen not in ("uniform", "error", "prior"):
        raise InvalidArgument(f"unseen= is 'uniform', 'error' or 'prior', not {unseen!r}.")
    if unseen == "prior" and is_no_prior(prior):
        raise InvalidArgument("unseen='prior' needs a prior, such as prior=BDeu(10).")
    known = knowledge or ParameterKnowledge()
    families = read_families(graph, data, known.fixed, getattr(prior, "network", None))
    if not isinstance(graph, BayesianNetwork):
        warn_of_one_row(families.statistics.num_rows, families.variables)
    check_knowledge(known, families.parents)
    refuse_unknown(prior, list(families.variables))
    missing = {name: count for name, count in families.statistics.missing.items() if name in families.variables}
    if missing:
        families, known = _completed(graph, families, prior, estimate, kinds, known, checkpoint)
    learners = find_learners(families, kinds or {}, known)
    chosen: Estimate = estimate or ("mle" if is_no_prior(prior) else "mean")
    others: dict[str, CPD] = {}  # the distributions that are no tables
    unidentified: dict[str, Flags] = {}
    for name, learner in learners.items():
        fit = learner.fit(FamilyTask(families, name, prior, known.start_cpds.get(name), chosen, unseen))
        others[name] = fit.cpd
        if fit.unidentified.any():
            unidentified[name] = fit.unidentified
    given = ParameterKnowledge((*known.fixed_cpds.values(), *others.values()), known.tied)
    posterior = replace(posterior_of(families, prior, given, list(families.variables)), estimated=frozenset(others))
    tables: dict[str, Floats] = {}
    for name, family in posterior.families.items():
        tables[name], is_open = family.filled(chosen, unseen)
        if is_open.any():
            sharing = [other for other, owner in posterior.owners.items() if owner == name]
            unidentified |= dict.fromkeys([name, *sharing], is_open)
    network = posterior.network_of(tables)
    if unseen != "uniform":
        _refuse_open(network, unidentified, unseen)
    return ParameterFit(network, posterior, MappingProxyType(unidentified)), missing


def _completed(
    graph: object,
    families: Families,
    prior: PriorLike,
    estimate: Estimate | None,
    kinds: Mapping[str, str | CPDLearner] | None,
    knowledge: ParameterKnowledge,
    checkpoint: AnyPath | None,
) -> tuple[Families, ParameterKnowledge]:
    """The families with the counts expected under the network that EM finds.

    Families with numbers have none; they are known by what EM has learned.
    """
    options: dict[str, Any] = {"estimate": estimate, "kinds": kinds, "knowledge": knowledge}
    fit = learn_em(graph, families.statistics, prior, **options, tolerance=1e-8, checkpoint=checkpoint)
    counts = FamilyCounts(families.variables, families.parents, fit.expectations.counts, fit.cases.total)
    numbers = [cpd for cpd in fit.network.cpds.values() if any(v.is_continuous for v in cpd.scope)]
    fixed = {**knowledge.fixed_cpds, **{cpd.variable.name: cpd for cpd in numbers}}
    completed = Families(families.variables, families.parents, counts)
    return completed, replace(knowledge, fixed=tuple(fixed.values()))


def _refuse_open(network: BayesianNetwork, unidentified: Mapping[str, Flags], unseen: Unseen) -> None:
    """Refuse what is open; of what a prior should fill, only distributions that take one: tables and trees."""
    for name, mask in unidentified.items():
        cpd = network.cpd(name)
        takes_prior, rows = cpd.kind in ("table", "tree"), ""
        if cpd.kind not in ("noisy-or", "logistic"):
            parents = [parent for parent in cpd.parents if not parent.is_continuous]
            where = f", such as that of {place_text(parents, tuple(np.argwhere(mask)[0].tolist()))}" if parents else ""
            rows = f"{counted(int(mask.sum()), 'row')} of {name!r}{where}"
        if unseen == "prior" and takes_prior:
            raise InvalidArgument(
                f"There are no cases for {rows}, and no prior either. Give prior= one for {name!r}, too, or "
                "unseen='uniform'."
            )
        if unseen == "error" and not rows:
            never = next(parent for parent, is_open in zip(cpd.parent_names, mask, strict=True) if is_open)
            lacking = "is never active" if cpd.kind == "noisy-or" else "never varies"
            raise InvalidArgument(
                f"The {cpd.kind} distribution of {name!r} can't be learned: its parent {never!r} {lacking} in the "
                f"data. Leave {never!r} out, give cases in which it does, or unseen='uniform'."
            )
        if unseen == "error":
            advice = "Give a prior=, such as BDeu(10)," if takes_prior else "Give more rows,"
            raise InvalidArgument(f"There are too few cases to learn {rows}. {advice} or unseen='uniform'.")
