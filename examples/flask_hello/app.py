"""A Flask app in one file: `m0serve app --app-dir examples/flask_hello`."""

from flask import Flask, Response, jsonify, request

app = Flask(__name__)


@app.get("/")
def hello() -> Response:
    return Response("Hello from Flask\n", mimetype="text/plain")


@app.get("/greet/<name>")
def greet(name: str) -> Response:
    return jsonify(hello=name, method=request.method)


@app.get("/squares")
def squares() -> Response:
    return Response((f"{n * n}\n" for n in range(1000)), mimetype="text/plain")
