"""The whole of the bare application again, under wsgiref.validate."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from harness.client import chunked
from harness.server import Server, serving


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("validated"), "validated") as server:
        yield server
        assert "without being closed" not in server.log
        assert "garbage collected" not in server.log


def test_the_validator_is_on(validated: Server) -> None:
    """The canary: an application that breaks the PEP must be objected to."""
    answer = validated.get("/canary")
    assert answer.status == 500
    assert b"not noticed" not in answer.body
    validated.wait_log("AssertionError")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"])
def test_methods(validated: Server, method: str) -> None:
    with validated.connect() as client:
        for _ in range(3):
            assert client.get("/hello", method=method).status == 200


@pytest.mark.parametrize(
    "target",
    [
        "/environ?a=b",
        "/stream?count=100&size=10000&key=v",
        "/pieces?as=list&pieces=" + json.dumps(["a", "", "b"]).encode().hex(),
        "/pieces?as=tuple&pieces=" + json.dumps(["a"]).encode().hex(),
        "/pieces?as=iter&pieces=" + json.dumps(["a", "b"]).encode().hex(),
        "/writer",
        "/writer?and-return=0",
        "/lengths?declared=100&piece=10&count=10",
        "/big?size=4194304",
        "/file-like",
        "/notes?key=none",
    ],
)
def test_answers(validated: Server, target: str) -> None:
    with validated.connect() as client:
        for _ in range(2):
            assert client.get(target).status == 200
            assert client.get(target, method="HEAD").status == 200


@pytest.mark.parametrize("size", [0, 5, 70_000, 2_000_000])
def test_bodies(validated: Server, size: int) -> None:
    body = os.urandom(size)
    with validated.connect() as client:
        assert client.post("/digest", body).json()["length"] == size
        client.request("POST", "/digest", [("Transfer-Encoding", "chunked")], chunked(*([body] if body else [])))
        assert client.response().json()["length"] == size


def test_fields_of_every_sort(validated: Server) -> None:
    headers = [
        ("X-A", "1"),
        ("X-A", "2"),
        ("Cookie", "a"),
        ("Cookie", "b"),
        ("X_Bad", "1"),
        ("Proxy", "x"),
        ("X-\u007eOdd", ""),
    ]
    assert validated.get("/environ", headers + [("Content-Type", "text/plain")]).status == 200


def test_http10_and_absolute_targets(validated: Server) -> None:
    with validated.connect() as client:
        client.request("GET", "/environ", version="1.0")
        assert client.response().status == 200
    with validated.connect() as client:
        client.request("GET", "http://other/environ")
        assert client.response().status == 200


def test_a_client_that_leaves(validated: Server) -> None:
    """The validator complains in the log about an iterable that is dropped without close()."""
    for _ in range(5):
        client = validated.connect()
        client.request("GET", "/stream?count=100000&size=10000&key=left")
        assert client.socket.recv(10)
        client.reset()
    from harness.waiting import wait_until

    wait_until(lambda: validated.notes("left").count("closed") == 5, "all five are closed")


def test_a_unix_socket(serve: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("unix")
    with serving(directory, "validated", bind=[f"unix:{directory}/s"]) as server:
        assert server.get("/environ").status == 200
        assert "AssertionError" not in server.log
