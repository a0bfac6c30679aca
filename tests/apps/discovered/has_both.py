"""Both names: `application` is the PEP's own."""


def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "4")])
    return [b"app\n"]


def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "12")])
    return [b"application\n"]
