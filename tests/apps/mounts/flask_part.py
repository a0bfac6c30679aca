"""A Flask application that has to know where it is mounted."""

from flask import Flask, jsonify, redirect, request, url_for

app = Flask(__name__)


@app.get("/")
def index():
    return jsonify(root=request.root_path, path=request.path, script=request.script_root, url=request.url)


@app.get("/old")
def old():
    return redirect(url_for("new", number=7))


@app.get("/new/<int:number>")
def new(number: int):
    return jsonify(number=number, external=url_for("new", number=number, _external=True))
