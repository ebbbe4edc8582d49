"""Models at a glance and in other formats: `plausible info`, `show`, `convert`; what it can do: `demo`, `pictures`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from plausible import examples
from plausible.cli.causal_graphs import ANY_CLASS, graph_text, read_written_graph
from plausible.cli.commands import command
from plausible.cli.options import AsJson, ModelSource, Source, argument, option
from plausible.cli.output import is_standard, picked, print_answer, print_json, print_line
from plausible.cli.source import check_ending, read_any_model, read_model, save_model
from plausible.cli.terminal import facts
from plausible.cpds import CPD
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument, UnknownExample, UnknownVariable, suggestion
from plausible.examples.image_comparisons import COMPARISONS, write_png
from plausible.graphs import DAG, UndirectedGraph, elimination_order, induced_width
from plausible.io import Model
from plausible.models import BayesianNetwork, PlateModel, RelationalMarkovNetwork, RelationalModel
from plausible.models.sequences.sequence_model import SequenceModel


@command(examples=("plausible info asia",))
def run_info(model: ModelSource, as_json: AsJson = False) -> None:
    """Show the size, structure, parameters and width of a model."""
    described = read_any_model(model)
    if isinstance(described, SequenceModel | RelationalModel | PlateModel | RelationalMarkovNetwork):
        record = described.to_record()
        print_answer(str(described), {"kind": described.kind, **record}, as_json=as_json)
        return
    found = model_facts(described)
    print_answer(facts_text(found, title=model), found, as_json=as_json)


def model_facts(model: Model) -> dict[str, Any]:
    """What there is to say about a model without asking it anything."""
    graph = model.graph
    states = [variable.num_states for variable in model.variables.values() if not variable.is_continuous]
    kinds = {BayesianNetwork: "Bayesian network", InfluenceDiagram: "influence diagram"}
    return {
        "name": model.notes.name,
        "kind": next((kind for known, kind in kinds.items() if isinstance(model, known)), "Markov network"),
        "description": model.notes.description,
        "reference": model.notes.reference,
        "variables": len(model.variables),
        "edges": graph.num_edges,
        "fewest_states": min(states, default=None),
        "most_states": max(states, default=None),
        "continuous_variables": len(model.variables) - len(states),
        "components": len(graph.components),
        "induced_width": induced_width(graph, elimination_order(graph)),
        **_own_facts(model),
    }


def facts_text(found: dict[str, Any], title: str) -> str:
    """The facts as text, without those that say nothing."""
    named = str(found["name"]) or title
    told = {label: value for label, value in found.items() if label != "name" and value not in ("", None)}
    return facts(named, [(label.replace("_", " "), _shown(value)) for label, value in told.items()])


def _own_facts(model: Model) -> dict[str, Any]:
    if isinstance(model, InfluenceDiagram):
        return {
            "chance": list(model.chance),
            "decisions": {name: list(decision.sees) for name, decision in model.decisions.items()},
            "utilities": {name: list(utility.parent_names) for name, utility in model.utilities.items()},
            "distributions": dict(Counter(cpd.kind for cpd in model.chance.values()).most_common()),
        }
    if not isinstance(model, BayesianNetwork):
        return {"factors": len(model.factors), "pairwise": model.is_pairwise}
    graph: DAG = model.graph
    kinds = Counter(cpd.kind for cpd in model.cpds.values())
    return {
        "parameters": model.num_parameters,
        "distributions": dict(kinds.most_common()),
        "most_parents": max((len(graph.parents(node)) for node in graph.nodes), default=0),
        "roots": len(graph.roots),
        "leaves": len(graph.leaves),
        "polytree": graph.is_polytree,
        **({"inputs": list(model.inputs)} if model.inputs else {}),
    }


def _shown(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict) and all(isinstance(names, list) for names in value.values()):
        return ", ".join(f"{name}({', '.join(names)})" for name, names in value.items()) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind}" for kind, count in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


Names = Annotated[list[str] | None, argument("Variables to show; all where left out.")]


@command(examples=("plausible show asia dysp", "plausible show 'X -> Y; X <-> Y' --dot"))
def run_show(
    model: Source,
    variables: Names = None,
    dot: Annotated[bool, option("Print the graph alone, for Graphviz: dot -Tsvg.", "--dot")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a graph, and the distributions of a model's variables.

    The graph may be that of a model, or one that is written as text or was found by discover.
    """
    if dot and (variables or as_json):
        raise InvalidArgument("--dot is for the whole graph: leave names and --json out.")
    graph = read_written_graph(model, (*ANY_CLASS, UndirectedGraph))
    if graph is not None:
        if variables:
            raise InvalidArgument(f"A graph has no distributions to show, so leave {', '.join(variables)} out.")
        text, document = (
            graph.to_dot() if dot else graph_text(graph),
            {"kind": type(graph).__name__, "graph": str(graph)},
        )
        print_answer(text, document, as_json=as_json)
        return
    found = read_model(model)
    if dot:
        print_line(found.to_dot() if isinstance(found, InfluenceDiagram) else found.graph.to_dot())
        return
    known = found.graph.nodes if isinstance(found, InfluenceDiagram) else tuple(found.variables)
    chosen = list(variables or map(str, known))
    for name in chosen:
        if name not in known:
            raise UnknownVariable.named(name, known, f"{model!r}")
    tables = (f"\n{title}\n{table}" for title, table in _tables(found, chosen))
    print_answer("\n".join([str(found.graph), *tables]), _document(found, chosen), as_json=as_json)


def _tables(model: Model, names: list[str]) -> list[tuple[str, str]]:
    if isinstance(model, InfluenceDiagram):
        return [_part(model, name) for name in names]
    if not isinstance(model, BayesianNetwork):
        chosen = set(names)
        return [(", ".join(factor.names), str(factor)) for factor in model.factors if chosen & set(factor.names)]
    return [(repr(model.cpd(name)), str(model.cpd(name))) for name in names if name not in model.inputs]


def _part(diagram: InfluenceDiagram, name: str) -> tuple[str, str]:
    """A distribution, a decision with what it sees, or a utility: a title and its table."""
    if name in diagram.decisions:
        decision = diagram.decisions[name]
        seen = ", ".join(decision.sees) or "nothing"
        return name, f"decides among {', '.join(map(str, decision.states))}, seeing {seen}"
    if name in diagram.utilities:
        return repr(diagram.utilities[name]), str(diagram.utility_factors[name])
    return repr(diagram.chance[name]), str(diagram.chance[name])


def _document(model: Model, names: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "graph": str(model.graph),
        "variables": {
            name: "continuous" if model.variables[name].is_continuous else model.variables[name].states
            for name in names
            if name in model.variables
        },
    }
    if isinstance(model, BayesianNetwork):
        document["distributions"] = _distributions(model.cpds, names)
    elif isinstance(model, InfluenceDiagram):
        document["distributions"] = _distributions(model.chance, names)
        document["decisions"] = {name: list(model.decisions[name].sees) for name in names if name in model.decisions}
        document["utilities"] = {
            name: {"parents": list(factor.names), "values": factor.flat.tolist()}
            for name, factor in model.utility_factors.items()
            if name in names
        }
    else:
        document["factors"] = [
            {"scope": list(factor.names), "values": factor.flat.tolist()}
            for factor in model.factors
            if set(names) & set(factor.names)
        ]
    return document


def _distributions(cpds: Mapping[str, CPD], names: list[str]) -> dict[str, Any]:
    return {
        name: {"kind": cpd.kind, "parents": cpd.parent_names, **cpd.to_record()}
        for name, cpd in cpds.items()
        if name in names
    }


_ONE = {"variables": "variable", "utilities": "utility"}


@command(
    examples=(
        "plausible convert asia asia.xdsl",
        "plausible convert asia.xdsl - --to bif",
        "plausible convert asia.xdsl mended.json --lenient",
    )
)
def run_convert(
    model: ModelSource,
    target: Annotated[str, argument("The file to write; its ending chooses the format. Or - for standard output.")],
    format: Annotated[
        str | None, option("The format to write, where the ending does not tell.", "--format", "--to")
    ] = None,
    read_format: Annotated[str | None, option("The format to read, where the file does not tell.", "--from")] = None,
    lenient: Annotated[
        bool, option("Mend rows that don't sum to one, such as counts, and say what was mended.", "--lenient")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Convert a model to another file format.

    The format is chosen by the ending of the target, also with .gz after it.
    """
    if is_standard(target) and format is None:
        raise InvalidArgument("- is standard output, which has no ending: name the format, as in --to bif.")
    if not is_standard(target) and format is None:
        check_ending(target, "--to bif")
    found = read_any_model(model, read_format, lenient=lenient)
    save_model(found, target, format)
    if is_standard(target):
        return
    variables = found.predicates if isinstance(found, RelationalMarkovNetwork) else found.variables
    written = {"variables": len(variables)}
    written |= {"utilities": len(found.utilities)} if isinstance(found, InfluenceDiagram) else {}
    things = ", ".join(f"{count} {_ONE[thing] if count == 1 else thing}" for thing, count in written.items())
    print_answer(f"{target}: {things} written", {"source": model, "target": target, **written}, as_json=as_json)


#: (what is asked in words, target, evidence, intervention)
_QUESTIONS: tuple[tuple[str, str, dict[str, str], dict[str, str]], ...] = (
    ("How likely is lung cancer, before anything is known?", "lung", {}, {}),
    ("... and of a patient short of breath, with a positive X-ray?", "lung", {"dysp": "yes", "xray": "yes"}, {}),
    (
        "... who also was in Asia? (Tuberculosis explains the X-ray away.)",
        "lung",
        {"dysp": "yes", "xray": "yes", "asia": "yes"},
        {},
    ),
    ("How likely is bronchitis if everyone had to smoke? (an intervention)", "bronc", {}, {"smoke": "yes"}),
)


@command(examples=("plausible demo",))
def run_demo(as_json: AsJson = False) -> None:
    """Load a bundled network and answer a few questions."""
    network = examples.load("asia")
    assert isinstance(network, BayesianNetwork)
    answers = [(text, network.query(target, seen, do=do).to_dict()) for text, target, seen, do in _QUESTIONS]
    best = network.mpe(evidence={"dysp": "yes", "xray": "yes"})
    separation = network.graph.explain_separation("smoke", "tub", given=["xray"])
    told = ", ".join(f"{name} {state}" for name, state in best.items() if name not in ("dysp", "xray"))
    lines = [facts_text(model_facts(network), title="asia"), f"\n{network.graph}\n"]
    lines += [
        f"{text}\n    " + "   ".join(f"P({state}) = {p:.4f}" for state, p in answer.items()) for text, answer in answers
    ]
    lines += [
        f"What most probably is behind a positive X-ray and shortness of breath?\n    {told}",
        f"\nDoes smoking tell anything about tuberculosis, once the X-ray is known?\n{separation}",
    ]
    listed = [{"question": text, "answer": answer} for text, answer in answers]
    document = {"facts": model_facts(network), "answers": listed, "best": dict(best), "separation": str(separation)}
    print_answer("\n".join(lines), document, as_json=as_json)


Folder = Annotated[Path, argument("The folder for the pictures; made where it is missing.")]
ModelNames = Annotated[list[str] | None, argument(f"Of {', '.join(COMPARISONS)}; all where left out.")]


@command(examples=("plausible pictures out segment",))
def run_pictures(folder: Folder, names: ModelNames = None, as_json: AsJson = False) -> None:
    """Denoise and segment pictures by several engines.

    It writes PNGs of truth, noise and results, and tells what the results are worth.
    """
    for name in names or ():
        if name not in COMPARISONS:
            raise UnknownExample(f"{name!r} is no comparison of pictures.{suggestion(name, COMPARISONS)}")
    found: dict[str, Any] = {}
    for name in names or COMPARISONS:
        comparison = COMPARISONS[name]()
        path = write_png(folder / f"{name}.png", comparison.strip())
        engines = {one.engine: {"score": one.score, "energy": one.result.energy} for one in comparison.attempts}
        found[name] = {"picture": str(path), **picked(comparison, "measure before bound"), "engines": engines}
        if not as_json:
            print_line(f"{comparison.table()}\npicture: {path}\n")
    if as_json:
        print_json(found)
