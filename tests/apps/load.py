"""The views of live.py and the held WebSockets of talk.py behind one server, and one that blocks."""

from __future__ import annotations

import time
from urllib.parse import parse_qs

import live
import m0serve
import talk


def application(environ, start_response):
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    if "HTTP_M0_EVENT" in environ:
        return talk.on_event(environ, start_response, query)
    return VIEWS[environ["PATH_INFO"]](environ, start_response, query)


def slow(environ, start_response, query):
    """Says that it has begun, and blocks."""
    m0serve.publish(query["channel"][0], "begun")
    time.sleep(float(query["seconds"][0]))
    return live.answer(start_response, "slow")


VIEWS = {**live.VIEWS, "/ws": talk.hold, "/slow": slow}
