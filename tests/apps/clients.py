"""The views of docs/clients.md, and its pages: M0TEST_PAGES is a folder with them and with what they load."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path

import m0serve

PAGES = Path(os.environ["M0TEST_PAGES"])
HOLDS = {
    "/news": [("M0-Hold", "stream"), ("M0-Channel", "news")],
    "/chat": [("M0-Hold", "websocket"), ("M0-Channel", "news"), ("M0-Frames", "json")],
    "/raw": [("M0-Hold", "websocket"), ("M0-Channel", "news")],
}


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if environ.get("HTTP_M0_EVENT") == "message":
        m0serve.publish("said", environ["wsgi.input"].read().decode())
        start_response("204 No Content", [])
        return []
    if path in HOLDS:
        start_response("200 OK", HOLDS[path])
        return []
    if path == "/said":
        start_response("200 OK", [("M0-Hold", "stream"), ("M0-Channel", "said")])
        return []
    if path == "/publish":
        body = environ["wsgi.input"].read().decode()
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(m0serve.publish("news", body)).encode()]
    if path == "/close":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(m0serve.close(channel="news")).encode()]
    file = PAGES / path.removeprefix("/pages/")
    start_response("200 OK", [("Content-Type", mimetypes.guess_type(file.name)[0] or "text/plain")])
    return [file.read_text().replace("{{ cursor }}", m0serve.cursor() or "").encode()]
