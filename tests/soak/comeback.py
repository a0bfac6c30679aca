"""Everybody comes back at once, far behind, while others ask for pages."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from harness.client import compose
from harness.crowd import Crowd, mark
from harness.measures import percentile
from harness.server import Server
from soak.outcome import Outcome

SHARE_OF_THE_WHOLE = 0.1


@dataclass(frozen=True)
class Size:
    clients: int
    events: int
    size: int


class Pages:
    """Asks for one page after the other, on a thread, until it is told to stop."""

    def __init__(self, server: Server) -> None:
        self.taken: list[float] = []
        self.failed = 0
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Pages:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with self._server.connect() as client:
            while not self._over.is_set():
                began = time.monotonic()
                self.failed += client.get("/who").status != 200
                self.taken.append(time.monotonic() - began)


def run(server: Server, size: Size) -> Outcome:
    outcome = Outcome()
    start = server.get("/publish?channel=back&data=start").body.decode()
    prefix = "x" * size.size
    for number in range(size.events):
        server_said = server.get(f"/publish?channel=back&data={mark(number)}{prefix}")
        assert server_said.status == 200
    with Crowd(server) as crowd:
        members = crowd.connect(size.clients)
        request = compose("GET", "/hold?channel=back", [("Accept", "text/event-stream"), ("Last-Event-ID", start)])
        crowd.listen(members)
        with Pages(server) as pages:
            began = time.monotonic()
            for member in members:
                member.socket.sendall(request)
            crowd.hear(
                lambda: all(member.heard >= size.events or member.ended for member in members),
                "everybody has everything",
                within=120,
            )
            whole = time.monotonic() - began
        outcome.expect(all(m.in_order and m.heard == size.events for m in members), "somebody missed something")
        outcome.expect(pages.failed == 0, "a page was refused")
        outcome.note(whole_s=whole, pages=len(pages.taken), clients=size.clients, events=size.events)
        outcome.at_most(
            "p99_share",
            percentile(pages.taken, 0.99) / whole,
            SHARE_OF_THE_WHOLE,
            "the pages' p99, as a share of the whole time",
        )
    return outcome
