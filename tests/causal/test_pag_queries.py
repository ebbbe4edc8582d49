"""Causal queries that are put to a PAG."""

from __future__ import annotations

import pytest

from plausible.causal.discovery.pag_readings import refuse_query
from plausible.causal.identification.algorithm import identify
from plausible.errors import NotSupported
from plausible.graphs.ancestral import PAG

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
