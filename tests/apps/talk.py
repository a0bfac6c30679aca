"""A view that holds WebSockets and answers what comes over them: each message says what it wants."""

from __future__ import annotations

import io
import json
import os
import socket
from urllib.parse import parse_qs

import m0serve

_EVENT_FIELDS = {"open", "close"}


def application(environ, start_response):
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    if "HTTP_M0_EVENT" in environ:
        return on_event(environ, start_response, query)
    return VIEWS[environ["PATH_INFO"]](environ, start_response, query)


def answer(start_response, text, status="200 OK", fields=(), kind="text/plain"):
    body = text if isinstance(text, bytes) else text.encode()
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body))), *fields])
    return [body]


def wait_at(address):
    """Says that it is there, and goes on when it is told to (harness.gate)."""
    with socket.create_connection(("127.0.0.1", int(address))) as gate:
        gate.sendall(b'{"tag": "message"}\n')
        gate.recv(1)


def hold(environ, start_response, query):
    """Holds: ?channel=a&channel=b, head= the first frame, and any other name is a field of the answer."""
    fields = [("M0-Hold", query.get("hold", ["websocket"])[0]), ("Content-Type", query.get("type", ["text/plain"])[0])]
    fields += [("M0-Channel", m0serve.channel_header(name)) for name in query.get("channel", ["talk"])]
    fields += [(name, value) for name, values in query.items() if name[:3] == "M0-" for value in values]
    fields += [("Set-Cookie", "seen=1"), ("ETag", '"x"')]
    if "subprotocol" in query:
        fields.append(("Sec-WebSocket-Protocol", query["subprotocol"][0]))
    if "publish" in query:
        m0serve.publish(query.get("channel", ["talk"])[0], query["publish"][0])
    body = query.get("head", [str(m0serve.connection()) if "tell" in query else ""])[0].encode()
    start_response(query.get("status", ["200 OK"])[0], fields)
    return [body]


def publish(environ, start_response, query):
    data = query["data"][0]
    given = data.encode() if "binary" in query else data
    return answer(start_response, str(m0serve.publish(query["channel"][0], given, query.get("event", [None])[0])))


def send(environ, start_response, query):
    data = query["data"][0]
    return answer(start_response, str(m0serve.send(query["to"][0], data.encode() if "binary" in query else data)))


def close(environ, start_response, query):
    wanted = {name: query[name][0] for name in ("channel", "connection", "reason") if name in query}
    if "code" in query:
        wanted["code"] = int(query["code"][0])
    if "before" in query:
        m0serve.publish(query["channel"][0], query["before"][0])
    return answer(start_response, str(m0serve.close(reconnect="reconnect" in query, **wanted)))


def presence(environ, start_response, query):
    found = m0serve.presence(query["channel"][0], int(query.get("limit", ["100"])[0]))
    shown = {"count": found.count, "complete": found.complete, "all": [[c.id, c.meta] for c in found.connections]}
    return answer(start_response, json.dumps(shown))


def connection(environ, start_response, query):
    return answer(start_response, str(m0serve.connection()))


def on_event(environ, start_response, query):
    event = environ["HTTP_M0_EVENT"]
    if event in _EVENT_FIELDS:
        told = {name: environ.get(f"HTTP_M0_{name}") for name in ("EVENT", "CONNECTION", "CHANNEL", "CLOSE")}
        m0serve.publish("events", json=told)
        if "wait" in query:
            wait_at(query["wait"][0])
        start_response("204 No Content", [])
        return []
    said = environ["wsgi.input"].read()
    verb, _, rest = said.decode("utf-8", "replace").partition(":")
    return MESSAGES[verb](environ, start_response, rest, said)


def echo(environ, start_response, rest, said):
    return answer(start_response, rest)


def fields(environ, start_response, rest, said):
    shown = {name: value for name, value in environ.items() if isinstance(value, str)}
    return answer(start_response, json.dumps(shown))


def status(environ, start_response, rest, said):
    return answer(start_response, "the body of an error", f"{rest} Whatever")


def fail(environ, start_response, rest, said):
    raise RuntimeError("as it was asked to")


def binary(environ, start_response, rest, said):
    return answer(start_response, rest, kind="application/octet-stream")


def size(environ, start_response, rest, said):
    return answer(start_response, "x" * int(rest))


def generated(environ, start_response, rest, said):
    start_response("200 OK", [])
    return (b"y" * 1000 for _ in range(int(rest)))


def broken(environ, start_response, rest, said):
    start_response("200 OK", [])

    def pieces():
        yield b"z" * 100_000
        raise RuntimeError("in the middle of its answer")

    return pieces()


def of_file(environ, start_response, rest, said):
    start_response("200 OK", [])
    file = os.memfd_create("answer")
    os.write(file, b"from a file")
    os.lseek(file, 0, os.SEEK_SET)
    return environ["wsgi.file_wrapper"](io.FileIO(file, "r"))


def join(environ, start_response, rest, said):
    start_response("204 No Content", [("M0-Channel", m0serve.channel_header(*rest.split()))])
    return []


def join_and_say(environ, start_response, rest, said):
    m0serve.publish(rest, f"published to {rest} during the view")
    return answer(start_response, f"joined {rest}", fields=[("M0-Channel", m0serve.channel_header(rest))])


def close_itself(environ, start_response, rest, said):
    return answer(start_response, "the last word", fields=[("M0-Close", rest)])


def own_connection(environ, start_response, rest, said):
    return answer(start_response, json.dumps([m0serve.connection(), environ["HTTP_M0_CONNECTION"]]))


def who_is_there(environ, start_response, rest, said):
    return presence(environ, start_response, {"channel": [rest]})


def wait(environ, start_response, rest, said):
    wait_at(rest)
    return answer(start_response, "waited")


def spread_to_all(environ, start_response, rest, said):
    m0serve.publish("all", rest)
    return answer(start_response, "told")


MESSAGES = {
    "echo": echo,
    "fields": fields,
    "status": status,
    "fail": fail,
    "binary": binary,
    "size": size,
    "generated": generated,
    "broken": broken,
    "file": of_file,
    "join": join,
    "presence": who_is_there,
    "join-and-say": join_and_say,
    "close": close_itself,
    "connection": own_connection,
    "wait": wait,
    "spread-to-all": spread_to_all,
}
VIEWS = {
    "/ws": hold,
    "/publish": publish,
    "/send": send,
    "/close": close,
    "/presence": presence,
    "/connection": connection,
    "/page": lambda environ, start, query: answer(start, "a page"),
}
