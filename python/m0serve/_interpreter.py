"""What the server asks of the interpreter around the application: threads of its own, and the end."""

from __future__ import annotations

import atexit
import faulthandler
import os
import sys
import threading


def prepare(switch_interval: float, control: str | None = None) -> None:
    """Once a process, before the application is imported."""
    sys.setswitchinterval(switch_interval)
    # The server has set the variable since this interpreter read its environment, of which children are given copies.
    if control is not None:
        os.environ["M0_CONTROL"] = control
    # So that a crash, and a stuck thread that is asked by a signal, say where. Standard error may be closed or no file.
    if not faulthandler.is_enabled():
        try:
            faulthandler.enable()
        except (AttributeError, OSError, RuntimeError, ValueError):
            pass
    os.register_at_fork(after_in_child=_adopt_main_thread)


def _adopt_main_thread() -> None:
    """In a process that a view forked: the view's thread is the main thread now, and must be able to end like one.

    Interpreters before 3.11.3 leave a thread that they did not start without the lock that the end of multiprocessing's
    children asks for; they then exit with 1 (CPython issue 102512).
    """
    main = threading.main_thread()
    if isinstance(main, getattr(threading, "_DummyThread")) and getattr(main, "_tstate_lock", 0) is None:
        main.__class__ = getattr(threading, "_MainThread")
        main.name = "MainThread"
        setattr(main, "_daemonic", False)
        getattr(main, "_set_tstate_lock")()


def thread_started(lane: str, index: int) -> None:
    """On a new thread of the server's: a name for logs and debuggers, and what threading would have installed."""
    thread = threading.current_thread()
    thread.name = f"m0serve-{lane}-{index}"
    # Threads that a view starts inherit this: they are joined at the end, as under other servers.
    setattr(thread, "_daemonic", False)
    profile = threading.getprofile()
    if profile is not None:
        sys.setprofile(profile)
    trace = threading.gettrace()
    if trace is not None:
        sys.settrace(trace)


def thread_ended() -> None:
    """On that thread, at its end: forget it, or its identity would be taken for alive when the system reuses it."""
    sys.settrace(None)
    sys.setprofile(None)
    active = getattr(threading, "_active", None)
    if isinstance(active, dict):
        active.pop(threading.get_ident(), None)


def run_exit_functions() -> None:
    """What a Python program does at its end: non-daemon threads are joined, exit functions run, output is flushed."""
    for step in (getattr(threading, "_shutdown"), getattr(atexit, "_run_exitfuncs")):
        try:
            step()
        except BaseException:
            sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
