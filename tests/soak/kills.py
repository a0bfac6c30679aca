"""Workers are killed at random, also in the middle of a publish, while all of them publish and clients come back."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from harness.event_stream import EventStream
from harness.processes import alive
from harness.server import Server
from harness.waiting import wait_until
from harness.web_socket import CLOSE, WebSocket
from soak.outcome import Outcome
from soak.stalled import sequence

WORKERS = 4
END = "the end"
BATCH = 5


@dataclass(frozen=True)
class Size:
    kills: int
    streams: int
    sockets: int
    publishers: int
    seed: int
    # Who lost its connection stays away until so many more were published: more than the log holds, and it has a gap.
    absent: int = 0
    padding: int = 0


@dataclass(frozen=True)
class Got:
    id: str
    type: str
    data: str


@dataclass
class Life:
    """What one subscriber got, over all its connections."""

    events: list[Got] = field(default_factory=list)
    order: list[str] = field(default_factory=list)  # of events and of the ends of gaps
    gaps: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    comebacks: int = 0


def _stream(server: Server, last: str) -> Iterator[Got]:
    headers = [("Last-Event-ID", last)] if last else None
    with EventStream(server, "/hold?channel=a", headers) as stream:
        stream.opened()
        yield Got(stream.last_id, "cursor", "")
        while True:
            event = stream.next()
            yield Got(event.id, event.type, event.data)


def _socket(server: Server, last: str) -> Iterator[Got]:
    query = urllib.parse.urlencode({"channel": "a", "M0-Frames": "json", **({"last_event_id": last} if last else {})})
    with WebSocket(server, f"/ws?{query}") as socket:
        assert socket.answer.status == 101, socket.answer.status
        while (frame := socket.next()).opcode != CLOSE:
            said = json.loads(frame.text)
            yield Got(
                said["id"], "cursor" if said["event"] == "m0-cursor" else said["event"] or "message", said["data"]
            )
    raise AssertionError("it was closed")


class Subscriber(threading.Thread):
    """Comes back with its last id until it has heard the end."""

    def __init__(self, server: Server, kind: str, stay_away: Callable[[], None]) -> None:
        super().__init__()
        self.life = Life()
        self.opened = threading.Event()
        self._server = server
        self._connect = _stream if kind == "stream" else _socket
        self._stay_away = stay_away

    def run(self) -> None:
        last, give_up = "", time.monotonic() + 900
        while time.monotonic() < give_up:
            gaps = len(self.life.gaps)
            try:
                for got in self._connect(self._server, last):
                    if got.type == "m0-gap":
                        told = json.loads(got.data)
                        self.life.gaps.append((told["from"], told["to"]))
                        self.life.order.append(told["to"])
                        if told["from"] != last:
                            self.life.wrong.append(f"a gap from {told['from']}, its client was at {last}")
                        if len(self.life.gaps) > gaps + 1:
                            self.life.wrong.append("two gaps of one connection")
                    elif got.type != "cursor":
                        self.life.events.append(got)
                        self.life.order.append(got.id)
                    last = got.id
                    self.opened.set()
                    if got.data == END:
                        return
            except (AssertionError, OSError):
                self.life.comebacks += 1
                self._stay_away()
        self.life.wrong.append("it never heard the end")


class Publisher(threading.Thread):
    """Publishes on one connection after the other, so that every worker does. `known` are the ids that were told."""

    def __init__(self, server: Server, number: int, padding: int, over: threading.Event) -> None:
        super().__init__()
        self.known: list[str] = []
        self._server = server
        self._prefix = f"{'x' * padding}{number}"
        self._over = over

    def run(self) -> None:
        batch = 0
        while not self._over.is_set():
            batch += 1
            try:
                said = self._server.get(f"/publish-many?channel=a&count={BATCH}&prefix={self._prefix}.{batch}.")
                self.known += [identity for identity in said.json() if identity] if said.status == 200 else []
            except (AssertionError, OSError, ValueError):
                pass
            self._over.wait(0.02)


def run(server: Server, size: Size) -> Outcome:
    """The server has four workers."""
    outcome, chance, over = Outcome(), random.Random(size.seed), threading.Event()
    steps: list[str] = json.loads(server.get("/steps").body)
    publishers = [Publisher(server, number, size.padding, over) for number in range(size.publishers)]

    def stay_away() -> None:
        until = sum(len(publisher.known) for publisher in publishers) + size.absent
        over.wait(0.01)  # whoever is refused asks again, as browsers do, and not as fast as it can
        while sum(len(publisher.known) for publisher in publishers) < until and not over.wait(0.01):
            pass

    subscribers = [Subscriber(server, "stream", stay_away) for _ in range(size.streams)]
    subscribers += [Subscriber(server, "socket", stay_away) for _ in range(size.sockets)]
    for subscriber in subscribers:
        subscriber.start()
    for subscriber in subscribers:
        assert subscriber.opened.wait(20), "a subscriber is held"
    for publisher in publishers:
        publisher.start()
    inside = 0
    try:
        for number in range(size.kills):
            wait_until(lambda: len(server.workers()) == WORKERS, "every worker runs")
            inside += _kill(server, chance, steps[number % len(steps)] if number % 2 else None)
        wait_until(lambda: len(server.workers()) == WORKERS, "every worker runs again")
    finally:
        over.set()
        for publisher in publishers:
            publisher.join()
        end = wait_until(lambda: _published(server, END), "the end is published")
        for subscriber in subscribers:
            subscriber.join()
    known = [identity for publisher in publishers for identity in publisher.known]
    judge(outcome, [subscriber.life for subscriber in subscribers], [*known, end])
    outcome.expect(bool(outcome.measured["gaps"]) or not size.absent, "nobody was told of a gap")
    outcome.note(kills=size.kills, inside_a_publish=inside, published=len(known))
    return outcome


def _kill(server: Server, chance: random.Random, step: str | None) -> bool:
    """One worker, whatever it does; or one that publishes, at that step of its append. Whether it was the latter."""
    if step is None:
        try:
            os.kill(chance.choice(server.workers()), signal.SIGKILL)
        except (ProcessLookupError, IndexError):
            pass
        return False
    before = server.workers()
    with server.connect() as client:
        try:
            client.request("GET", f"/signal-at?step={step}&signal={signal.SIGKILL.value}&channel=a")
            client.response()
        except (AssertionError, OSError):
            pass
    return any(not alive(pid) for pid in before)


def _published(server: Server, data: str) -> str | None:
    try:
        said = server.get("/publish?" + urllib.parse.urlencode({"channel": "a", "data": data}))
    except (AssertionError, OSError):
        return None
    return said.body.decode() if said.status == 200 and said.body != b"None" else None


def judge(outcome: Outcome, lives: list[Life], known: list[str]) -> None:
    """All subscribers were there before the first publish: each has every event that any of them has, and every one
    whose publisher was told its id."""
    everything = set(known) | {got.id for life in lives for got in life.events}
    outcome.expect(len(known) > 1, "nothing was published")
    contents = {(got.id, got.type, got.data) for life in lives for got in life.events}
    outcome.expect(len({one[0] for one in contents}) == len(contents), "an id stands for two events")
    for life in lives:
        outcome.broken += life.wrong
        numbers = [sequence(identity) for identity in life.order]
        outcome.expect(all(a < b for a, b in zip(numbers, numbers[1:])), "an event came twice, late, or of a gap")
        missing = everything - {got.id for got in life.events}
        lost = [i for i in missing if not any(sequence(a) < sequence(i) <= sequence(b) for a, b in life.gaps)]
        outcome.expect(not lost, f"{len(lost)} events are missing outside of every gap: {sorted(lost)[:3]}")
    comebacks = sum(life.comebacks for life in lives)
    outcome.expect(comebacks > 0, "nobody had to come back")
    outcome.note(comebacks=comebacks, gaps=sum(len(life.gaps) for life in lives), events=len(everything))
