"""Certain causal paths with their counterexamples, and what a PAG says of effects and refuses to say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plausible.causal.discovery.fci import fci
from plausible.causal.discovery.pag_readings import causal_certainty, effect_in_pag, effect_is_conditional, refuse_query
from plausible.causal.identification.algorithm import identify
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported
from plausible.graphs.ancestral import PAG
from plausible.graphs.ancestral_class import pag_members, pag_of
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.classes import class_members
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph
from plausible.graphs.mixed import PDAG
from plausible.graphs.pag_questions import is_visible
from plausible.graphs.random import erdos_renyi_dag
from plausible.learn.constraint_based.pc import pc
from plausible.learn.independence.independence_test import MSeparationOracle
from refusals import refuses


def random_dag(rng, num_nodes):
    """A DAG and some of its nodes in random order."""
    return erdos_renyi_dag(num_nodes, float(rng.uniform(0.15, 0.6)), seed=rng), [
        str(node) for node in rng.permutation([f"X{number}" for number in range(num_nodes)])
    ]


def test_without_hidden_variables_certain_paths_are_in_all_dags_of_the_class():
    """Against the members of the class; every other pair has a member without the path."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        dag, _ = random_dag(rng, int(rng.integers(2, 7)))
        found = causal_certainty(dag, hidden=False)
        members = list(class_members(dag))
        for x in dag.nodes:
            for y in set(dag.nodes) - {x}:
                assert ((x, y) in found.pairs) == all(y in member.descendants(x) for member in members)
                if (x, y) not in found.pairs:
                    other = found.counterexample(x, y)
                    assert y not in other.graph.descendants(x)
                    assert other.graph in members
                    assert other.latent == other.selection == ()


@pytest.mark.parametrize("selection", [False, True])
def test_hidden_variables_leave_certain_paths_that_are_true_and_counterexamples_for_all_others(selection):
    """A certain path is in the true graph; a counterexample has the same PAG and no path."""
    rng = np.random.default_rng(1)
    num_certain = 0
    for _ in range(10):
        dag, mixed = random_dag(rng, int(rng.integers(4, 9)))
        num_latent, num_selected = int(rng.integers(0, 3)), int(rng.integers(0, 2)) if selection else 0
        latent, selected = mixed[:num_latent], mixed[num_latent : num_latent + num_selected]
        pag = pag_of(dag, latent=latent, selection=selected)
        found = causal_certainty(pag, selection=selection)
        num_certain += len(found.pairs)
        for x in pag.nodes:
            for y in set(pag.nodes) - {x}:
                if (x, y) in found.pairs:
                    assert y in dag.descendants(x)
                else:
                    other = found.counterexample(x, y)
                    assert y not in other.graph.descendants(x)
                    assert pag_of(other.graph, latent=other.latent, selection=other.selection) == pag
                    assert selection or not other.selection
    assert num_certain > 0


def test_lines_of_a_class_are_selected_effects_of_both_ends():
    """A cycle without a chord that selection alone explains: no path in it is causal."""
    dag = DAG("A -> S1 <- B; B -> S2 <- C; C -> S3 <- D; D -> S4 <- A")
    found = causal_certainty(pag_of(dag, selection=["S1", "S2", "S3", "S4"]), selection=True)
    other = found.counterexample("A", "C")
    assert other.latent == ()
    assert {frozenset(other.graph.parents(node)) for node in other.selection} == set(
        map(frozenset, ("AB", "BC", "CD", "DA"))
    )
    assert other.graph.num_edges == 8


def test_fewer_assumptions_leave_fewer_certain_paths():
    """(a) no hidden variables, (b) hidden ones, (c) selection: each is less sure than the one before."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        dag, _ = random_dag(rng, 7)
        plain = causal_certainty(dag, hidden=False).pairs
        hidden, selected = causal_certainty(dag).pairs, causal_certainty(dag, selection=True).pairs
        assert plain >= hidden >= selected
        assert causal_certainty(essential_graph(dag)).pairs == hidden


def test_selection_denies_a_tail_that_no_arrowhead_guards():
    """W -> Z of R9 is certain with hidden variables, not with selection; G -> J of the student example is."""
    dag = DAG("W -> X -> Y -> Z; W -> Z")
    assert ("W", "Z") in causal_certainty(dag).pairs
    found = causal_certainty(dag, selection=True)
    assert ("W", "Z") not in found.pairs
    other = found.counterexample("W", "Z")
    assert pag_of(other.graph, latent=other.latent, selection=other.selection) == pag_of(dag)
    assert other.graph.descendants("W").isdisjoint(dag.nodes)
    assert causal_certainty(DAG("D -> G <- I -> S; G -> J"), selection=True).pairs == {("G", "J")}


def test_certainty_refuses_what_makes_no_sense():
    """Selection without hidden variables, a PAG without them, and counterexamples of certain or equal pairs."""
    with pytest.raises(InvalidArgument, match="hidden=True with selection=True"):
        causal_certainty(DAG("A -> B"), hidden=False, selection=True)
    with pytest.raises(NotSupported, match="allows for hidden"):
        causal_certainty(PAG("A o-o B"), hidden=False)
    found = causal_certainty(PDAG("A -> C; B -> C; C -> D"))
    refuses(InvalidArgument, "every structure", found.counterexample, "C", "D")
    refuses(InvalidArgument, "with itself", found.counterexample, "C", "C")
    assert causal_certainty(PAG("", nodes=())).pairs == frozenset()


# --- effects ---


def _readings(member, x, y):
    """Whether x and y can be confounded in a MAG: any path between them without the effect of x."""
    as_pag = PAG(member)
    kept = [edge for edge in member.edges if not (edge.is_directed and edge.left == x)]
    hidden = [
        edge for edge in member.edges if edge.is_directed and edge.left == x and not is_visible(as_pag, *edge.ends)
    ]
    turned = CausalGraph([*kept, *((edge.left, "<->", edge.right) for edge in hidden)], nodes=member.nodes)
    return not turned.m_separated(x, y)


@pytest.mark.slow
def test_effect_is_conditional_iff_no_member_can_confound_it():
    """Against all members of random classes, each with common causes where edges do not rule them out."""
    rng = np.random.default_rng(3)
    counts = dict.fromkeys(("none", "conditional", "open"), 0)
    for _ in range(40):
        dag = erdos_renyi_dag(int(rng.integers(4, 8)), 0.3, seed=rng)
        mixed = [str(node) for node in rng.permutation(dag.nodes)]
        pag = pag_of(dag, latent=mixed[: int(rng.integers(0, 3))])
        members = list(pag_members(pag, 60))
        for x in pag.nodes:
            for y in set(pag.nodes) - {x}:
                found = effect_in_pag(pag, y, x)
                counts[found.reading] += 1
                is_cause = any(y in member.descendants(x) for member in members)
                assert not (is_cause and found.reading == "none")
                if len(members) < 60:
                    assert (found.reading == "none") == (not is_cause)
                    confounded = any(_readings(member, x, y) for member in members)
                    assert effect_is_conditional(pag, y, x) == (not confounded)
                    if is_cause:
                        assert (found.reading == "open") == confounded
    assert min(counts.values()) > 0


def test_student_effect_of_grade_is_conditional_and_others_are_refused_with_a_reason():
    """P(J | do(G)) = P(J | G) in the PAG of the student example (example 21.28)."""
    pag = PAG("I o-o S; D o-> G; I o-> G; G -> J")
    assert effect_is_conditional(pag, "J", "G")
    assert not effect_is_conditional(pag, "S", "I")
    assert effect_in_pag(pag, "G", "J").reading == "none"
    assert "= P(G)" in str(effect_in_pag(pag, "G", "J"))
    assert "= P(J | G)" in str(effect_in_pag(pag, "J", "G"))
    with pytest.raises(NotSupported, match=r"P\(S \| do\(I\)\) is open: I - S .* learn its parameters by EM"):
        refuse_query(pag, "S", "I")
    with pytest.raises(InvalidArgument, match="both 'G'"):
        effect_in_pag(pag, "G", "G")


def test_a_graph_that_stands_for_no_class_makes_nothing_certain():
    """A cycle of circles without a chord; with knowledge in its marks a graph still stands for some members."""
    with pytest.raises(InvalidGraph, match=r"makes nothing certain.*selection, feedback or unfaithfulness"):
        causal_certainty(PAG("A o-o B o-o C o-o D o-o A"))
    with pytest.raises(InvalidGraph, match="makes nothing certain"):
        causal_certainty("A -> E; A o-o B o-o C o-o D o-o A")
    assert causal_certainty(PAG("A -> B")).pairs == {("A", "B")}
    assert causal_certainty(PAG("B -> C; A o-o B; A o-o C")).pairs == {("B", "C")}
    assert "majority" not in str(_refusal(lambda: causal_certainty(PAG("A o-o B o-o C o-o D o-o A"))))
    for ask in (effect_in_pag, effect_is_conditional, refuse_query):
        with pytest.raises(InvalidGraph, match="makes nothing certain"):
            ask(PAG("A o-> B; B -> C; C o-o D; D o-o A"), "C", "B")


def _refusal(ask):
    with pytest.raises(InvalidGraph) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize("search", [fci, pc])
def test_triples_that_the_tests_leave_open_make_nothing_certain(search):
    """They are named, as no graph without them is meant; triples that marks settle do not matter."""
    found = search(MSeparationOracle("A -> B -> D; C -> B"))
    assert causal_certainty(found).pairs == {("B", "D")}
    settled = replace(found, ambiguous=(("A", "B", "C"), ("A", "B", "D")))
    assert causal_certainty(settled).pairs == {("B", "D")}
    chain = search(MSeparationOracle("A -> B -> C"))
    assert causal_certainty(chain).pairs == frozenset()
    with pytest.raises(InvalidGraph, match=r"the middle of \(A, B, C\) is a collider"):
        causal_certainty(replace(chain, ambiguous=(("A", "B", "C"),)))


def test_effects_are_not_read_off_a_pag_with_open_triples():
    """Whether A may cause C depends on what the triple is."""
    found = replace(fci(MSeparationOracle("A -> B -> C")), ambiguous=(("A", "B", "C"),))
    with pytest.raises(InvalidGraph, match=r"\(A, B, C\)"):
        effect_in_pag(found, "C", "A")


STUDENT = PAG("I o-o S; D o-> G; I o-> G; G -> J")


@pytest.mark.parametrize(
    ("outcome", "treatment", "match"),
    [
        ("S", "I", r"P\(S \| do\(I\)\) is open: I - S .* learn its parameters by EM"),
        ("J", "G", r"all of them agree: P\(J \| do\(G\)\) = P\(J \| G\).*effect_in_pag"),
        ("G", "J", r"all of them agree: P\(G \| do\(J\)\) = P\(G\)"),
        (["G", "J"], "I", "effect_in_pag"),
    ],
)
def test_identify_says_of_a_pag_what_is_open_and_what_it_tells(outcome, treatment, match):
    with pytest.raises(NotSupported, match=match):
        identify(STUDENT, outcome, treatment)


def test_a_query_with_an_answer_is_not_refused():
    refuse_query(STUDENT, outcome="J", treatment="G")
    refuse_query(STUDENT, outcome="G", treatment="J")
