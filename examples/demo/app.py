"""A small site in one file, without a framework: everything a synchronous application does with its server.

Serve it with `make demo`, or with `m0serve app:application --app-dir examples/demo`.
"""

from __future__ import annotations

import hashlib
import html
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import m0serve

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
View = Callable[[Environ, StartResponse], Iterable[bytes]]

PAGE = (Path(__file__).parent / "page.html").read_text()


def answer(start_response: StartResponse, status: str, body: str, kind: str = "text/plain") -> list[bytes]:
    data = body.encode()
    start_response(status, [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(data)))])
    return [data]


def front_page(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    facts = {
        "server": environ.get("SERVER_SOFTWARE", "?"),
        "python": sys.version.split()[0],
        "process": str(os.getpid()),
        "thread": threading.current_thread().name,
        "you": f"{environ.get('REMOTE_ADDR', '')} {environ.get('REMOTE_PORT', '')}".strip() or "a Unix socket",
    }
    rows = "".join(f"<tr><th>{name}<td>{html.escape(value)}" for name, value in facts.items())
    return answer(start_response, "200 OK", PAGE.replace("{facts}", rows), "text/html")


def fast(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    return answer(start_response, "200 OK", f"answered by {threading.current_thread().name}\n")


def sleep(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Blocks its thread, as a slow database does. The others are served meanwhile."""
    seconds = max(0.0, min(float(parse_qs(environ["QUERY_STRING"]).get("s", ["2"])[0]), 10.0))
    time.sleep(seconds)
    return answer(start_response, "200 OK", f"slept {seconds:g} s on {threading.current_thread().name}\n")


def count(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """An answer of unknown length, sent as it comes to be. Ends early when nobody reads any more."""
    gone = environ.get("m0serve.disconnected", lambda: False)
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])

    def lines() -> Iterator[bytes]:
        for number in range(1, 11):
            if gone():
                return
            yield f"{number}\n".encode()
            time.sleep(0.3)

    return lines()


def upload(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    digest, size = hashlib.sha256(), 0
    while piece := environ["wsgi.input"].read(65536):
        digest.update(piece)
        size += len(piece)
    return answer(start_response, "200 OK", f"{size} bytes, sha256 {digest.hexdigest()}\n")


def wall(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """A live event stream. The view returns at once; the server holds the connection and sends what is published."""
    start_response("200 OK", [("M0-Hold", "stream"), ("M0-Channel", "wall"), ("M0-Replay", "10")])
    return []


def say(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Puts a line on everybody's wall."""
    line = environ["wsgi.input"].read(1000).decode(errors="replace").strip()
    said = m0serve.publish("wall", line) if line else None
    return answer(start_response, "200 OK", f"{said}\n")


def source(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """A file, which the server sends by itself once it has its descriptor."""
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    wrapper: Callable[..., Iterable[bytes]] = environ["wsgi.file_wrapper"]
    return wrapper(open(__file__, "rb"), 65536)


def show_environ(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    return answer(start_response, "200 OK", "".join(f"{key} = {environ[key]!r}\n" for key in sorted(environ)))


def fail(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    raise RuntimeError("this view fails on purpose: its traceback is in the log, and nowhere else")


VIEWS: dict[str, View] = {
    "/": front_page,
    "/fast": fast,
    "/sleep": sleep,
    "/count": count,
    "/upload": upload,
    "/wall": wall,
    "/say": say,
    "/source": source,
    "/environ": show_environ,
    "/fail": fail,
}


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    view = VIEWS.get(environ["PATH_INFO"])
    if view is None:
        return answer(start_response, "404 Not Found", "There is no such page.\n")
    return view(environ, start_response)
