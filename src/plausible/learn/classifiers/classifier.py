"""What all classifiers by Bayesian networks share: to fit tables and densities on a graph, and ask for the class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from inspect import cleandoc
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, logarithms
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD
from plausible.data import Discretizer, Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, PlausibleWarning, warn_caller
from plausible.graphs import DAG
from plausible.learn.classifiers.estimator import (
    Classes,
    Estimator,
    number_variables,
    read_classes,
    read_features,
    unseen_states,
    with_unseen_missing,
)
from plausible.learn.estimation.families import FamilyFit, FamilyTask
from plausible.learn.estimation.learners import GaussianLearner
from plausible.learn.estimation.priors import Dirichlet, PriorLike
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.structures.knowledge import named_in
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: Stands in docstrings of subclasses for the options of all classifiers.
_SHARED_OPTIONS = "prior, discretizer, bins, unseen, smoothing\n    Those of `NetworkClassifier`."


class IncompleteRows(PlausibleWarning):
    """Some rows have missing cells and are not learned from."""


class UnseenStates(PlausibleWarning):
    """Some cells hold states that were not there when a classifier was fitted; they count as missing."""


@dataclass(frozen=True, slots=True)
class SmoothedGaussian:
    """The Gaussian of greatest likelihood, with a small share of the variance of the whole column added to each.

    A feature that is constant in a class gets the variance that it has in all classes together.
    """

    share: float = 1e-9

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a continuous variable given its parents."""
        fit = GaussianLearner().fit(task)
        rows = task.rows()
        column = np.asarray(rows.columns[task.name], dtype=np.float64)
        mean = float(np.average(column, weights=rows.weights))
        spread = float(np.average((column - mean) ** 2, weights=rows.weights))
        is_constant = spread <= (1e-12 * mean) ** 2  # nothing but rounding
        cpd, more = fit.cpd, self.share * (1.0 if is_constant else spread)
        if isinstance(cpd, ConditionalGaussianCPD):
            continuous = tuple(parent.name for parent in task.parents if parent.is_continuous)
            parents = {**task.families.parents, task.name: continuous}
            pooled = GaussianLearner().fit(replace(task, families=replace(task.families, parents=parents))).cpd
            assert isinstance(pooled, LinearGaussianCPD)
            variance = np.where(cpd.variance > 0, cpd.variance, pooled.variance) + more
            wider = ConditionalGaussianCPD(cpd.variable, cpd.intercept, cpd.coefficients, variance, cpd.parents)
            return fit._replace(cpd=wider)
        assert isinstance(cpd, LinearGaussianCPD)
        spread_out = LinearGaussianCPD(cpd.variable, cpd.intercept, cpd.coefficients, cpd.variance + more, cpd.parents)
        return fit._replace(cpd=spread_out)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(Estimator, ABC):
    """A Bayesian network over features and a class; subclasses choose the graph.

    Parameters
    ----------
    prior
        Pseudo-counts of tables: a number for each cell, a prior such as `BDeu(10)` or its name ("bdeu:10"), or `None`
        for frequencies alone.
    discretizer
        `None` for Gaussian densities of continuous features; a method of `Discretizer.fit`, such as "mdl" or
        "quantile"; or a `Discretizer`.
    bins
        How many intervals a method makes of a feature.
    unseen
        What becomes of a state that was not there when fitting, as a rare one may not be in a fold of a
        cross-validation: "warn" and sum it out as a missing cell, sum it out without a warning ("missing"), or "error".
    smoothing
        What is added to the variance of a Gaussian, as a share of that of the feature.

    """

    _estimator_type: ClassVar[str] = "classifier"  # For users of scikit-learn before 1.6, who ask by this name

    prior: PriorLike | float = 1.0
    discretizer: Discretizer | str | None = None
    bins: int = 4
    unseen: str = "warn"
    smoothing: float = 1e-9

    classes_: NDArray[Any] = field(init=False)  # The classes, sorted
    class_name_: str = field(init=False)  # What the class is called in the network: the name of `y`, or "class"
    #: The network that was learned, over the features (discretised ones as intervals) and the class.
    network_: BayesianNetwork = field(init=False)
    discretizer_: Discretizer | None = field(init=False)  # What cuts continuous features; `None` for Gaussians
    n_features_in_: int = field(init=False)  # with `feature_names_in_` where names were given

    def __init_subclass__(cls, **options: Any) -> None:
        """Let the docstrings of subclasses tell the options that all share, which are written here."""
        super().__init_subclass__(**options)
        if cls.__doc__ and NetworkClassifier.__doc__:
            options_of_all = cleandoc(NetworkClassifier.__doc__).partition("----------\n")[2].partition("\n\n")[0]
            cls.__doc__ = cleandoc(cls.__doc__).replace(_SHARED_OPTIONS, options_of_all)

    @abstractmethod
    def _graph(self, table: Table, target: str) -> DAG:
        """The graph over the columns of a table, of which the target is the class."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn graph, tables and densities from rows of a frame, name -> column, a matrix, or a list of rows.

        Columns of fractional numbers are continuous, all others have states. Rows with missing cells are left out, with
        a warning (`IncompleteRows`), and so are columns that are hardly variables (ids, dates, a value of its own for
        most rows), unless an option or `Table.read(..., columns=)` names them; `predict` passes over them. `y` is the
        class of each row, and `sample_weight` how often it counts.
        """
        if self.unseen not in ("warn", "missing", "error"):
            raise InvalidArgument(f"unseen= is 'warn', 'missing' or 'error', not {self.unseen!r}.")
        if not self.smoothing >= 0:
            raise InvalidArgument(f"smoothing= is a share of the variance, not {self.smoothing!r}.")
        columns = read_features(X)
        classes = read_classes(y, columns)
        if isinstance(X, Table) and sample_weight is None:
            sample_weight = X.weights
        known = number_variables(X, columns)
        raw = _training_table(columns, known, classes, sample_weight, named_in(self.get_params()))
        self._raw_variables_ = {name: raw.variables[name] for name in raw.variables if name != classes.name}
        given = self.discretizer
        if isinstance(given, str):
            given = Discretizer.fit(raw, given, self.bins, target=classes.name)
        self.discretizer_ = given
        table = raw if self.discretizer_ is None else self.discretizer_.encode(raw)
        if table.continuous and table.num_rows == 1:
            raise InvalidArgument("X has 1 sample; densities of continuous features need more rows.")
        prior: Any = Dirichlet(float(self.prior)) if isinstance(self.prior, Real) else self.prior
        kinds = {name: SmoothedGaussian(self.smoothing) for name in table.continuous}
        self.network_ = learn_parameters(self._graph(table, classes.name), table, prior, kinds=kinds, unseen="uniform")
        self.class_name_ = classes.name
        self._note_features(X, columns)
        self.classes_ = classes.states
        return self

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row), a column for each of `classes_`; missing cells, and columns of a frame, are summed out."""
        self._check_fitted()
        return class_posteriors(self.network_, self.class_name_, self._evidence(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | row)."""
        return logarithms(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; of equally probable ones the first."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted right."""
        predicted, given = self.predict(X), np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for name, column in (("y", given), ("sample_weight", weights)):
            if column is not None and column.shape != predicted.shape:
                raise InvalidArgument(
                    f"{name} has the shape {column.shape}, but X has {len(predicted)} rows: give one value for each."
                )
        return float(np.average(given == predicted, weights=weights))

    def _evidence(self, X: Any) -> Table:
        """Rows of features as the network knows them."""
        columns = self._features(X, self._raw_variables_, "this classifier")
        if self.unseen == "warn" and (states := unseen_states(columns, self._raw_variables_)):
            name, values = next(iter(states.items()))
            more = f", and in {len(states) - 1} other columns" if len(states) > 1 else ""
            warn_caller(
                f"{name!r} has states that were not there when fitting, such as {values[0]!r}{more}. They count as "
                "missing; unseen='missing' says that this is meant, unseen='error' that it is not.",
                UnseenStates,
            )
        if self.unseen != "error":
            columns = with_unseen_missing(columns, self._raw_variables_)
        table = Table.read(columns, {name: self._raw_variables_[name] for name in columns})
        if self.discretizer_ is None:
            return table
        there = tuple(column for column in self.discretizer_.columns if column.name in columns)
        return Discretizer(there).encode(table)


def _training_table(
    columns: dict[str, Any], known: list[Variable], classes: Classes, weights: Any, named: set[str]
) -> Table:
    """Features and class, without the rows that count nothing; complete, with a warning if some are not."""
    if not len(classes.codes):
        raise InvalidArgument("There are 0 sample(s) in y; at least one row is needed to learn from.")
    variable = Variable(classes.name, classes.states.tolist())
    rows = {**columns, classes.name: classes.states[classes.codes].tolist()}
    table = Table.for_learning(Table.read(rows, [*known, variable], weights=weights), named)
    for name, numbers in zip(table.continuous, table.numbers, strict=True):
        if np.isinf(numbers).any():
            raise InvalidArgument(f"{name!r} has infinite values (inf): leave these rows out.")
    if table.weights is not None:
        if not table.weights.any():
            raise InvalidArgument("All sample weights are zero; some must be positive.")
        table = table.take(table.weights > 0)
    complete = np.asarray((table.codes >= 0).all(axis=0) & ~np.isnan(table.numbers).any(axis=0))
    if complete.all():
        return table
    if not complete.any():
        raise InvalidArgument("Each row has missing cells (NaN), so that there is none to learn from.")
    warn_caller(
        f"{int((~complete).sum())} of {table.num_rows} rows have missing cells, such as in "
        f"{next(iter(table.missing))!r}, and are not learned from.",
        IncompleteRows,
    )
    return table.take(complete)


def class_posteriors(network: BayesianNetwork, target: str, table: Table) -> Floats:
    """P(target | row), a column for each state.

    Where the Markov blanket of the target is known, P(c | x) ∝ Π P(x_i | u_i) over the families that mention it, in
    logarithms, so that no product of densities is too small; else missing cells are summed out by the engine.
    """
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    families = [cpd for cpd in network.cpds.values() if target in [variable.name for variable in cpd.scope]]
    blanket = {variable.name for cpd in families for variable in cpd.scope} - {target}
    complete = np.full(table.num_rows, blanket <= set(columns))
    for name in blanket & set(columns):
        complete &= columns[name] >= 0 if columns[name].dtype.kind == "i" else ~np.isnan(columns[name])
    num_states = network.variables[target].num_states
    answers = np.empty((table.num_rows, num_states))
    if complete.any():
        rows = {name: columns[name][complete] for name in blanket}
        logs = np.zeros((int(complete.sum()), num_states))
        for state in range(num_states):
            given = {**rows, target: np.full(len(logs), state)}
            logs[:, state] = sum(cpd.log_probability(given) for cpd in families)
        top = logs.max(axis=1, keepdims=True, initial=-np.inf)
        if not np.isfinite(top).all():
            row = int(np.flatnonzero(complete)[np.argmin(np.isfinite(top[:, 0]))])
            raise ImpossibleEvidence(
                f"Row {row} can't happen in any class: what it holds was never seen with them, or is too far from all "
                "that was seen. Give the classifier a prior, such as prior=1.0, or mend the row."
            )
        shares = np.exp(logs - top)
        answers[complete] = np.asarray(shares / shares.sum(axis=1, keepdims=True))
    if not complete.all():
        # Rows already answered are left blank, so that the engine does them once and counts the others right.
        frame: dict[str, Any] = {}
        for name in columns:
            frame[name] = values = np.array(table.values(name))
            values[complete] = None
        found = network.compile().predict_proba(frame, target).to_numpy()
        answers[~complete] = found[~complete]
    return answers
