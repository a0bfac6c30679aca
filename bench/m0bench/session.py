"""What every measuring program does around its measurements: where results go, what they were taken on, how it ends."""

import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from . import machine
from .servers import BENCH, BUILD


class Results:
    """One run's JSON file. Written anew after each part: a run that is cut short keeps what it has."""

    def __init__(self, name: str, quick: bool, folder: Path | None, **facts: Any) -> None:
        now = datetime.now(UTC)
        # A look is kept out of what is committed.
        folder = folder or (BUILD / "bench-results" if quick else BENCH / "results")
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}-{now:%Y%m%dT%H%M%SZ}.json"
        self._facts = {
            "format": 1,
            "date": now.isoformat(timespec="seconds"),
            **machine.commit(),
            "machine": machine.describe(),
            **facts,
        }

    def write(self, **measured: Any) -> None:
        self.path.write_text(json.dumps({**self._facts, **measured}, indent=1) + "\n")


def warn_if_busy() -> None:
    if os.getloadavg()[0] > 0.5:
        print(f"The machine is busy (load {os.getloadavg()[0]:.1f}): what follows is not to be trusted.")


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # so that the servers are ended on the way out


def end_servers_on_sigterm() -> None:
    signal.signal(signal.SIGTERM, _stop)
