"""`plausible draw`: pictures of models and graphs, as files."""

from __future__ import annotations

from typing import Annotated, Any

from plausible.base import counted
from plausible.cli.causal_graphs import ANY_CLASS, read_written_graph
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, asked, names_in
from plausible.cli.options import AsJson, Do, EvidenceTexts, Source, option
from plausible.cli.output import is_standard, print_answer, print_line
from plausible.cli.source import read_plain_model
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import UndirectedGraph
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.plotting import Picture


@command(
    examples=(
        "plausible draw asia --evidence xray=yes -o asia.svg",
        "plausible draw 'X -> Y; X <-> Y' -o graph.svg",
        "plausible draw oil --solve -o oil.svg",
    ),
    notes=(SYNTAX,),
)
def run_draw(
    model: Source,
    output: Annotated[
        str,
        option("The file to write: .svg; .png or .pdf by matplotlib. Or - for SVG.", "--output", "-o"),
    ],
    evidence: EvidenceTexts = None,
    do: Do = None,
    focus: Annotated[
        list[str] | None, option("Show what is around these variables only, separated by commas.", metavar="NAMES")
    ] = None,
    whole: Annotated[bool, option("Show all of a large graph.", "--all")] = False,
    beliefs: Annotated[bool, option("Show beliefs without evidence too.", "--beliefs")] = False,
    solve: Annotated[bool, option("Show what to do in the decisions of a diagram.", "--solve")] = False,
    dark: Annotated[bool, option("Draw on dark paper; an SVG follows the page that shows it.", "--dark")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a graph, or a model with its beliefs, into a file.

    Without evidence it is the graph alone. Of a large one what is around the findings is drawn, and what is hidden
    counted.
    """
    if whole and focus:
        raise InvalidArgument("--all and --focus say opposite things: leave one out.")
    shown: Any = None if whole else (names_in(focus) or "auto")
    drawn = _picture(model, shown, {"evidence": evidence, "do": do}, beliefs, solve)
    if is_standard(output):
        print_line(drawn.svg.rstrip("\n"))
        return
    drawn.save(output, dark=dark)
    sizes = {"nodes": len(drawn.of_kind("node")), "edges": len(drawn.of_kind("edge"))}
    told = f"{output}: {counted(sizes['nodes'], 'node')} and {counted(sizes['edges'], 'edge')} drawn"
    document = {"source": model, "target": output, **sizes, "width": drawn.width, "height": drawn.height}
    print_answer(told, document, as_json=as_json)


def _picture(source: str, focus: Any, findings: dict[str, list[str] | None], beliefs: bool, solve: bool) -> Picture:
    """The picture of what the source names: a graph, a diagram, or a network."""
    asks = beliefs or any(findings.values())
    graph = read_written_graph(source, (*ANY_CLASS, UndirectedGraph))
    if graph is not None:
        if asks or solve:
            raise NotSupported("A graph alone has no beliefs to draw: give a model, or leave the findings out.")
        picture: Picture = graph.picture(focus=focus)
        return picture
    model = read_plain_model(source)
    if isinstance(model, SequenceModel):
        if asks or solve:
            raise NotSupported("The picture of a model in time takes no findings: plausible smooth asks it about rows.")
        return model.picture()
    if isinstance(model, InfluenceDiagram):
        if asks:
            raise NotSupported("The picture of a diagram takes no findings: --solve shows what to do.")
        return model.solve().picture(focus=focus) if solve else model.picture(focus=focus)
    if solve:
        raise NotSupported(f"{source!r} is no influence diagram: there is nothing to --solve.")
    if not asks:
        return model.graph.picture(focus=focus)
    return model.picture(**asked(findings["evidence"], findings["do"], model), focus=focus)
