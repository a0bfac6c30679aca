"""Realtime under load, in forms of a few seconds; `make soak` runs the same for minutes (tests/soak)."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from harness.server import Server
from soak import comeback, kills, slow_views, stalled
from soak.outcome import Outcome


def test_clients_that_never_read_harm_nobody(serve: Callable[..., Server]) -> None:
    server = serve("live", "--workers", "1", "--event-log-size", "4m")
    release = os.environ.get("M0_PRESET", "release") == "release"
    size = stalled.Size(stalled=25, readers=40, events=40, rate=50, phases=3, weigh=release)
    assert stalled.run(server, size).broken == []


def test_clients_that_never_read_are_told_of_one_gap(serve: Callable[..., Server]) -> None:
    server = serve("live", "--workers", "1", "--event-log-size", "1m")
    size = stalled.Size(stalled=25, readers=10, events=200, rate=0, phases=0)
    assert stalled.fall_behind(server, size).broken == []


def test_clients_that_all_come_back_at_once_leave_room_for_pages(serve: Callable[..., Server]) -> None:
    server = serve("live", "--workers", "1")
    assert comeback.run(server, comeback.Size(clients=300, events=1000, size=2000)).broken == []


def test_views_that_block_delay_no_subscriber_and_no_publisher(serve: Callable[..., Server]) -> None:
    server = serve("load", "--workers", "1", "--blocking-threads", "4")
    assert slow_views.run(server, slow_views.Size(rounds=1)).broken == []


def test_workers_that_are_killed_lose_and_repeat_nothing(serve: Callable[..., Server]) -> None:
    server = serve("load", "--workers", str(kills.WORKERS))
    size = kills.Size(kills=10, streams=3, sockets=3, publishers=4, seed=20261130)
    assert kills.run(server, size).broken == []


def test_a_log_that_forgets_tells_so_to_who_comes_back(serve: Callable[..., Server]) -> None:
    server = serve("load", "--workers", str(kills.WORKERS), "--event-log-size", "64k")
    size = kills.Size(kills=6, streams=3, sockets=3, publishers=4, seed=1, absent=250, padding=400)
    assert kills.run(server, size).broken == []


def life(order: list[int], gap: tuple[int, int] | None = None) -> kills.Life:
    """A subscriber's, in which `order` names its events and the end of its gap."""
    ids = [f"0-{number}" for number in order]
    events = [kills.Got(identity, "message", identity) for identity in ids if not gap or identity != f"0-{gap[1]}"]
    return kills.Life(events=events, order=ids, gaps=[(f"0-{gap[0]}", f"0-{gap[1]}")] if gap else [], comebacks=1)


@pytest.mark.parametrize(
    ("other", "whole"),
    [
        (life([1, 2, 3, 4, 5]), True),
        (life([1, 2, 4, 5], gap=(2, 4)), True),
        (life([1, 2, 4, 5]), False),
        (life([1, 2, 2, 3, 4, 5]), False),
        (life([1, 3, 2, 4, 5]), False),
        (life([1, 2, 3, 5], gap=(2, 3)), False),  # the gap is too short
        (life([1, 2, 5, 4], gap=(2, 5)), False),  # the gap says that 4 is lost, and it comes
    ],
)
def test_what_is_missing_or_comes_twice_is_noticed(other: kills.Life, whole: bool) -> None:
    outcome = Outcome()
    kills.judge(outcome, [life([1, 2, 3, 4, 5]), other], [f"0-{number}" for number in range(1, 6)])
    assert (outcome.broken == []) is whole
