"""Conditions with bounds: nothing in the suite sleeps for luck."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Far beyond what any correct run needs, sanitizers and a busy machine included: reaching it is a failure.
BOUND = 20.0


def wait_until(condition: Callable[[], T], what: str, within: float = BOUND) -> T:
    """Polls until `condition` is true and returns what it returned."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {within:g} s: {what}")
        time.sleep(0.005)


def never(condition: Callable[[], object], what: str, during: float = 0.25) -> None:
    """Fails when `condition` comes true within a short while. Can only pass wrongly, never fail wrongly."""
    end = time.monotonic() + during
    while time.monotonic() < end:
        assert not condition(), what
        time.sleep(0.01)
