"""Records show what they print, and are values."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from plausible.base.records import record


@record
class Reading:
    """One line."""

    degrees: float

    def __str__(self) -> str:
        return f"{self.degrees} degrees"


@record
class Warm(Reading):
    """A record of a record, which prints as that does."""

    place: str


@record(eq=False)
class Series:
    """Two lines, and an array."""

    degrees: np.ndarray

    def __str__(self) -> str:
        return "\n".join(map(str, self.degrees))


def test_one_line_is_shown_with_its_kind_and_more_as_they_are():
    assert repr(Reading(20.0)) == "<Reading: 20.0 degrees>"
    assert repr(Warm(20.0, "here")) == "<Warm: 20.0 degrees>"
    assert repr(Series(np.array([1, 2]))) == "1\n2"


def test_a_notebook_shows_the_same():
    assert "20.0 degrees" in Reading(20.0)._repr_html_()


def test_records_are_values():
    """Equal by content, unless told otherwise; frozen; copied and pickled."""
    assert Reading(1.0) == Reading(1.0) != Reading(2.0)
    assert len({Reading(1.0), Reading(1.0)}) == 1
    assert Series(np.ones(2)) != Series(np.ones(2))
    for made in (copy.deepcopy(Warm(1.0, "x")), pickle.loads(pickle.dumps(Warm(1.0, "x")))):
        assert made == Warm(1.0, "x")
    with pytest.raises(FrozenInstanceError):
        Reading(1.0).degrees = 2.0


def test_what_does_not_print_is_no_record():
    """Its repr would ask for its text, which would ask for its repr."""
    with pytest.raises(TypeError, match="give Silent a __str__"):

        @record
        class Silent:
            number: int
