"""Many things at once, by chance with a known seed: every answer is right, and everything is given back."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Callable

import pytest
from harness.client import Client, chunked, compose
from harness.server import Server
from harness.waiting import wait_until


def one_request(chance: random.Random) -> tuple[bytes, str, int, bytes]:
    """Bytes, method, expected status, expected body."""
    kind = chance.randrange(7)
    size = chance.choice([0, 1, 10, 100, 4000, 16384, 65535, 65536, 70_000, 150_000])
    if kind == 0:
        return compose("GET", "/hello"), "GET", 200, b"hello\n"
    if kind == 1:
        return compose("HEAD", "/hello"), "HEAD", 200, b""
    body = chance.randbytes(size)
    if kind == 2:
        return compose("POST", "/echo", body=body), "POST", 200, body
    if kind == 3:
        cuts = sorted(chance.randrange(size + 1) for _ in range(chance.randrange(6)))
        parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, size]) if b > a]
        data = compose("POST", "/echo", [("Transfer-Encoding", "chunked")], chunked(*parts, trailer=b"X: y\r\n"))
        return data, "POST", 200, body
    if kind == 4:
        count = chance.randrange(1, 9)
        expected = b"".join(b"%d" % (number % 10) * 999 for number in range(count))
        return compose("GET", f"/stream?count={count}&size=999"), "GET", 200, expected
    if kind == 5:
        return compose("POST", "/ignore-body", body=body), "POST", 200, b"ignored\n"
    return compose("GET", "/nowhere"), "GET", 404, b"no such view\n"


@pytest.mark.parametrize("seed", range(6))
def test_random_pipelines(bare: Server, seed: int) -> None:
    """Sent in pieces of any size, while the answers are read beside it."""
    chance = random.Random(seed)
    requests = [one_request(chance) for _ in range(150)]
    data = b"".join(request[0] for request in requests)
    with bare.connect() as client:

        def send() -> None:
            at = 0
            while at < len(data):
                step = chance.choice([1, 2, 3, 7, 100, 1460, 16384, 65536, 300_000])
                client.send(data[at : at + step])
                at += step

        sender = threading.Thread(target=send)
        sender.start()
        for _, method, status, body in requests:
            answer = client.response(method)
            assert (answer.status, hashlib.sha256(answer.body).digest()) == (status, hashlib.sha256(body).digest())
        sender.join()
        assert client.get("/hello").body == b"hello\n"


def test_clients_that_come_and_go(serve: Callable[..., Server]) -> None:
    """Resets at any moment of anything; afterwards no descriptor, no body and no thread is missing."""
    server = serve("bare")
    (worker,) = server.workers()
    assert server.get("/hello").status == 200
    before = len(os.listdir(f"/proc/{worker}/fd"))
    end = time.monotonic() + 4
    wrong: list[str] = []

    def visit(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < end:
            client = Client(server.address, receive_buffer=chance.choice([2048, 65536, 1 << 20]))
            try:
                data, method, status, body = one_request(chance)
                how = chance.randrange(4)
                if how == 0:  # leaves in the middle of its request
                    client.send(data[: chance.randrange(len(data))])
                elif how == 1:  # leaves in the middle of a long answer
                    client.send(compose("GET", chance.choice(["/stream?count=500&size=10000", "/big?size=4194304"])))
                    client.socket.recv(chance.choice([1, 1000, 100_000]))
                elif how == 2:  # asks for several and leaves
                    client.send(compose("GET", "/sleep?ms=2") * 5 + data)
                else:
                    client.send(data)
                    answer = client.response(method)
                    if (answer.status, answer.body) != (status, body):
                        wrong.append(f"{data[:60]!r}: {answer.status}")
                if chance.random() < 0.5:
                    client.reset()
            except OSError:
                pass
            finally:
                client.close()

    threads = [threading.Thread(target=visit, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert server.workers() == [worker]
    wait_until(lambda: len(os.listdir(f"/proc/{worker}/fd")) <= before + 2, "all descriptors are given back")
    for _ in range(80):
        assert server.get("/hello").status == 200


def test_stop_with_clients_that_do_nothing(serve: Callable[..., Server]) -> None:
    """Half a head, half a body, an answer that nobody takes: the graceful time bounds them all."""
    server = serve("bare", "--graceful-timeout", "500ms")
    clients = [server.connect(receive_buffer=4096) for _ in range(4)]
    clients[0].send(b"GET /hello HTTP/1.1\r\nHost")
    clients[1].send(compose("POST", "/echo", [("Content-Length", "100")]) + b"half")
    clients[2].send(compose("GET", "/big?size=67108864"))
    clients[3].send(compose("GET", "/stream?count=100000&size=10000"))
    for client in clients[2:]:
        client.head()
    server.stop()
    for client in clients:
        client.close()


def test_a_closed_connection_runs_nothing_more(bare: Server) -> None:
    """What was pipelined behind Connection: close is dropped (RFC 9112 9.6)."""
    with bare.connect() as client:
        client.send(
            compose("GET", "/hello", [("Connection", "close")]) + compose("GET", "/note-and-hello?key=behind-close") * 3
        )
        assert client.response().closes
        assert client.ended()
    assert bare.notes("behind-close") == []
