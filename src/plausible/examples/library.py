"""Famous networks and influence diagrams as data records: for tests, docs, demonstrations and teaching."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, cast, overload

from plausible.cpds import NoisyOr, TableCPD
from plausible.decisions import Costs, InfluenceDiagram, Troubleshooter
from plausible.errors import UnknownExample, suggestion
from plausible.factors import Factor
from plausible.io import Model, parse_json
from plausible.models import BayesianNetwork, MarkovNetwork, Notes
from plausible.utilities.attributes.additive_utility import AdditiveUtility
from plausible.variables import Variable

# The kinds of the examples, for type checkers.
NetworkName: TypeAlias = Literal[
    "alarm",
    "asia",
    "burglary",
    "cancer",
    "chain",
    "earthquake",
    "fever",
    "gaussian-chain",
    "radio",
    "sprinkler",
    "student",
]
MarkovName: TypeAlias = Literal["misconception"]
DiagramName: TypeAlias = Literal["entrepreneur", "exam", "oil", "startup", "umbrella"]


@dataclass(frozen=True, slots=True)
class Example:
    """A model with its story: what it is about, and where it comes from."""

    name: str
    description: str
    reference: str
    model: Model


def names() -> tuple[str, ...]:
    """List the names of all examples, in alphabetical order.

    >>> "asia" in names()
    True
    """
    files = resources.files("plausible.examples").joinpath("networks").iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json")))


def get(name: str) -> Example:
    """Get an example by name, with its description and reference.

    >>> get("asia").reference
    'Lauritzen & Spiegelhalter (1988)'
    """
    if name not in names():
        raise UnknownExample(f"{name!r} is not an example.{suggestion(name, names())}")
    text = resources.files("plausible.examples").joinpath("networks", f"{name}.json").read_text(encoding="utf-8")
    model = cast(Model, parse_json(text))  # none of them is a model in time
    return Example(name, model.notes.description, model.notes.reference, model)


@overload
def load(name: NetworkName) -> BayesianNetwork: ...
@overload
def load(name: MarkovName) -> MarkovNetwork: ...
@overload
def load(name: DiagramName) -> InfluenceDiagram: ...
@overload
def load(name: str) -> BayesianNetwork | Any: ...
def load(name: str) -> Model:
    """Load the example model of this name.

    >>> load("asia")
    <BayesianNetwork 'asia': 8 variables, 8 edges, 18 parameters>
    >>> load("entrepreneur")
    <InfluenceDiagram 'entrepreneur': 2 chance, 2 decisions, 2 utilities>
    """
    return get(name).model


_OK = "ok"


def printer_network() -> BayesianNetwork:
    """Six parts, of which each can keep a page from being printed, and three things to look at besides.

    >>> printer_network().graph.parents("no page")
    ('paper', 'cable', 'driver', 'spooler', 'toner', 'network')
    """
    parts = {
        "paper": ("empty", 0.06),
        "cable": ("loose", 0.03),
        "driver": ("wrong", 0.05),
        "spooler": ("stuck", 0.04),
        "toner": ("low", 0.05),
        "network": ("down", 0.04),
    }
    priors = [TableCPD(name, [1 - chance, chance], states=[_OK, fault]) for name, (fault, chance) in parts.items()]
    return BayesianNetwork(
        *priors,
        NoisyOr("no page", list(parts), [1.0, 1.0, 0.9, 0.95, 0.6, 0.9], states=["prints", "nothing"]),
        NoisyOr("panel", ["paper", "toner"], [0.95, 0.8], leak=0.01, states=["clear", "warning"]),
        NoisyOr("self-test", ["paper", "toner"], [1.0, 0.6], states=["passes", "fails"]),
        NoisyOr("queue", ["cable", "spooler", "network"], [0.9, 0.95, 0.9], leak=0.02, states=["empty", "jobs wait"]),
        notes=Notes(name="printer", description="A printer that does not print; invented for examples."),
    )


def printer_costs() -> Costs:
    """Minutes that each step takes."""
    return Costs(
        repair={"paper": 2, "cable": 3, "driver": 20, "spooler": 5, "toner": 8, "network": 30},
        observe={
            "paper": 1,
            "cable": 4,
            "driver": 8,
            "spooler": 4,
            "toner": 5,
            "network": 6,
            "panel": 0.5,
            "self-test": 3,
            "queue": 1,
        },
        service=90,
    )


def printer_troubleshooter() -> Troubleshooter:
    """A troubleshooter for it.

    >>> print(printer_troubleshooter().start().next_step())
    test queue
    """
    network, costs = printer_network(), printer_costs()
    return Troubleshooter(network, dict.fromkeys(costs.repair, _OK), works={"no page": "prints"}, costs=costs)


def prenatal_utility() -> AdditiveUtility:
    """What the outcome of a pregnancy is worth to one couple; 100 at best.

    U_1(testing) + U_2(knowledge) + U_3(down, loss) + U_4(loss, future): the form that Chajewska & Koller (2000) found
    for most couples asked by Kuppermann et al. (Koller & Friedman 2009, box 22.A). The numbers are made up for this
    example. A table over all outcomes would have 108 entries; the parts have 18, with 13 free parameters.

    >>> utility = prenatal_utility()
    >>> utility.num_outcomes, utility.num_entries, utility.num_free_parameters
    (108, 18, 13)
    >>> utility.graph
    UndirectedGraph('down - loss; loss - future; testing; knowledge')
    """
    testing = Variable("testing", ["none", "CVS", "amniocentesis"])
    knowledge = Variable("knowledge", ["none", "accurate", "inaccurate"])
    down = Variable("down", ["normal", "down"])
    loss = Variable("loss", ["none", "miscarriage", "termination"])
    future = Variable("future", ["yes", "no"])
    return AdditiveUtility(
        [
            Factor([testing], [0.0, -2.0, -3.0]),
            Factor([knowledge], [4.0, 8.0, 0.0]),
            Factor([down, loss], [[72.0, 38.0, 25.0], [30.0, 42.0, 40.0]]),
            Factor([loss, future], [[20.0, 15.0], [18.0, 3.0], [16.0, 4.0]]),
        ],
        variables=[testing, knowledge, down, loss, future],
    )
