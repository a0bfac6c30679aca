"""The demo as a Flask app: `make demo APP=flask_app`, or `m0serve flask_app --app-dir examples/demo`."""

from __future__ import annotations

import time
from urllib.parse import quote, unquote

import m0serve
from flask import Flask, Response, abort, jsonify, render_template, request

app = Flask(__name__, template_folder=".")


@app.get("/")
def page() -> str:
    return render_template("page.html", framework="Flask", cursor=m0serve.cursor() or "", csrf_token="")


@app.get("/chat", websocket=True)  # without that Flask gives no view a handshake
def come_in() -> Response:
    name = request.args.get("name", "").strip()[:30] or "somebody"
    return Response(
        headers={
            "M0-Hold": "websocket",
            "M0-Channel": "chat",
            "M0-Frames": "json",
            "M0-Events": "open, close",
            "M0-Meta-Name": quote(name),
        }
    )


@app.post("/chat")
def heard() -> tuple[str, int]:
    event = request.headers.get("M0-Event") or abort(405)  # the server alone can say it
    name = unquote(request.headers["M0-Meta-Name"])
    if event == "message":
        text = request.get_data().decode(errors="replace")[:500]
        m0serve.publish("chat", json={"name": name, "text": text}, event="said")
    else:
        m0serve.publish("chat", json={"name": name}, event="joined" if event == "open" else "left")
    return "", 204


@app.get("/who")
def who() -> Response:
    there = m0serve.presence("chat", limit=50)
    names = sorted(unquote(each.meta["Name"]) for each in there.connections) if there else []
    return jsonify(count=there.count if there else 0, names=names)


@app.get("/news")
def follow() -> Response:
    return Response(headers={"M0-Hold": "stream", "M0-Channel": "news"})


@app.post("/news")
def tell() -> tuple[str, int]:
    told = m0serve.publish("news", request.form.get("text", "")[:500])
    return told or "", 200 if told else 503


@app.post("/block")
def block() -> tuple[str, int]:
    time.sleep(5)  # a slow query, a slow service: this thread can do nothing else
    return "", 204


@app.get("/ping")
def ping() -> str:
    return "pong"
