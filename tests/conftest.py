"""Fixtures of the black-box suite, and the servers' logs beside each failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.gate import Gate  # noqa: E402
from harness.server import Server, serving  # noqa: E402

_LOG_TAIL = 8000

# A package is installed from a release build; one with sanitizers needs its flags in whatever links it. And what memory
# a sanitizer needs says nothing.
collect_ignore = (
    []
    if os.environ.get("M0_PRESET", "release") == "release"
    else ["test_native_package.py", "test_event_stream_memory.py"]
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The bare application at the defaults, shared by a module's tests."""
    with serving(tmp_path_factory.mktemp("bare"), "bare") as server:
        yield server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers of the test's own; each has to end with exit 0 unless the test ended it itself."""
    with ExitStack() as stack:

        def start(*words: str, **options: Any) -> Server:
            return stack.enter_context(serving(tmp_path, *words, **options))

        yield start


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as made:
        yield made


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in list(Server.running):
            report.sections.append((f"log of {' '.join(server.words)}", server.log[-_LOG_TAIL:]))
