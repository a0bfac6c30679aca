"""The event ring and its file, by those who ask too much of them: what each of these did once is a defect that was mended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.event_stream import EventStream
from harness.live import publish_bytes
from harness.processes import children
from harness.server import Server, run
from harness.waiting import wait_until
from harness.web_socket import TEXT, talk


def test_a_question_who_is_there_is_no_event_that_was_missed(serve: Callable[..., Server]) -> None:
    """Its record bears the name of the channel, and leaves the log like any."""
    server = serve("talk", "--event-log-size", "64k")
    with EventStream(server, "/ws?hold=stream&channel=quiet") as stream:
        last = stream.opened().last_id
    assert server.get("/presence?channel=quiet").status == 200
    publish_bytes(server, "other", 3_000, 60)
    with EventStream(server, "/ws?hold=stream&channel=quiet", [("Last-Event-ID", last)]) as stream:
        stream.opened()
        publish_bytes(server, "quiet", 3)
        event = stream.next()
        assert event.type == "message", f"nothing was ever published there, and yet: {event}"


def test_members_are_not_closed_because_somebody_asked_who_they_are(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "2", "--event-log-size", "64k")
    sockets = [talk(server, "quiet") for _ in range(12)]
    assert server.get("/presence?channel=quiet").status == 200
    stopped = children(server.pid)[0]
    os.kill(stopped, signal.SIGSTOP)  # a machine that was suspended, a worker that was starved
    speaker = next(s for s in sockets if s.responds())
    speaker.client.socket.settimeout(5)
    for _ in range(60):
        speaker.send("spread-to-all:" + "x" * 3_000)
        assert speaker.next().text == "told"
    os.kill(stopped, signal.SIGCONT)
    publish_bytes(server, "quiet", 3)
    for socket in sockets:
        got = socket.next()
        while got.opcode == TEXT and got.text == "x":  # the question of responds()
            got = socket.next()
        assert got.opcode == TEXT, f"closed with {got.code}"


@pytest.mark.parametrize("how", ["deleted", "moved", "truncated"])
def test_a_file_that_was_taken_away_does_not_stop_the_next_start(
    serve: Callable[..., Server], tmp_path: Path, how: str
) -> None:
    log = tmp_path / "events"
    server = serve("talk", "--event-log", str(log), "--drain-spread", "0")
    publish_bytes(server, "a", 10, 3)
    wait_until(lambda: log.read_bytes().count(b"x" * 10) == 3, "all are written")
    if how == "deleted":
        log.unlink()
    elif how == "moved":
        log.rename(tmp_path / "events-20261130")
    else:
        os.truncate(log, 0)
    server.stop()
    serve("talk", "--event-log", str(log), "--drain-spread", "0").stop()


def test_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events")
    try:
        said = run("talk", "--bind", "127.0.0.1:0", "--event-log", str(tmp_path / "events"), within=5)
    except subprocess.TimeoutExpired:
        pytest.fail("hangs in open(), and SIGTERM does not end it")
    assert said.returncode == 78


def test_the_file_that_is_no_log_is_the_one_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "events.1").write_text("mine")
    said = run("talk", "--bind", "127.0.0.1:0", "--event-log", str(tmp_path / "events"))
    assert "events.1 is no event log" in said.stderr


def test_asking_who_is_there_leaves_what_was_published_in_the_log(serve: Callable[..., Server]) -> None:
    """Answers have a ring of their own: a page that asks on each load takes nobody's history."""
    server = serve("talk", "--workers", "4")
    with EventStream(server, "/ws?hold=stream&channel=news") as stream:
        last = stream.opened().last_id
    publish_bytes(server, "news", 10, 20)
    sockets = [talk(server, "room", **{"M0_Meta_U": "u" * 200}) for _ in range(400)]
    with server.connect() as client:
        for _ in range(250):
            assert client.get("/presence?channel=room").status == 200
    with EventStream(server, "/ws?hold=stream&channel=news", [("Last-Event-ID", last)]) as stream:
        assert stream.next().type == "message"
    for socket in sockets:
        socket.client.close()


@pytest.mark.parametrize("words", [(), ("--no-fork",)])
def test_a_relative_path_is_the_one_that_the_server_was_started_with(
    serve: Callable[..., Server], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The writer opens it late, in a process whose application may have changed its directory."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "wanders.py").write_text(
        "import os, m0serve\n"
        f"os.chdir({str(tmp_path / 'elsewhere')!r})\n"
        "def application(environ, start_response):\n"
        "    said = m0serve.publish('a', 'x').encode()\n"
        "    start_response('200 OK', [('Content-Length', str(len(said)))])\n"
        "    return [said]\n"
    )
    options = ("--app-dir", str(tmp_path), "wanders", *words, "--event-log", "events")
    server = serve(*options, cwd=tmp_path)
    first = server.get("/").body.decode()
    server.stop()
    assert not list((tmp_path / "elsewhere").iterdir())
    again = serve(*options, cwd=tmp_path)
    assert again.get("/").body.decode().partition("-")[0] == first.partition("-")[0], "after a clean stop"


def test_who_is_told_to_leave_leaves_also_where_the_log_overtook_its_worker(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "2", "--event-log-size", "64k")
    sockets = [talk(server, "room", M0_Frames="json") for _ in range(12)]
    speakers = [talk(server, "elsewhere") for _ in range(8)]
    for socket in sockets:
        socket.next()
    stopped = children(server.pid)[0]
    os.kill(stopped, signal.SIGSTOP)
    speaker = next(each for each in speakers if each.responds())
    closer = None
    while closer is None:
        client = server.connect(timeout=0.5)
        try:
            assert client.get("/close?channel=room&code=4001").body == b"True"
            closer = client
        except TimeoutError:
            pass
    for _ in range(60):
        speaker.send("spread-to-all:" + "x" * 3_000)
        assert speaker.next().text == "told"
    os.kill(stopped, signal.SIGCONT)
    for socket in sockets:
        socket.client.socket.settimeout(3)
        assert socket.closed()
