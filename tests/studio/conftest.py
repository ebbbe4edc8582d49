"""A studio and a browser for the tests of this folder."""

from __future__ import annotations

import pytest
from studio_page import LACKING, Studio, StudioPage

from live_page import chromium


@pytest.fixture(scope="module")
def studio():
    """One server for all tests of a file."""
    started = Studio()
    yield started
    started.close()


@pytest.fixture(scope="module")
def browser():
    """The browser of this machine; tests that ask for it are marked `browser`."""
    if LACKING:
        pytest.skip(LACKING)
    with chromium() as started:
        yield started


@pytest.fixture
def show(browser, studio):
    """Open a model in a page of its own."""
    pages = []

    def shown(model, name="model", **options):
        studio.open(model, name)
        pages.append(StudioPage(browser, studio, **options))
        pages[-1].settle()
        return pages[-1]

    yield shown
    for page in pages:
        page.close()
