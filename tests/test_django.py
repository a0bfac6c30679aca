"""A Django project as people have them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from harness.client import Client, Headers, Response
from harness.event_stream import EventStream
from harness.server import APPS, ROOT, Server, environment, serving
from harness.web_socket import WebSocket

pytest.importorskip("django")
PROJECT = APPS / "django_project"


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("download") / "data.bin"
    path.write_bytes(os.urandom(2_500_000))
    return path


@pytest.fixture(scope="module")
def django(tmp_path_factory: pytest.TempPathFactory, download: Path) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("django")
    env = {"M0TEST_DATABASE": str(directory / "db.sqlite3"), "M0TEST_DOWNLOAD": str(download)}
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--run-syncdb", "--verbosity", "0"],
        cwd=PROJECT,
        # The package is installed where a project's commands run; here it is not.
        env=environment({**env, "PYTHONPATH": str(ROOT / "python")}),
        check=True,
        timeout=60,
    )
    with serving(directory, "shop.wsgi", cwd=PROJECT, env=env) as server:
        yield server


class Browser:
    """Keeps cookies over one connection."""

    def __init__(self, server: Server) -> None:
        self.client: Client = server.connect()
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, target: str, headers: Headers | None = None, body: bytes | None = None) -> Response:
        fields = list(headers or [])
        if self.cookies:
            fields.append(("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items())))
        self.client.request(method, target, fields, body)
        answer = self.client.response(method)
        for cookie in answer.all("Set-Cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def form(self, target: str, fields: dict[str, str]) -> Response:
        kind = [("Content-Type", "application/x-www-form-urlencoded")]
        return self.ask("POST", target, kind, urlencode(fields).encode())


def multipart(fields: dict[str, str], files: dict[str, tuple[str, bytes]]) -> tuple[Headers, bytes]:
    mark = "----border7MA4YWxk"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode() for k, v in fields.items()
    ]
    for name, (filename, content) in files.items():
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n'
        parts.append(head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n")
    return [("Content-Type", f"multipart/form-data; boundary={mark}")], b"".join(parts) + f"--{mark}--\r\n".encode()


def test_a_page(django: Server) -> None:
    answer = django.get("/")
    assert (answer.status, answer.body) == (200, b"shop\n")
    assert answer.header("X-Content-Type-Options") == "nosniff"


def test_sessions(django: Server) -> None:
    one, two = Browser(django), Browser(django)
    assert [one.ask("GET", "/count").json()["count"] for _ in range(3)] == [1, 2, 3]
    assert two.ask("GET", "/count").json()["count"] == 1


def test_a_form_with_csrf(django: Server) -> None:
    browser = Browser(django)
    page = browser.ask("GET", "/order")
    token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', page.body)
    assert token
    order = {"item": "Gr\u00f6\u00dfe & Co", "amount": "3"}
    assert browser.form("/order", order).status == 403, "without its token"
    answer = browser.form("/order", {**order, "csrfmiddlewaretoken": token[1].decode()})
    assert (answer.status, answer.header("Location")) == (302, "/orders")
    assert ["Gr\u00f6\u00dfe & Co", 3] in browser.ask("GET", "/orders").json()["orders"]


def test_a_form_with_errors(django: Server) -> None:
    browser = Browser(django)
    token = re.search(rb'name="csrfmiddlewaretoken" value="([^"]+)"', browser.ask("GET", "/order").body)
    assert token
    answer = browser.form("/order", {"item": "x", "amount": "many", "csrfmiddlewaretoken": token[1].decode()})
    assert answer.status == 422


@pytest.mark.parametrize("size", [0, 10, 100_000, 3_000_000])
def test_upload(django: Server, size: int) -> None:
    content = os.urandom(size)
    headers, body = multipart({"note": "with a file"}, {"file": ("data.bin", content)})
    answer = django.post("/upload", body, headers).json()
    assert answer["fields"] == {"note": "with a file"}
    if size:
        assert answer["files"]["file"] == {
            "name": "data.bin",
            "size": size,
            "sha256": hashlib.sha256(content).hexdigest(),
        }


def test_a_raw_body(django: Server) -> None:
    content = os.urandom(1_500_000)
    assert django.post("/raw", content).json()["sha256"] == hashlib.sha256(content).hexdigest()


def test_download(django: Server, download: Path) -> None:
    with django.connect() as client:
        answer = client.get("/download")
        assert answer.body == download.read_bytes()
        assert answer.framing == "length"
        assert "attachment" in (answer.header("Content-Disposition") or "")
        assert client.get("/").status == 200
        assert client.get("/download", method="HEAD").header("Content-Length") == str(download.stat().st_size)


def test_streaming(django: Server) -> None:
    with django.connect() as client:
        answer = client.get("/stream")
        assert answer.framing == "chunked"
        assert answer.body == b"".join(b"line %d\n" % number for number in range(1000))
        assert client.get("/").status == 200


def test_not_found_and_failing(django: Server) -> None:
    with django.connect() as client:
        assert client.get("/nowhere").status == 404
        assert client.get("/fail").status == 500
        assert client.get("/gone").status == 410
        assert client.get("/").status == 200
    django.wait_log("RuntimeError: the view fails")


def test_conditional(django: Server) -> None:
    with django.connect() as client:
        tag = client.get("/cached").header("ETag")
        assert tag
        answer = client.get("/cached", [("If-None-Match", tag)])
        assert (answer.status, answer.body) == (304, b"")
        assert client.get("/cached").body == b"cached\n"


def test_addresses(django: Server) -> None:
    seen = django.get("/address/Gr%C3%B6%C3%9Fe%20x/?q=%C3%A4&r=1+2", [("Host", "shop.example:81")]).json()
    assert seen["name"] == "Gr\u00f6\u00dfe x"
    assert seen["query"] == {"q": "\u00e4", "r": "1 2"}
    assert seen["absolute"].startswith("http://shop.example:81/address/")


def test_redirect_by_append_slash(django: Server) -> None:
    answer = django.get("/address/x?a=b")
    assert (answer.status, answer.header("Location")) == (301, "/address/x/?a=b")


def test_many_sessions_side_by_side(django: Server) -> None:
    """Threads with a database connection each."""
    import threading

    failures: list[str] = []

    def one() -> None:
        try:
            browser = Browser(django)
            for expected in range(1, 6):
                answer = browser.ask("GET", "/count")
                assert answer.json()["count"] == expected
        except (AssertionError, OSError, ValueError) as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_chunked_form(django: Server) -> None:
    """Django reads CONTENT_LENGTH bytes of a form."""
    from harness.client import chunked

    with django.connect() as client:
        headers, body = multipart({"note": "chunked"}, {})
        client.request("POST", "/upload", [*headers, ("Transfer-Encoding", "chunked")], chunked(body[:50], body[50:]))
        answer = client.response()
        assert answer.status == 200
        assert answer.json()["fields"] == {"note": "chunked"}


def test_a_view_holds_a_stream(django: Server) -> None:
    """Through every middleware, of which one adds an ETag and a Content-Length."""
    browser = Browser(django)
    with EventStream(django, "/news").opened() as stream:
        assert stream.answer.header("Content-Type") == "text/event-stream"
        assert stream.answer.header("Content-Length") is None
        assert stream.answer.header("ETag") is None
        assert "sessionid" in (stream.answer.header("Set-Cookie") or "")
        for channel in ("news", "caf\u00e9"):
            said = browser.form("/news/add", {"channel": channel, "text": f"on {channel}"}).json()["id"]
            event = stream.next()
            assert (event.id, json.loads(event.data)) == (said, f"on {channel}")


def test_a_websocket_has_its_session_and_needs_no_csrf_token(django: Server) -> None:
    with WebSocket(django, "/chat?name=Ada") as ada:
        assert ada.answer.status == 101
        cookie = (ada.answer.header("Set-Cookie") or "").partition(";")[0]
        assert cookie.startswith("sessionid=")
        ada.send("who am I")  # its handshake had no session yet
        assert ada.next().text == "nobody: who am I"
        with WebSocket(django, "/chat?name=Ada", [("Cookie", cookie)]) as again:
            again.send("hello")
            assert again.next().text == "Ada: hello"
        assert ada.next().text == "Ada: hello"
    answer = Browser(django).ask("POST", "/chat", body=b"forged")
    assert (answer.status, answer.header("Allow")) == (405, "GET")
    assert Browser(django).ask("GET", "/chat").status == 426
