"""`plausible demo`: a bundled network, its facts, and a few questions with their answers."""

from __future__ import annotations

from typing import Any

from plausible import examples
from plausible.cli.info import model_facts, print_facts
from plausible.cli.output import AsJson, print_json, print_line
from plausible.models import BayesianNetwork

__all__ = ["EXAMPLES", "run"]

EXAMPLES = ("plausible demo",)

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


def run(as_json: AsJson = False) -> None:
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
