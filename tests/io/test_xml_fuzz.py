"""XML from strangers: attacks are refused, and damaged files are read or refused, always in time."""

from __future__ import annotations

import contextlib
import time
import warnings

import numpy as np
import pytest
from random_networks import random_network, random_notes

from plausible.cpds import DeterministicCPD, NoisyMax, NoisyOr, TableCPD
from plausible.errors import FormatError, RoundedProbabilities
from plausible.io.xdsl import format_xdsl, parse_xdsl
from plausible.io.xml_source import MAX_DEPTH, parse_xml
from plausible.io.xmlbif import format_xmlbif, parse_xmlbif
from plausible.models import BayesianNetwork
from seeds import few_of

READERS = [pytest.param(parse_xmlbif, "BIF", id="xmlbif"), pytest.param(parse_xdsl, "smile", id="xdsl")]


def laughs(root: str) -> str:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    return f'<!DOCTYPE {root} [<!ENTITY l0 "ha">{entities}]><{root}>&l11;</{root}>'


@pytest.mark.parametrize(("read", "root"), READERS)
@pytest.mark.parametrize(
    "make",
    [
        laughs,
        lambda root: f'<!DOCTYPE {root} [<!ENTITY x SYSTEM "file:///etc/hostname">]><{root}>&x;</{root}>',
        lambda root: f'<!DOCTYPE {root} [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]><{root}/>',
        lambda root: f'<!DOCTYPE {root} [<!ENTITY x "y">]><{root} a="&x;"/>',
        lambda root: f'<!DOCTYPE {root} SYSTEM "file:///etc/hostname"><{root}>&x;</{root}>',
        lambda root: f"<{root}>&x;</{root}>",
    ],
)
def test_entities_are_refused(read, root, make):
    start = time.perf_counter()
    with pytest.raises(FormatError, match=r"entit") as raised:
        read(make(root))
    assert time.perf_counter() - start < 1.0
    assert raised.value.line == 1


def test_an_external_dtd_is_not_fetched():
    """The document is read as if the file, which is not there, did not matter."""
    tree = parse_xml('<!DOCTYPE a SYSTEM "http://127.0.0.1:9/none.dtd"><a>1</a>', root="a")
    assert tree.text == "1"


def test_a_default_of_the_dtd_is_not_copied_to_every_element():
    """A megabyte of default for each of 20000 elements would be 20 gigabytes."""
    text = f'<!DOCTYPE a [<!ATTLIST b x CDATA "{"y" * 1_000_000}">]><a>{"<b/>" * 20_000}</a>'
    tree = parse_xml(text, root="a")
    assert not any(child.attributes for child in tree.children)


@pytest.mark.parametrize(("read", "root"), READERS)
def test_deep_nesting_is_refused(read, root):
    for tag in (root, "submodel"):
        text = f"<{root}>" + f"<{tag} id='x'>" * 100_000 + f"</{tag}>" * 100_000 + f"</{root}>"
        with pytest.raises(FormatError, match=f"nested more than {MAX_DEPTH} deep"):
            read(text)


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr("plausible.io.xml_source.MAX_ELEMENTS", 1000)
    assert len(parse_xml(f"<a>{'<b/>' * 999}</a>", root="a").children) == 999
    with pytest.raises(FormatError, match="over 1000"):
        parse_xml(f"<a>{'<b/>' * 1000}</a>", root="a")


@pytest.mark.parametrize(("read", "root"), READERS)
@pytest.mark.parametrize(
    "text", ["\x00", "\ud800", "<{0}>\x01</{0}>", "<{0}>\ud800</{0}>", "<{0}", "<{0} a='1' a='2'/>", "]]>"]
)
def test_what_is_no_xml_is_refused_with_its_place(read, root, text):
    with pytest.raises(FormatError) as raised:
        read(text.format(root))
    assert (raised.value.line, raised.value.column is not None) == (1, True)


def test_places_count_characters_not_bytes():
    tree = parse_xml("<a>日本\n é<b/></a>", root="a")
    assert (tree.children[0].place.line, tree.children[0].place.column) == (2, 3)


def sample(seed: int) -> BayesianNetwork:
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=4, max_states=3, nasty=seed % 2 == 0)
    names = [name for name, variable in network.variables.items() if variable.num_states == 2][:2]
    network = network.with_notes(random_notes(rng, network))
    network = network.with_cpd(NoisyOr("or!", names, [0.5] * len(names), 0.25, states=["off", "on"]))
    network = network.with_cpd(NoisyMax("max!", ["or!"], [[[1, 0, 0], [0.2, 0.3, 0.5]]]))
    return network.with_cpd(DeterministicCPD("f!", lambda x: x, ["max!"], states=[0, 1, 2]))


def damaged(text: str, rng: np.random.Generator) -> str:
    """Some pieces deleted, doubled, moved, replaced by junk, or the text cut."""
    junk = [
        "<",
        ">",
        "</",
        "/>",
        "&",
        '"',
        "'",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x?>",
        "&#0;",
        "-1",
        "1e999",
        "nan",
    ]
    junk += [
        "99999999999",
        "\x00",
        " ",
        "\n",
        "é",
        "0.5 ",
        "<state id='x'/>",
        "<GIVEN>",
        "</cpt>",
        "plausible_",
        "[",
        "{}",
    ]
    for _ in range(int(rng.integers(1, 5))):
        start, end = sorted(int(place) for place in rng.integers(0, len(text) + 1, size=2))
        end = min(end, start + int(rng.choice([1, 3, 10, 100])))
        piece = text[start:end]
        action = rng.integers(6)
        if action == 0:
            text = text[:start] + text[end:]
        elif action == 1:
            text = text[:end] + piece + text[end:]
        elif action == 2:
            text = text[:start] + str(rng.choice(junk)) + text[end:]
        elif action == 3:
            place = int(rng.integers(0, len(text) + 1))
            text = text[:place] + piece + text[place:]
        elif action == 4:
            text = text[:start] + str(rng.choice(junk)) + text[start:]
        elif rng.random() < 0.3:
            text = text[:end]
    return text


@pytest.mark.parametrize(
    ("read", "write"),
    [pytest.param(parse_xmlbif, format_xmlbif, id="xmlbif"), pytest.param(parse_xdsl, format_xdsl, id="xdsl")],
)
def test_damaged_files_are_read_or_refused(read, write):
    """Nothing but a network or a FormatError with its place, within a second each."""
    texts = [write(sample(seed)) for seed in range(6)]
    refused = 0
    for seed in range(160):
        text = damaged(texts[seed % len(texts)], np.random.default_rng(seed))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RoundedProbabilities)
            try:
                assert read(text).graph is not None
            except FormatError as error:
                refused += 1
                place = error.line
                if place is None:
                    raise
        assert time.perf_counter() - start < 1.0
    assert 40 < refused < 160


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_properties_of_ours_that_were_damaged_do_no_harm(seed):
    """JSON of the wrong shape where our notes should be: they are passed over, and the network is read."""
    rng = np.random.default_rng(seed)
    wrong = ["", "null", "[]", "{}", "3", '"x"', "[1", "[[[]]]", '{"properties": 3}', '{"position": [1]}', "[NaN]"]
    wrong += [
        '{"label": 3}',
        '{"properties": {"a": 1}}',
        '{"name": "x", "label": "y"}',
        "[" * 2000,
        '{"position": "ab"}',
    ]
    network = BayesianNetwork(TableCPD("a b", [0.5, 0.5], states=[0, 1]))
    properties = "".join(
        f'<property id="{key}">{rng.choice(wrong)}</property>'
        for key in ("plausible_name", "plausible_states", "plausible_notes", "plausible_noisy")
    )
    text = format_xdsl(network)
    start, end = text.index("<property id", text.index("<nodes>")), text.index("</cpt>")
    text = (text[:start] + properties + text[end:]).replace("<smile", "<smile", 1)
    variable = next(iter(parse_xdsl(text).variables.values()))
    assert variable.num_states == 2
    with contextlib.suppress(FormatError):
        parse_xmlbif(
            format_xmlbif(network).replace("plausible_states = [0, 1]", f"plausible_notes = {rng.choice(wrong)}")
        )
