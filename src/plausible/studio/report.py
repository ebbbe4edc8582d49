"""The report: one HTML file with the picture, what is known, what is believed and the tables of the model."""

from __future__ import annotations

import html
from typing import Any

from plausible.base.records import html_of, one_line
from plausible.plotting.scenes import picture_of_subject
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.files import stem
from plausible.studio.seeing import findings_in, focus_in

#: No more tables of distributions than this are part of a report.
_MOST_TABLES = 200

_STYLE = """
:root { color-scheme: light dark }
body { margin: 24px auto; max-width: 1000px; padding: 0 16px; font: 15px/1.5 system-ui, sans-serif }
svg { max-width: 100%; height: auto }
table { border-collapse: collapse; margin: 0 0 16px }
th, td { padding: 2px 14px 2px 0; text-align: right; font-weight: normal; border-bottom: 1px solid #8885 }
thead th { font-weight: bold }
h2 { margin-top: 32px }
"""


def report(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The model and what is known of it, as one HTML file that needs nothing else."""
    version = desk.version(asked.text("model"))
    subject = version.subject()
    evidence, do = findings_in(asked, subject)
    model, notes = version.shown, getattr(version.model, "notes", None)
    title = one_line((notes.name if notes is not None else "") or stem(version.name))
    focus = focus_in(asked)
    told = version.live(focus, (*do, *evidence)).answer(evidence, do).data
    known = [finding["text"] for finding in told["findings"]]
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        html_of(notes.description) if notes is not None and notes.description else "",
        "<h2>What is known</h2>",
        html_of("\n".join(known) if known else "Nothing."),
        html_of("\n".join([*told["facts"], *([told["message"]] if told["message"] else [])])),
        "<h2>What is believed</h2>",
        picture_of_subject(subject, evidence, do, focus).svg,
        "<h2>The model</h2>",
        *(html_of(f"{one_line(name)}\n\n{text}") for name, text in _tables(model)),
    ]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'
    return {"name": f"{stem(version.name)}.html", "text": page}


def _tables(model: Any) -> list[tuple[str, str]]:
    """The name and the text of each distribution, or of each factor."""
    cpds = getattr(model, "cpds", None) or getattr(model, "chance", None)
    if cpds is not None:
        return [(repr(cpd), str(cpd)) for cpd in list(cpds.values())[:_MOST_TABLES]]
    return [(", ".join(factor.names), str(factor)) for factor in list(model.factors)[:_MOST_TABLES]]
