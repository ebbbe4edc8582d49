"""A page in Chromium that shows widgets, as a notebook does, but without a kernel between."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import plausible
import plausible.plotting

STATIC = Path(plausible.plotting.__file__).with_name("static")
#: The browser of this machine, by the names it goes by.
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def lacking(*modules: str) -> str:
    """Why no page can be shown here; empty where one can."""
    for module in (*modules, "playwright"):
        if find_spec(module) is None:
            return f"{module} is not installed: pip install {module}"
    return "" if BROWSER else "Chromium is not on the PATH"


LACKING = lacking("anywidget")
#: What the studio will allow: neither styles nor scripts within the page.
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'"
_HTML = """<!doctype html><meta charset="utf-8"><title>live</title>
<link rel="stylesheet" href="widget.css"><link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>"""
_CSS = ":root { color-scheme: light dark } body { margin: 16px } main > * { margin-bottom: 16px }"
#: What anywidget gives to a module, with Python behind one function.
_SCRIPT = """
import widget from "./widget.js";
const models = [];
function modelOf(number, state) {
  const heard = {}, changed = {};
  const tell = (event, ...told) => [...(heard[event] ?? [])].forEach((callback) => callback(...told));
  return {
    get: (name) => state[name],
    set(name, value) { state[name] = changed[name] = value; tell("change:" + name); },
    save_changes() {
      const sent = JSON.stringify({ ...changed });
      for (const name of Object.keys(changed)) delete changed[name];
      window.toPython(number, "state", sent);
    },
    send: (content) => window.toPython(number, "message", JSON.stringify(content)),
    on(event, callback) { (heard[event] ??= []).push(callback); },
    off(event, callback) { heard[event] = (heard[event] ?? []).filter((other) => other !== callback); },
    receive(news) {
      Object.assign(state, news);
      for (const name of Object.keys(news)) tell("change:" + name);
    },
    hear: (content) => tell("msg:custom", content),
  };
}
window.show = (number, state) => {
  models[number] = modelOf(number, JSON.parse(state));
  const el = document.createElement("div");
  document.querySelector("main").append(el);
  return void (models[number].close = widget.render({ model: models[number], el }));
};
window.receive = (number, news) => models[number].receive(JSON.parse(news));
window.hear = (number, content) => models[number].hear(JSON.parse(content));
window.closeView = (number) => models[number].close();
document.body.append(document.createElement("main"));
"""


#: How long a page may take for anything, in milliseconds: a machine that is busy with other things is no fault of it.
PATIENCE = 120_000


class LivePage:
    """A page, and the widgets on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE)
        self.widgets: list[Any] = []
        self.problems: list[str] = []
        page.on("console", lambda told: self.problems.append(told.text) if told.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.expose_function("toPython", self._heard)
        page.route("**/*", self._serve)
        page.goto("http://live.test/")
        page.locator("main").wait_for(state="attached")

    def show(self, widget: Any) -> Any:
        """Show a widget; the locator of its view."""
        number = len(self.widgets)
        self.widgets.append(widget)
        self.page.evaluate("told => window.show(...told)", [number, _state_of(widget)])
        widget.send = lambda content: self.page.evaluate("told => window.hear(...told)", [number, json.dumps(content)])
        return self.page.locator(".plausible-live").nth(number)

    def click(self, target: Any, **options: Any) -> None:
        """Click, and wait for the answer."""
        target.click(**options)
        self.settle()

    def press(self, *keys: str) -> None:
        """Press keys one after the other, and wait for each answer."""
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def settle(self) -> None:
        """Wait until every question has its answer."""
        self.page.locator("svg.waiting").first.wait_for(state="detached")

    def tell(self, widget: Any) -> None:
        """Bring the page what Python has changed."""
        self.page.evaluate("told => window.receive(...told)", [self.widgets.index(widget), _state_of(widget)])

    def _heard(self, number: int, kind: str, sent: str) -> None:
        widget, content = self.widgets[number], json.loads(sent)
        if kind == "message":
            widget._heard(widget, content, [])
        else:
            widget.set_state(content)
            self.tell(widget)

    def _serve(self, route: Any) -> None:
        file = route.request.url.removeprefix("http://live.test/")
        own = {"": ("text/html", _HTML), "page.css": ("text/css", _CSS), "page.js": ("text/javascript", _SCRIPT)}
        if file in ("widget.js", "widget.css"):
            kind = "text/javascript" if file.endswith("js") else "text/css"
            own[file] = (kind, (STATIC / file).read_text(encoding="utf-8"))
        if file not in own:
            self.problems.append(f"asked for {route.request.url}")
            return route.fulfill(status=404)
        kind, body = own[file]
        return route.fulfill(content_type=kind, body=body, headers={"Content-Security-Policy": _POLICY})


def _state_of(widget: Any) -> str:
    """What a kernel would send of a widget, but for the module."""
    state = widget.get_state()
    return json.dumps({name: state[name] for name in ("evidence", "do", "focus", "_scene", "_answer", "_asked")})


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser of this machine."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


if __name__ == "__main__":
    # The picture in docs/pictures.md, after the look of the widget has changed.
    with chromium() as started:
        shown = LivePage(started.new_page(viewport={"width": 960, "height": 700}, device_scale_factor=1.5))
        asia = plausible.examples.load("asia").widget({"xray": "yes", "dysp": "yes"}, {"smoke": "no"})
        shown.show(asia).screenshot(path=Path(__file__).parents[1] / "docs" / "pictures" / "widget.png")
