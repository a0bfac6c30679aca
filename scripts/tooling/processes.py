"""Runs one command with a time limit that also ends what the command started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


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
    try:
        output, _ = process.communicate(timeout=limit)
        return Finished(process.returncode, (output or b"").decode(errors="replace"))
    except BaseException as problem:
        # The session that was started for it, so that nothing it forked stays behind.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        output, _ = process.communicate()
        if not isinstance(problem, subprocess.TimeoutExpired):
            raise
        return Finished(None, (output or b"").decode(errors="replace") + f"\nended after {limit:.0f} s\n")
