"""--event-log: what was published survives the end of the server."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.event_stream import EventStream, hold
from harness.live import publish
from harness.processes import alive, descendants
from harness.server import Server, run
from harness.waiting import wait_until
from harness.web_socket import talk


def written(path: Path, text: str) -> None:
    """Waits until it has reached the file, which is written behind."""
    wait_until(lambda: text.encode() in path.read_bytes(), f"{text} in the file")


def data_of(stream: EventStream, count: int) -> list[str]:
    return [event.data for event in stream.take(count)]


@pytest.mark.parametrize("words", [("--workers", "1"), ("--workers", "4"), ("--no-fork",)])
def test_after_a_stop_clients_go_on_where_they_were(
    serve: Callable[..., Server], tmp_path: Path, words: tuple[str, ...]
) -> None:
    log = tmp_path / "events"
    options = ("live", *words, "--event-log", str(log), "--drain-spread", "0")
    server = serve(*options)
    with hold(server, "a").opened() as stream:
        first = publish(server, "a", "one")
        assert stream.next().id == first
    second = publish(server, "a", "two")
    server.stop()

    again = serve(*options)
    again.wait_log("goes on with 2 events")
    third = publish(again, "a", "three")
    epoch, _, number = second.rpartition("-")
    assert third == f"{epoch}-{int(number) + 1}", "as if nothing had happened"
    with hold(again, "a", last_id=first) as stream:
        assert [(event.id, event.data) for event in stream.take(2)] == [(second, "two"), (third, "three")]
    with hold(again, "a", **{"M0-Replay": "2"}) as stream:
        assert data_of(stream, 2) == ["two", "three"]
    again.stop()


def test_a_server_that_was_killed_begins_anew_and_tells_so(serve: Callable[..., Server], tmp_path: Path) -> None:
    log = tmp_path / "events"
    options = ("live", "--workers", "2", "--event-log", str(log))
    server = serve(*options)
    ids = [publish(server, "a", f"event {number}") for number in range(3)]
    written(log, "event 2")
    processes = [server.pid, *descendants(server.pid)]
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    server.wait()
    wait_until(lambda: not any(alive(pid) for pid in processes[1:]), "all have gone")

    again = serve(*options)
    again.wait_log("begins anew with the 3 events")
    fresh = publish(again, "a", "after")
    assert fresh.partition("-")[0] != ids[0].partition("-")[0], "no id is issued twice"
    with hold(again, "a", last_id=ids[0]) as stream:
        gap = stream.next()
        assert gap.type == "m0-gap"
        assert json.loads(gap.data)["from"] == ids[0]
        assert data_of(stream, 4) == ["event 0", "event 1", "event 2", "after"]
    again.stop()


def test_a_killed_worker_leaves_the_writing_to_another(serve: Callable[..., Server], tmp_path: Path) -> None:
    log = tmp_path / "events"
    options = ("live", "--workers", "4", "--event-log", str(log), "--drain-spread", "0")
    server = serve(*options)
    first = publish(server, "a", "before")
    written(log, "before")
    for number in range(6):
        victim = server.workers()[number % len(server.workers())]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda victim=victim: not alive(victim), "it is gone")  # type: ignore[misc]
        publish(server, "a", f"number {number}")
    written(log, "number 5")
    server.stop()
    again = serve(*options)
    with hold(again, "a", last_id=first) as stream:
        assert data_of(stream, 6) == [f"number {number}" for number in range(6)]
    again.stop()


def test_what_is_sent_to_a_connection_is_not_sent_again(serve: Callable[..., Server], tmp_path: Path) -> None:
    options = ("talk", "--event-log", str(tmp_path / "events"), "--drain-spread", "0")
    server = serve(*options)
    with talk(server, "a", tell="1") as socket:
        name = socket.next().text
        server.get(f"/send?to={name}&data=once")
        assert socket.next().text == "once"
    server.get("/close?channel=a")
    server.stop()
    again = serve(*options)
    with talk(again, "a") as socket:
        assert socket.ask("echo:still here").text == "still here"
    again.stop()


def not_started(path: Path) -> str:
    done = run("live", "--bind", "127.0.0.1:0", "--event-log", str(path))
    assert done.returncode == 78
    return done.stderr


def test_a_file_that_cannot_be_is_told_at_the_start(serve: Callable[..., Server], tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("a letter to grandmother, which is long enough to be mistaken for something else")
    for path, sentence in [
        (tmp_path / "nowhere" / "events", "cannot be used"),
        (letter, "is no event log"),
    ]:
        assert sentence in not_started(path)
    assert letter.read_text().startswith("a letter")
    server = serve("live", "--event-log", str(tmp_path / "events"))
    assert "is another server's" in not_started(tmp_path / "events")
    assert publish(server, "a", "unharmed")
