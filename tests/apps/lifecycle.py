"""Something to observe at import, at worker start and at exit; `M0TEST_FILE` says where it is written."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time

from bare import application  # noqa: F401


def _say(what):
    with open(os.environ["M0TEST_FILE"], "a") as file:
        file.write(f"{what} {os.getpid()}\n")


def started(worker):
    """For --worker-start."""
    _say(f"worker-start {worker}")


def _late():
    threading.main_thread().join()
    time.sleep(0.1)
    _say("thread")


_say("import")
atexit.register(_say, "atexit")
if os.environ.get("M0TEST_THREAD") == "late":
    threading.Thread(target=_late).start()
elif os.environ.get("M0TEST_THREAD") == "never":
    threading.Thread(target=threading.Event().wait).start()
if os.environ.get("M0TEST_STDERR"):
    print("printed at import", file=sys.stderr)
