"""Where Django puts it."""


def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "8")])
    return [b"package\n"]
