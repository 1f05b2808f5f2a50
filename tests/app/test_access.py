"""The door of the viewer: names, frames, the password; and what a viewer that is read-only leaves undone."""

import asyncio
import concurrent.futures
import re
import signal
import socket
import subprocess
import time
import urllib.parse

import pytest

from tests.builders.pages import draw_read_only
from tests.builders.studies import make_study
from tfaudit.app import access
from tfaudit.app.access import HEALTH, AccessControl

PASSWORD = "correct höse & batt=ry"
HOST = "localhost:8501"


async def behind(scope, receive, send):
    """What the door lets through is answered with this."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"secret"})


def run_apart(coroutine):
    """Run in a thread of its own: Playwright leaves a running event loop in that of the tests."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def ask(guard, path="/", **request):
    """Status (of a websocket: the type of the answer), headers and body of what the door answers."""
    return run_apart(answer_of(guard, path, **request))


async def answer_of(
    guard, path, *, kind="http", method="GET", body=b"", host=HOST, client="10.0.0.1", **headers
):
    sent = []
    lines = {"host": host} | headers
    path, _, query = path.partition("?")
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "scheme": "http",
        "server": ("127.0.0.1", 8501),
        "client": (client, 50000),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in lines.items()],
    }

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    await guard(scope, receive, send)
    if kind == "websocket":
        return sent[0]["type"]
    answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer, b"".join(each.get("body", b"") for each in sent[1:])


def login(guard, password, path="/"):
    return ask(
        guard, path, method="POST", body=urllib.parse.urlencode({"password": password}).encode()
    )


@pytest.fixture
def guard(monkeypatch):
    monkeypatch.setattr(access, "WAIT", 0.05)
    return AccessControl(
        behind, hosts=["localhost", "127.0.0.1", "::1"], password=PASSWORD, port=8501
    )


FOREIGN = (
    "evil.example",
    "evil.example:8501",
    "",
    "localhost.evil.example",
    "[",
    "a@b",
    "*",
)
OWN = ("localhost", "LOCALHOST:8501", "localhost.:8501", "[::1]:8501", "127.0.0.1:1")


@pytest.mark.parametrize("host", [*FOREIGN, *OWN])
def test_own_names_alone_are_served(host):
    guard = AccessControl(behind, hosts=["localhost", "127.0.0.1", "::1"])
    status, _, body = ask(guard, host=host)
    assert (status, body == b"secret") == ((200, True) if host in OWN else (421, False))
    answer = ask(guard, kind="websocket", host=host)
    assert answer == ("websocket.accept" if host in OWN else "websocket.close")


@pytest.mark.parametrize(
    "path", ["/", "/classes?variant=int8", "/_stcore/host-config", "/media/image.png"]
)
def test_nothing_is_shown_before_the_password(guard, path):
    for cookie in (
        "",
        "tfaudit-8501=",
        "tfaudit-8501=guess",
        "tfaudit-8501=\xe9",
        "a=b; ; =;tfaudit-8501",
    ):
        status, _, body = ask(guard, path, cookie=cookie)
        assert (status, b"secret" in body) == (401, False)
        assert b'type="password"' in body
        assert ask(guard, "/_stcore/stream", kind="websocket", cookie=cookie) == "websocket.close"
    assert ask(guard, HEALTH)[0] == 200


def test_the_password_opens_and_its_cookie_stays_here(guard):
    status, headers, _ = login(guard, PASSWORD, "/classes?variant=int8&class=3")
    assert (status, headers["location"]) == (303, "/classes?variant=int8&class=3")
    cookie, *flags = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(flags)
    assert PASSWORD not in str(headers)
    assert ask(guard, cookie=cookie)[::2] == (200, b"secret")
    assert ask(guard, kind="websocket", cookie=f"other=1; {cookie}") == "websocket.accept"
    # Another server, or this one after it was started again, has another key.
    assert (
        ask(
            AccessControl(behind, hosts=["localhost"], password=PASSWORD, port=8501), cookie=cookie
        )[0]
        == 401
    )


@pytest.mark.parametrize("guess", ["", PASSWORD[:-1], PASSWORD.upper(), f"{PASSWORD} ", "x" * 3000])
def test_a_wrong_password_takes_time_and_opens_nothing(guard, guess):
    begun = time.perf_counter()
    status, headers, body = login(guard, guess)
    assert time.perf_counter() - begun >= 0.05
    assert (status, "set-cookie" in headers, b"Wrong password" in body) == (401, False, True)


def test_guesses_of_one_address_are_few_and_the_right_password_of_others_never_waits(monkeypatch):
    monkeypatch.setattr(access, "WAIT", 0.3)
    guard = AccessControl(behind, hosts=["localhost"], password=PASSWORD)
    right = urllib.parse.urlencode({"password": PASSWORD}).encode()

    async def guesses():
        guess = {"method": "POST", "body": b"password=no"}
        wrong = [asyncio.ensure_future(answer_of(guard, "/", **guess)) for _ in range(40)]
        await asyncio.sleep(0)
        begun = time.perf_counter()
        answers = [
            (await answer_of(guard, "/", method="POST", body=right, client=client))[0]
            for client in ("10.0.0.2", "10.0.0.1")
        ]
        seconds = time.perf_counter() - begun
        return answers, seconds, [answer[0] for answer in await asyncio.gather(*wrong)]

    answers, seconds, wrong = run_apart(guesses())
    assert answers == [303, 429]
    assert seconds < 0.3
    assert (wrong.count(401), wrong.count(429)) == (access.GUESSES, 40 - access.GUESSES)
    assert login(guard, PASSWORD)[0] == 303


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:8501", True),
        ("https://audit.example.org", True),
        ("http://localhost:3000", False),
        ("http://localhost", False),
        ("http://localhost:8501.evil.com", False),
        ("https://audit.example.org:8443", False),
        ("null", False),
    ],
)
def test_pages_of_other_sites_and_ports_get_nothing(kind, origin, allowed):
    guard = AccessControl(behind, hosts=["localhost", "audit.example.org"])
    answer = ask(guard, kind=kind, origin=origin)
    if kind == "websocket":
        assert answer == ("websocket.accept" if allowed else "websocket.close")
    else:
        assert answer[0] == (200 if allowed else 403)


def test_a_long_form_is_refused(guard):
    assert ask(guard, method="POST", body=b"password=" + b"x" * 5000)[0] == 413


@pytest.mark.parametrize(
    "path", ["//evil.example/a", "/\\evil.example", "///evil.example", "/\r\nSet-Cookie: a"]
)
def test_the_password_leads_to_no_other_machine(guard, path):
    location = login(guard, PASSWORD, path)[1]["location"]
    assert re.fullmatch(r"/[^/\\\r\n][^\r\n]*", location)


HOSTILE_CONFIG = """
[global]
developmentMode = true
[server]
enableCORS = false
enableXsrfProtection = false
allowedHosts = ["*"]
enableAgentApi = true
corsAllowedOrigins = ["http://evil.example"]
trustedUserHeaders = "{'X-User': 'user'}"
[browser]
serverAddress = "evil.example"
gatherUsageStats = true
[secrets]
files = ["./secrets.toml"]
"""


class Connection:
    """Requests over plain sockets: Host and Origin as a browser after DNS rebinding would send them."""

    def __init__(self, port):
        self.port = port

    def answer(self, path="/", method="GET", body="", **headers):
        """All that the server answers at first, as text."""
        headers = {"Host": f"localhost:{self.port}", "Content-Length": str(len(body))} | headers
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        with socket.create_connection(("127.0.0.1", self.port), timeout=90) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n{body}".encode())
            return connection.recv(65536).decode(errors="replace")

    def websocket(self, host, origin, **headers):
        """Whether a websocket opens."""
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        upgrade |= {
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol": "streamlit",
        }
        return (
            " 101 "
            in self.answer("/_stcore/stream", Host=host, Origin=origin, **upgrade, **headers).split(
                "\n"
            )[0]
        )


@pytest.fixture(scope="module")
def guarded(serve, tmp_path_factory):
    """A viewer with a password on all addresses, started in a folder of hostile settings."""
    folder = tmp_path_factory.mktemp("hostile")
    make_study(folder / "study")
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit/config.toml").write_text(HOSTILE_CONFIG)
    (folder / ".streamlit/secrets.toml").write_text('HOSTILE = "1"\n')
    (folder / "streamlit.py").write_text("raise SystemExit('code of the working directory')")
    options = ("--address", "0.0.0.0", "--password")
    server = serve("study", *options, cwd=folder, TFAUDIT_PASSWORD=PASSWORD)
    yield Connection(server.port), server.process
    server.process.send_signal(signal.SIGINT)
    said = server.process.communicate(timeout=90)[1]
    assert server.process.returncode == 130
    assert b"Traceback" not in said


@pytest.mark.slow
def test_a_foreign_page_gets_nothing_whatever_the_working_directory_says(guarded):
    """DNS rebinding: a foreign name points at this machine, so that Host and Origin agree and are both foreign."""
    connection, server = guarded
    own, foreign = f"localhost:{connection.port}", f"evil.example:{connection.port}"
    form = urllib.parse.urlencode({"password": PASSWORD})
    opened = connection.answer(method="POST", body=form)
    assert " 303 " in opened.split("\n")[0]
    cookie = re.search("set-cookie: ([^;]*)", opened).group(1)
    assert not connection.websocket(own, f"http://{own}")
    for host, origin, allowed in (
        (own, own, True),
        (foreign, foreign, False),
        (own, foreign, False),
    ):
        assert connection.websocket(host, f"http://{origin}", Cookie=cookie) == allowed, (
            host,
            origin,
        )
    assert " 421 " in connection.answer(Host=foreign, Cookie=cookie)
    page = connection.answer(Host=own, Cookie=cookie)
    assert "x-frame-options: SAMEORIGIN" in page
    assert "access-control-allow-origin" not in connection.answer(
        "/_stcore/host-config", Cookie=cookie, Origin="null"
    )
    shown = subprocess.run(
        ["ps", "-o", "args=", "-p", str(server.pid)], capture_output=True, text=True
    )
    assert "tfaudit.app" in shown.stdout
    assert PASSWORD not in shown.stdout


def tree(directory):
    return {path: path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_read_only_writes_nothing(app_test, tmp_path):
    directory = make_study(tmp_path).directory
    before = tree(directory)
    for name in ("overview", "exemplars"):
        app = app_test.from_function(
            draw_read_only, args=(str(directory), name), default_timeout=60
        ).run()
        assert not app.exception
        assert not app.error
        assert tree(directory) == before, name
