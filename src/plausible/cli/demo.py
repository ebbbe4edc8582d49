"""What the library can do: `plausible demo` (a network and its answers) and `pictures` (denoised and segmented)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from plausible import examples
from plausible.cli.commands import command
from plausible.cli.options import AsJson, argument
from plausible.cli.output import picked, print_answer, print_json, print_line
from plausible.cli.show import facts_text, model_facts
from plausible.errors import UnknownExample, suggestion
from plausible.examples.image_comparisons import COMPARISONS
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
Names = Annotated[list[str] | None, argument(f"Of {', '.join(COMPARISONS)}; all where left out.")]


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
        engines = {one.engine: {"score": one.score, "energy": one.result.energy} for one in comparison.attempts}
        found[name] = {"picture": str(path), **picked(comparison, "measure before bound"), "engines": engines}
        if not as_json:
            print_line(f"{comparison.table()}\npicture: {path}\n")
    if as_json:
        print_json(found)
