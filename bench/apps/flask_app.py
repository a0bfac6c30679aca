"""The least Flask."""

from flask import Flask, Response

hello = Flask(__name__)


@hello.get("/")
def _hello() -> Response:
    return Response(b"Hello, world!", mimetype="text/plain")
