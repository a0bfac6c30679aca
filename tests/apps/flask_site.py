"""A Flask application as people write it."""

from __future__ import annotations

import hashlib
import os

import m0serve
from flask import Flask, Response, abort, jsonify, redirect, request, send_file, session, stream_with_context

app = Flask(__name__)
app.secret_key = "for tests only"


@app.get("/")
def index():
    return "flask\n"


@app.get("/count")
def count():
    session["count"] = session.get("count", 0) + 1
    return jsonify(count=session["count"])


@app.post("/form")
def form():
    session["name"] = request.form["name"]
    return redirect("/name")


@app.get("/name")
def name():
    return jsonify(name=session.get("name"))


@app.post("/upload")
def upload():
    digests = {}
    for key, file in request.files.items():
        digests[key] = {"name": file.filename, "sha256": hashlib.file_digest(file.stream, "sha256").hexdigest()}
    return jsonify(files=digests, fields=request.form.to_dict())


@app.route("/raw", methods=["POST", "PUT"])
def raw():
    hashed, size = hashlib.sha256(), 0
    while piece := request.stream.read(1 << 16):
        hashed.update(piece)
        size += len(piece)
    return jsonify(size=size, sha256=hashed.hexdigest())


@app.get("/download")
def download():
    return send_file(os.environ["M0TEST_DOWNLOAD"], as_attachment=True, download_name="data.bin", conditional=True)


@app.get("/stream")
def stream():
    def lines():
        for number in range(1000):
            yield f"line {number} {request.args.get('word', '')}\n"

    return Response(stream_with_context(lines()), mimetype="text/plain")


@app.get("/fail")
def fail():
    raise RuntimeError("the view fails")


@app.get("/fail-late")
def fail_late():
    def lines():
        yield "x" * 100_000
        raise RuntimeError("the stream fails")

    return Response(lines(), mimetype="text/plain")


@app.get("/teapot")
def teapot():
    abort(418)


@app.get("/hello/<name>")
def greet(name: str):
    return jsonify(name=name, url=request.url, remote=request.remote_addr)


@app.get("/empty")
def empty():
    return "", 204


@app.get("/news")
def news():
    return Response(headers={"M0-Hold": "stream", "M0-Channel": "news"})


@app.post("/news")
def add_news():
    return jsonify(id=m0serve.publish("news", request.form["text"]))
