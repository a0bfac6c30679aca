"""Views whose children publish."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import live
import m0serve
from live import answer, application  # noqa: F401

_PACKAGES = str(Path(m0serve.__file__).parents[1])
_CODE = "import sys, m0serve; print(m0serve.publish(sys.argv[1], sys.argv[2]))"


def _send(results, channel, data):
    results.put(m0serve.publish(channel, data))


def with_multiprocessing(how, channel, data):
    context = multiprocessing.get_context(how)
    results = context.SimpleQueue()
    child = context.Process(target=_send, args=(results, channel, data))
    child.start()
    said = results.get()
    child.join()
    return str(said)


def with_os_fork(channel, data):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(m0serve.publish(channel, data)).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def with_subprocess(channel, data):
    """The program inherits the environment as the system keeps it."""
    code = f"import sys; sys.path.insert(0, {_PACKAGES!r}); {_CODE}"
    return subprocess.run([sys.executable, "-c", code, channel, data], capture_output=True, text=True).stdout.strip()


def with_copied_environment(channel, data):
    environment = {**os.environ, "PYTHONPATH": _PACKAGES}
    done = subprocess.run([sys.executable, "-c", _CODE, channel, data], env=environment, capture_output=True, text=True)
    return done.stdout.strip()


WAYS = {
    "os-fork": with_os_fork,
    "fork": lambda channel, data: with_multiprocessing("fork", channel, data),
    "spawn": lambda channel, data: with_multiprocessing("spawn", channel, data),
    "subprocess": with_subprocess,
    "copied-environment": with_copied_environment,
}


def child(environ, start_response, query):
    return answer(start_response, WAYS[query["way"][0]](query["channel"][0], query["data"][0]))


def control(environ, start_response, query):
    return answer(start_response, json.dumps([os.environ.get("M0_CONTROL"), os.getpid()]))


live.VIEWS["/child"] = child
live.VIEWS["/control"] = control
