"""The demo without a framework: `make demo APP=bare_app`, or `m0serve bare_app --app-dir examples/demo`."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote

import m0serve

Environ = dict[str, Any]
Answer = tuple[str, list[tuple[str, str]], str]

PAGE = (Path(__file__).parent / "page.html").read_text()


def page(environ: Environ) -> Answer:
    text = PAGE
    for name, value in {"framework": "WSGI", "cursor": m0serve.cursor() or "", "csrf_token": ""}.items():
        text = text.replace("{{ %s }}" % name, html.escape(value))
    return "200 OK", [("Content-Type", "text/html; charset=utf-8")], text


def come_in(environ: Environ) -> Answer:
    name = parse_qs(environ["QUERY_STRING"]).get("name", [""])[0].strip()[:30] or "somebody"
    fields = [
        ("M0-Hold", "websocket"),
        ("M0-Channel", "chat"),
        ("M0-Frames", "json"),
        ("M0-Events", "open, close"),
        ("M0-Meta-Name", quote(name)),
    ]
    return "200 OK", fields, ""


def heard(environ: Environ) -> Answer:
    event = environ.get("HTTP_M0_EVENT")
    if event is None:  # the server alone can say it
        return "405 Method Not Allowed", [("Allow", "GET")], ""
    name = unquote(environ["HTTP_M0_META_NAME"])
    if event == "message":
        text = environ["wsgi.input"].read().decode(errors="replace")[:500]
        m0serve.publish("chat", json={"name": name, "text": text}, event="said")
    else:
        m0serve.publish("chat", json={"name": name}, event="joined" if event == "open" else "left")
    return "204 No Content", [], ""


def who(environ: Environ) -> Answer:
    there = m0serve.presence("chat", limit=50)
    names = sorted(unquote(each.meta["Name"]) for each in there.connections) if there else []
    said = json.dumps({"count": there.count if there else 0, "names": names})
    return "200 OK", [("Content-Type", "application/json")], said


def follow(environ: Environ) -> Answer:
    return "200 OK", [("M0-Hold", "stream"), ("M0-Channel", "news")], ""


def tell(environ: Environ) -> Answer:
    form = parse_qs(environ["wsgi.input"].read(10_000).decode(errors="replace"))
    told = m0serve.publish("news", form.get("text", [""])[0][:500])
    return "200 OK" if told else "503 Service Unavailable", [("Content-Type", "text/plain")], told or ""


def block(environ: Environ) -> Answer:
    time.sleep(5)  # a slow query, a slow service: this thread can do nothing else
    return "204 No Content", [], ""


def ping(environ: Environ) -> Answer:
    return "200 OK", [("Content-Type", "text/plain")], "pong"


VIEWS: dict[tuple[str, str], Callable[[Environ], Answer]] = {
    ("GET", "/"): page,
    ("GET", "/chat"): come_in,
    ("POST", "/chat"): heard,
    ("GET", "/who"): who,
    ("GET", "/news"): follow,
    ("POST", "/news"): tell,
    ("POST", "/block"): block,
    ("GET", "/ping"): ping,
}


def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    view = VIEWS.get((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
    status, fields, body = view(environ) if view else ("404 Not Found", [], "There is no such page.\n")
    start_response(status, fields)
    return [body.encode()]
