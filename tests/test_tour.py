"""The notebook in docs, run by a real kernel and shown in Chromium as a page."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from live_page import LACKING, chromium

TOUR = Path(__file__).parents[1] / "docs" / "notebooks" / "tour.ipynb"
#: What runs a notebook, and what its cells draw with.
_NEEDED = ("nbclient", "ipykernel", "nbconvert", "matplotlib", "anywidget")
_LACKING = [name for name in _NEEDED if find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(_LACKING), reason=f"not installed: {', '.join(_LACKING)}"),
    pytest.mark.filterwarnings("default"),  # those of the machinery of notebooks are not ours
]
_WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def run():
    """The notebook with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(TOUR, as_version=4)
    folder = str(Path(__file__).parents[1] / "src")
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    return notebook


def shown(notebook) -> list[dict[str, str]]:
    """What the code cells show, by kind."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert all(output.output_type == "execute_result" for output in outputs), outputs
    return [output.data for output in outputs]


def test_the_notebook_is_kept_without_outputs():
    """They would be of another day."""
    import nbformat

    cells = nbformat.read(TOUR, as_version=4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_every_cell_shows_something_to_look_at(run):
    """A picture, a table or a widget; nothing is printed, warned of or raised."""
    data = shown(run)
    assert len(data) == sum(cell.cell_type == "code" for cell in run.cells)
    assert all({"text/html", "image/svg+xml", "image/png"} & kinds.keys() for kinds in data)


def test_widgets_have_their_state_and_a_still_picture(run):
    """For notebooks that are opened again, and for pages made from them."""
    widgets = [kinds for kinds in shown(run) if _WIDGET in kinds]
    assert len(widgets) == 2
    states = run.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    for kinds in widgets:
        assert "<svg" in kinds["image/svg+xml"]
        assert states[kinds[_WIDGET]["model_id"]]["state"]["_scene"]["nodes"]


@pytest.mark.browser
@pytest.mark.skipif(bool(LACKING), reason=LACKING or "all is there")
def test_as_a_page_it_shows_all_pictures(run, tmp_path):
    """Without Python and without another host: still pictures take the place of widgets."""
    from nbconvert import HTMLExporter

    drawn = [kinds for kinds in shown(run) if "<svg" in str(kinds) or "<img" in str(kinds)]
    for kinds in drawn:
        kinds.pop(_WIDGET, None)
    run.metadata.pop("widgets", None)
    text, _ = HTMLExporter(embed_images=True).from_notebook_node(run)
    page_file = tmp_path / "tour.html"
    page_file.write_text(text, encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto(page_file.as_uri(), wait_until="domcontentloaded")
        pictures = page.locator(".jp-OutputArea svg, .jp-OutputArea img").all()
        boxes = [picture.bounding_box() for picture in pictures]
        page.screenshot(path=tmp_path / "tour.png", full_page=True)
    assert len(boxes) == len(drawn) >= 24
    assert all(box["width"] > 100 and box["height"] > 50 for box in boxes)
