"""Learning the weights of relational Markov networks from worlds: the front door."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.base.frozen import FrozenMapping
from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, generator_of
from plausible.base.records import counted
from plausible.errors import (
    InvalidArgument,
    ModelContradicted,
    TooLarge,
    UnknownVariable,
    suggestion,
    warn_caller,
)
from plausible.inference.budget import Budget
from plausible.inference.engine_bases import Optimizer
from plausible.inference.engines import Engine, check_engine
from plausible.learn.undirected.climbing import OptimizerLike, climb
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.infinite_weights import settle_infinite, tops_of_counts
from plausible.learn.undirected.learned_weights import LearnedWeights
from plausible.learn.undirected.named_objectives import ObjectiveLike, read_objective
from plausible.learn.undirected.objectives import Likelihood, Objective, ObjectiveMethod, SteeredObjective
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import PriorOfWeights, read_prior
from plausible.learn.undirected.recession import Recession
from plausible.learn.undirected.sample import Sample
from plausible.models.relations.formula_grounding import ground_formula
from plausible.models.relations.ground_features import GroundFeatures, SharedTable, ground_features, is_ruled_out
from plausible.models.relations.relational_markov_network import AlwaysCertain, RelationalMarkovNetwork, refuse_unknown
from plausible.models.relations.vocabulary import Universe
from plausible.models.relations.worlds import WorldLike, read_closed, read_world
from plausible.search.ascent import AscentState
from plausible.search.run import Clock, Run, Stops, best_run
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class RelationalMarkovFit(LearnedWeights):
    """A relational Markov network whose weights were learned, and how that went."""

    _told = ("log_likelihood", "infinite", *LearnedWeights._told)

    model: RelationalMarkovNetwork  # The formulas with the learned weights
    weights: Mapping[str, float]  # The learned ones, by the names of formulas; infinite where the worlds ask for it
    log_likelihood: float  # Of the worlds, given what was given; nan where log Z was not computed
    objective: float  # What was climbed, with the logarithm of the prior: a total over atoms
    kind: str  # Whether that is "exact", a "lower bound" or "upper bound" on it, or an "approximation"
    infinite: Mapping[str, float]  # The weights for which the likelihood has no finite best: name -> inf or -inf
    #: The climb, from which `resume=` goes on.
    run: Run[AscentState]
    _climb: Climb[Objective] = field(repr=False)
    _data: Sample = field(repr=False)
    _recession: Recession = field(repr=False)
    _method: ObjectiveMethod = field(repr=False)
    _single: tuple[Sample, ...] = field(repr=False)  # each world by itself

    def _row_variance(self) -> Floats:
        """By the gradients of worlds, of which there have to be several."""
        gradients = np.array([self._method.on(one).at(self.run.state.point)[1] for one in self._single])
        if len(gradients) < 2:
            return np.full((gradients.shape[1],) * 2, math.nan)
        centred = gradients - gradients.mean(axis=0)
        return np.asarray(centred.T @ centred)

    def _data_told(self) -> float:
        return self.log_likelihood

    def __repr__(self) -> str:
        return f"<RelationalMarkovFit: {str(self).splitlines()[0]}>"


@keyword_hints
def learn_relational_markov(
    model: RelationalMarkovNetwork,
    constants: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    worlds: WorldLike | Sequence[WorldLike],
    *,
    given: Iterable[str] = (),
    closed: Iterable[str] = (),
    hidden: Iterable[str] = (),
    fixed: Iterable[str] = (),
    objective: ObjectiveLike = "likelihood",
    prior: PriorOfWeights = None,
    engine: Engine | Optimizer | None = None,
    optimizer: OptimizerLike = None,
    restarts: int = 0,
    max_steps: int = 1000,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[AscentState], object] | None = None,
    seed: Seed = None,
    resume: Run[AscentState] | AscentState | None = None,
) -> RelationalMarkovFit:
    """Learn the weights of formulas from one world, or from several: each is one draw from P ∝ exp Σ w_i n_i.

    The gradient of the log-likelihood is n_i(world) - E[n_i], so that at its maximum the model expects as many true
    groundings as there are (Richardson & Domingos 2006; Koller & Friedman 2009, ex. 20.2). A step costs one inference
    over all ground atoms that are not given; the pseudolikelihood needs none. What is given is put in first, for all
    groundings at once.

    Parameters
    ----------
    model
        The formulas. Finite weights are where the climb begins; infinite ones stay.
    constants
        Type -> its constants; a list of such, where worlds have constants of their own.
    worlds
        What is known of ground atoms, as the evidence of `RelationalMarkovNetwork.ground`; or a list of worlds.
    given
        Predicates that are only looked at: what is learned is P(all others | these).
    closed
        Predicates whose atoms are false where a world does not tell them.
    hidden
        Predicates whose atoms are not known where a world does not tell them; the likelihood sums over these.
    fixed
        Names of formulas that keep their weights.
    objective
        "likelihood", "pseudolikelihood", "composite", "piecewise", ..., as for `markov`: totals over worlds.
    prior
        A density of each weight, as for `markov`, by the names of formulas.
    engine, optimizer, resume
        As for `markov`.

    Examples
    --------
    >>> import plausible as pb
    >>> pair = pb.Formula("StudyPair(s, t) & Grade(s) = Grade(t)", name="alike")
    >>> model = pb.RelationalMarkovNetwork(
    ...     [pair], {"StudyPair": ["student", "student"], "Grade": (["student"], ["A", "B", "C"])}
    ... )
    >>> world = {
    ...     "StudyPair": [("ann", "ben"), ("carl", "dora"), ("eva", "finn")],
    ...     "Grade": {"ann": "A", "ben": "A", "carl": "B", "dora": "B", "eva": "A", "finn": "C"},
    ... }
    >>> students = {"student": ["ann", "ben", "carl", "dora", "eva", "finn"]}
    >>> fit = pb.learn.relational_markov(model, students, world, given=["StudyPair"], closed=["StudyPair"])
    >>> round(fit.weights["alike"], 4)                  # two of three pairs agree: odds of 2 : 1, by chance 1 : 2
    1.3863
    """
    check_count("restarts", restarts)
    stops = Stops(tolerance, max_steps, time_limit, progress)
    if not isinstance(model, RelationalMarkovNetwork):
        raise InvalidArgument(f"{model!r} is no RelationalMarkovNetwork, whose weights are to be learned.")
    read = [
        _World.read(model, own, world, tuple(given), tuple(closed), tuple(hidden), f" [{number}]")
        for number, (own, world) in enumerate(_paired(constants, worlds))
    ]
    is_learned = _learned(model, tuple(fixed))
    to_sample = partial(_laid_out, model=model, is_learned=is_learned, engine=engine, budget=budget)
    laid_out = to_sample(read)
    sample = laid_out.sample
    if not isinstance(engine, Optimizer):
        check_engine(engine, sample.design.variables)
    _warn_of_silent(sample.design)
    penalty = read_prior(prior, sample.design.names, sample.design.groups, sample.design.group_names)
    method = read_objective(objective)
    goal = laid_out.objective(method)
    infinite: dict[str, float] = {}
    if sample.is_complete and goal.has_limits:
        design, infinite = settle_infinite(sample.design, tops_of_counts(sample.counts), penalty)
        goal = replace(goal, design=design)
    climbed = Climb(goal, penalty)
    weights = np.array([formula.weight for formula in model.formulas])[is_learned]

    def run_from(begin: Floats, clock: Clock) -> Run[AscentState]:
        limited = Stops(tolerance, max_steps, clock.seconds_left if math.isfinite(clock.deadline) else None, progress)
        return climb(climbed, optimizer, begin, limited)

    begins = _starts(weights, sample.is_complete, restarts, seed)
    run = climb(climbed, optimizer, resume, stops) if resume is not None else best_run(run_from, begins, time_limit)[0]
    point = run.state.point
    found = {name: infinite.get(name, float(value)) for name, value in zip(sample.design.names, point, strict=True)}
    single = tuple(to_sample([world]).sample for world in read) if len(read) > 1 else (sample,)
    return RelationalMarkovFit(
        model.with_weights(found),
        FrozenMapping(found),
        laid_out.log_likelihood(goal.design, point),
        run.state.value + penalty.constant,
        goal.kind,
        FrozenMapping(infinite),
        run,
        climbed,
        sample,
        Recession(climbed, sample, point),
        method,
        single,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """A world as tables over the atoms that are not given, and what it tells of these."""

    variables: tuple[Variable, ...]  # atoms that tables mention
    tables: tuple[SharedTable, ...]  # over these
    states: Codes  # of them; -1 where hidden
    log_lonely: float  # what the atoms that no table mentions add to the log-likelihood: they are uniform

    @classmethod
    def read(
        cls,
        model: RelationalMarkovNetwork,
        constants: Mapping[str, Sequence[Any]],
        world: WorldLike,
        given: tuple[str, ...],
        closed: tuple[str, ...],
        hidden: tuple[str, ...],
        ending: str,
    ) -> _World:
        """Put what is given in; refuse what is not told, and what no world of the model has."""
        universe = Universe.of(model.predicates, constants)
        known = read_world(universe, world, closed)
        given = read_closed(model.predicates, given, "given")
        hidden = read_closed(model.predicates, hidden, "hidden")
        if both := sorted({*given} & {*hidden}):
            raise InvalidArgument(f"{both[0]!r} is in given= and in hidden=: what is given is known.")
        refuse_unknown(universe, known, [name for name in model.predicates if name not in hidden])
        _refuse_broken(model, universe, known)
        features = ground_features(
            model.formulas,
            universe,
            {name: codes if name in given else np.full_like(codes, -1) for name, codes in known.items()},
        )
        states = [codes.ravel() for name, codes in known.items() if name not in given]
        return cls._of(features, np.concatenate([np.empty(0, dtype=np.int32), *states]), ending)

    @classmethod
    def _of(cls, features: GroundFeatures, states: Codes, ending: str) -> _World:
        """The part of it that tables mention."""
        is_mentioned = np.zeros(len(features.variables), dtype=bool)
        for table in features.tables:
            is_mentioned[table.scopes.ravel()] = True
        places = np.cumsum(is_mentioned) - 1
        sizes = np.array([variable.num_states for variable in features.variables], dtype=np.float64)
        return cls(
            tuple(
                Variable(f"{one.name}{ending}", one.states)
                for one, kept in zip(features.variables, is_mentioned.tolist(), strict=True)
                if kept
            ),
            tuple(replace(table, scopes=places[table.scopes]) for table in features.tables),
            states[is_mentioned],
            -float(np.log(sizes[~is_mentioned & (states >= 0)]).sum()),
        )


def _paired(constants: Any, worlds: Any) -> list[tuple[Any, Any]]:
    """Each world with its constants."""
    listed = [worlds] if isinstance(worlds, Mapping) else list(worlds)
    own = [constants] * len(listed) if isinstance(constants, Mapping) else list(constants)
    if not listed:
        raise InvalidArgument("There are no worlds, so that nothing tells the weights.")
    if len(own) != len(listed):
        raise InvalidArgument(f"There are constants for {counted(len(own), 'world')}, but {len(listed)} worlds.")
    return list(zip(own, listed, strict=True))


def _learned(model: RelationalMarkovNetwork, fixed: tuple[str, ...]) -> Flags:
    """Of each formula whether its weight is learned."""
    for name in fixed:
        if name not in model.weights:
            raise UnknownVariable(f"fixed= names {name!r}, which is no formula here.{suggestion(name, model.weights)}")
    is_learned = np.array([not one.is_hard and one.name not in fixed for one in model.formulas])
    if not is_learned.any():
        raise InvalidArgument("All weights are fixed or infinite: there is nothing to learn.")
    return is_learned


def _refuse_broken(model: RelationalMarkovNetwork, universe: Universe, known: Mapping[str, Codes]) -> None:
    """Refuse a world in which a hard formula does not hold."""
    for formula in model.formulas:
        if formula.is_hard:
            example = ground_formula(formula, universe, known).an_example.get(formula.weight < 0)
            if example is not None:
                raise ModelContradicted(
                    f"{formula} has the weight {formula.weight}, but is {str(formula.weight < 0).lower()} in the world"
                    f"{' at ' if example else ''}{example}. Give it a finite weight, or mend the world."
                )


@dataclass(frozen=True, slots=True, eq=False)
class _LaidOut:
    """Worlds as one row of one large model."""

    sample: Sample  # over the weights that are learned
    whole: Design  # over all finite weights, those that are learned first
    fixed: Floats  # the finite weights that are not learned
    log_lonely: float  # what atoms that no table mentions add

    def objective(self, method: ObjectiveMethod) -> Objective:
        """The objective, with what weights that are fixed add to it: a constant, told by one look at all weights."""
        goal = method.on(self.sample)
        if isinstance(goal, SteeredObjective):
            return goal
        constant, none = self.log_lonely, np.zeros(self.sample.design.num_weights)
        if self.fixed.size:
            whole = method.on(replace(self.sample, design=self.whole))
            constant += whole.at(np.concatenate([none, self.fixed]))[0] - goal.at(none)[0]
        return replace(goal, constant=constant, total=float(len(self.sample.design.variables)))

    def log_likelihood(self, design: Design, weights: Floats) -> float:
        """That of the worlds, by a clique tree; nan where it is out of reach."""
        exact = self if self.sample.engine is None else replace(self, sample=replace(self.sample, engine=None))
        try:
            return replace(exact.objective(Likelihood()), design=design).at(weights)[0]
        except TooLarge:
            return math.nan


def _laid_out(
    worlds: Sequence[_World],
    *,
    model: RelationalMarkovNetwork,
    is_learned: Flags,
    engine: Engine | Optimizer | None,
    budget: Budget | None,
) -> _LaidOut:
    """Tables of all worlds one after the other."""
    from scipy.sparse import coo_array

    finite = np.array([not formula.is_hard for formula in model.formulas])
    columns = [*np.flatnonzero(is_learned), *np.flatnonzero(finite & ~is_learned)]
    column_of = {int(number): column for column, number in enumerate(columns)}
    scopes, pieces, bases = list[Any](), list[tuple[Ints, Ints, Floats]](), list[Floats]()
    first_variable = first_entry = 0
    for world in worlds:
        for table in world.tables:
            size = len(next(iter(table.counts.values())))
            starts = first_entry + size * np.arange(len(table.scopes))[:, None]
            base = np.zeros(size)
            for number, counts in table.counts.items():
                if number in column_of:
                    entries = np.flatnonzero(counts)
                    rows = (starts + entries).ravel()
                    values = np.tile(counts[entries], len(starts))
                    pieces.append((rows, np.full(rows.size, column_of[number]), values))
                else:
                    base[is_ruled_out(table, number, model.formulas[number].weight)] = -np.inf
            scopes += map(tuple, (table.scopes + first_variable).tolist())
            bases.append(np.tile(base, len(starts)))
            first_entry += size * len(starts)
        first_variable += len(world.variables)
    if not pieces:
        raise InvalidArgument(
            "No grounding of a formula hangs on an atom that is not given: nothing tells the weights."
        )
    rows, at, values = (np.concatenate(part) for part in zip(*pieces, strict=True))
    matrix = coo_array((values, (rows, at)), shape=(first_entry, len(columns))).tocsr()
    names = tuple(model.formulas[number].name for number in columns)
    listed = [variable for world in worlds for variable in world.variables]
    if len(worlds) == 1:
        listed = [variable.renamed(variable.name.removesuffix(" [0]")) for variable in listed]
    variables = {variable.name: variable for variable in listed}
    groups = np.arange(len(columns), dtype=np.int64)
    whole = Design(variables, tuple(scopes), matrix, names, groups, names, np.concatenate(bases))
    number = int(is_learned.sum())
    fixed = np.array([model.formulas[place].weight for place in columns[number:]])
    design = replace(
        whole,
        matrix=matrix[:, :number].tocsr(),
        names=names[:number],
        groups=groups[:number],
        group_names=names[:number],
        base=whole.base + matrix[:, number:] @ fixed,
    )
    states = np.concatenate([world.states for world in worlds]).astype(np.int32)[None, :]
    sample = Sample(design, None, engine, budget, _rows=(states, np.ones(1)))
    return _LaidOut(sample, whole, fixed, sum(world.log_lonely for world in worlds))


def _starts(first: Floats, is_complete: bool, restarts: int, seed: Seed) -> Iterable[Floats]:
    """The weights that the model has, moved where hidden atoms would stay at a saddle; then others at random."""
    generator = generator_of(seed)
    yield first if is_complete or first.any() else generator.normal(scale=0.1, size=first.size)
    for _ in range(restarts):
        yield generator.normal(size=first.size)


def _warn_of_silent(design: Design) -> None:
    """Warn of formulas that no atom which is not given has a say in."""
    for name, entries in zip(design.names, np.diff(design.matrix.tocsc().indptr).tolist(), strict=True):
        if not entries:
            warn_caller(
                f"No grounding of the formula {name} hangs on an atom that is not given, so that nothing tells its "
                "weight: leave it out, or name it in fixed=.",
                AlwaysCertain,
            )
