"""Held WebSockets with clients of others' making: Debian's python3-websockets, and ws and reconnecting-websocket from npm."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets
from harness.server import Server, serving
from harness.waiting import BOUND, wait_until
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

CLIENTS = Path(__file__).resolve().parent / "clients"
DEFLATE = [pytest.param("deflate", id="deflate"), pytest.param(None, id="plain")]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("mirror"), "mirror") as server:
        yield server


def uri(server: Server, target: str = "/") -> str:
    return f"ws://127.0.0.1:{server.port}{target}"


def within(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), BOUND))


# ---- python3-websockets


@pytest.mark.parametrize("compression", DEFLATE)
def test_it_is_answered_what_it_says(mirror: Server, compression: str | None) -> None:
    async def work() -> None:
        async with websockets.connect(uri(mirror), compression=compression) as client:
            assert [each.name for each in client.extensions] == (["permessage-deflate"] if compression else [])
            for said in ("hello", "", "κόσμε 🐘", "again and again, " * 100, b"", b"\x00\xff" * 300, os.urandom(3000)):
                await client.send(said)
                assert await client.recv() == said

    within(work)


@pytest.mark.parametrize(("window", "agreed"), [(15, True), (12, True), (11, False), (9, False)])
def test_the_window_that_it_asks_for(mirror: Server, window: int, agreed: bool) -> None:
    offer = ClientPerMessageDeflateFactory(server_max_window_bits=window, client_max_window_bits=window)

    async def work() -> None:
        async with websockets.connect(uri(mirror), compression=None, extensions=[offer]) as client:
            answer = client.response_headers.get("Sec-WebSocket-Extensions", "")
            assert answer.endswith(f"; server_max_window_bits={window}") == agreed
            for said in ("again and again, " * 200, os.urandom(2000) * 2):
                await client.send(said)
                assert await client.recv() == said

    within(work)


@pytest.mark.parametrize("compression", DEFLATE)
def test_large_messages(mirror: Server, compression: str | None) -> None:
    async def work() -> None:
        async with websockets.connect(uri(mirror), compression=compression, max_size=None) as client:
            for said in ("x" * (1 << 20), os.urandom(1_000_000), "ab" * 70_000, os.urandom(65_536)):
                await client.send(said)
                assert await client.recv() == said

    within(work)


@pytest.mark.parametrize("compression", DEFLATE)
def test_messages_in_fragments(mirror: Server, compression: str | None) -> None:
    async def work() -> None:
        async with websockets.connect(uri(mirror), compression=compression) as client:
            pieces = ["one, ", "", "two, " * 50, "three"]
            await client.send(pieces)
            assert await client.recv() == "".join(pieces)
            await client.send([os.urandom(0), b"\x00" * 70_000, b"\x01"])
            assert await client.recv() == b"\x00" * 70_000 + b"\x01"

    within(work)


def test_its_pings_are_answered(mirror: Server) -> None:
    async def work() -> None:
        async with websockets.connect(uri(mirror)) as client:
            await (await client.ping())
            await (await client.ping(b"\x00\xff" * 60))

    within(work)


def test_it_closes(mirror: Server) -> None:
    async def work(*farewell: Any) -> Any:
        async with websockets.connect(uri(mirror)) as client:
            await client.close(*farewell)
            return client.close_rcvd, client.close_rcvd_then_sent

    for code in (1000, 1001, 3000, 4999):
        received, server_first = within(lambda code=code: work(code, "bye"))  # type: ignore[misc]
        assert (received.code, server_first) == (code, False)


@pytest.mark.parametrize(("asked", "code"), [("1000", 1000), ("4001%20had%20enough", 4001), ("1005", 1011)])
def test_the_view_closes(mirror: Server, asked: str, code: int) -> None:
    async def work() -> Any:
        async with websockets.connect(uri(mirror, f"/?close={asked}")) as client:
            await client.send("the last word")
            if code != 1011:
                assert await client.recv() == "the last word"
            with pytest.raises(websockets.ConnectionClosed) as closed:
                await client.recv()
            return closed.value

    closed = within(work)
    assert (closed.rcvd.code, closed.rcvd_then_sent) == (code, True)
    assert closed.rcvd.reason == ("had enough" if code == 4001 else "")


def test_a_stop_sends_it_away(serve: Callable[..., Server]) -> None:
    server = serve("mirror", "--drain-spread", "0s")

    async def work() -> Any:
        async with websockets.connect(uri(server)) as client:
            server.signal(signal.SIGTERM)
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await client.recv()
            return closed.value.rcvd.code

    assert within(work) == 1012
    assert server.wait() == 0


def test_a_message_that_is_too_big(serve: Callable[..., Server]) -> None:
    server = serve("mirror", "--max-message", "10000")

    async def work(compression: str | None) -> Any:
        async with websockets.connect(uri(server), compression=compression) as client:
            await client.send("x" * 10_000)
            assert len(await client.recv()) == 10_000
            with pytest.raises(websockets.ConnectionClosedError) as closed:
                await client.send("x" * 10_001)
                await client.recv()
            return closed.value.rcvd.code

    assert [within(lambda how=how: work(how)) for how in ("deflate", None)] == [1009, 1009]  # type: ignore[misc]


def test_subprotocols(mirror: Server) -> None:
    async def work(target: str) -> Any:
        async with websockets.connect(uri(mirror, target), subprotocols=["chat.v1", "chat.v2"]) as client:  # type: ignore[list-item]
            return client.subprotocol

    assert within(lambda: work("/?subprotocol=chat.v2")) == "chat.v2"
    assert within(lambda: work("/")) is None


def test_origins(mirror: Server) -> None:
    async def work(origin: str) -> int:
        try:
            async with websockets.connect(uri(mirror), origin=origin):  # type: ignore[arg-type]
                return 101
        except websockets.InvalidStatusCode as refused:
            return refused.status_code

    assert within(lambda: work(f"http://127.0.0.1:{mirror.port}")) == 101
    assert within(lambda: work("http://evil.example")) == 403


def test_a_hundred_at_once(mirror: Server) -> None:
    async def one(number: int) -> int:
        async with websockets.connect(uri(mirror), compression="deflate" if number % 2 else None) as client:
            for message in range(5):
                await client.send(f"{number}/{message}" * 50)
            heard = [await client.recv() for _ in range(5)]
            assert heard == [f"{number}/{message}" * 50 for message in range(5)]
            await client.close(4000)
            assert client.close_rcvd
            return client.close_rcvd.code

    async def work() -> Any:
        return await asyncio.gather(*(one(number) for number in range(100)))

    assert within(work) == [4000] * 100


def test_it_comes_back_after_a_restart(serve: Callable[..., Server]) -> None:
    first = serve("mirror", "--drain-spread", "0s")
    port = first.port

    class Soon(websockets.connect):  # type: ignore[name-defined,misc]
        BACKOFF_INITIAL = BACKOFF_MIN = BACKOFF_MAX = 0.05

    async def work() -> list[int]:
        codes = []
        async for client in Soon(f"ws://127.0.0.1:{port}/"):
            try:
                await client.send("still there?")
                assert await client.recv() == "still there?"
                if codes:
                    return codes
                await asyncio.to_thread(first.stop)
                serve("mirror", bind=(f"127.0.0.1:{port}",))
                await client.recv()
            except websockets.ConnectionClosed as closed:
                assert closed.rcvd
                codes.append(closed.rcvd.code)
        return codes

    assert within(work) == [1012]


# ---- npm


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """A command line for a program in tests/clients. Skips where there is no node, or no index to get packages from."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("there is no node")
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0"]
    try:
        done = subprocess.run(
            [*command, "ws@8", "reconnecting-websocket@4"], cwd=folder, capture_output=True, timeout=60
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the package index does not answer")
    if done.returncode != 0:
        pytest.skip("no package index is reachable")
    return lambda program, *words: [
        *("env", f"NODE_PATH={folder / 'node_modules'}", "node", str(CLIENTS / program)),
        *words,
    ]


def test_npm_ws(mirror: Server, node: Callable[..., list[str]]) -> None:
    done = subprocess.run(node("ws_talks.cjs", uri(mirror)[:-1]), capture_output=True, text=True, timeout=BOUND)
    assert done.returncode == 0, done.stderr
    talked = ["text: 600", "binary: 200000 true", "fragments: fragments", "pong: are you there", "closed: 4001 "]
    assert done.stdout.splitlines() == [
        *("extensions: permessage-deflate", *talked, "extensions: none", *talked),
        *("closed: 4002 by the view", "subprotocol: b", "too big: 1009 message too big when inflated"),
        "refused: status 403",
    ]


def test_npm_reconnecting_websocket(
    serve: Callable[..., Server], node: Callable[..., list[str]], tmp_path: Path
) -> None:
    first = serve("mirror", "--drain-spread", "0s")
    port = first.port
    said = tmp_path / "said"
    with said.open("wb") as out:
        client = subprocess.Popen(node("comes_back.cjs", uri(first)), stdout=out, stderr=out)
    try:
        wait_until(lambda: said.read_text() == "still there?\n", "it is answered")
        first.stop()
        serve("mirror", bind=(f"127.0.0.1:{port}",))
        wait_until(lambda: said.read_text().count("still there?\n") == 2, "it comes back and is answered again")
        assert said.read_text().splitlines()[:2] == ["still there?", "closed 1012"]
    finally:
        client.kill()
        client.wait()
