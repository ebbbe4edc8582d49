"""Conditional random fields over any graph of targets: learning, predicting, what each row's network is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.frozen import FrozenMapping
from plausible.base.method_names import keyword_hints
from plausible.base.options import read_names
from plausible.data.columns import decode
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownState, counted
from plausible.inference.budget import Budget
from plausible.inference.engine_bases import Optimizer
from plausible.inference.engines import Engine, check_engine
from plausible.learn.undirected.climbing import OptimizerLike, climb
from plausible.learn.undirected.design import Design, read_features
from plausible.learn.undirected.ground import FieldForm
from plausible.learn.undirected.labelled_rows import LabelledRows, one_by_one
from plausible.learn.undirected.learned_weights import LearnedWeights
from plausible.learn.undirected.named_objectives import ObjectiveLike, read_objective
from plausible.learn.undirected.objectives import Likelihood, Objective, ObjectiveMethod
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import PriorOfWeights, read_prior
from plausible.learn.undirected.recession import Recession
from plausible.learn.undirected.sample import Sample, columns_in
from plausible.models import MarkovNetwork
from plausible.search.ascent import AscentState
from plausible.search.run import Run, Stops
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class FieldFit(LearnedWeights):
    """A conditional random field whose weights were learned: P(Y | X) ∝ exp Σ θ_i f_i(Y, X)."""

    weights: Mapping[str, float]  # By name
    objective: float  # What was climbed, with the logarithm of the prior: a total over rows
    kind: str  # Whether that is "exact", a bound, or an "approximation" of what it is called
    run: Run[AscentState]  # The climb, from which `resume=` goes on
    _form: FieldForm = field(repr=False)
    _climb: Climb[Objective] = field(repr=False)
    _data: Sample = field(repr=False)
    _recession: Recession = field(repr=False)
    _method: ObjectiveMethod = field(repr=False)

    @property
    def targets(self) -> tuple[str, ...]:
        """The variables that it predicts."""
        return tuple(self._form.targets)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that it needs."""
        return tuple(self._form.inputs)

    def predict(self, data: TableLike) -> pd.DataFrame:
        """The most probable labels of all targets together, row by row, by an exact search, or the engine of margins.

        Cells of targets that are there are ignored.
        """
        design, point = self._ground(data)
        states = self._sample(design).best(design.logs(point)).reshape(-1, len(self._form.targets))
        found = decode(dict(zip(self._form.targets, states.T, strict=True)), self._form.targets)
        return found if (index := _index_of(data)) is None else found.set_axis(index)

    def predict_marginals(self, data: TableLike) -> dict[str, pd.DataFrame]:
        """P(target | inputs) of each target: a row for each row, a column for each state."""
        import pandas as pd

        design, point = self._ground(data)
        beliefs = self._sample(design).partition.at(design.logs(point))[1]
        found: dict[int, Any] = {}
        for number, scope in enumerate(design.scopes):
            shape = [int(design.sizes[place]) for place in scope]
            table = beliefs[design.starts[number] : design.starts[number + 1]].reshape(shape)
            for axis, place in enumerate(scope):
                found.setdefault(place, table.sum(axis=tuple(other for other in range(len(scope)) if other != axis)))
        names = list(self._form.targets)
        return {
            name: pd.DataFrame(
                np.reshape(
                    [found[place] for place in range(number, len(design.variables), len(names))],
                    (-1, self._form.targets[name].num_states),
                ),
                columns=list(self._form.targets[name].states),
                index=_index_of(data),
            )
            for number, name in enumerate(names)
        }

    def log_likelihood(self, data: TableLike | None = None) -> float:
        """Σ_m log P(y[m] | x[m]) of labelled rows, by default those that were learned from.

        Labels that are missing are summed out.
        """
        table = None if data is None else self._table(data)
        sample = self._data if table is None else self._sample(self._form.ground(table), table)
        return read_objective("likelihood").on(sample).at(self.run.state.point)[0]

    def score(self, data: TableLike) -> float:
        """The share of labels that `predict` gets right, those that are missing left out."""
        table = self._table(data)
        labels = self._form.labels(table).reshape(-1)
        design = self._form.ground(table)
        states = self._sample(design).best(design.logs(self.run.state.point))
        known = labels >= 0
        return float((states[known] == labels[known]).mean()) if known.any() else float("nan")

    def margins(self, data: TableLike) -> Floats:
        """log P(labels | inputs) less that of the best other labels, of each row: negative where `predict` is wrong.

        It is infinite where there are no other labels, and nan where a label is missing.
        """
        table = self._table(data)
        labels = self._form.labels(table).reshape(table.num_rows, len(self._form.targets))
        known = np.flatnonzero((labels >= 0).all(axis=1))
        margins = np.full(table.num_rows, math.nan)
        if known.size:
            chosen = table.take(known)
            sample = replace(self._sample(self._form.ground(chosen), chosen), total=float(known.size))
            margins[known] = LabelledRows.of(sample, ()).rivals(self.run.state.point)[0]
        return margins

    def network(self, inputs: Mapping[str, Any]) -> MarkovNetwork:
        """The Markov network of the targets for one row of inputs, to be asked anything, by any engine.

        >>> import plausible as pb
        >>> rows = {"Y": [0, 1, 1, 0], "x": [0.5, 2.5, 1.75, -0.5]}
        >>> push = pb.Feature(["Y", "x"], lambda y, x: y * x, name="push")
        >>> fit = pb.learn.crf([push], rows, targets=["Y"], prior=pb.GaussianPrior(1.0))
        >>> fit.network({"x": 2.0}).query("Y").values.round(3)
        array([0.2, 0.8])
        """
        design, point = self._ground({name: [value] for name, value in inputs.items()})
        named = {f"{name}[0]": name for name in self._form.targets}
        return design.network(design.logs(point)).renamed(named)

    def explain(self, inputs: Mapping[str, Any], labels: Mapping[str, State]) -> pd.DataFrame:
        """What each weight adds to log P~ of the labels against the best other ones: θ_i (f_i(labels) - f_i(others)).

        A row for each weight that matters, the largest first; they add up to the log-odds of the two labellings.
        """
        import pandas as pd

        design, point = self._ground({name: [value] for name, value in inputs.items()})
        if unlabelled := [name for name in self._form.targets if name not in labels]:
            raise InvalidArgument(f"labels= has no label of the target {unlabelled[0]!r}.")
        chosen = [self._form.targets[name].index(labels[name]) for name in self._form.targets]
        network = design.network(design.logs(point))
        best = network.k_best(2)
        states = [[one[f"{name}[0]"] for name in self._form.targets] for one in best]
        given = [labels[name] for name in self._form.targets]
        rival = next((state for state in states if state != given), given)
        other = [one.index(state) for one, state in zip(self._form.targets.values(), rival, strict=True)]
        places = design.positions(np.array([chosen, other]))
        difference = design.matrix[places[0]].sum(axis=0) - design.matrix[places[1]].sum(axis=0)
        added = np.asarray(difference).ravel() * point
        order = [place for place in np.argsort(-np.abs(added), kind="stable").tolist() if added[place]]
        return pd.DataFrame({"weight": [design.names[place] for place in order], "adds": added[order]})

    def _table(self, data: TableLike) -> Table:
        columns, known = columns_in(data), {**self._form.targets, **self._form.inputs}
        if missing := [name for name in self._form.inputs if name not in columns]:
            raise InvalidArgument(f"The data have no column {missing[0]!r}, which is an input of this field.")
        stated = {name: variable for name, variable in known.items() if name in columns}
        try:
            table = Table.read(data, stated, columns=stated)
        except UnknownState:  # functions take states that no row had
            closed = {name: variable for name, variable in stated.items() if name not in self._form.open_inputs}
            table = Table.read(data, closed, columns=stated)
        return _refuse_weights(table)

    def _ground(self, data: TableLike) -> tuple[Design, Floats]:
        return self._form.ground(self._table(data)), self.run.state.point

    def _sample(self, design: Design, table: Table | None = None) -> Sample:
        rows = None if table is None else (self._form.labels(table), np.ones(1))
        return Sample(design, None, self._data.engine, self._data.budget, _rows=rows)

    def _row_variance(self) -> Floats:
        rows = one_by_one(self._data)
        gradients = np.array([self._method.on(row).at(self.run.state.point)[1] for row in rows])
        centred = gradients - gradients.mean(axis=0)
        return np.asarray(centred.T @ centred)

    def _data_told(self) -> float:
        """Where the likelihood was climbed it is left of the objective; else it would take an inference."""
        if not isinstance(self._method, Likelihood):
            return math.nan
        return self.objective - self._climb.penalty.log_density(self.run.state.point)

    def __repr__(self) -> str:
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        return f"<FieldFit: {counted(len(self.weights), 'weight')}, objective {self.objective:.6g}, {ended}>"


def _index_of(data: TableLike) -> Any:
    """The labels of rows, where the data are a pandas frame."""
    import pandas as pd

    return data.index if isinstance(data, pd.DataFrame) else None


def _refuse_weights(table: Table) -> Table:
    if table.weights is not None:
        raise NotSupported("A conditional random field takes each row once: repeat rows in the place of weights.")
    return table


@keyword_hints
def learn_crf(
    features: Iterable[Any],
    data: TableLike,
    targets: Sequence[str],
    *,
    objective: ObjectiveLike = "likelihood",
    prior: PriorOfWeights = None,
    engine: Engine | Optimizer | None = None,
    optimizer: OptimizerLike = None,
    variables: Iterable[Variable] = (),
    max_steps: int = 1000,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[AscentState], object] | None = None,
    resume: Run[AscentState] | AscentState | None = None,
) -> FieldFit:
    """Learn P(targets | all else) ∝ exp Σ θ_i f_i, over any graph of targets; nothing is said about the inputs.

    A feature may look at inputs of any kind, numbers too; given a row they are constants, so that only the targets'
    graph costs. Inputs that only functions look at may later have states that no row had. A feature with many scopes
    has one weight for all of them: transitions along a chain, neighbours in a picture. A step costs one inference for
    each row (Lafferty, McCallum & Pereira 2001).

    Parameters
    ----------
    features
        Features over targets and inputs, or scopes for free tables.
    data
        Rows; labels may be missing, and are then summed out, inputs may not.
    targets
        The columns to predict.
    objective
        "likelihood" (of targets given inputs), "pseudolikelihood", "piecewise", "viterbi", "submodels", "margin",
        "contrastive-divergence", or
        one with options, such as `MaxMargin(slack=False)`.
    prior
        A density of each weight, as for `markov`.
    engine
        What computes log Z and beliefs of each row: by default a clique tree, exactly; `LoopyBP()` or
        `TreeReweightedBP()` where targets form a large grid; for margins what finds best labels, such as `GraphCut()`.
    optimizer, variables, resume
        As for `markov`.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"Y1": [0, 0, 1, 1], "Y2": [0, 0, 1, 1], "x": [-1.25, 0.25, 1.5, -0.5]}
    >>> same = pb.Feature(["Y1", "Y2"], lambda a, b: a == b, name="same")
    >>> push = pb.Feature([["Y1", "x"], ["Y2", "x"]], lambda y, x: y * x, name="push")
    >>> fit = pb.learn.crf([same, push], rows, targets=["Y1", "Y2"], prior=pb.GaussianPrior(1.0))
    >>> fit.predict({"x": [2.0, -2.0]})["Y1"].tolist()
    [1, 0]
    """
    stops = Stops(tolerance, max_steps, time_limit, progress)
    read, aims, columns = read_features(features), read_names("targets", targets), columns_in(data)
    mentioned = dict.fromkeys([*aims, *(name for one in read for scope in one.scopes for name in scope)])
    declared = {variable.name: variable for variable in variables if variable.name in columns}
    wanted = [name for name in mentioned if name in columns]
    table = _refuse_weights(Table.read(data, declared or None, columns=wanted or None))
    form = FieldForm.of(read, aims, table.variables)
    if lonely := [name for name in aims if not any(name in scope for one in read for scope in one.scopes)]:
        raise InvalidArgument(f"The target {lonely[0]!r} is in no feature, so that nothing tells it: give it one.")
    design = form.ground(table)
    if not isinstance(engine, Optimizer):
        check_engine(engine, form.targets)
    penalty = read_prior(prior, design.names, design.groups, design.group_names)
    if not table.num_rows:
        raise InvalidArgument("There are no rows, so that nothing tells the weights.")
    sample = Sample(design, None, engine, budget, total=float(table.num_rows), _rows=(form.labels(table), np.ones(1)))
    method = read_objective(objective)
    climbed = Climb(method.on(sample), penalty)
    run = climb(climbed, optimizer, np.zeros(design.num_weights) if resume is None else resume, stops)
    return FieldFit(
        FrozenMapping(zip(design.names, run.state.point.tolist(), strict=True)),
        run.state.value + penalty.constant,
        climbed.objective.kind,
        run,
        form,
        climbed,
        sample,
        Recession(climbed, sample, run.state.point),
        method,
    )
