"""What the library can do: `plausible demo` (a network and its answers) and `pictures` (denoised and segmented)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from plausible import examples
from plausible.cli.commands import command
from plausible.cli.info import model_facts, print_facts
from plausible.cli.output import AsJson, print_json, print_line
from plausible.errors import UnknownExample, suggestion
from plausible.examples.image_comparisons import COMPARISONS, Comparison
from plausible.examples.pictures import write_png
from plausible.models import BayesianNetwork

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
    answers = [_answer(network, *question) for question in _QUESTIONS]
    best = network.mpe(evidence={"dysp": "yes", "xray": "yes"})
    separation = network.graph.explain_separation("smoke", "tub", given=["xray"])
    if as_json:
        listed = [{"question": text, "answer": answer} for text, answer in answers]
        print_json(
            {"facts": model_facts(network), "answers": listed, "best": dict(best), "separation": str(separation)}
        )
        return
    print_facts(model_facts(network), title="asia")
    print_line(f"\n{network.graph}\n")
    for text, answer in answers:
        print_line(f"{text}\n    " + "   ".join(f"P({state}) = {p:.4f}" for state, p in answer.items()))
    told = ", ".join(f"{name} {state}" for name, state in best.items() if name not in ("dysp", "xray"))
    print_line(f"What most probably is behind a positive X-ray and shortness of breath?\n    {told}")
    print_line(f"\nDoes smoking tell anything about tuberculosis, once the X-ray is known?\n{separation}")


def _answer(
    network: BayesianNetwork, text: str, target: str, evidence: dict[str, str], do: dict[str, str]
) -> tuple[str, dict[Any, float]]:
    return text, network.query(target, evidence=evidence, do=do).to_dict()


Folder = Annotated[Path, typer.Argument(help="The folder for the pictures; made where it is missing.")]
Names = Annotated[
    list[str] | None, typer.Argument(help=f"Of {', '.join(COMPARISONS)}; all where left out.", show_default=False)
]


@command(examples=("plausible pictures out segment",))
def run_pictures(folder: Folder, names: Names = None, as_json: AsJson = False) -> None:
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
        found[name] = _document(comparison, path)
        if not as_json:
            print_line(f"{comparison.table()}\npicture: {path}\n")
    if as_json:
        print_json(found)


def _document(comparison: Comparison, path: Path) -> dict[str, Any]:
    return {
        "picture": str(path),
        "measure": comparison.measure,
        "before": comparison.before,
        "bound": comparison.bound,
        "engines": {
            attempt.engine: {"score": attempt.score, "energy": attempt.result.energy} for attempt in comparison.attempts
        },
    }
