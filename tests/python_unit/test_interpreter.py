"""m0serve._interpreter: threads of the server's own, and the end of a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(source: str) -> str:
    """What a fresh interpreter prints."""
    prelude = f"import sys\nsys.path.insert(0, {str(ROOT / 'python')!r})\nfrom m0serve import _interpreter\n"
    done = subprocess.run([sys.executable, "-c", prelude + source], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


# A thread that threading did not start, like the server's.
FOREIGN = """
import _thread, threading
def foreign(function):
    done = threading.Lock()
    done.acquire()
    def body():
        try: function()
        finally: done.release()
    _thread.start_new_thread(body, ())
    done.acquire()
"""


def test_threads_have_names_and_are_forgotten() -> None:
    source = (
        FOREIGN
        + """
def view():
    _interpreter.thread_started('reports', 4)
    print(threading.current_thread().name)
    child = threading.Thread()
    print(child.daemon)
    _interpreter.thread_ended()
    print([t.name for t in threading.enumerate()])
foreign(view)
"""
    )
    assert run(source).splitlines() == ["m0serve-reports-4", "False", "['MainThread']"]


def test_trace_and_profile_functions_are_installed() -> None:
    source = (
        FOREIGN
        + """
traced, profiled = set(), set()
def trace(frame, event, arg): traced.add(frame.f_code.co_name)
def profile(frame, event, arg): profiled.add(frame.f_code.co_name)
threading.settrace(trace)
threading.setprofile(profile)
def work(): pass
def view():
    _interpreter.thread_started('default', 0)
    work()
    _interpreter.thread_ended()
foreign(view)
print('work' in traced, 'work' in profiled)
"""
    )
    assert run(source).split() == ["True", "True"]


def test_a_process_forked_by_a_view_ends_like_any_other() -> None:
    source = (
        FOREIGN
        + """
import multiprocessing
_interpreter.prepare(0.005)
def view():
    _interpreter.thread_started('default', 0)
    process = multiprocessing.get_context('fork').Process(target=int)
    process.start()
    process.join(30)
    print(process.exitcode)
foreign(view)
"""
    )
    assert run(source).split() == ["0"]


def test_preparing_sets_the_switch_interval_and_the_fault_handler() -> None:
    source = """
import faulthandler
_interpreter.prepare(0.002)
print(round(sys.getswitchinterval(), 4), faulthandler.is_enabled())
"""
    assert run(source).split() == ["0.002", "True"]


def test_a_closed_standard_error_is_no_obstacle() -> None:
    assert run("sys.stderr = None\n_interpreter.prepare(0.001)\nprint('ok')\n") == "ok\n"


def test_exit_functions_run_after_threads_ended() -> None:
    source = """
import atexit, threading, time
event = threading.Event()
def late():
    event.wait()
    print('thread')
threading.Thread(target=late).start()
atexit.register(print, 'second')
atexit.register(print, 'first')
def failing(): raise ValueError('in atexit')
atexit.register(failing)
sys.stdout.write('unflushed ')
event.set()
_interpreter.run_exit_functions()
import os
os._exit(0)
"""
    assert run(source).split() == ["unflushed", "thread", "first", "second"]
