"""A PEP 3333 application without a framework: one small view for each thing the tests ask for."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from urllib.parse import parse_qs

_notes: dict[str, list[str]] = {}
_views = {}
_module_thread = threading.get_ident()


def note(key, what):
    _notes.setdefault(key, []).append(what)


def view(path):
    def register(function):
        _views[path] = function
        return function

    return register


class Query:
    def __init__(self, environ):
        self._fields = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)

    def text(self, name, default=""):
        return self._fields.get(name, [default])[0]

    def number(self, name, default=0):
        return int(self.text(name, str(default)))

    def octets(self, name):
        return bytes.fromhex(self.text(name))


def application(environ, start_response):
    path = environ["PATH_INFO"]
    function = _views.get(path)
    if function is None:
        return plain(start_response, b"no such view\n", "404 Not Found")
    return function(environ, start_response, Query(environ))


def plain(start_response, body, status="200 OK", *fields):
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body))), *fields])
    return [body]


def as_json(start_response, value, *fields):
    body = json.dumps(value).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *fields])
    return [body]


# -- plain answers


@view("/")
@view("/hello")
def hello(environ, start_response, query):
    return plain(start_response, b"hello\n")


@view("/environ")
def show_environ(environ, start_response, query):
    shown = {}
    for key, value in environ.items():
        assert type(key) is str, key
        shown[key] = value if type(value) in (str, bool, int) else list(value) if type(value) is tuple else None
    types = {key: type(value).__name__ for key, value in environ.items()}
    return as_json(start_response, {"environ": shown, "types": types})


@view("/pid")
def pid(environ, start_response, query):
    return as_json(start_response, {"pid": os.getpid(), "multiprocess": environ["wsgi.multiprocess"]})


@view("/status")
def status(environ, start_response, query):
    """Answers with any status line and, where `body` is given, that body."""
    body = query.text("body").encode()
    fields = [("Content-Length", str(len(body)))] if query.text("length") else []
    start_response(query.text("line"), fields)
    return [body] if body else []


@view("/header")
def header(environ, start_response, query):
    """Sets one field to characters given in hexadecimal UTF-8."""
    name = query.octets("name").decode() or "X-Test"
    value = query.octets("value").decode()
    return plain(start_response, b"hello\n", "200 OK", (name, value))


@view("/fields")
def fields(environ, start_response, query):
    """Answers with fields given as JSON in hexadecimal and a body of `size` bytes."""
    pairs = [(name, value) for name, value in json.loads(query.octets("pairs") or b"[]")] * query.number("times", 1)
    start_response("200 OK", pairs)
    return [b"x" * query.number("size", 6)]


# -- notes, gates and waiting


@view("/notes")
def notes(environ, start_response, query):
    return as_json(start_response, _notes.get(query.text("key"), []))


@view("/gate")
def gate(environ, start_response, query):
    """Knocks at the test's socket and blocks until it answers."""
    knock(query, thread=threading.get_ident(), name=threading.current_thread().name, pid=os.getpid())
    return plain(start_response, b"through\n")


def knock(query, **facts):
    with socket.create_connection(("127.0.0.1", query.number("port"))) as door:
        door.sendall(json.dumps({"tag": query.text("tag"), **facts}).encode() + b"\n")
        return door.recv(16)


@view("/sleep")
def sleep(environ, start_response, query):
    time.sleep(query.number("ms") / 1000)
    return plain(start_response, b"slept\n")


@view("/burn")
def burn(environ, start_response, query):
    """Computes without the interpreter lock."""
    hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", query.number("rounds", 100_000))
    return plain(start_response, b"burnt\n")


@view("/note-and-hello")
def note_and_hello(environ, start_response, query):
    note(query.text("key"), "ran")
    return plain(start_response, b"hello\n")


# -- request bodies


@view("/echo")
def echo(environ, start_response, query):
    body = environ["wsgi.input"].read()
    return plain(start_response, body)


@view("/digest")
def digest(environ, start_response, query):
    """Reads the body in pieces to its end."""
    hashed, length = hashlib.sha256(), 0
    source = environ["wsgi.input"]
    while piece := source.read(query.number("piece", 65536)):
        hashed.update(piece)
        length += len(piece)
    return as_json(start_response, {"length": length, "sha256": hashed.hexdigest()})


@view("/ignore-body")
def ignore_body(environ, start_response, query):
    return plain(start_response, b"ignored\n")


@view("/input")
def read_input(environ, start_response, query):
    """Calls methods of wsgi.input as told by JSON in hexadecimal: [["read", 3], ["readline"], ...]."""
    source = environ["wsgi.input"]
    results = []
    for name, *arguments in json.loads(query.octets("calls")):
        try:
            result = list(source) if name == "iterate" else getattr(source, name)(*arguments)
        except Exception as error:
            result = type(error).__name__
        if isinstance(result, bytes):
            result = result.decode("latin-1")
        elif isinstance(result, list):
            result = [line.decode("latin-1") for line in result]
        results.append(result)
    return as_json(start_response, results)


# -- iterables


class Body:
    """An iterable that notes what is done to it and on which thread."""

    def __init__(self, key, pieces):
        self.key = key
        self.pieces = iter(pieces)
        self.thread = None

    def __iter__(self):
        return self

    def __next__(self):
        self.thread = threading.get_ident()
        return next(self.pieces)

    def close(self):
        if self.thread is not None and self.thread != threading.get_ident():
            note(self.key, "closed on another thread")
        note(self.key, "closed")


@view("/stream")
def stream(environ, start_response, query):
    """`count` pieces of `size` bytes without a Content-Length, `pause` milliseconds apart."""
    count, size, pause = query.number("count", 3), query.number("size", 5), query.number("pause") / 1000

    def pieces():
        for number in range(count):
            if pause and number:
                time.sleep(pause)
            yield (b"%d" % (number % 10)) * size

    start_response("200 OK", [("Content-Type", "text/plain")])
    return Body(query.text("key"), pieces())


@view("/pieces")
def some_pieces(environ, start_response, query):
    """The pieces given as JSON in hexadecimal, as a generator, a list, a tuple or an iterator that has a length."""
    pieces = [piece.encode() for piece in json.loads(query.octets("pieces"))]
    start_response("200 OK", [("Content-Type", "text/plain")])
    key = query.text("key", "-")
    kind = query.text("as", "generator")
    if kind == "list":
        return pieces
    if kind == "tuple":
        return tuple(pieces)
    if kind == "iter":
        return iter(pieces)
    return Body(key, pieces)


@view("/gated-stream")
def gated_stream(environ, start_response, query):
    """Two pieces with a gate between them."""

    def pieces():
        yield b"first\n"
        for _ in range(query.number("empty")):
            yield b""
        knock(query)
        yield b"second\n"

    start_response("200 OK", [("Content-Type", "text/plain")])
    return Body(query.text("key", "-"), pieces())


@view("/endless-empty")
def endless_empty(environ, start_response, query):
    """Yields nothing but empty strings for as long as it is asked."""

    def pieces():
        note(query.text("key"), "started")
        while True:
            time.sleep(0.005)
            yield b""

    start_response("200 OK", [("Content-Type", "text/plain")])
    return Body(query.text("key"), pieces())


@view("/lazy-start")
def lazy_start(environ, start_response, query):
    """Calls start_response from the iterable, as the PEP allows."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    yield b"lazy\n"


@view("/writer")
def writer(environ, start_response, query):
    """Uses write(), then returns an iterable too."""
    write = start_response("200 OK", [("Content-Type", "text/plain")])
    write(b"written ")
    write(b"")
    write(b"twice ")
    return [b"returned\n"] if query.text("and-return", "1") == "1" else []


@view("/write-many")
def write_many(environ, start_response, query):
    key = query.text("key")
    write = start_response("200 OK", [("Content-Type", "text/plain")])
    try:
        for _ in range(query.number("count", 100)):
            write(b"w" * query.number("size", 65536))
    except BaseException as error:
        note(key, type(error).__name__)
        raise
    finally:
        note(key, "left")
    return []


@view("/lengths")
def lengths(environ, start_response, query):
    """Declares one length and sends another."""
    start_response("200 OK", [("Content-Length", query.text("declared")), ("Content-Type", "text/plain")])
    piece, count = b"y" * query.number("piece", 10), query.number("count", 1)
    if query.text("as") == "list":
        return [piece] * count
    if query.text("as") == "bytes":
        return [piece * count]
    return Body(query.text("key", "-"), iter([piece] * count))


@view("/big")
def big(environ, start_response, query):
    """One large string."""
    size = query.number("size", 8 << 20)
    start_response("200 OK", [("Content-Type", "application/octet-stream"), ("Content-Length", str(size))])
    return [bytes(range(256)) * (size // 256)]


# -- errors

_EXCEPTIONS = {
    "ValueError": ValueError("the view's own"),
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "MemoryError": MemoryError(),
    "OSError": OSError(5, "Input/output error"),
    "BrokenPipeError": BrokenPipeError(32, "Broken pipe"),
    "StopIteration": StopIteration(),
    "UnicodeDecodeError": UnicodeDecodeError("ascii", b"\xff", 0, 1, "the view's own"),
}


def _raise(what):
    if what == "RecursionError":
        return _raise(what) + 1
    if what == "Unprintable":
        raise Unprintable()
    raise _EXCEPTIONS[what]


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


@view("/raise")
def raises(environ, start_response, query):
    """Raises `what`: in the call, after start_response, at the first piece, or after it."""
    when, what = query.text("when", "call"), query.text("what", "ValueError")
    if when == "call":
        _raise(what)
    start_response("200 OK", [("Content-Type", "text/plain")])
    if when == "started":
        _raise(what)

    class Raising(Body):
        def __next__(self):
            if when == "first" or self.thread is not None:
                self.thread = threading.get_ident()
                _raise(what)
            self.thread = threading.get_ident()
            return b"z" * query.number("size", 100)

        def close(self):
            super().close()
            if when == "close":
                _raise(what)

    if when == "close":
        closing = Raising(query.text("key", "-"), iter([b"closing\n"]))
        closing.__class__ = type("Closing", (Raising,), {"__next__": Body.__next__})
        return closing
    return Raising(query.text("key", "-"), ())


@view("/exc-info")
def exc_info(environ, start_response, query):
    """start_response again with exc_info: before anything was sent it replaces, afterwards it raises."""
    first = start_response("200 OK", [("X-First", "1")])
    if query.text("sent"):
        first(b"s" * 100)
    try:
        raise RuntimeError("replaced")
    except RuntimeError:
        try:
            start_response("503 Replaced", [("X-Second", "1")], sys.exc_info())
        except BaseException as error:
            note(query.text("key", "-"), f"{type(error).__name__}: {error}")
            raise
    return [b"second\n"]


@view("/start-twice")
def start_twice(environ, start_response, query):
    """start_response again without exc_info is an error."""
    start_response("200 OK", [])
    try:
        start_response("200 OK", [])
    except Exception as error:
        note(query.text("key"), type(error).__name__)
        raise
    note(query.text("key"), "accepted")
    return [b""]


@view("/no-start")
def no_start(environ, start_response, query):
    return [b"never started\n"]


@view("/start-badly")
def start_badly(environ, start_response, query):
    """Calls start_response with what the PEP forbids."""
    how = query.text("how")
    wrong = {
        "status-bytes": lambda: start_response(b"200 OK", []),
        "status-short": lambda: start_response("20 OK", []),
        "status-word": lambda: start_response("fine", []),
        "status-crlf": lambda: start_response("200 OK\r\nX-Bad: 1", []),
        "status-none": lambda: start_response(None, []),
        "headers-none": lambda: start_response("200 OK", None),
        "headers-dict": lambda: start_response("200 OK", {"A": "b"}),
        "header-triple": lambda: start_response("200 OK", [("A", "b", "c")]),
        "header-bytes": lambda: start_response("200 OK", [(b"A", b"b")]),
        "header-int": lambda: start_response("200 OK", [("A", 1)]),
        "no-arguments": lambda: start_response(),
    }
    wrong[how]()
    return [b"accepted\n"]


@view("/return")
def returns(environ, start_response, query):
    """Returns what is no iterable of bytes."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return {"none": None, "int": 3, "text": ["text"], "str": "text", "mixed": [b"bytes", "text"], "bytes": b"abc"}[
        query.text("what")
    ]


@view("/errors-stream")
def errors_stream(environ, start_response, query):
    stream = environ["wsgi.errors"]
    text = query.octets("text").decode()
    stream.write(text)
    stream.writelines([text, "\n"])
    stream.flush()
    print("printed " + text, file=stream)
    return plain(start_response, b"logged\n")


# -- files


_files = {}


class OtherFile:
    """Has a descriptor, but read() gives something else than what lies in it, as with a decompressing file."""

    def __init__(self, file, key):
        self.file, self.key = file, key
        self.fileno = file.fileno

    def read(self, *arguments):
        return self.file.read(*arguments).swapcase()

    def close(self):
        note(self.key, "closed")
        self.file.close()


@view("/file")
def send_file(environ, start_response, query):
    """Sends a file through wsgi.file_wrapper from `seek` on."""
    file = open(query.text("path"), "rb", buffering=query.number("buffering", -1))
    if query.text("peek"):
        file.read(query.number("peek"))
    elif query.text("seek"):
        file.seek(query.number("seek"))
    fields = [("Content-Type", "application/octet-stream")]
    if query.text("length"):
        fields.append(("Content-Length", query.text("length")))
    start_response("200 OK", fields)
    _files[query.text("key")] = file
    return environ["wsgi.file_wrapper"](file, query.number("block", 8192))


@view("/file-closed")
def file_closed(environ, start_response, query):
    return as_json(start_response, _files[query.text("key")].closed)


@view("/other-file")
def send_other_file(environ, start_response, query):
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    return environ["wsgi.file_wrapper"](OtherFile(open(query.text("path"), "rb"), query.text("key")), 1000)


@view("/file-like")
def file_like(environ, start_response, query):
    """Something with read() that is no file."""
    import io

    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    return environ["wsgi.file_wrapper"](io.BytesIO(b"0123456789" * query.number("times", 1000)))


@view("/pipe")
def pipe(environ, start_response, query):
    """A descriptor that is no regular file."""
    reading, writing = os.pipe()
    os.write(writing, b"through a pipe\n")
    os.close(writing)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return environ["wsgi.file_wrapper"](os.fdopen(reading, "rb"))


@view("/wrapper-iterated")
def wrapper_iterated(environ, start_response, query):
    """Iterates the wrapper itself, as middleware does."""
    with tempfile.TemporaryFile() as file:
        file.write(b"abc" * 10)
        file.seek(0)
        joined = b"|".join(environ["wsgi.file_wrapper"](file, 10))
    return plain(start_response, joined)


# -- clients that leave


@view("/watch")
def watch(environ, start_response, query):
    """A long view that asks whether its client is still there."""
    key = query.text("key")
    disconnected = environ["m0serve.disconnected"]
    note(key, f"at first {disconnected()}")
    end = time.monotonic() + query.number("ms", 15_000) / 1000
    while time.monotonic() < end:
        if disconnected():
            note(key, "noticed")
            break
        time.sleep(0.005)
    else:
        note(key, "never noticed")
    return plain(start_response, b"watched\n")


# -- processes, threads, descriptors


@view("/threads")
def threads(environ, start_response, query):
    return as_json(
        start_response,
        {
            "names": sorted(thread.name for thread in threading.enumerate()),
            "current": threading.current_thread().name,
            "on_main": threading.get_ident() == threading.main_thread().ident,
            "imported_on_main": _module_thread == threading.main_thread().ident,
            "switch_interval": sys.getswitchinterval(),
        },
    )


@view("/select")
def use_select(environ, start_response, query):
    """select() takes descriptors below 1024 only."""
    left, right = socket.socketpair()
    with left, right:
        right.send(b"x")
        ready, _, _ = select.select([left], [], [], 5)
        return as_json(start_response, {"fd": left.fileno(), "ready": len(ready)})


@view("/facts")
def facts(environ, start_response, query):
    import faulthandler

    return as_json(
        start_response,
        {
            "faulthandler": faulthandler.is_enabled(),
            "blocked": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            "path0": sys.path[0],
            "cwd": os.getcwd(),
            "executable": sys.executable,
            "argv": sys.argv,
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "modules": sorted(name for name in sys.modules if name.startswith("m0serve")),
        },
    )


@view("/late-thread")
def late_thread(environ, start_response, query):
    """A non-daemon thread that needs a moment; a clean exit waits for it."""

    def work():
        time.sleep(query.number("ms", 300) / 1000)
        with open(query.text("path"), "w") as file:
            file.write("finished")

    threading.Thread(target=work).start()
    return plain(start_response, b"started\n")


@view("/atexit")
def register_atexit(environ, start_response, query):
    path = query.text("path")

    def leave():
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\n")

    atexit.register(leave)
    return plain(start_response, b"registered\n")


@view("/spin")
def spin(environ, start_response, query):
    """Computes in Python for `ms`."""
    end = time.perf_counter() + query.number("ms") / 1000
    while time.perf_counter() < end:
        pass
    return plain(start_response, b"spun\n")
