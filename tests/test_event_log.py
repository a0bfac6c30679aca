"""Real workers that are stopped or killed inside a publish: at each step that the writer's own table names."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from harness.client import Client
from harness.event_stream import EventStream, hold
from harness.live import connections_to_each, published
from harness.processes import alive, stopped
from harness.server import Server
from harness.waiting import wait_until

# After these the event exists, whatever becomes of its publisher.
EXISTS = {"headed", "counted", "cleared", "unlocked"}
STEPS = ["locked", "intended", "marked", "evicted", "copied", "headed", "counted", "cleared", "unlocked"]


def test_every_step_has_its_case(serve: Callable[..., Server]) -> None:
    assert json.loads(serve("live").get("/steps").body) == STEPS


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_there_takes_no_event_with_it(serve: Callable[..., Server], step: str) -> None:
    server = serve("live", "--workers", "2", "--event-log-size", "64k")
    server.get("/publish-many?channel=filler&count=1500&prefix=f")  # so that there is something to make room for
    with ExitStack() as stack:
        streams = [stack.enter_context(hold(server, "a")) for _ in range(8)]
        victim, client = next(iter(connections_to_each(server, stack).items()))
        client.request("GET", f"/signal-at?step={step}&signal={signal.SIGKILL.value}&channel=a")
        wait_until(lambda: not alive(victim), "it is killed")
        expected = ["signalled"] if step in EXISTS else []
        for number in range(3):
            wait_until(lambda n=number: published(server, str(n)), "others publish")
            expected.append(str(number))
        server.get("/publish-many?channel=filler&count=10&prefix=f")
        for stream in streams:
            got: list[str] = []
            while len(got) < len(expected):
                try:
                    event = stream.next()
                except (AssertionError, OSError):  # the killed worker held it: it comes back
                    again = wait_until(lambda last=stream.last_id: reopened(server, last), "it comes back")
                    stream = stack.enter_context(again)
                    continue
                assert event.type == "message"
                got.append(event.data)
            assert got == expected


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_stopped_there_stops_no_other(serve: Callable[..., Server], step: str) -> None:
    server = serve("live", "--workers", "2", "--event-log-size", "64k")
    server.get("/publish-many?channel=filler&count=1500&prefix=f")
    with ExitStack() as stack:
        clients = connections_to_each(server, stack)
        victim, other = clients
        # Held by the other worker.
        clients[other].request("GET", "/hold?channel=a", [("Accept", "text/event-stream")])
        stream = EventStream.of(clients.pop(other))
        clients[victim].request("GET", f"/signal-at?step={step}&signal={signal.SIGSTOP.value}&channel=a")
        wait_until(lambda: stopped(victim), "it stops")
        kept = stack.enter_context(server.connect())
        started = time.monotonic()
        meanwhile = kept.get("/publish?channel=a&data=meanwhile").body if on(kept, other) else b"None"
        assert time.monotonic() - started < 10, "a publisher waits a second, not for ever"
        if step != "unlocked":
            assert meanwhile == b"None", "it holds the log"
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: published(server, "afterwards"), "once it is gone others publish")
        seen = [stream.next().data]
        while seen[-1] != "afterwards":
            seen.append(stream.next().data)
        assert ("signalled" in seen) == (step in EXISTS)
        assert ("meanwhile" in seen) == (meanwhile != b"None")


def on(client: Client, pid: int) -> bool:
    """Whether that connection is served, and by that worker."""
    client.socket.settimeout(1)
    try:
        return int(client.get("/who").body) == pid
    except TimeoutError:
        return False
    finally:
        client.socket.settimeout(20)


def reopened(server: Server, last_id: str) -> EventStream | None:
    try:
        return hold(server, "a", last_id=last_id)
    except (AssertionError, OSError):
        return None
