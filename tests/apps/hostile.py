"""Views that keep what is not theirs, lie about themselves, or do two things at once."""

from __future__ import annotations

import gc
import threading
import time


from bare import application, as_json, note, plain, view  # noqa: F401

_kept = {}


@view("/keep")
def keep(environ, start_response, query):
    """Keeps everything of this request for a later one."""
    write = start_response("200 OK", [("Content-Type", "text/plain")])
    _kept.update(
        environ=environ,
        input=environ["wsgi.input"],
        errors=environ["wsgi.errors"],
        disconnected=environ["m0serve.disconnected"],
        start_response=start_response,
        write=write,
    )
    return [b"kept\n"]


@view("/use-kept")
def use_kept(environ, start_response, query):
    """Whatever comes of it, it is an exception or a harmless value."""
    outcomes = {}
    for name, call in {
        "read": lambda: _kept["input"].read(),
        "readline": lambda: _kept["input"].readline(),
        "iterate": lambda: list(_kept["input"]),
        "errors": lambda: _kept["errors"].write("late\n"),
        "disconnected": lambda: _kept["disconnected"](),
        "start": lambda: _kept["start_response"]("200 OK", [("X-Late", "1")]),
        "write": lambda: _kept["write"](b"late bytes"),
        "environ": lambda: len(_kept["environ"]),
    }.items():
        try:
            outcomes[name] = repr(call())
        except BaseException as error:
            outcomes[name] = type(error).__name__
    gc.collect()
    return as_json(start_response, outcomes)


@view("/use-kept-on-a-thread")
def use_kept_on_a_thread(environ, start_response, query):
    outcomes = []

    def work():
        for name in ("start_response", "write"):
            try:
                _kept[name](*(("200 OK", []) if name == "start_response" else (b"late",)))
                outcomes.append(name)
            except BaseException as error:
                outcomes.append(type(error).__name__)
        outcomes.append(len(environ["wsgi.input"].read()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return as_json(start_response, outcomes)


@view("/change-headers-later")
def change_headers_later(environ, start_response, query):
    """The list is the application's; what counts is what it was when the head went out."""
    headers = [("X-First", "1"), ("Content-Type", "text/plain")]
    start_response("200 OK", headers)

    def pieces():
        headers.append(("X-Bad\r\nX-Worse", "2"))
        headers[0] = None
        yield b"a" * 100_000
        headers.clear()
        yield b"b" * 100_000

    return pieces()


class LyingLength:
    """Says that it has one piece and has three."""

    def __len__(self):
        return 1

    def __iter__(self):
        return iter([b"one ", b"two ", b"three\n"])


@view("/lying-length")
def lying_length(environ, start_response, query):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return LyingLength()


class ListThatGrows(list):
    def __iter__(self):
        self.append(b"grown\n")
        return super().__iter__()


@view("/list-subclass")
def list_subclass(environ, start_response, query):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return ListThatGrows([b"one "])


class BadIterator:
    def __iter__(self):
        raise ValueError("no iterator today")

    def close(self):
        note("bad-iterator", "closed")


@view("/bad-iterator")
def bad_iterator(environ, start_response, query):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return BadIterator()


class CloseIsNoFunction:
    close = 3

    def __iter__(self):
        return iter([b"closing 3\n"])


@view("/close-is-no-function")
def close_is_no_function(environ, start_response, query):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return CloseIsNoFunction()


class BytesSubclass(bytes):
    def __len__(self):
        return 1_000_000


@view("/bytes-subclass")
def bytes_subclass(environ, start_response, query):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [BytesSubclass(b"a subclass\n")]


@view("/other-bytes")
def other_bytes(environ, start_response, query):
    """bytearray and memoryview are not bytes."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [{"bytearray": bytearray, "memoryview": memoryview}[query.text("as")](b"other\n")]


@view("/shout")
def shout(environ, start_response, query):
    """Reads the request while it answers."""
    source = environ["wsgi.input"]

    def pieces():
        while piece := source.read(10_000):
            yield piece.upper()

    start_response("200 OK", [("Content-Type", "text/plain")])
    return pieces()


@view("/large-header")
def large_header(environ, start_response, query):
    return plain(start_response, b"large\n", "200 OK", ("X-Large", "h" * query.number("size")))


@view("/print")
def prints(environ, start_response, query):
    """Without flushing."""
    print(query.text("text"))
    return plain(start_response, b"printed\n")


@view("/unfinished-line")
def unfinished_line(environ, start_response, query):
    environ["wsgi.errors"].write("a line without its end " + query.text("text"))
    return plain(start_response, b"logged\n")


@view("/change-environ")
def change_environ(environ, start_response, query):
    """The application may do with its environ what it likes."""
    seen = "X-Mark" in environ
    environ.clear()
    environ["X-Mark"] = environ
    return plain(start_response, b"seen\n" if seen else b"clean\n")


@view("/threaded-stream")
def threaded_stream(environ, start_response, query):
    """A generator that is also advanced by another thread fails in Python, not in us."""

    def pieces():
        for number in range(5):
            time.sleep(0.001)
            yield b"%d" % number

    start_response("200 OK", [("Content-Type", "text/plain")])
    return pieces()


@view("/nested")
def nested(environ, start_response, query):
    """Calls itself through another server socket, as services do."""
    import urllib.request

    port = environ["SERVER_PORT"]
    depth = query.number("depth")
    body = b"bottom"
    if depth:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/nested?depth={depth - 1}", timeout=15) as answer:
            body = answer.read() + b"."
    return plain(start_response, body)


@view("/objects")
def objects(environ, start_response, query):
    gc.collect()
    return as_json(start_response, {"count": len(gc.get_objects()), "threads": threading.active_count()})
