"""Learning on the page: what comes out is what the library learns from the same rows."""

from __future__ import annotations

import io
import json

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


@pytest.fixture(scope="module")
def frame():
    """Rows of asia, with a column that is only a number of the row."""
    rows = ASIA.sample(2000, seed=1)
    return rows.assign(id=range(5000, 7000))


@pytest.fixture(scope="module")
def table(studio, frame):
    """The rows on the desk, sent as a page sends them."""
    return send_rows(studio, "asia rows.csv", frame.to_csv(index=False).encode())


def send_rows(studio, name, data):
    """The number of a table."""
    return studio.client.post("/rows", params={"name": name}, content=data).json()["answer"]["table"]


def run(studio, question, **fields):
    """The news of some work, and its answer."""
    content = json.dumps({"question": question, "run": "r", **fields})
    with studio.client.stream("POST", "/run", content=content) as response:
        told = [json.loads(line.removeprefix("data: ")) for line in response.iter_lines() if line]
    return [one["news"] for one in told[:-1]], told[-1]


def test_columns_are_told_with_what_is_odd_about_them(studio, table, frame):
    """An id is no variable; missing cells are counted; Parquet is read as CSV is."""
    told = studio.ask("rows", table=table)
    columns = {column["name"]: column for column in told["columns"]}
    assert told["numRows"] == 2000
    assert columns["smoke"]["states"] == ["no", "yes"]
    assert columns["id"]["doubt"] != ""
    assert columns["smoke"]["doubt"] == ""
    buffer = io.BytesIO()
    frame.assign(smoke=frame["smoke"].astype(object).mask(frame.index < 7)).to_parquet(buffer)
    packed = studio.ask("rows", table=send_rows(studio, "rows.parquet", buffer.getvalue()))
    assert {column["name"]: column["missing"] for column in packed["columns"]}["smoke"] == 7
    answer = studio.client.post("/rows", params={"name": "rows.pickle"}, content=b"").json()
    assert "no file of rows" in answer["error"]["message"]
    answer = studio.client.post("/rows", params={"name": "../x/rows.parquet"}, content=b"PAR1").json()
    assert "rows.parquet" in answer["error"]["message"]
    assert "tmp" not in answer["error"]["message"]


def test_a_network_is_learned_as_by_the_library(studio, table, frame):
    """The same graph and numbers, with tiers and demanded arcs; progress is told."""
    names = list(ASIA.variables)
    tiers = [["smoke", "asia"], ["lung", "bronc", "tub"]]
    _, told = run(studio, "learn", table=table, columns=names, tiers=tiers, required=[["asia", "tub"]])
    learned = studio.desk.version(told["answer"]["outline"]["model"]).model
    known = pb.Knowledge(tiers=tiers, required=[("asia", "tub")])
    texts = frame[names].astype(str)  # as a file has them
    expected = pb.learn.structure(texts, knowledge=known)
    assert set(learned.graph.edges) == set(expected.graph.edges)
    assert learned.is_close(pb.learn.parameters(expected.graph, texts, prior=pb.BDeu(1)), 1e-9)
    check = studio.ask("check", model=told["answer"]["outline"]["model"], table=table, columns=names, target="dysp")
    assert check["loss"] == pytest.approx(-learned.compile().log_likelihood(frame[names]).mean())
    assert 0.8 < check["target"]["accuracy"] <= 1
    for fields in ({"method": "magic"}, {"required": ["a"]}, {"columns": ["nobody"]}, {"table": "t999"}):
        _, refused = run(studio, "learn", **{"table": table, "columns": names} | fields)
        assert refused["error"]["kind"] != "Fault", refused


def test_numbers_are_cut_and_a_graph_is_fitted(studio):
    """Into as many intervals as asked for; cells may be missing."""
    text = b"size,ill\n1.5,no\n2.5,yes\n3.5,\n4.5,yes\n5.25,no\n6.75,yes\n"
    number, halves = send_rows(studio, "sizes.csv", text), {"size": {"method": "quantile", "bins": 2}}
    _, told = run(studio, "learn", table=number, columns=["size", "ill"], intervals=halves, method="chow-liu")
    variables = {one["name"]: one for one in told["answer"]["outline"]["variables"]}
    assert variables["size"]["numStates"] == 2
    model = studio.open(pb.BayesianNetwork(pb.TableCPD("ill", [0.5, 0.5], states=["no", "yes"])), "ill")
    _, told = run(studio, "fit", model=model, table=number, columns=["ill"])
    fitted = studio.desk.version(told["answer"]["outline"]["model"]).model
    assert fitted.cpd("ill").values[1] == pytest.approx(3 / 5, abs=0.05)


def test_what_cutting_would_do_is_told_before(studio):
    """Where a column is cut, how many rows fall into each interval, and how its numbers lie: as learning has it."""
    sizes = [1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 12.0, 100.0]
    text = "size,ill\n" + "".join(f"{size},{'yes' if size > 5 else 'no'}\n" for size in sizes) + ",yes\n"
    number = send_rows(studio, "sizes.csv", text.encode())

    def told(**how):
        return studio.ask("cuts", table=number, name="size", intervals=how)

    def counts(**how):
        return [one["count"] for one in told(**how)["intervals"]]

    columns = {one["name"]: one for one in studio.ask("rows", table=number)["columns"]}
    assert (columns["size"]["isContinuous"], columns["size"]["canBeCut"], columns["ill"]["canBeCut"]) == (
        False,
        True,
        False,
    )
    assert counts(method="quantile", bins=2) == [4, 4]
    assert counts(method="equal-width", bins=3) == [7, 0, 1]
    assert counts(method="k-means", bins=2) == [7, 1]
    assert counts(method="mdl", target="ill") == [4, 4]
    typed = told(method="at", cuts=[3.5, 10])
    assert (typed["cuts"], [one["count"] for one in typed["intervals"]]) == ([3.5, 10], [3, 1, 4])
    assert [one["label"] for one in typed["intervals"]] == ["below 3.5", "3.5 to 10", "from 10"]
    assert (typed["low"], typed["high"], typed["missing"]) == (1, 100, 1)
    assert (sum(typed["histogram"]), typed["histogram"][0], typed["histogram"][-1]) == (8, 4, 1)
    intervals = {"size": {"method": "at", "cuts": [3.5, 10]}}
    _, learned = run(studio, "learn", table=number, columns=["size", "ill"], intervals=intervals, method="chow-liu")
    variables = {one["name"]: one for one in learned["answer"]["outline"]["variables"]}
    assert variables["size"]["states"] == [one["label"] for one in typed["intervals"]]
    for how, why in (
        ({"method": "at", "cuts": [3, 2]}, "increasing"),
        ({"method": "at", "cuts": ["x"]}, "a number is expected"),
        ({"method": "quantile", "bins": 1000}, "2 to 64 intervals"),
        ({"method": "mdl", "target": "nobody"}, "'nobody'"),
        ({"method": "magic", "bins": 2}, "no method"),
    ):
        assert why in studio.refusal("cuts", table=number, name="size", intervals=how)["message"]
    assert (
        "no column of numbers"
        in studio.refusal("cuts", table=number, name="ill", intervals={"method": "at"})["message"]
    )


@pytest.mark.parametrize("numbers", [[7.5, 7.5], [-6e307, 0.5, 6e307], [0.0, 5e-324], [1.0, 1 + 2**-52]], ids=str)
def test_histograms_of_odd_columns_have_all_rows(studio, numbers):
    """One value alone, the largest numbers and the smallest, neighbours."""
    text = "size\n" + "".join(f"{number!r}\n" for number in numbers * 20)
    number = send_rows(studio, "odd.csv", text.encode())
    told = studio.ask("cuts", table=number, name="size", intervals={"method": "quantile", "bins": 3})
    assert sum(told["histogram"]) == sum(one["count"] for one in told["intervals"]) == 20 * len(numbers)


def test_strengths_are_shares_of_graphs(studio, table):
    """Each edge once, in its more frequent direction."""
    _, told = run(studio, "strengths", table=table, columns=["smoke", "bronc", "asia"], samples=40)
    edges = {frozenset(edge["ends"]): edge["strength"] for edge in told["answer"]["edges"]}
    assert edges[frozenset(("smoke", "bronc"))] == 1
    assert len(edges) == len(told["answer"]["edges"])
    _, refused = run(studio, "strengths", table=table, samples=10**9)
    assert "1000" in refused["error"]["message"]


@pytest.mark.browser
def test_rows_are_dropped_and_a_network_comes_of_them(browser, studio, frame, tmp_path):
    """A file is chosen, a button pressed, the graph shown; its arcs are judged."""
    from studio_page import StudioPage

    names = ["smoke", "bronc", "dysp"]
    frame[names].to_csv(tmp_path / "rows.csv", index=False)
    studio.open(ASIA, "asia")
    page = StudioPage(browser, studio)
    page.settle()
    panel = page.panel("Learn")
    panel.locator("input[type=file]").set_input_files(tmp_path / "rows.csv")
    panel.get_by_label("from", exact=True).select_option("dysp")
    panel.get_by_label("to", exact=True).select_option("smoke")
    panel.get_by_role("button", name="demand").click()
    panel.get_by_text("demanded: dysp → smoke").wait_for()
    panel.get_by_role("button", name="learn graph and numbers").click()
    panel.get_by_text("BIC").wait_for()
    page.settle()
    assert page.page.locator("g.node").count() == 3
    assert studio.desk.last.model.graph.has_edge("dysp", "smoke")
    panel.get_by_role("button", name="learn from 100 samples").click()
    panel.get_by_role("slider").wait_for()
    assert page.page.locator(".edge.active").count() >= 1
    panel.get_by_label("predict").select_option("dysp")
    panel.get_by_role("button", name="check", exact=True).click()
    panel.get_by_text("is predicted rightly").wait_for()
    page.close()


@pytest.mark.browser
def test_numbers_are_cut_in_sight(browser, studio, tmp_path):
    """The method and the number of intervals are chosen; how many rows fall into each is told at once."""
    from studio_page import StudioPage

    rows = "".join(f"{age},{'yes' if age > 60 else 'no'}\n" for age in [*range(20, 90)] * 2)
    (tmp_path / "ages.csv").write_text(f"age,ill\n{rows}", encoding="utf-8")
    studio.open(ASIA, "asia")
    page = StudioPage(browser, studio)
    page.settle()
    panel = page.panel("Learn")
    panel.locator("input[type=file]").set_input_files(tmp_path / "ages.csv")
    panel.get_by_label("what age is").select_option("quantile")
    told = panel.get_by_role("table", name="intervals of age")
    told.get_by_role("row").nth(2).wait_for()
    panel.get_by_label("number of intervals of age").fill("2")
    told.get_by_role("row").nth(2).wait_for(state="detached")
    assert told.locator("td.number").all_inner_texts() == ["70", "70"]
    panel.get_by_label("what age is").select_option("at")
    panel.get_by_label("cut points of age").fill("40; 60,5")
    told.get_by_text("40 to 60.5").wait_for()
    assert told.locator("td.number").all_inner_texts() == ["40", "42", "58"]
    panel.get_by_label("what age is").select_option("mdl")
    told.get_by_text("below 60.5").wait_for()
    panel.get_by_role("button", name="learn graph and numbers").click()
    panel.get_by_text("BIC").wait_for()
    page.settle()
    assert page.page.get_by_role("listbox", name="age", exact=True).get_by_role("option").count() == 2
    page.close()
