"""A Flask application as people write it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.client import Truncated, chunked
from harness.event_stream import EventStream
from harness.server import Server, serving

from test_bodies import MIB, upload
from test_django import Browser, multipart

pytest.importorskip("flask")


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("download") / "data.bin"
    path.write_bytes(os.urandom(1_000_000))
    return path


@pytest.fixture(scope="module")
def flask(tmp_path_factory: pytest.TempPathFactory, download: Path) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("flask"), "flask_site", env={"M0TEST_DOWNLOAD": str(download)}) as server:
        yield server


def test_a_page(flask: Server) -> None:
    with flask.connect() as client:
        for _ in range(3):
            assert client.get("/").body == b"flask\n"
        assert client.get("/", method="HEAD").header("Content-Length") == "6"
        assert client.get("/empty").status == 204
        assert client.get("/").body == b"flask\n"


def test_sessions(flask: Server) -> None:
    browser = Browser(flask)
    assert [browser.ask("GET", "/count").json()["count"] for _ in range(3)] == [1, 2, 3]


def test_a_form(flask: Server) -> None:
    browser = Browser(flask)
    answer = browser.form("/form", {"name": "Gr\u00f6\u00dfe"})
    assert (answer.status, answer.header("Location")) == (302, "/name")
    assert browser.ask("GET", "/name").json() == {"name": "Gr\u00f6\u00dfe"}
    assert browser.form("/form", {}).status == 400


def test_upload(flask: Server) -> None:
    content = os.urandom(2_000_000)
    headers, body = multipart({"a": "1"}, {"file": ("x.bin", content)})
    answer = flask.post("/upload", body, headers).json()
    assert answer["fields"] == {"a": "1"}
    assert answer["files"]["file"] == {"name": "x.bin", "sha256": hashlib.sha256(content).hexdigest()}


def test_100_mib_by_digest(flask: Server) -> None:
    with flask.connect() as client:
        digest = upload(client, "/raw", 100 * MIB)
        assert client.response().json() == {"size": 100 * MIB, "sha256": digest}


def test_a_chunked_upload(flask: Server) -> None:
    """werkzeug reads a body without a length only where wsgi.input_terminated says that it may."""
    content = os.urandom(300_000)
    with flask.connect() as client:
        client.request("PUT", "/raw", [("Transfer-Encoding", "chunked")], chunked(content[:1000], content[1000:]))
        assert client.response().json() == {"size": 300_000, "sha256": hashlib.sha256(content).hexdigest()}


def test_download(flask: Server, download: Path) -> None:
    content = download.read_bytes()
    with flask.connect() as client:
        answer = client.get("/download")
        assert (answer.status, answer.body) == (200, content)
        tag = answer.header("ETag") or ""
        assert client.get("/download", [("If-None-Match", tag)]).status == 304
        part = client.get("/download", [("Range", "bytes=1000-1999")])
        assert (part.status, part.body) == (206, content[1000:2000])
        assert part.header("Content-Range") == f"bytes 1000-1999/{len(content)}"
        last = client.get("/download", [("Range", "bytes=-10")])
        assert (last.status, last.body) == (206, content[-10:])
        assert client.get("/download", [("Range", "bytes=99999999-")]).status == 416
        assert client.get("/").body == b"flask\n"


def test_streaming_with_context(flask: Server) -> None:
    answer = flask.get("/stream?word=w")
    assert answer.framing == "chunked"
    assert answer.body == b"".join(b"line %d w\n" % number for number in range(1000))


def test_errors(flask: Server) -> None:
    with flask.connect() as client:
        assert client.get("/nowhere").status == 404
        assert client.get("/fail").status == 500
        assert client.get("/teapot").status == 418
        assert client.get("/form").status == 405
        assert client.get("/").body == b"flask\n"
    flask.wait_log("RuntimeError: the view fails")


def test_an_error_in_a_stream(flask: Server) -> None:
    with flask.connect() as client:
        try:
            assert client.get("/fail-late").status == 500
        except Truncated as error:
            assert error.so_far == b"x" * len(error.so_far)
    assert flask.get("/").body == b"flask\n"


def test_addresses(flask: Server) -> None:
    seen = flask.get("/hello/Gr%C3%B6%C3%9Fe?q=%C3%A4", [("Host", "flask.example")]).json()
    assert seen == {
        "name": "Gr\u00f6\u00dfe",
        "url": "http://flask.example/hello/Gr\u00f6\u00dfe?q=\u00e4",
        "remote": "127.0.0.1",
    }


def test_a_view_holds_a_stream(flask: Server) -> None:
    with EventStream(flask, "/news").opened() as stream:
        said = Browser(flask).form("/news", {"text": "it rains"}).json()["id"]
        event = stream.next()
        assert (event.id, event.data) == (said, "it rains")
