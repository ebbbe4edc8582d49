"""`plausible troubleshoot`: what to look at, to test and to repair next."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, read_findings, read_interventions, state_of
from plausible.cli.options import AsJson, EvidenceTexts, ModelSource, option
from plausible.cli.output import is_standard, json_text, picked, print_answer, print_json, print_line
from plausible.cli.source import read_bayesian
from plausible.decisions import Costs, Troubleshooter, TroubleshootingSession, exact_plan, optimal_plan, read_costs
from plausible.decisions.troubleshooting.steps import Outcome, PlanNode, Step, plan_text, whether_it_works
from plausible.errors import FormatError, InvalidArgument, PlausibleError, TooLarge, UnknownState
from plausible.models import BayesianNetwork
from plausible.variables import State

#: Seconds that each exact figure may take.
_MOMENT = 2.0


def _figures(session: TroubleshootingSession) -> tuple[PlanNode | None, PlanNode | None]:
    """The plan of following the advice and the best of all, each as far as it was found in a moment."""
    advised = best = None
    try:
        advised = exact_plan(session, time_limit=_MOMENT)
        best = optimal_plan(session, time_limit=_MOMENT)
    except TooLarge:
        pass
    return advised, best


def advice_text(session: TroubleshootingSession) -> str:
    """All steps with their estimated costs, why the first is best, and what following the advice costs exactly."""
    advice = session.advice
    if advice.best is None:
        return str(advice)
    order = ", ".join(advice.sequence) or "nothing"
    lines = [str(advice), f"without tests: {order}; estimated cost {advice.repair_cost:.6g}"]
    advised, best = _figures(session)
    if advised is None:
        told = "The costs are estimates, one test ahead: the device is too large for an exact figure in a moment."
        return "\n".join([*lines, told])
    lines.append(f"following this advice: expected cost {advised.expected_cost:.6g}, exactly")
    if advised.chance_unfixed > 0:
        lines.append(f"still broken in the end with probability {advised.chance_unfixed:.3g}")
    if best is not None:
        lines.append(f"the best plan: expected cost {best.expected_cost:.6g}, beginning with {best.step}")
    return "\n".join(lines)


def _step(step: Step | None) -> dict[str, Any] | None:
    return None if step is None else picked(step, "step=kind name cost")


def _advice_document(session: TroubleshootingSession) -> dict[str, Any]:
    """The advice for JSON; `null` for the exact figures that were not found in a moment."""
    advice = session.advice
    plans = [
        plan and {"first": _step(plan.step), **picked(plan, "expected_cost chance_unfixed")}
        for plan in _figures(session)
    ]
    return {
        "alternatives": [
            {**picked(one.step, "step=kind name cost"), **picked(one, "chance estimated_cost")}
            for one in advice.alternatives
        ],
        **picked(advice, "sequence estimated_repair_cost=repair_cost reason"),
        **dict(zip(("advised_plan", "best_plan"), plans, strict=True)),
    }


def _plan_document(plan: PlanNode) -> dict[str, Any]:
    """A plan as a tree for JSON: each outcome of a step with its chance and the plan after it.

    `is_exact` is false where the plan is cut off, which is where there is a step to ask about and no outcome of it.
    """
    outcomes = [
        {"outcome": outcome, "chance": chance, "then": _plan_document(after)}
        for outcome, chance, after in plan.outcomes
    ]
    told = picked(plan, "expected_cost is_exact is_fixed chance_unfixed")
    return {"step": _step(plan.step), **told, "outcomes": outcomes}


_WORDS = ("why", "undo", "stop", "help")
#: Before a word of a session, where a state has the same name.
_ESCAPE = "?"
_HELP = """\
Answer with what you see; after a repair, yes or no. Or say:
  why       all steps that could be next, and why this one is best
  do STEP   take another step, as in: do observe NAME
  undo      take the last step back
  stop      end the session here; so does the end of the input
  help      this text; so does ?
Where one of these words is also what can be seen, put ? before it: ?undo."""


def resumed(helper: Troubleshooter, path: Path) -> TroubleshootingSession:
    """The session in a file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"This is no saved session: {error}.", file=str(path)) from None
    if not isinstance(record, dict):
        raise FormatError(f"This is no saved session, but a JSON {type(record).__name__}.", file=str(path))
    try:
        return helper.resume(record)
    except FormatError as error:
        raise error.in_file(str(path)) from None


class Conversation(NamedTuple):
    """How a session is led."""

    path: Path | None  # the file that keeps it after each step; `None` for none
    again: str  # the command that goes on with it
    aside: bool  # whether questions go to standard error, so that the output stays clean
    by_best_plan: bool  # whether steps are those of the best plan, rather than of the advice

    def lead(self, session: TroubleshootingSession) -> TroubleshootingSession:
        """Ask what came of each step until the device works, nothing is left to do, or the answers end."""
        self._keep(session)
        try:
            session, step = self._questioned(session)
        except KeyboardInterrupt:
            print_line(f"\n{self._early}", error=True)
            raise
        if step is None and not session.is_fixed:
            self._say(session.advice.reason)
        self._say(str(session))
        if step is not None:
            self._say(self._early)
        return session

    def _questioned(self, session: TroubleshootingSession) -> tuple[TroubleshootingSession, Step | None]:
        """The session at its end, and the step that was next if that came early."""
        step = self._next(session)
        while step is not None:
            if step.kind == "call":
                self._say(f"call service ({step.cost:g})")
                session, step = session.after(step), None
                self._keep(session)
                break
            self._say(_question(session, step))
            sys.stdout.flush()
            line = sys.stdin.readline()
            if not line or _word(session, step, line) == "stop":
                break
            session, step = self._heard(session, step, line.strip())
        return session, step

    def _heard(
        self, session: TroubleshootingSession, step: Step, said: str
    ) -> tuple[TroubleshootingSession, Step | None]:
        """The session after what was said, and the step that is next."""
        word = _word(session, step, said)
        try:
            if word in ("why", "help"):
                self._say(advice_text(session) if word == "why" else _HELP)
                return session, step
            if word == "do":
                return session, session.step(said.removeprefix(_ESCAPE).strip()[3:].strip())
            session = session.undo() if word == "undo" else session.after(step, _read(session, step, said))
        except PlausibleError as problem:
            self._say(str(problem))
            return session, step
        self._keep(session)
        return session, self._next(session)

    def _next(self, session: TroubleshootingSession) -> Step | None:
        return optimal_plan(session).step if self.by_best_plan else session.next_step()

    @property
    def _early(self) -> str:
        if self.path is None:
            return "Ended early, and not saved: a session begun with --save FILE can be gone on with."
        return f"Ended early. Go on with: {self.again}"

    def _keep(self, session: TroubleshootingSession) -> None:
        if self.path is not None:
            self.path.write_text(json_text(session.to_dict()) + "\n", encoding="utf-8")

    def _say(self, text: str) -> None:
        print_line(text, error=self.aside)


def _answers(session: TroubleshootingSession, step: Step) -> tuple[str, ...]:
    """What can be seen, as it is written."""
    return () if step.kind == "repair" else tuple(map(str, session.outcomes(step)))


def _word(session: TroubleshootingSession, step: Step, said: str) -> str | None:
    """Which of the words of a session was said, if any; a state of that name is an answer unless ? is before it."""
    said = said.strip()
    if said in _answers(session, step):
        return None
    if said.startswith(_ESCAPE):
        said = said.removeprefix(_ESCAPE).strip() or "help"
    return "do" if said.startswith("do ") else next((word for word in _WORDS if word == said), None)


def _question(session: TroubleshootingSession, step: Step) -> str:
    if step.kind == "repair":
        return f"{step} ({step.cost:g}). Does it work? [yes/no, or help]"
    answers = _answers(session, step)
    others = f"{_ESCAPE}help" if "help" in answers else "help"
    return f"{step} ({step.cost:g}). What do you see? [{'/'.join(answers)}, or {others}]"


def _read(session: TroubleshootingSession, step: Step, text: str) -> Outcome:
    if step.kind != "repair":
        return state_of(session.troubleshooter.device.model.variables[step.name], text)
    works = whether_it_works(text)
    if isinstance(works, bool):
        return works
    raise InvalidArgument(f"Please answer yes or no, not {text!r}; help tells what else can be said.")


@command(
    examples=(
        "plausible troubleshoot asia --costs costs.csv --works dysp=no",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --evidence smoke=yes --depth 2",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --best",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --save session.json",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --resume session.json",
    ),
    notes=(SYNTAX,),
)
def run_troubleshoot(
    model: ModelSource,
    costs: Annotated[Path, option("A CSV file with the columns component, observe, repair and ok.")],
    works: Annotated[str, option("When the device works.", metavar="NAME=STATE")],
    evidence: EvidenceTexts = None,
    session: Annotated[bool, option("Go on step by step, asking what came of each.", "--session")] = False,
    save: Annotated[Path | None, option("A session that this new JSON file keeps, step by step.")] = None,
    resume: Annotated[Path | None, option("Go on with the session in this file, and keep it there.")] = None,
    depth: Annotated[int, option("Print the plan for so many steps ahead.", min=0, show_default=False)] = 0,
    best: Annotated[
        bool, option("Go by the best plan of all, for small devices: print or follow it.", "--best")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Advise which test or repair of a device is best next.

    It says why, and what all other steps would cost. In the file of costs, a row with both numbers is a component that
    can be looked at and repaired; with a repair cost alone, one that can only be replaced; with an observation cost
    alone, a test. ok is the state in which a component is no fault. The row "service call" is optional: it has under
    repair what it costs to have the device mended for sure. Without it there is nobody to call: parts are tried as long
    as one may help, and a device that no repair mends stays broken, at no further cost. Cells are separated by commas,
    semicolons or tabs; decimals have a point.

    Evidence is what was seen before any step. The costs of steps are estimates, one test ahead; what following the
    advice costs exactly, and the best plan of all, are told where they are found in a moment; --best goes by that plan.
    With --json, --best prints that plan as a tree, and --depth adds the advised one under "plan".

    In a session, each step is answered with what came of it, or with why, do STEP, undo, stop or help.
    """
    if is_standard(model) and (session or save or resume):
        raise InvalidArgument("Answers of a session are read from standard input, so MODEL can't be -: name a file.")
    network = read_bayesian(model, "troubleshooting needs one")
    helper = _troubleshooter(network, read_costs(costs), works)
    if save is not None and save.exists():
        raise InvalidArgument(f"{save} is there already: go on with it by --resume {save}, or name another file.")
    if depth and (best or session or save or resume):
        raise InvalidArgument("--depth is for the advice of the moment: leave out --best, --session, --save, --resume.")
    if resume is not None and evidence:
        raise InvalidArgument(f"{resume} has the evidence of its session: leave out --evidence.")
    started = helper.start(read_findings(evidence, network)) if resume is None else resumed(helper, resume)
    if session or save or resume:
        path = save or resume
        again = ["plausible", "troubleshoot", model, "--costs", str(costs), "--works", works, "--resume", str(path)]
        again += ["--best"] if best else []
        ended = Conversation(path, shlex.join(again), as_json, best).lead(started)
        if as_json:
            steps = [{**picked(taken.step, "step=kind name cost"), "outcome": taken.outcome} for taken in ended.history]
            print_json({"history": steps, **picked(ended, "cost is_fixed")})
    elif best:
        plan = optimal_plan(started)
        print_answer(_plan_text(plan), _plan_document(plan), as_json=as_json)
    else:
        ahead = exact_plan(started, depth=depth) if depth else None
        document = _advice_document(started) if as_json else {}
        text = "" if as_json else advice_text(started)
        if ahead is not None:
            document, text = {**document, "plan": _plan_document(ahead)}, f"{text}\n\n{_plan_text(ahead)}"
        print_answer(text, document, as_json=as_json)


def _troubleshooter(network: BayesianNetwork, costs: Costs, works: str) -> Troubleshooter:
    goal = read_interventions([works], network)
    if len(goal) != 1:
        raise InvalidArgument(f"--works is one variable and its state, such as --works page=printed, not {works!r}.")
    components: dict[str, State] = {}
    for name in costs.repair:
        if name not in costs.ok_states:
            raise InvalidArgument(costs.placed(name, f"The component {name!r} has no state in the column ok."))
        if name not in network.variables:  # the troubleshooter refuses it
            components[name] = costs.ok_states[name]
            continue
        try:
            components[name] = state_of(network.variables[name], costs.ok_states[name])
        except UnknownState as error:
            raise UnknownState(costs.placed(name, error)) from None
    return Troubleshooter(network, components, works=goal, costs=costs)


def _plan_text(plan: PlanNode) -> str:
    kind = "expected cost" if plan.is_exact else "cost, with estimates for what comes after the dots:"
    return f"{plan_text(plan)}\n{kind} {plan.expected_cost:.6g}"
