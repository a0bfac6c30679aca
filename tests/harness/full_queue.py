"""A lane's queue, filled until somebody is refused."""

from __future__ import annotations

from collections.abc import Callable

from .client import Client
from .waiting import wait_until


def fill_queue(ask: Callable[[], Client]) -> tuple[Client, list[Client]]:
    """Asks until one has its answer at once: that one, whose answer is unread, and those before it that wait.

    Nobody else may be served meanwhile: whoever runs must be kept at a gate.
    """
    queued: list[Client] = []

    def full() -> Client | None:
        client = ask()
        try:
            wait_until(client.has_bytes, "an answer", within=0.3)
        except AssertionError:
            queued.append(client)
            return None
        return client

    return wait_until(full, "the queue fills"), queued
