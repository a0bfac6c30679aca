"""Views that block, and what others subscribe to, publish and get meanwhile."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

from harness.event_stream import hold
from harness.measures import percentile
from harness.server import Server
from soak.outcome import Outcome

SHARE_OF_THE_BLOCK = 0.1
# What waits behind a view that blocks does so more often than this; what else the machine does, more rarely.
SHARE = 0.9


@dataclass(frozen=True)
class Size:
    rounds: int
    slow: int = 2
    seconds: float = 1.5


def run(server: Server, size: Size) -> Outcome:
    """The server has a pool of 4, and one worker."""
    outcome = Outcome()
    taken: dict[str, list[float]] = {"subscribe": [], "publish": [], "deliver": []}
    for _ in range(size.rounds):
        with ExitStack() as stack:
            told = stack.enter_context(hold(server, "slow"))
            blocked = [stack.enter_context(server.connect()) for _ in range(size.slow)]
            for client in blocked:
                client.request("GET", f"/slow?channel=slow&seconds={size.seconds}")
            told.take(size.slow)
            until = time.monotonic() + size.seconds / 2
            asked = 0
            with server.connect() as publisher:
                while time.monotonic() < until:
                    asked += 1
                    began = time.monotonic()
                    with hold(server, "a") as stream:
                        subscribed = time.monotonic()
                        publisher.request("GET", f"/publish?channel=a&data={asked}")
                        assert stream.next().data == str(asked)
                        delivered = time.monotonic()
                        assert publisher.response().status == 200
                        published = time.monotonic()
                    taken["subscribe"].append(subscribed - began)
                    taken["deliver"].append(delivered - subscribed)
                    taken["publish"].append(published - subscribed)
            outcome.expect(not any(client.has_bytes() for client in blocked), "a slow view ended too early to count")
            for client in blocked:
                outcome.expect(client.response().body == b"slow", "a slow view was not answered")
    for name, sample in taken.items():
        share = percentile(sample, SHARE) / size.seconds
        outcome.at_most(f"{name}_share", share, SHARE_OF_THE_BLOCK, f"{name}, as a share of what the views block")
    outcome.note(operations=len(taken["publish"]), worst_share=max(map(max, taken.values())) / size.seconds)
    return outcome
