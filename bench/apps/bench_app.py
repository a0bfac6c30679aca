"""Bare PEP 3333 applications that the benchmarks ask.

`BENCH_LOOPS_PER_MS` and `BENCH_HASH_ROUNDS` come from bench/run, calibrated once a run, so that every server is given
the same work: a view that measured its own time would take the cost of the server's threads for part of its work.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], Any]

LOOPS_PER_MS = int(os.environ.get("BENCH_LOOPS_PER_MS", "40000"))
HASH_ROUNDS = int(os.environ.get("BENCH_HASH_ROUNDS", "250000"))  # 200 ms

_HELLO = b"Hello, world!"
_BODY_64K = b"x" * (64 << 10)
_BODY_1M = b"x" * (1 << 20)


def _headers(body: bytes) -> list[tuple[str, str]]:
    return [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]


def hello(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", _headers(_HELLO))
    return [_HELLO]


def body_64k(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", _headers(_BODY_64K))
    return [_BODY_64K]


def body_1m(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", _headers(_BODY_1M))
    return [_BODY_1M]


def _burn(milliseconds: float) -> None:
    for _ in range(int(milliseconds * LOOPS_PER_MS)):
        pass


def _fast() -> None:
    pass


def _sleep() -> None:
    time.sleep(0.4)


def _hash() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", HASH_ROUNDS)  # burns without the interpreter lock


def _spin() -> None:
    _burn(200)


def _cpu() -> None:
    _burn(1)


def _mixed() -> None:
    for _ in range(5):
        _burn(0.2)
        time.sleep(0.001)


_VIEWS = {"/fast": _fast, "/slow": _sleep, "/hash": _hash, "/spin": _spin, "/cpu": _cpu, "/mixed": _mixed}


def views(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """The isolation scenarios: one application, a path for each way to keep a thread."""
    _VIEWS[environ["PATH_INFO"]]()
    start_response("200 OK", _headers(_HELLO))
    return [_HELLO]
