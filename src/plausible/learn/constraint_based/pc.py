"""The PC algorithm: a skeleton by tests of independence, colliders by separating sets, the rest by Meek's rules."""

from __future__ import annotations

from typing import Any, Unpack, final

from plausible.base import Argument, Call, Remedy, keyword_advice, record
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, InvalidGraph, PlausibleWarning, suggestion, warn_caller
from plausible.graphs import DAG, PDAG, Immorality
from plausible.graphs.equivalence import NearExtension, consistent_extension, near_extension
from plausible.learn.constraint_based.orientation import (
    VARIANTS,
    Conflict,
    ConstraintBasedResult,
    Variant,
    find_colliders,
    orient,
    warn_untested,
)
from plausible.learn.constraint_based.skeleton import SkeletonOptions, SkeletonSearch, find_skeleton
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.independence.gaussian_tests import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.models import BayesianNetwork


@final
@record
class ConstraintResult(ConstraintBasedResult[PDAG]):
    """A partially directed graph and what it rests on: see `ConstraintBasedResult`.

    Without conflicts and ambiguous triples the graph is the essential graph of a class of DAGs.
    """

    conflicts: tuple[Conflict, ...] = ()

    def dag(self, *, strict: bool = False) -> DAG:
        """One graph of the class: data can't tell it from the others.

        Tests on few rows contradict each other, so that often no graph has all that they say. Then this one has the
        edges and the directions that were found, and a warning names the colliders that it has besides: see
        `extension`. With `strict` that raises `InvalidGraph` instead.
        """
        if strict:
            try:
                return consistent_extension(self.graph)
            except InvalidGraph as error:
                raise InvalidGraph(
                    f"{error} The tests contradict each other ({len(self.conflicts)} conflicts): try "
                    "variant='conservative', another alpha=, or more knowledge=; or a search by a score, which always "
                    "finds a graph."
                ) from None
        found = self.extension()
        if found.new_immoralities:
            shown = ", ".join(map(str, found.new_immoralities[:5])) + (", ..." if found.new_immoralities[5:] else "")
            warn_caller(
                f"The tests contradict each other: no graph has exactly the colliders that they found. This one also "
                f"has {shown} ({len(found.new_immoralities)} in all). strict=True refuses it; variant='conservative', "
                "another alpha= or knowledge= may leave fewer; .extension() does not warn.",
                PlausibleWarning,
            )
        return found.graph

    def extension(self) -> NearExtension:
        """One graph of the class or, where none has all that the tests say, one near it with its new colliders.

        It has all edges and directions that were found. Of the colliders that no test found, those come in that the
        tests speak against least: by the p-value of the independence of their ends; ambiguous ones cost nothing.
        """
        ambiguous = {Immorality(*triple) for triple in self.ambiguous}

        def cost(collider: Immorality) -> float:
            ends = frozenset((str(collider.left), str(collider.right)))
            return 0.0 if collider in ambiguous else self.p_values.get(ends, 1.0)

        return near_extension(self.graph, cost)

    def network(
        self, data: DataLike, prior: PriorLike = None, *, strict: bool = False, **options: Any
    ) -> BayesianNetwork:
        """The graph of `dag` with parameters learned from data; see `learn.parameters` for the options."""
        return learn_parameters(self.dag(strict=strict), data, prior, **options)

    def _described(self) -> str:
        return f"{len(self.graph.directed_edges)} directed and {len(self.graph.undirected_edges)} undirected edges"


def pc(
    source: DataLike | IndependenceTest,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    variant: Variant = "majority",
    knowledge: Knowledge | None = None,
    max_given: int | None = None,
    **options: Unpack[SkeletonOptions],
) -> ConstraintResult:
    """Learn the equivalence class of a DAG by tests of independence.

    An edge stays if no set of neighbours of one of its ends makes its ends independent. In a triple x - z - y without
    an edge x - y, z is a collider if what separates x from y does not have z in it; where one set tells, it is
    ambiguous if z could stand in for one of the set, as a copy could. With tests that are right about a faithful
    distribution all variants find the essential graph. None with variables that others determine is faithful:
    `determined` lists the edges that went for that. Among them are those of copies, each of which determines the other;
    `CopyGuard(test)` as `source` keeps these. The number of tests grows with n² Σ_k C(degree, k), k up to the degree.
    Spirtes, Glymour & Scheines (2000), Causation, Prediction, and Search. Colombo & Maathuis (2014), Order-independent
    constraint-based causal structure learning. Ramsey, Zhang & Spirtes (2006), Adjacency-faithfulness and conservative
    causal inference.

    Parameters
    ----------
    source, test, alpha
        What `Table.read` takes, or a test such as `GTest(frame)` or `DSeparationOracle(dag)`; which test, for data:
        "auto", "g", "chi-square", "permutation", "fisher-z" or "conditional-gaussian"; and the level of the tests.
    variant
        How colliders are told. "majority": z is one if it is in less than half of all sets of neighbours that separate
        x and y, ambiguous if in half. "conservative": if in none, ambiguous if in some but not all. "stable": by the
        set alone that took the edge x - y out, which takes fewer tests and directs worse. None of these depends on the
        order of the columns. "original": as "stable", but an edge that is taken out is gone at once; variables go in
        the order of their names. A search that was stopped tells colliders by the sets that it has.
    knowledge
        Required edges stay, forbidden ones are not there, tiers and one-sided bans direct edges.
    max_given
        At most so many variables are given; `None` for no limit.
    **options
        `false_discovery_rate`: `None`, "benjamini-hochberg", or "benjamini-yekutieli", which holds whatever the tests
        have to do with each other; `progress`, `time_limit`.

    Examples
    --------
    >>> from plausible.learn.independence.independence_test import DSeparationOracle
    >>> found = pc(DSeparationOracle("D -> G <- I -> S; G -> L"))
    >>> found.graph, found.dag().parents("S")
    (PDAG('D -> G; G -> L; I -> G; I - S'), ('I',))
    >>> found.separating_sets[frozenset(("D", "L"))], found.num_tests
    (('G',), (10, 18, 3))
    """
    for name in options:
        if name == "missing":
            raise InvalidArgument(
                "pc tests complete rows, and takes no missing=.",
                remedies=[
                    Remedy("leave the others out, pc(learn.complete_rows(data))"),
                    Remedy("search by a score: ", Call("learn.structure", Argument("missing", "sem"))),
                ],
            )
        if name not in SkeletonOptions.__annotations__:
            taken = ("test", "alpha", "variant", "knowledge", "max_given", *SkeletonOptions.__annotations__)
            advice = keyword_advice(name, taken, options[name]) or suggestion(name, taken)  # type: ignore[literal-required]
            raise InvalidArgument(f"pc takes no option {name!r}.{advice}")
    if variant not in VARIANTS:
        raise InvalidArgument(f"There is no variant {variant!r} of PC.{suggestion(variant, VARIANTS)}")
    asked = read_test(source, test, Knowledge.read(knowledge).names)
    known = read_knowledge(knowledge, asked)
    search = SkeletonSearch(alpha=alpha, is_stable=variant != "original", max_given=max_given, **options)
    skeleton = find_skeleton(asked, known, search)
    # many neighbours are left where the search was stopped, and more sets of them than there is time for
    rule: Variant = "stable" if skeleton.stopped_by else variant
    colliders, ambiguous = find_colliders(asked, skeleton, search.alpha, rule)
    graph, conflicts = orient(asked.names, skeleton.neighbors, colliders, known, ambiguous)
    tests = skeleton.separating_sets, skeleton.p_values, skeleton.num_tests
    found = ConstraintResult(graph, *tests, conflicts, ambiguous, skeleton.determined, skeleton.stopped_by)
    warn_untested(found, known)
    return found


def read_knowledge(knowledge: Knowledge | None, test: IndependenceTest) -> Constraints:
    """Knowledge on the names of a test, sorted."""
    known = Knowledge.read(knowledge)
    if known.max_parents is not None:
        raise InvalidArgument("max_parents is for searches by score: tests of independence do not count parents.")
    return known.on(sorted(test.names))
