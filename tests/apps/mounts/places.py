"""Says where a request arrived; with ?port=N in its query it waits at that gate of the test's first."""

from __future__ import annotations

import json
import os
import socket
import threading
from urllib.parse import parse_qs


def place(name):
    def answer(environ, start_response):
        query = parse_qs(environ["QUERY_STRING"])
        thread = threading.current_thread().name
        if "port" in query:
            with socket.create_connection(("127.0.0.1", int(query["port"][0]))) as door:
                door.sendall(json.dumps({"thread": thread}).encode() + b"\n")
                door.recv(16)
        facts = {
            "application": name,
            "script_name": environ["SCRIPT_NAME"],
            "path_info": environ["PATH_INFO"],
            "request_uri": environ["REQUEST_URI"],
            "multithread": environ["wsgi.multithread"],
            "thread": thread,
            "pid": os.getpid(),
            "worker": worker,
        }
        body = json.dumps(facts).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


worker = None


def started(number):
    """--worker-start."""
    global worker
    worker = number


application = place("main")
first = place("first")
second = place("second")


def create():
    """--factory."""
    return place("made")
