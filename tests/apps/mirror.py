"""A view that holds WebSockets and gives back what comes over them, as it came: for clients of others' making."""

from __future__ import annotations

from urllib.parse import parse_qs


def application(environ, start_response):
    query = parse_qs(environ.get("QUERY_STRING", ""))
    if "HTTP_M0_EVENT" not in environ:
        return VIEWS[environ["PATH_INFO"]](start_response, query)
    said = environ["wsgi.input"].read()
    fields = [("Content-Type", environ["CONTENT_TYPE"]), ("Content-Length", str(len(said)))]
    if "close" in query:
        fields.append(("M0-Close", query["close"][0]))
    start_response("200 OK", fields)
    return [said]


def hold(start_response, query):
    """Each message is given back, with ?close=CODE REASON as the last; ?subprotocol= is what was chosen."""
    fields = [("M0-Hold", "websocket"), ("M0-Channel", "mirror")]
    fields += [("Sec-WebSocket-Protocol", name) for name in query.get("subprotocol", [])]
    start_response("200 OK", fields)
    return []


def page(start_response, query):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "6")])
    return [b"a page"]


def refuse(start_response, query):
    start_response("403 Forbidden", [("Content-Type", "text/plain"), ("Content-Length", "7")])
    return [b"not you"]


VIEWS = {"/": hold, "/page": page, "/refused": refuse}
