"""Views that hold event streams, and one that publishes: what the realtime tests ask."""

from __future__ import annotations

import gzip
import json
import os
import socket
from urllib.parse import parse_qs

import m0serve


def application(environ, start_response):
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    return VIEWS[environ["PATH_INFO"]](environ, start_response, query)


def answer(start_response, text, status="200 OK"):
    body = text.encode()
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def hold(environ, start_response, query):
    """Holds: ?channel=a&channel=b, head= the body, and any other name is a field of the answer."""
    fields = [("M0-Hold", "stream"), ("Content-Type", "text/plain"), ("ETag", '"x"'), ("Set-Cookie", "seen=1")]
    fields += [("M0-Channel", m0serve.channel_header(name)) for name in query.get("channel", [])]
    fields += [(name, value) for name, values in query.items() if name[:3] == "M0-" for value in values]
    if "publish" in query:  # during the view, between the request's arrival and the hold
        m0serve.publish(query["channel"][0], query["publish"][0])
    body = query.get("head", [""])[0].encode()
    fields.append(("Content-Length", str(len(body))))
    start_response(query.get("status", ["200 OK"])[0], fields)
    return [body]


def publish(environ, start_response, query):
    data = query["data"][0]
    said = m0serve.publish(query["channel"][0], data, query.get("event", [None])[0])
    return answer(start_response, str(said))


def publish_many(environ, start_response, query):
    ids = []
    for number in range(int(query["count"][0])):
        ids.append(m0serve.publish(query["channel"][0], f"{query['prefix'][0]}{number}"))
    return answer(start_response, json.dumps(ids))


def publish_body(environ, start_response, query):
    return answer(start_response, str(m0serve.publish(query["channel"][0], environ["wsgi.input"].read().decode())))


def cursor(environ, start_response, query):
    before = m0serve.cursor()
    m0serve.publish("elsewhere", "moves the log on")
    return answer(start_response, json.dumps([before, m0serve.cursor()]))


def compressed(environ, start_response, query):
    start_response("200 OK", [("M0-Hold", "stream"), ("M0-Channel", "a"), ("Content-Encoding", "gzip")])
    return [gzip.compress(b"data: x\n\n")]


def generated(environ, start_response, query):
    start_response("200 OK", [("M0-Hold", "stream"), ("M0-Channel", "a")])
    return (piece for piece in (b"data: 1\n\n", b"data: 2\n\n"))


def signal_at(environ, start_response, query):
    """This worker gets a signal inside its next publish, which is this one."""
    from m0serve import _core

    _core._signal_at(query["step"][0].encode(), int(query["signal"][0]))
    return answer(start_response, str(m0serve.publish(query["channel"][0], "signalled")))


def steps(environ, start_response, query):
    from m0serve import _core

    return answer(start_response, json.dumps(_core._append_steps()))


def gate(environ, start_response, query):
    """Knocks at the test's socket and blocks until it answers."""
    with socket.create_connection(("127.0.0.1", int(query["port"][0]))) as door:
        door.sendall(json.dumps({"tag": ""}).encode() + b"\n")
        door.recv(16)
    return answer(start_response, "through")


_at_start = []


def worker_starts(worker):
    """For --worker-start."""
    _at_start.append(m0serve.publish("start", "a worker"))


def at_start(environ, start_response, query):
    return answer(start_response, str(_at_start[0]))


def who(environ, start_response, query):
    return answer(start_response, str(os.getpid()))


VIEWS = {
    "/hold": hold,
    "/publish": publish,
    "/publish-many": publish_many,
    "/publish-body": publish_body,
    "/cursor": cursor,
    "/compressed": compressed,
    "/generated": generated,
    "/signal-at": signal_at,
    "/steps": steps,
    "/gate": gate,
    "/at-start": at_start,
    "/who": who,
}
