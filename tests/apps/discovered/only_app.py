"""Calls its application `app`, as Flask does."""


def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "4")])
    return [b"app\n"]
