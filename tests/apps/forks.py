"""Views that make processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import bare
from bare import application, as_json, plain, view  # noqa: F401

_fork = multiprocessing.get_context("fork")
_children: dict[int, object] = {}


def _what_a_child_has():
    """Descriptors that are sockets, and signals that are blocked or handled otherwise than by default."""
    sockets = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            sockets.append(target)
    return {
        "sockets": sockets,
        "blocked": [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "pid": os.getpid(),
    }


def _wait_for_the_gate(port):
    import socket

    with socket.create_connection(("127.0.0.1", port)) as door:
        door.sendall(json.dumps({"tag": "child", **_what_a_child_has()}).encode() + b"\n")
        door.recv(16)


@view("/subprocess")
def with_subprocess(environ, start_response, query):
    """A program that stays until the gate opens; every inheritable descriptor is passed on."""
    code = (
        "import json,os,signal,socket,sys\n"
        "sockets=[os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')"
        " if os.path.lexists(f'/proc/self/fd/{n}')]\n"
        "sockets=[s for s in sockets if s.startswith('socket:')]\n"
        "blocked=[int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])]\n"
        "door=socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "door.sendall(json.dumps({'tag':'child','sockets':sockets,'blocked':blocked,'pid':os.getpid()}).encode()+b'\\n')\n"
        "door.recv(16)\n"
    )
    started = subprocess.Popen([sys.executable, "-c", code, query.text("port")], close_fds=False)
    _children[started.pid] = started
    return as_json(start_response, {"pid": started.pid})


@view("/multiprocessing")
def with_multiprocessing(environ, start_response, query):
    child = _fork.Process(target=_wait_for_the_gate, args=(query.number("port"),))
    child.start()
    _children[child.pid] = child
    return as_json(start_response, {"pid": child.pid})


@view("/terminate")
def terminate(environ, start_response, query):
    """Process.terminate(): SIGTERM to the child, which has this process's handlers."""
    child = _children[query.number("pid")]
    child.terminate()
    child.join(10)
    return as_json(start_response, {"exitcode": child.exitcode})


@view("/pool")
def with_pool(environ, start_response, query):
    with _fork.Pool(2) as pool:
        return as_json(start_response, pool.map(abs, range(-5, 0)))


@view("/run")
def with_run(environ, start_response, query):
    """A pipeline that counts on SIGPIPE and on default signals."""
    finished = subprocess.run("yes | head -n 1", shell=True, capture_output=True, text=True, timeout=10)
    return as_json(start_response, {"out": finished.stdout, "err": finished.stderr, "code": finished.returncode})


@view("/os-fork")
def with_os_fork(environ, start_response, query):
    """The child returns from the view as well; only the parent's answer may reach the client."""
    child = os.fork()
    if child == 0:
        return plain(start_response, b"from the child\n", "200 OK", ("X-From", "child"))
    _, how = os.waitpid(child, 0)
    return as_json(start_response, {"exit": os.waitstatus_to_exitcode(how), "pid": child}, ("X-From", "parent"))


@view("/os-fork-stream")
def with_os_fork_stream(environ, start_response, query):
    """Forks between two pieces of a streamed answer."""

    def pieces():
        yield b"before "
        child = os.fork()
        if child == 0:
            yield b"from the child "
            return
        os.waitpid(child, 0)
        yield b"after\n"

    start_response("200 OK", [("Content-Type", "text/plain")])
    return pieces()


@view("/os-fork-log")
def with_os_fork_log(environ, start_response, query):
    """The child logs, starts a thread and leaves by itself: nothing of the server may hold it back."""
    child = os.fork()
    if child == 0:
        print("line from the child", file=environ["wsgi.errors"])
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        os._exit(7)
    _, how = os.waitpid(child, 0)
    return as_json(start_response, {"exit": os.waitstatus_to_exitcode(how)})


@view("/os-fork-kill-parent-group")
def with_handlers(environ, start_response, query):
    """A child that gets SIGTERM ends, whatever the server does with that signal."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, b"x")
        while True:
            signal.pause()
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    os.kill(child, signal.SIGTERM)
    _, how = os.waitpid(child, 0)
    return as_json(start_response, {"exit": os.waitstatus_to_exitcode(how)})
