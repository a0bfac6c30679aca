"""Very many held connections on one worker: what each costs, and what all cost while nothing happens."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.client import Headers
from harness.crowd import Crowd
from harness.measures import cpu_seconds, resident_kib
from harness.server import Server
from harness.web_socket import handshake_fields
from soak.outcome import Outcome

BYTES_EACH = 1024
AGENT = ("User-Agent", "x" * 500)
SHARE_OF_A_CORE = 0.01


@dataclass(frozen=True)
class Size:
    few: int
    many: int
    idle_seconds: float


def run(server: Server, size: Size, websocket: bool = False) -> Outcome:
    """The server has one worker, room for the connections, and its signs of life on."""
    outcome = Outcome()
    (worker,) = server.workers()
    target, headers, status = "/hold?channel=a", [("Accept", "text/event-stream"), AGENT], 200
    if websocket:
        target, headers, status = "/ws?channel=a", [*handshake_fields(), AGENT], 101
    with Crowd(server) as crowd:
        crowd.open(size.few, target, headers, status)
        few = resident_kib(worker)
        crowd.open(size.many - size.few, target, headers, status)
        many = resident_kib(worker)
        slope = (many - few) * 1024 / (size.many - size.few)
        bound = BYTES_EACH + (_head_bytes(target, headers) if websocket else 0)
        outcome.at_most("bytes_each", slope, bound, "the server's memory for each of them")
        if not websocket:
            _idle(outcome, crowd, worker, size.idle_seconds)
        outcome.expect(not any(member.ended for member in crowd.members), "one of them was ended")
        outcome.note(held=len(crowd.members), resident_kib=many)
    return outcome


def _head_bytes(target: str, headers: Headers) -> int:
    return len(target) + sum(len(name) + len(value) + 4 for name, value in headers)


def _idle(outcome: Outcome, crowd: Crowd, worker: int, seconds: float) -> None:
    """Nothing is published: what it takes are the signs of life."""
    before, began = cpu_seconds(worker), time.monotonic()
    while time.monotonic() < began + seconds:
        crowd.turn(0.5)
    share = (cpu_seconds(worker) - before) / (time.monotonic() - began)
    outcome.at_most("idle_share_of_a_core", share, SHARE_OF_A_CORE, "an idle server's share of a core")
