"""Runs one command with a time limit that also ends what the command started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


_running: set[int] = set()


def _end_all(signum: int, frame: object) -> None:
    for pid in list(_running):
        _kill(pid)
    sys.exit(128 + signum)


def end_children_with_us() -> None:
    """Whoever ends this program (a time limit, Ctrl-C) ends what it started: those are sessions of their own."""
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, _end_all)


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@dataclass(frozen=True)
class Finished:
    code: int | None  # None: it ran out of time
    output: str


def run(
    command: Sequence[str | Path], limit: float, env: Mapping[str, str] | None = None, show: bool = False
) -> Finished:
    """Output and errors together. With `show` they go to the terminal instead and `output` is empty."""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=None if show else subprocess.PIPE,
        stderr=None if show else subprocess.STDOUT,
        start_new_session=True,
    )
    _running.add(process.pid)
    try:
        output, _ = process.communicate(timeout=limit)
        return Finished(process.returncode, (output or b"").decode(errors="replace"))
    except subprocess.TimeoutExpired:
        # The session that was started for it, so that nothing it forked stays behind.
        _kill(process.pid)
        output, _ = process.communicate()
        return Finished(None, (output or b"").decode(errors="replace") + f"\nended after {limit:.0f} s\n")
    finally:
        _running.discard(process.pid)
