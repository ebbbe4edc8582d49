"""A studio that serves on this machine while tests run, and pages of it as people see them."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import uvicorn

import plausible
from live_page import PATIENCE, chromium, lacking
from plausible.studio.desk import Desk
from plausible.studio.server import application, listening_at

TOKEN = "known-to-tests-only"
LACKING = lacking()


class Studio:
    """A server in a thread of its own, and how to ask it."""

    def __init__(self) -> None:
        self.desk = Desk()
        listening = listening_at(0)
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(application(self.desk, TOKEN, self.port), log_level="error", ws="none", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.address = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.address, headers={"x-plausible-token": TOKEN}, timeout=60)

    def open(self, model: Any, name: str = "model") -> str:
        """Put a model on the desk; its number."""
        return self.desk.put(model, name).number

    def ask(self, question: str, **fields: Any) -> Any:
        """The answer to a question; an error is an `AssertionError` with what the page would be told."""
        told = self.client.post("/ask", content=json.dumps({"question": question, **fields})).json()
        assert "answer" in told, told
        return told["answer"]

    def refusal(self, question: str, **fields: Any) -> dict[str, str]:
        """Why a question is refused."""
        told = self.client.post("/ask", content=json.dumps({"question": question, **fields})).json()
        assert "error" in told, told
        return told["error"]

    def close(self) -> None:
        """End it."""
        self.client.close()
        self._server.should_exit = True
        self._thread.join(timeout=10)


class StudioPage:
    """A page in Chromium on which nothing may go wrong."""

    def __init__(
        self, browser: Any, studio: Studio, width: int = 1280, height: int = 800, at: str = "", **options: Any
    ) -> None:
        self.problems: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": height}, **options)
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(f"{studio.address}/{at}#{TOKEN}")
        self.page.locator("header.top").wait_for()

    def _heard(self, told: Any) -> None:
        # Refusals are answers with a status, which Chromium calls errors.
        if told.type in ("error", "warning") and "Failed to load resource" not in told.text:
            self.problems.append(told.text)

    def settle(self) -> None:
        """Wait until the picture shows what is known."""
        self.page.locator(".plausible-live svg").first.wait_for()
        self.page.locator("svg.waiting").first.wait_for(state="detached")

    def state(self, variable: str, state: int) -> Any:
        """A state of a variable, by its place."""
        return self.page.get_by_role("listbox", name=variable, exact=True).get_by_role("option").nth(state)

    def select(self, name: str, with_others: bool = False) -> None:
        """Click the name of a node."""
        node = self.page.locator(f'g.node[data-name="{name}"], g.node:has([data-name="{name}"])')
        head = node.locator("rect.head").first
        head.click(modifiers=["Shift"] if with_others else [])

    def panel(self, name: str) -> Any:
        """Open a panel on the right side."""
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self.page.get_by_role("tabpanel", name=name, exact=True)

    def close(self) -> None:
        """Close it: nothing may have gone wrong."""
        self.page.close()
        assert not self.problems, self.problems


if __name__ == "__main__":
    # The picture in docs/studio.md, after the look of the page has changed.
    served = Studio()
    served.open(plausible.examples.load("asia"), "asia")
    with chromium() as started:
        shown = StudioPage(started, served, 1280, 720, color_scheme="light")
        shown.settle()
        panel = shown.panel("Impact")
        shown.state("xray", 0).click()
        shown.settle()
        shown.state("dysp", 0).click()
        shown.settle()
        shown.select("lung")
        shown.page.wait_for_timeout(1500)
        shown.page.screenshot(path=Path(__file__).parents[2] / "docs" / "pictures" / "studio.png")
    served.close()
