"""Attacks on the studio: each is refused, and the server lives, which a question right after it shows."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import socket
import threading
import time

import httpx
import pytest
from studio_page import TOKEN, Studio

import plausible as pb
from plausible.io import FORMATS, to_text
from plausible.studio import server, workers
from plausible.studio.network_edits import ACTIONS
from plausible.studio.questions import QUESTIONS
from plausible.studio.workers import Worker

ASIA = pb.examples.load("asia")
LUNG = ASIA.query("lung", {"xray": "yes"})["yes"]


@pytest.fixture(autouse=True)
def lives(studio):
    """After each test a good question is answered, and rightly."""
    yield
    assert belief(studio, "xray", 0) == pytest.approx(LUNG)


def belief(studio: Studio, name: str, place: int) -> float:
    number = studio.open(ASIA, "asia")
    told = studio.ask("beliefs", model=number, evidence={name: [place]})
    return told["answer"]["beliefs"]["lung"]["now"][0]


def raw(studio: Studio, request: bytes, wait: float = 5.0) -> bytes:
    """What the server says to these very bytes."""
    with socket.create_connection(("127.0.0.1", studio.port), timeout=wait) as connection:
        connection.sendall(request)
        said = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while part := connection.recv(65536):
                said += part
        return said


QUESTION = json.dumps({"question": "examples"})


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"host": "evil.example"}, "Host"),
        ({"host": "evil.example:{port}"}, "Host"),
        ({"host": "127.0.0.1"}, "Host"),
        ({"host": "127.0.0.1:1"}, "Host"),
        ({"host": "127.0.0.1:{port}.evil.example"}, "Host"),
        ({"host": "127.0.0.1:{port}@evil.example"}, "Host"),
        ({"host": "0.0.0.0:{port}"}, "Host"),
        ({"host": ""}, "Host"),
        ({"origin": "http://evil.example"}, "Origin"),
        ({"origin": "null"}, "Origin"),
        ({"origin": "https://127.0.0.1:{port}"}, "Origin"),
        ({"origin": "http://localhost:{port}"}, "Origin: another name of the same"),
        ({"origin": "http://127.0.0.1:{port}.evil.example"}, "Origin"),
        ({"sec-fetch-site": "cross-site"}, "Sec-Fetch-Site"),
        ({"sec-fetch-site": "same-site"}, "Sec-Fetch-Site: another port of this machine"),
        ({"x-plausible-token": ""}, "token"),
        ({"x-plausible-token": "wrong"}, "token"),
        ({"x-plausible-token": TOKEN + "x"}, "token"),
        ({"x-plausible-token": TOKEN[:-1]}, "token"),
        ({"x-plausible-token": "\u00e9" * 10}, "token"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_strangers_are_refused(studio, headers, why):
    """By whichever of the four they give away that they are; nothing of the answer is theirs."""
    told = {name: value.format(port=studio.port).encode("latin-1") for name, value in headers.items()}
    for address in ("/ask", "/open?name=a.bif", "/rows?name=a.csv", "/run", "/stop"):
        answer = studio.client.post(address, content=QUESTION, headers=told)
        assert answer.status_code == 403
        assert answer.json()["error"]["kind"] == "Refused"
        assert TOKEN not in answer.text
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_the_page_itself_is_shown_to_its_own_machine_only(studio):
    """It has no secret in it; still no other name than its own leads to it."""
    page = httpx.get(f"{studio.address}/")
    assert page.status_code == 200
    assert TOKEN not in page.text
    for headers in ({"host": "evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}):
        assert httpx.get(f"{studio.address}/", headers=headers).status_code == 403
    assert httpx.get(f"{studio.address}/", headers={"sec-fetch-site": "none"}).status_code == 200


def test_only_this_machine_is_listened_to_and_answers_do_not_wait():
    """No other address; and small pieces of answers go at once, which asyncio does for sockets that say TCP."""
    with server.listening_at(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        assert listening.proto == socket.IPPROTO_TCP


def test_every_answer_forbids_what_no_page_needs(studio):
    """Also refusals and what is not there; nothing says what serves it."""
    for answer in (
        studio.client.get("/"),
        studio.client.get("/nowhere"),
        studio.client.post("/ask", content=QUESTION),
        studio.client.post("/ask", content=QUESTION, headers={"x-plausible-token": ""}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "python" not in str(answer.headers).lower()


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2fpyproject.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/%252e%252e/etc/passwd",
        "/..\\..\\etc\\passwd",
        "//etc/passwd",
        "//evil.example/%2e%2e",
        "/static/index.html",
        "/server.py",
        "/studio.js/../server.py",
        "/studio.js%00.py",
        "/studio.js/",
        "/ask/",
        "/" + "a" * 5000,
        "/\u00fc".encode().decode("latin-1"),
        "http://evil.example/",
        "*",
    ],
    ids=lambda path: path[:24],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_paths_lead_nowhere_else(studio, path, method):
    """Neither to files nor, by a redirection, to other places."""
    host = (
        f"Host: 127.0.0.1:{studio.port}\r\nX-Plausible-Token: {TOKEN}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    said = raw(studio, f"{method} {path} HTTP/1.1\r\n{host}".encode("latin-1"))
    status = int(said.split()[1])
    assert status in (400, 404, 405), said[:200]
    assert b"root:" not in said
    assert b"location:" not in said.lower()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "HEAD", "BREW"])
def test_other_methods_do_nothing(studio, method):
    """With the token they are not known here, without it they are refused."""
    for address in ("/", "/ask"):
        without = {"x-plausible-token": ""}
        assert studio.client.request(method, address, headers=without).status_code == 403
        status = studio.client.request(method, address).status_code
        assert status in (400, 404, 405) or (method, address, status) == ("HEAD", "/", 200)
    assert studio.client.get("/ask").status_code == 405


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b'"examples"',
        b"{",
        b"{'question': 'examples'}",
        b"\xff\xfe\x00",
        b'{"question": "examples"',
        b'{"question": "examples", "x": NaN}',
        b'{"question": "examples", "x": Infinity}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"question": "examples", "x": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_question_is_refused(studio, body):
    """Neither JSON of another kind nor what no JSON may have."""
    answer = studio.client.post("/ask", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "A question is a JSON object."


def test_bodies_are_limited_whether_they_say_their_length_or_not(studio):
    """Refused at once where they say it, else as soon as there is too much."""
    most = server.MOST_ASKED
    head = f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nX-Plausible-Token: {TOKEN}\r\nConnection: close\r\n"
    for length in (str(most + 1), "9" * 30):
        began = time.monotonic()
        said = raw(studio, f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert said.split()[1] in (b"413", b"400")
        assert time.monotonic() - began < 5
    for length in ("-1", "1e3", "abc", "1, 2"):
        assert raw(studio, f"{head}Content-Length: {length}\r\n\r\n".encode()).split()[1] in (b"413", b"400")

    def endless():
        for _ in range(2 * most // 65536):
            yield b" " * 65536

    with contextlib.suppress(httpx.WriteError):  # the server hangs up on us while we are still talking
        assert studio.client.post("/ask", content=endless()).status_code == 413


def test_who_hangs_up_or_says_nothing_harms_nobody(studio):
    """Half a head, half a body, and lines that are no request."""
    head = f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nX-Plausible-Token: {TOKEN}\r\n"
    for said in (b"", b"GET", head.encode(), f"{head}Content-Length: 1000\r\n\r\nabc".encode()):
        with socket.create_connection(("127.0.0.1", studio.port)) as connection:
            connection.sendall(said)
    assert b" 400 " in raw(studio, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").split(b"\r\n")[0]
    assert raw(studio, f"{head}X: {'y' * 200_000}\r\n\r\n".encode()).split(b"\r\n")[0].split()[1] in (b"400", b"431")
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    said = raw(studio, f"GET /ask HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\n{upgrade}\r\n".encode(), wait=1.0)
    assert b" 101 " not in said


JUNK = [
    None, True, -1, 0, 1.5, 1e308, 10**400, "", "x", "m1", "asia", "\x00", "\ud800", "__class__", "constructor",
    [], [None], ["asia"], [[["asia"]]], [0, 0], ["asia"] * 300, {}, {"asia": []}, {"asia": [0]}, {"asia": [True]},
    {"asia": [10**30]}, {"asia": [-1]}, {"asia": [0.5]}, {"asia": 1e308}, {"asia": "yes"}, {"asia": None},
    {"asia": {"kind": "likelihood", "weights": [1e308, 1e308]}}, {"asia": {"kind": "jeffrey", "weights": [-1, 2]}},
    {"asia": {"kind": "jeffrey", "weights": ["a", {}]}}, {"asia": {"kind": [], "weights": [1, 1]}},
    {"asia": {"kind": "likelihood", "weights": [10**400, 1]}}, {"": [0]}, {"\ud800": [0]}, {"__proto__": [0]},
]  # fmt: skip
FIELDS = [
    "model", "page", "effort", "evidence", "do", "focus", "around", "x", "y", "given", "name", "names", "target",
    "number", "cases", "text", "action", "states", "source", "to", "ending", "table", "graph", "outcome", "treatment",
]  # fmt: skip


@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_no_field_of_any_question_is_taken_for_what_it_says_it_is(studio, question):
    """Some fields by chance with all kinds of junk: an answer or a refusal in words, never a fault."""
    model, draws = studio.open(ASIA, "asia"), random.Random(question)
    for _ in range(30):
        fields = {"model": model, **{name: draws.choice(JUNK) for name in draws.sample(FIELDS, draws.randint(1, 6))}}
        answer = studio.client.post("/ask", content=json.dumps({**fields, "question": question}))
        assert answer.status_code in (200, 409, 422), (fields, answer.text)
        if answer.status_code == 422:
            assert answer.json()["error"]["message"]
            assert "Traceback" not in answer.text


EDITED = [
    "nodes",
    "name",
    "to",
    "states",
    "places",
    "rows",
    "source",
    "target",
    "kind",
    "activation",
    "leak",
    "description",
]
NODES = ["lung", "asia", "oil", "drill", "payoff", "cost", [[0, 1]] * 3, ["a", "b", "c"], ["a", "a"], [None, 0, 1]]


@pytest.mark.parametrize("action", sorted(ACTIONS))
@pytest.mark.parametrize("name", ["asia", "oil"])
def test_no_edit_is_taken_for_what_it_says_it_is(studio, action, name):
    """Of networks and diagrams, with junk and with what is nearly right."""
    model, draws = studio.open(pb.examples.load(name), name), random.Random(action + name)
    for _ in range(60):
        fields = {field: draws.choice([*JUNK, *NODES, *NODES, *NODES]) for field in EDITED if draws.random() < 0.8}
        body = {**fields, "question": "edit", "model": model, "action": action}
        answer = studio.client.post("/ask", content=json.dumps(body))
        assert answer.status_code in (200, 422), (body, answer.text)


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_damaged_files_are_refused_or_read(studio, known):
    """Cut short, with bytes changed, with nothing or everything in them: never a fault."""
    ending = known.extensions[0]
    text = to_text(ASIA, known.name).encode() if known.write is not None else b""
    damaged = [b"", b"\x00" * 100, b"\xff" * 100, b"{" * 50_000, b"<" * 50_000, b"(" * 50_000, b"network " * 9999]
    damaged += [text[: len(text) * part // 12] for part in range(1, 12)]
    for place in range(0, len(text), max(1, len(text) // 11)):
        for byte in (b"\x00", b"}", b"9", b"\xc3"):
            damaged.append(text[:place] + byte + text[place + 1 :])
    damaged += [text.replace(b"0.5", number) for number in (b"NaN", b"1e999", b"-0.5", b"9" * 400, b"")]
    for data in damaged:
        answer = studio.client.post(f"/open?name=damaged{ending}", content=data)
        assert answer.status_code in (200, 422), (data[:200], answer.text)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".feather"])
def test_damaged_rows_are_refused_or_read(studio, ending):
    """The same of rows."""
    for data in (
        b"",
        b"\x00" * 100,
        b"a,b\n1",
        b"PAR1" * 50,
        b"ARROW1" * 50,
        b'"' * 5000,
        b"a,a\n1,2\n",
        b"\xff\xfe\xfd",
    ):
        answer = studio.client.post(f"/rows?name=damaged{ending}", content=data)
        assert answer.status_code in (200, 422), (data[:200], answer.text)
        assert "/tmp" not in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "..",
        "../../etc/passwd",
        "C:\\x.bif",
        "a\x00.bif",
        "x" * 9000,
        "asia.exe",
        "\N{GRINNING FACE}.bif",
        "a.bif.gz.gz",
    ],
)
def test_names_of_files_are_but_names(studio, name):
    """Nothing is read or written by them."""
    for address in ("/open", "/rows"):
        answer = studio.client.post(address, params={"name": name}, content=b"network x {}")
        assert answer.status_code in (200, 422)
        assert "etc/passwd" not in answer.text


def test_bombs_do_not_go_off(studio):
    """A file that unpacks to a thousand times its size is refused before it has."""
    bomb = gzip.compress(b" " * 2**28, compresslevel=9)
    assert len(bomb) < 2**19
    told = studio.client.post("/open?name=bomb.bif.gz", content=bomb).json()["error"]
    assert "unpacks to more than" in told["message"]
    several = studio.client.post("/open?name=bomb.bif.gz", content=bomb * 4).json()["error"]
    assert "unpacks to more than" in several["message"]
    rows = io.BytesIO()
    pa = pytest.importorskip("pyarrow", reason="the bomb is made by pyarrow, which is not installed")
    import pyarrow.parquet as pq

    group = pa.table({f"c{n}": pa.nulls(2**20, pa.int8()) for n in range(20)})
    with pq.ParquetWriter(rows, group.schema) as writer:
        for _ in range(8):
            writer.write_table(group)
    told = studio.client.post("/rows?name=bomb.parquet", content=rows.getvalue()).json()["error"]
    assert told["kind"] == "TooLarge"
    assert len(rows.getvalue()) < 2**20


def test_a_million_states_and_thousands_of_variables_are_borne(studio):
    """They are shown by their number, or in part; all of too many is refused."""
    few = pb.TableCPD("coin", [0.5, 0.5])
    many = pb.BayesianNetwork(pb.TableCPD("many", [1e-6] * 10**6), few)
    number = studio.open(many, "many")
    told = studio.ask("outline", model=number)
    assert (told["variables"][0]["numStates"], len(told["variables"][0]["states"])) == (10**6, 64)
    scene = studio.ask("scene", model=number, evidence={"many": [999_999]})
    assert scene["answer"]["beliefs"].keys() == {"coin"}
    assert len(json.dumps(scene)) < 30_000
    wide = pb.BayesianNetwork([pb.TableCPD(f"X{n}", [0.5, 0.5]) for n in range(5000)])
    number = studio.open(wide, "wide")
    assert len(studio.ask("scene", model=number)["scene"]["nodes"]) < 60
    assert "Of 5000 nodes a part" in studio.refusal("scene", model=number, focus=None)["message"]


HOSTILE = "<img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"


def test_markup_in_names_stays_text(studio):
    """In answers it is data, in pictures it is escaped."""
    model = pb.BayesianNetwork(pb.TableCPD(HOSTILE, [0.5, 0.5], states=["</script>", "<b>"]))
    number = studio.open(model, "<svg onload=alert(1)>.bif")
    assert studio.ask("outline", model=number)["variables"][0]["name"] == HOSTILE
    svg = studio.ask("picture", model=number)["svg"]
    assert "<img" not in svg
    assert "</script" not in svg


@pytest.mark.browser
def test_markup_in_names_is_shown_as_text(show, studio):
    """Of variables, states, files, cases and notes: nothing of it runs, nothing of it is asked for."""
    model = pb.BayesianNetwork(
        pb.TableCPD(HOSTILE, [0.5, 0.5], states=["</script><script>alert(2)</script>", "<b>"]),
        pb.TableCPD("constructor", [[0.5, 0.5], [0.1, 0.9]], parents=[HOSTILE], states=["__proto__", "toString"]),
    )
    page = show(model, "<svg onload=alert(1)>.bif")
    asked = []
    page.page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.page.on(
        "request", lambda request: None if request.url.startswith(studio.address) else asked.append(request.url)
    )
    page.state("constructor", 0).click()
    page.settle()
    page.select("constructor")
    for panel in ("Impact", "Explanations", "Cases"):
        page.panel(panel)
    page.page.get_by_role("button", name="keep what is known").click()
    page.page.get_by_role("button", name="forget").wait_for()
    assert page.page.locator("img, script:not([src])").count() == 0
    assert page.page.get_by_role("listbox", name=HOSTILE, exact=True).count() == 1
    assert "<svg onload" in page.page.locator(".opened").inner_text()
    assert asked == []


# --- many questions ---


def test_newer_questions_take_the_place_of_those_that_wait(studio):
    """While one runs: of all others of its kind the last is answered; those of other pages are not touched."""
    worker, gate = Worker(), threading.Event()
    first = worker.ask(gate.wait)
    time.sleep(0.05)
    waiting = [worker.ask(lambda n=n: n, kind=("page", "beliefs")) for n in range(5)]
    other = worker.ask(lambda: "other", kind=("another page", "beliefs"))
    gate.set()
    assert first.result(5) is True
    assert [one.cancelled() for one in waiting] == [True] * 4 + [False]
    assert (waiting[-1].result(5), other.result(5)) == (4, "other")


def test_a_worker_rests_when_nobody_asks_and_wakes_up(monkeypatch):
    """Its thread ends; the next question has another."""
    monkeypatch.setattr(workers, "IDLE", 0.02)
    worker = Worker()
    for number in range(3):
        assert worker.ask(lambda number=number: number).result(5) == number
        for _ in range(500):
            if not worker._is_running:
                break
            time.sleep(0.01)
        assert not worker._is_running


def test_edits_without_end_keep_models_and_not_their_pictures(studio):
    """A version that was edited lays out its scene anew if somebody goes back to it."""
    number = studio.open(ASIA, "asia")
    versions = [number]
    for step in range(6):
        studio.ask("scene", model=versions[-1])
        versions.append(studio.ask("move", model=versions[-1], name="asia", x=100 + 40 * step, y=-150)["model"])
    kept = [len(studio.desk.version(one)._scenes) for one in versions[:-1]]
    assert kept == [0] * 6
    assert studio.ask("scene", model=number)["scene"]["nodes"]
