"""The notebook widget: a live picture whose states people click. It needs anywidget, the extra `notebook`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from plausible.errors import PlausibleError
from plausible.plotting.focus import FocusLike, read_focus
from plausible.plotting.live import Answer, Live, checked_findings, checked_settings, from_page, to_page
from plausible.plotting.models import picture_of_structure
from plausible.plotting.picture import Picture
from plausible.plotting.scenes import Subject, picture_of_subject, scene_of

_STATIC = Path(__file__).with_name("static")


def _evidence_out(evidence: dict[str, Any], widget: BeliefWidget) -> dict[str, Any]:
    return to_page(widget.subject, evidence)


def _evidence_in(told: dict[str, Any], widget: BeliefWidget) -> dict[str, Any]:
    return from_page(widget.subject, told)


def _do_in(told: dict[str, Any], widget: BeliefWidget) -> dict[str, Any]:
    return from_page(widget.subject, told)


class BeliefWidget(anywidget.AnyWidget):
    """A model in a notebook: click a state to see it, again to retract it; beliefs move at once.

    `evidence`, `do` and `focus` can be read and set from Python, with the values of `query` and `picture`; what people
    click arrives there, and `observe` tells of it. `beliefs` has what is believed of the variables shown, `message`
    why that can't be told if it can't.
    """

    _esm = _STATIC / "widget.js"
    _css = _STATIC / "widget.css"

    evidence = traitlets.Dict().tag(sync=True, to_json=_evidence_out, from_json=_evidence_in)
    do = traitlets.Dict().tag(sync=True, to_json=_evidence_out, from_json=_do_in)
    focus = traitlets.Any("auto").tag(sync=True)
    beliefs = traitlets.Dict()
    message = traitlets.Unicode()
    # What only the page reads, and how many questions it has asked.
    _scene = traitlets.Dict().tag(sync=True)
    _answer = traitlets.Dict().tag(sync=True)
    _asked = traitlets.Int(0).tag(sync=True)

    def __init__(self, subject: Subject, evidence: Any, do: Any, focus: FocusLike) -> None:
        self.subject = subject
        found, settings = checked_findings(subject, evidence), checked_settings(subject, do)
        self._look_at(focus, [*settings, *found])
        answer = self._live.answer(found, settings)
        super().__init__(evidence=found, do=settings, focus=focus, _scene=self._live.scene.data, **_told(answer, 0))
        self._answered: tuple[Any, ...] = self._question()
        self.observe(self._changed, ["evidence", "do", "focus", "_asked"])
        self.on_msg(self._heard)

    def picture(self) -> Picture:
        """The still picture of what is shown now."""
        return picture_of_subject(self.subject, self.evidence, self.do, self.focus)

    @traitlets.validate("evidence")
    def _check_evidence(self, proposal: Any) -> dict[str, Any]:
        return checked_findings(self.subject, proposal["value"])

    @traitlets.validate("do")
    def _check_do(self, proposal: Any) -> dict[str, Any]:
        return checked_settings(self.subject, proposal["value"])

    @traitlets.validate("focus")
    def _check_focus(self, proposal: Any) -> FocusLike:
        named = read_focus(self.subject.graph.nodes, proposal["value"], self.subject.place)
        return named or proposal["value"]

    def _look_at(self, focus: FocusLike, around: list[str]) -> None:
        self._live = Live(self.subject, scene_of(self.subject, focus, around))
        self._seen_focus = focus

    def _question(self) -> tuple[Any, ...]:
        return self.evidence, self.do, self.focus, self._asked

    def _changed(self, _change: object) -> None:
        """Answer, once where several things changed together."""
        if all(new is old for new, old in zip(self._question(), self._answered, strict=True)):
            return
        with self.hold_sync():
            if self.focus != self._seen_focus:
                self._look_at(self.focus, [*self.do, *self.evidence])
                self._scene = self._live.scene.data
            self._answered = self._question()
            for name, value in _told(self._live.answer(self.evidence, self.do), self._asked).items():
                setattr(self, name, value)

    def _heard(self, _widget: object, content: Any, _buffers: object) -> None:
        """A page asks for the still picture, to save it."""
        if content != {"kind": "picture"}:
            return
        try:
            self.send({"kind": "picture", "svg": self.picture().svg})
        except PlausibleError as error:
            self.send({"kind": "picture", "message": str(error)})

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and a still picture for where no Python runs: pages made from notebooks."""
        shown = super()._repr_mimebundle_(**options)
        bundle, metadata = shown if isinstance(shown, tuple) else (shown, {})
        try:
            still = self.picture()
        except PlausibleError:
            still = picture_of_structure(self.subject.model)
        return {**(bundle or {}), "image/svg+xml": still.svg}, metadata


def _told(answer: Answer, asked: int) -> dict[str, Any]:
    """The traits that tell an answer."""
    return {"beliefs": answer.beliefs, "message": answer.message, "_answer": {**answer.data, "asked": asked}}
