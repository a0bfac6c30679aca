"""Has the name of a command."""


def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "4")])
    return [b"app\n"]
