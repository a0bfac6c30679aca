"""Clients that never read, beside others that do."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from harness.client import Client
from harness.crowd import Crowd, mark
from harness.event_stream import Event, EventStream, hold
from harness.measures import percentile, queued_bytes, resident_kib
from harness.server import Server
from soak.outcome import Outcome

# A held connection's send buffer is 64 KiB, which the kernel doubles for its own accounting; the client's is small.
KERNEL_BYTES_EACH = 160 * 1024
GROWTH_KIB = 10 * 1024
RECEIVE_BUFFER = 4096
TIMES_ALONE = 2.0


@dataclass(frozen=True)
class Size:
    stalled: int
    readers: int
    events: int  # of a phase
    rate: float
    phases: int
    size: int = 10_000
    weigh: bool = True  # what memory a sanitizer needs says nothing


class Spread:
    """Publishes at a pace, and takes down how long each delivery took."""

    def __init__(self, server: Server, readers: int) -> None:
        self.crowd = Crowd(server, self._heard)
        self.crowd.open(readers, "/hold?channel=quiet&channel=loud")
        self.publisher: Client = server.connect()
        self.next = 0
        self.sent: dict[int, float] = {}
        self.taken: list[float] = []

    def _heard(self, number: int, when: float) -> None:
        self.taken.append(when - self.sent[number])

    def run(self, channel: str, size: Size) -> tuple[list[float], dict[str, int]]:
        """The latencies, and the number of each id."""
        self.taken, ids, began = [], {}, time.monotonic()
        for index in range(size.events):
            due = began + (index / size.rate if index else 0)
            while (left := due - time.monotonic()) > 0:
                self.crowd.turn(left)
            self.sent[self.next] = time.monotonic()
            body = mark(self.next).encode().ljust(size.size, b"x")
            ids[self.publisher.post(f"/publish-body?channel={channel}", body).body.decode()] = self.next
            self.next += 1
        wanted = size.events * size.readers
        self.crowd.hear(lambda: len(self.taken) >= wanted, "every reader has every event", within=60)
        return self.taken, ids


def run(server: Server, size: Size) -> Outcome:
    """The server has one worker."""
    outcome = Outcome()
    (worker,) = server.workers()
    with ExitStack() as stack:
        spread = Spread(server, size.readers)
        stack.enter_context(spread.crowd)
        stack.enter_context(spread.publisher)
        _fill_the_log(server)
        spread.run("quiet", size)
        before = resident_kib(worker)
        alone, beside = [], []
        for phase in range(size.phases):
            alone.append(percentile(spread.run("quiet", size)[0], 0.99))
            streams = [_stalled(server) for _ in range(size.stalled)]
            taken, ids = spread.run("loud", size)
            beside.append(percentile(taken, 0.99))
            queued = queued_bytes(server.port)
            growth = resident_kib(worker) - before
            if phase == size.phases - 1:
                _look_at_the_kernel(outcome, streams, queued)
                _resume(outcome, server, streams, ids)
            for stream in streams:
                stream.client.close()
        if size.weigh:
            outcome.at_most("memory_growth_kib", growth, GROWTH_KIB, "the server's memory grows with stalled clients")
        outcome.expect(all(m.in_order for m in spread.crowd.members), "a reader missed an event or got it twice")
        outcome.note(p99_alone_s=alone, p99_beside_s=beside, readers=size.readers, stalled=size.stalled)
        # The least of the phases: what else the machine does is in some of them.
        outcome.at_most("times_alone", min(beside) / min(alone), TIMES_ALONE, "the readers' p99, times that alone")
    return outcome


def fall_behind(server: Server, size: Size) -> Outcome:
    """More is published than the log holds, as fast as those that read take it: the others get a gap."""
    outcome = Outcome()
    with ExitStack() as stack:
        spread = Spread(server, size.readers)
        stack.enter_context(spread.crowd)
        stack.enter_context(spread.publisher)
        streams = [_stalled(server) for _ in range(size.stalled)]
        for stream in streams:
            stack.callback(stream.client.close)
        ids: dict[str, int] = {}
        for _ in range(size.events):
            ids |= spread.run("loud", replace(size, events=1))[1]
        _resume(outcome, server, streams, ids)
        outcome.expect(outcome.measured["gaps"] == size.stalled, "one of them was told of no gap")
        outcome.expect(all(m.in_order for m in spread.crowd.members), "a reader missed an event or got it twice")
    return outcome


def _fill_the_log(server: Server) -> None:
    """Once round: its pages are memory of the server's that is there from then on."""
    size = int(server.words[server.words.index("--event-log-size") + 1].removesuffix("m")) << 20
    for _ in range(size // (400 * 4000) + 2):
        server.get(f"/publish-many?channel=filler&count=400&prefix={'f' * 4000}")


def _stalled(server: Server) -> EventStream:
    return EventStream(server, "/hold?channel=loud", receive_buffer=RECEIVE_BUFFER)


def _look_at_the_kernel(outcome: Outcome, streams: list[EventStream], queued: dict[int, int]) -> None:
    mine = [queued.get(stream.client.socket.getsockname()[1], 0) for stream in streams]
    outcome.expect(min(mine) > 0, "a client that never reads has nothing waiting: it did not stall")
    outcome.at_most("kernel_bytes_each", max(mine), KERNEL_BYTES_EACH, "what waits in the kernel for one of them")


def _resume(outcome: Outcome, server: Server, streams: list[EventStream], ids: dict[str, int]) -> None:
    """They read at last: each gets everything, or one gap in its place."""
    last = server.post("/publish-body?channel=loud", b"the end").body.decode()
    gaps, cut = 0, 0
    for stream in streams:
        missing = dict(ids)
        told: list[tuple[str, str]] = []
        current, before = stream, ""
        while True:
            try:
                event = current.next()
            except (AssertionError, OSError):  # cut in the middle of an event
                cut += 1
                before = current.last_id
                current.client.close()
                current = hold(server, "loud", last_id=before)
                continue
            if event.id == last:
                break
            if event.type == "m0-gap":
                told.append(_range(event))
                outcome.expect(before in ("", told[-1][0]), "a gap begins elsewhere than where the client was")
            else:
                outcome.expect(missing.pop(event.id, None) is not None, "an event came twice, or out of nowhere")
            before = event.id
        gaps += len(told)
        outcome.expect(len(told) <= 1, "more than one gap was told")
        outcome.expect(all(_within(told, identity) for identity in missing), "an event is missing outside of the gap")
        if current is not stream:
            current.client.close()
    outcome.note(gaps=gaps, cut=cut)


def _range(event: Event) -> tuple[str, str]:
    told = json.loads(event.data)
    return told["from"], told["to"]


def _within(gaps: list[tuple[str, str]], identity: str) -> bool:
    number = sequence(identity)
    return any(sequence(start) < number <= sequence(end) for start, end in gaps)


def sequence(identity: str) -> int:
    return int(identity.rpartition("-")[2])
