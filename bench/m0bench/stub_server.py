"""A server for the clients' tests, whose delays are known."""

import socketserver
import subprocess
import threading
import time
from typing import cast

from .servers import Recipe, Server

STALL = 0.3
SLOW = 0.02


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = cast(Stub, self.server)
        server.connections += 1
        while (line := self.rfile.readline()).startswith(b"GET"):
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            server.answer(line.split()[1].decode())
            self.wfile.write(server.reply)


class Stub(socketserver.ThreadingTCPServer):
    """Answers at once, except that it once stands still for everybody, and that /slow takes its time."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        self.stall_at: int | None = None
        self.connections = 0
        self.asked: dict[str, int] = {}
        self._lock = threading.Lock()

    def answer(self, path: str) -> None:
        with self._lock:
            self.asked[path] = self.asked.get(path, 0) + 1
            if self.asked[path] == self.stall_at:
                time.sleep(STALL)  # with the lock held: whoever comes meanwhile waits too
        if path == "/slow":
            time.sleep(SLOW)

    def as_server(self, keeps: bool = True) -> Server:
        server = Server.__new__(Server)  # nothing is started: the stub is there
        server.recipe = Recipe("stub", "raw", keeps_connections=keeps)
        server.path, server.port = "/busy", self.server_address[1]
        server.process = cast("subprocess.Popen[bytes]", type("NoProcess", (), {"pid": 2**22 + 1}))
        return server
