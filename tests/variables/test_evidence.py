"""Evidence: four kinds of findings, each read into its own place, and errors that name the fix."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest

from plausible.errors import InvalidEvidence, NotSupported, UnknownState, UnknownVariable
from plausible.variables import Evidence, Variable, jeffrey, likelihood
from plausible.variables.evidence import findings_of, read_findings
from refusals import refuses

RAIN = Variable("rain", ["no", "light", "heavy"])
VARIABLES = {
    "rain": RAIN,
    "wet": Variable("wet", [False, True]),
    "pair": Variable("pair", [("a", 1), ("b", 2)]),
    "level": Variable("level"),
}


def read(**evidence):
    return Evidence.read(evidence, VARIABLES)


# --- kinds ---


def test_a_state_is_hard_evidence():
    """It is kept as the position of the state; a tuple that is a state is one."""
    found = read(rain="heavy", wet=np.True_, pair=("b", 2))
    assert dict(found.hard) == {"rain": 2, "wet": 1, "pair": 1}
    assert not found.soft
    assert found.names == {"rain", "wet", "pair"}


@pytest.mark.parametrize(
    "states",
    [
        {"light", "heavy"},
        ["heavy", "light", "heavy"],
        ("light", "heavy"),
        np.array(["light", "heavy"]),
        pd.Series(["light", "heavy"]),
        {"light": 1, "heavy": 2}.keys(),
    ],
    ids=lambda states: type(states).__name__,
)
def test_a_collection_of_states_means_one_of_them(states):
    """One for each state in it, zero elsewhere, in whatever collection they come."""
    assert read(rain=states).soft["rain"].tolist() == [0.0, 1.0, 1.0]


def test_virtual_evidence_multiplies_and_jeffrey_replaces():
    """Weights in state order or keyed by state; the two kinds are kept apart."""
    findings = {"rain": likelihood([2, 1, 0]), "wet": jeffrey({True: 0.7, False: 0.3})}
    found, beliefs = read_findings(findings, VARIABLES)
    assert found.soft["rain"].tolist() == [2.0, 1.0, 0.0]
    assert beliefs["wet"].tolist() == [0.3, 0.7]
    refuses(NotSupported, r"jeffrey\(\.\.\.\) for 'wet' replaces a belief", Evidence.read, findings, VARIABLES)
    assert read(rain=likelihood({"heavy": 3, "no": 1, "light": 2})).soft["rain"].tolist() == [1.0, 2.0, 3.0]
    assert read(rain=likelihood(np.array([1.0, 2.0, 3.0]))).soft["rain"].tolist() == [1.0, 2.0, 3.0]


def test_a_number_is_the_value_of_a_continuous_variable():
    """Any finite number, of Python or NumPy."""
    for number in (3, 3.0, np.float32(3), np.array(3.0)):
        assert dict(read(level=number).values) == {"level": 3.0}


def test_no_evidence_is_empty():
    """None and an empty mapping say nothing; a finding makes it true."""
    assert not Evidence.read(None, VARIABLES)
    assert not Evidence.read({}, VARIABLES)
    assert read(rain="no")


def test_none_is_no_finding():
    """It means that nothing was observed."""
    refuses(InvalidEvidence, "leave out what is not observed", read, rain=None)


@pytest.mark.parametrize(
    "findings",
    [
        {"rain": "heavy", "wet": True},
        {"rain": "no", "level": 1.5},
        {"pair": ("b", 2), "rain": ["light", "heavy"]},
        {"rain": likelihood([1, 2, 3]), "wet": jeffrey([0.2, 0.8])},
        {},
    ],
    ids=str,
)
def test_a_series_is_the_mapping_from_its_index_to_its_entries(findings):
    """As a row of a pandas frame comes, whatever the type of its entries."""
    series = pd.Series(list(findings.values()), index=list(findings), dtype=object)
    (evidence, beliefs), (same, alike) = read_findings(series, VARIABLES), read_findings(findings, VARIABLES)
    assert evidence == same
    assert {name: vector.tolist() for name, vector in beliefs.items()} == {n: v.tolist() for n, v in alike.items()}
    assert dict(findings_of(series)) == findings


def test_rows_of_a_frame_are_evidence():
    """Text in pandas' own type, and numbers, which are equal to states."""
    row = pd.DataFrame({"rain": ["light", "no"], "wet": [True, False]}).iloc[0]
    assert dict(Evidence.read(row, VARIABLES).hard) == {"rain": 1, "wet": 1}
    text = pd.Series({"rain": "light"}, dtype="str")
    assert dict(Evidence.read(text, VARIABLES).hard) == {"rain": 1}
    number = pd.Series({"X": 1.0})
    assert dict(Evidence.read(number, {"X": Variable("X", 3)}).hard) == {"X": 1}


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_a_series_with_a_gap_is_refused_and_the_fix_named(gap):
    """Nothing is left out unasked."""
    series = pd.Series({"rain": "heavy", "wet": gap}, dtype=object)
    refuses(InvalidEvidence, r"no value for 'wet'.*evidence\.dropna\(\)", Evidence.read, series, VARIABLES)
    assert dict(Evidence.read(series.dropna(), VARIABLES).hard) == {"rain": 2}


def test_other_things_of_pandas_are_no_evidence():
    """A name that stands twice, a whole frame, an unknown name."""
    with pytest.raises(InvalidEvidence, match="has 'rain' twice"):
        Evidence.read(pd.Series(["no", "no"], index=["rain", "rain"]), VARIABLES)
    refuses(InvalidEvidence, "Evidence is a mapping", Evidence.read, pd.DataFrame({"rain": ["no"]}), VARIABLES)
    refuses(UnknownVariable, "Did you mean 'rain'", Evidence.read, pd.Series({"rian": "no"}), VARIABLES)


def test_an_array_without_axes_is_the_value_in_it():
    """np.array('heavy') is a state, not a collection."""
    assert dict(read(rain=np.array("heavy")).hard) == {"rain": 2}


# --- refusals ---


@pytest.mark.parametrize(
    ("evidence", "error", "message"),
    [
        ({"rian": "no"}, UnknownVariable, r"'rian' is not a variable of this model\. Did you mean 'rain'\?"),
        ({"rain": "hevy"}, UnknownState, r"'hevy' is not a state of 'rain'\. Did you mean 'heavy'\?"),
        ({"rain": ["light", "hevy"]}, UnknownState, "Did you mean 'heavy'"),
        ({"rain": []}, InvalidEvidence, "no state is left"),
        ({"rain": math.nan}, InvalidEvidence, "leave out what is not observed"),
        ({"rain": pd.NA}, InvalidEvidence, "leave out what is not observed"),
        ({"rain": pd.NaT}, InvalidEvidence, "leave out what is not observed"),
        ({"rain": {"no": 0.2, "light": 0.8}}, InvalidEvidence, r"ambiguous.*likelihood.*jeffrey"),
        ({"rain": likelihood([1, 2])}, InvalidEvidence, "needs 3 numbers"),
        ({"rain": likelihood([0, 0, 0])}, InvalidEvidence, "not all zero"),
        ({"rain": likelihood([1, -1, 0])}, InvalidEvidence, "non-negative"),
        ({"rain": likelihood([1, math.inf, 0])}, InvalidEvidence, "finite"),
        ({"rain": likelihood({"no": 1, "light": 2})}, InvalidEvidence, "no weight for 'heavy'"),
        ({"rain": likelihood({"no": 1, "light": 2, "hevy": 3})}, UnknownState, "Did you mean 'heavy'"),
        ({"rain": jeffrey([0.5, 0.5, 0.5])}, InvalidEvidence, r"sums to 1\.5, not to one.*use likelihood"),
        ({"level": "high"}, InvalidEvidence, "expected a number, not 'high'"),
        ({"level": math.inf}, InvalidEvidence, "expected a finite number"),
        ({"level": math.nan}, InvalidEvidence, "expected a finite number"),
        ({"level": likelihood([1, 2])}, InvalidEvidence, "expected a number"),
        ({"level": [1.0, 2.0]}, InvalidEvidence, "expected a number"),
        ([("rain", "no")], InvalidEvidence, "Evidence is a mapping"),
        ("rain", InvalidEvidence, "Evidence is a mapping.* use net.query\\(names"),
    ],
)
def test_what_is_no_evidence_is_refused(evidence, error, message):
    """The error names the variable, what was given and what to write instead."""
    refuses(error, message, Evidence.read, evidence, VARIABLES)


@pytest.mark.parametrize("kind", [likelihood, jeffrey])
@pytest.mark.parametrize("weights", ["ab", ["x", "y"], 3.0, [[1, 2], [3, 4]], {"a": "much"}, None])
def test_weights_are_numbers_in_a_row(kind, weights):
    """Text, single numbers and tables are refused when the finding is made."""
    refuses(InvalidEvidence, "one number for each state", kind, weights)


def test_a_vector_for_a_continuous_variable_is_refused():
    """There are no states to weigh."""
    refuses(InvalidEvidence, "'level' is continuous", likelihood([1.0]).vector, VARIABLES["level"])


# --- values ---


def test_findings_are_values():
    """Equal by content, hashable, unaffected by what happens to the list they came from, and printed as written."""
    weights = [1.0, 2.0, 3.0]
    finding = likelihood(weights)
    weights[0] = 9.0
    assert finding == likelihood((1, 2, 3)) == likelihood(np.array([1, 2, 3]))
    assert hash(finding) == hash(likelihood((1, 2, 3)))
    assert finding != jeffrey([1.0, 2.0, 3.0])
    assert finding != likelihood({"no": 1, "light": 2, "heavy": 3})
    for shown in (finding, likelihood({"a": 0.5}), jeffrey([0.25, 0.75]), jeffrey({"a": 1.0})):
        assert eval(repr(shown)) == shown
        assert pickle.loads(pickle.dumps(shown)) == shown


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_evidence_is_a_frozen_value(clone):
    """Equal by content, hashable, copied and pickled; neither mappings nor vectors can be changed."""
    kinds = {"rain": likelihood([2, 1, 0]), "wet": True, "level": 1.5, "pair": likelihood([0.5, 0.5])}
    evidence, twin = read(**kinds), clone(read(**kinds))
    assert twin == evidence
    assert hash(twin) == hash(evidence)
    assert evidence != read(**{**kinds, "rain": likelihood([2, 1, 1])})
    assert evidence != read(**{**kinds, "wet": False})
    assert evidence != "evidence"
    with pytest.raises(TypeError):
        twin.hard["wet"] = 0
    with pytest.raises(ValueError, match="read-only"):
        twin.soft["rain"][0] = 7.0
    with pytest.raises(AttributeError):
        twin.hard = {}
