"""What bench/realtime asks of m0serve: a view that holds, and one that publishes what is posted to it."""

from collections.abc import Callable, Iterable
from typing import Any

import m0serve

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], Any]

_HOLDS = {
    "/stream": [("M0-Hold", "stream"), ("M0-Channel", "a")],
    "/raw": [("M0-Hold", "websocket"), ("M0-Channel", "a")],
    "/json": [("M0-Hold", "websocket"), ("M0-Channel", "a"), ("M0-Frames", "json")],
}


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path in _HOLDS:
        start_response("200 OK", [*_HOLDS[path], ("Content-Length", "0")])
        return []
    said = str(m0serve.publish("a", environ["wsgi.input"].read().decode())).encode() if path == "/publish" else b"ready"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(said)))])
    return [said]
