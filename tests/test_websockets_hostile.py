"""Held connections whose clients mean no good, or are only slow: what each of these did once is a defect that was mended."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.live import publish_bytes
from harness.processes import children
from harness.server import Server
from harness.web_socket import CLOSE, TEXT, WebSocket, frame, talk


@pytest.mark.parametrize("hold", ["websocket", "stream"])
def test_a_head_that_the_socket_does_not_take_at_once(serve: Callable[..., Server], tmp_path: Path, hold: str) -> None:
    (tmp_path / "bighead.py").write_text(
        "def application(environ, start_response):\n"
        f"    start_response('200 OK', [('M0-Hold', '{hold}'), ('M0-Channel', 'c')])\n"
        "    return [b'h' * 300_000]\n"
    )
    server = serve("--app-dir", str(tmp_path), "bighead")
    (worker,) = children(server.pid)
    if hold == "websocket":
        with WebSocket(server, "/", receive_buffer=2048) as socket:
            assert len(socket.next().payload) == 300_000
    else:
        with server.connect(receive_buffer=2048) as client:
            client.request("GET", "/")
            assert client.head().status == 200
            assert len(client.chunk() or b"") > 0
            assert client.chunk() == b"h" * 300_000
    assert children(server.pid) == [worker]


def test_a_stream_with_events_for_the_asterisk(serve: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "asterisk.py").write_text(
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('M0-Hold', 'stream'), ('M0-Channel', 'c'), ('M0-Events', 'open')])\n"
        "    return []\n"
    )
    server = serve("--app-dir", str(tmp_path), "asterisk")
    (worker,) = children(server.pid)
    with server.connect() as client:
        client.send(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.head().status == 200
        assert client.chunk()
    assert children(server.pid) == [worker]


def test_a_field_as_long_as_may_be(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--max-line", "1m", "--max-head", "4m")
    with WebSocket(
        server, "/ws", [("X", "a" * ((1 << 20) - 3))]
    ) as socket:  # harness: "X: aaa", as long as a line may be
        assert socket.answer.status == 101
        assert socket.ask("echo:alive").text == "alive"
    (worker,) = children(server.pid)
    with server.connect() as client:  # without the space, which the server adds
        head = "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        client.send(head.encode() + b"X:" + b"a" * ((1 << 20) - 2) + b"\r\n\r\n")
        assert client.head().status == 101
        client.send(frame("echo:x"))
        assert client.exactly(3) == b"\x81\x01x"
    assert children(server.pid) == [worker]


def test_who_joins_a_channel_does_not_read_what_was_said_before(serve: Callable[..., Server]) -> None:
    server = serve("talk")
    with talk(server, "lobby") as socket:
        publish_bytes(server, "secret", 10, 5)
        socket.send("join:secret")
        assert socket.ask("fields:").text.startswith("{"), "not what was published before"
        publish_bytes(server, "secret", 11)
        assert len(socket.next().payload) == 11


def test_who_joins_a_busy_channel_has_missed_nothing(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--event-log-size", "256k", "--max-event", "16k")
    with talk(server, "quiet") as socket:
        publish_bytes(server, "busy", 4_000, 150)
        assert socket.ask("join-and-say:busy").text == "joined busy"
        got = socket.next()
        assert got.opcode == TEXT, f"closed with {got.code}"
        assert got.text == "published to busy during the view"


@pytest.mark.parametrize("how", ["view", "client", "violation"])
def test_a_close_in_the_middle_of_a_frame_waits_for_its_rest(serve: Callable[..., Server], how: str) -> None:
    server = serve("talk", "--event-log-size", "64m")
    socket = WebSocket(server, "/ws?channel=c", receive_buffer=2048)
    # A frame that is half sent; the query is too short for it, so many of them.
    publish_bytes(server, "c", 7_000, 60)
    with socket:
        if how == "view":
            socket.send("close:4001 enough")
        elif how == "client":
            socket.send(b"\x0f\xa1", CLOSE)
        else:
            socket.send(b"x", 3)
        while (got := socket.next()).opcode != CLOSE:
            pass
        assert got.code == (1002 if how == "violation" else 4001)


def test_who_speaks_faster_than_it_reads_is_not_cut(serve: Callable[..., Server]) -> None:
    server = serve("talk")
    with talk(server, "pipelined") as socket:
        for _ in range(12):
            socket.send("size:1000000")
        assert server.get("/page").status == 200
        for _ in range(12):
            assert len(socket.next().payload) == 1_000_000


def test_an_answer_of_the_size_that_is_allowed(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--max-message", "8m")
    with talk(server, "large") as socket:
        assert len(socket.ask("size:5000000").payload) == 5_000_000


def test_the_last_words_on_a_unix_socket_are_heard(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("talk", bind=(f"unix:{tmp_path / 's.sock'}",))
    (worker,) = children(server.pid)
    with talk(server, "all") as listener:
        with talk(server, "speakers") as socket:
            os.kill(worker, signal.SIGSTOP)
            socket.send("spread-to-all:the last word")
        os.kill(worker, signal.SIGCONT)
        assert listener.next().text == "the last word"


def test_an_answer_to_a_message_is_not_compressed(serve: Callable[..., Server]) -> None:
    server = serve("talk")
    with WebSocket(server, "/ws", [("Accept-Encoding", "gzip, deflate")]) as socket:
        assert "HTTP_ACCEPT_ENCODING" not in json.loads(socket.ask("fields:").text)


def test_an_endless_answer_ends_with_its_client(serve: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "import time\n"
        "def drip():\n"
        "    while True:\n"
        "        time.sleep(0.05)\n"
        "        yield b'x'\n"
        "def application(environ, start_response):\n"
        "    if environ['PATH_INFO'] == '/page':\n"
        "        start_response('200 OK', [('Content-Length', '2')])\n"
        "        return [b'hi']\n"
        "    if 'HTTP_M0_EVENT' in environ:\n"
        "        start_response('200 OK', [])\n"
        "        environ['wsgi.errors'].write('dripping ' + environ['wsgi.input'].read().decode() + '\\n')\n"
        "        return drip()\n"
        "    start_response('200 OK', [('M0-Hold', 'websocket'), ('M0-Channel', 'c')])\n"
        "    return []\n"
    )
    server = serve("--app-dir", str(tmp_path), "endless", "--blocking-threads", "2", "--max-blocking-threads", "2")
    for number in range(2):
        with WebSocket(server, "/") as socket:
            socket.send(str(number))
            server.wait_log(f"dripping {number}")
    with server.connect() as client:
        client.request("GET", "/page")
        assert client.response().body == b"hi"
