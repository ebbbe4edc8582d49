"""Structures of functional causal models: how probable rows are under the responses of a graph, and the best graph."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Floats, Ints, Seed, check_count, generator_of
from plausible.causal.interventional.response_space import (
    Cells,
    ResponsePrior,
    ResponseProblem,
    ResponseSpace,
    draw_types,
    redraw,
)
from plausible.causal.queries.observed import CausalLike
from plausible.data.table import Table, TableLike
from plausible.errors import TooLarge
from plausible.graphs import DAG
from plausible.learn.scores.score import FamilyScores, check_family
from plausible.learn.structure_methods import StructureSearch
from plausible.learn.structures.knowledge import FoundGraph, Knowledge

#: So many rows come first.
_FIRST_ROWS = 4

#: So many standard errors are taken off the score of a family.
_NUM_ERRORS = 2


class ResponseEvidence(NamedTuple):
    """An estimate of log P(D | graph), and how good it is."""

    log_evidence: float  # The estimate
    num_effective: float  # How many particles carried its worst stage: if few, take more
    #: Of the estimate, as far as the weights of particles tell: Σ (N / effective - 1) / N over the stages is about its
    #: variance.
    standard_error: float


def response_evidence(
    graph: CausalLike,
    data: TableLike,
    prior: ResponsePrior = 1.0,
    *,
    num_particles: int = 300,
    seed: Seed = 0,
    max_types: int = 256,
) -> ResponseEvidence:
    """log P(D | graph) of a functional causal model with Dirichlet priors of types: a score of causal graphs.

    A sum over districts. Rows come in growing batches; given the types of those before them, the probability that n
    equal rows have types that they allow is a quotient of rising factorials, Π (A + i) / (T + i) for the pseudo-counts
    and counts A of these types and T of all. Particles are types of all rows so far: weighed by that, extended by types
    of the new rows, resampled, and moved by a Gibbs step. The estimate of P(D) is unbiased. A change of the graph
    changes the functions that there are, but only in districts that it touches. See Kong, Liu & Wong (1994), Sequential
    imputations and Bayesian missing data problems, JASA 89; Chopin (2002), A sequential particle filter method for
    static models, Biometrika 89. Parameters are those of `learn_responses`.

    >>> rows = {"x": [0, 0, 1, 0]}  # 3! 1! / 5!, as of Laplace's rule
    >>> round(math.exp(response_evidence(DAG(nodes=["x"]), rows).log_evidence), 6) == round(6 / 120, 6)
    True
    """
    check_count("num_particles", num_particles, 1)
    table = Table.read(data)
    space = ResponseSpace.of(graph, table.variables, max_types)
    problem = ResponseProblem.of(space, table, prior)
    random = generator_of(seed)
    parts = [
        _component_evidence(said, alpha, num_particles, random)
        for said, alpha in zip(problem.cells, problem.pseudo_counts, strict=True)
    ]
    return ResponseEvidence(
        math.fsum(part.log_evidence for part in parts),
        min((part.num_effective for part in parts), default=math.inf),
        math.hypot(*(part.standard_error for part in parts)),
    )


@dataclass(frozen=True, slots=True)
class ResponseScores(FamilyScores):
    """log P(D | graph) of functional models with independent responses, family by family.

    Without latent common causes each variable is a component of its own, so that the score decomposes: a search
    estimates a family once. Random numbers belong to the family: its score does not depend on the way to it. Parents
    with one state change nothing. Two standard errors of the Monte Carlo estimate are taken off, so that its noise
    seldom adds an edge. Chance in the rows can: with few of them the score is as lenient as K2. A family with too many
    functions has -inf.

    The prior gives a child the same distribution in each context, however many parents make the contexts: functions
    share k pseudo-counts for a child with k states. With one pseudo-count for every function the prior would expect
    fair coins where there are many parents, and find some for every fair coin.

    Parameters
    ----------
    pseudo_count
        Of every state of a child in each context of its parents; functions with that value there share it.
    num_particles
        Of the estimate; see `response_evidence`.
    max_types
        The most functions that a variable may have.
    """

    table: Table
    pseudo_count: float
    num_particles: int
    max_types: int
    _cache: dict[tuple[str, frozenset[str]], float]

    @classmethod
    def on(
        cls, data: TableLike, pseudo_count: float = 1.0, *, num_particles: int = 300, max_types: int = 256
    ) -> ResponseScores:
        """Scores on what `Table.read` takes."""
        return cls(Table.read(data), pseudo_count, num_particles, max_types, {})

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.variables)

    def family(self, child: str, parents: Iterable[str]) -> float:
        named = sorted(parents)
        check_family(child, named, self.table.variables)
        states = {name: v.num_states if not v.is_continuous else 0 for name, v in self.table.variables.items()}
        causes = [parent for parent in named if states[parent] != 1]
        key = (child, frozenset(causes))
        if key not in self._cache:
            self._cache[key] = self._estimate(child, causes)
        return self._cache[key]

    def _estimate(self, child: str, causes: Sequence[str]) -> float:
        """log P(family) less that of the parents, which are roots here and score the same with and without it."""
        rows = self.table.select([*causes, child])
        seed = zlib.crc32("\0".join([child, *causes]).encode())
        graph = DAG([(parent, child) for parent in causes], nodes=[*causes, child])
        try:
            space = ResponseSpace.of(graph, rows.variables, self.max_types)
        except TooLarge:
            return -math.inf
        place = next(place for place, part in enumerate(space.components) if part.names == (child,))
        share = self.pseudo_count * space.variables[child].num_states / space.components[place].num_types
        problem = ResponseProblem.of(space, rows, share)
        said, alpha = problem.cells[place], problem.pseudo_counts[place]
        found = _component_evidence(said, alpha, self.num_particles, generator_of(seed))
        return found.log_evidence - _NUM_ERRORS * found.standard_error


def learn_functional_structure(
    data: TableLike,
    method: str = "hill-climbing",
    knowledge: Knowledge | None = None,
    *,
    pseudo_count: float = 1.0,
    num_particles: int = 300,
    max_types: int = 256,
    **options: Any,
) -> FoundGraph:
    """The graph under which functional models with independent responses make the rows most probable.

    The prior is as lenient as that of K2: on few rows it takes chance for an edge more often than BIC does.

    Parameters
    ----------
    data
        What `Table.read` takes: complete rows of discrete variables; interventions are heeded.
    method, knowledge, **options
        Of `learn.structure`: a search by any decomposable score.
    pseudo_count, num_particles, max_types
        See `ResponseScores`.

    Examples
    --------
    >>> rows = {"x": [0, 1] * 30, "y": [0, 1] * 28 + [1, 0] * 2}
    >>> learn_functional_structure(rows).graph.num_edges
    1
    """
    scores = ResponseScores.on(data, pseudo_count, num_particles=num_particles, max_types=max_types)
    return StructureSearch(method, options, knowledge=Knowledge.read(knowledge)).by(scores)


def _component_evidence(
    said: Cells, alpha: Floats, num_particles: int, random: np.random.Generator
) -> ResponseEvidence:
    from scipy.special import gammaln

    possible = [np.flatnonzero(allowed) for allowed in said.allowed & (alpha > 0)]
    counts = np.zeros((num_particles, *said.allowed.shape), dtype=np.int64)
    sizes, log_evidence, variance, num_effective = np.zeros_like(said.sizes), 0.0, 0.0, float(num_particles)
    for goal in _stages(said.sizes):
        # Types of the new rows, and the logarithm of the new rows' probability given the others, of each particle.
        weights, logs = alpha + counts.sum(axis=1), np.zeros(num_particles)
        for group, (size, places) in enumerate(zip((goal - sizes).tolist(), possible, strict=True)):
            if size:
                inside, total = weights[:, places].sum(axis=1), weights.sum(axis=1)
                logs += gammaln(inside + size) - gammaln(inside) - gammaln(total + size) + gammaln(total)
                fresh = draw_types(random, size, weights[:, places])
                counts[:, group, places] += fresh
                weights[:, places] += fresh
        peak = float(logs.max())
        shares = np.exp(logs - peak)
        log_evidence += peak + math.log(float(shares.mean()))
        effective = float(shares.sum() ** 2 / (shares**2).sum())
        num_effective = min(num_effective, effective)
        variance += max(1 / effective - 1 / num_particles, 0.0)
        # Systematic resampling: one random number for all particles.
        points = (np.arange(num_particles) + random.random()) / num_particles * shares.sum()
        chosen = np.minimum(np.searchsorted(np.cumsum(shares), points), num_particles - 1)
        sizes = goal
        counts = redraw(random, Cells(sizes, said.allowed), alpha, counts[chosen])
    return ResponseEvidence(log_evidence, num_effective, math.sqrt(variance))


def _stages(sizes: Ints) -> Iterator[Ints]:
    """How many rows of each group have come after each stage: in all some half more than before."""
    total = int(sizes.sum())
    number = _FIRST_ROWS
    while number < total:
        yield sizes * number // total
        number += max(number // 2, 1)
    yield sizes
