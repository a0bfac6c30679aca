"""A real server process: started, asked whether it is ready, stopped, its log kept."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from .client import Address, Client, Headers, Response
from .processes import alive, children, descendants
from .waiting import BOUND, wait_until

ROOT = Path(__file__).resolve().parents[2]
APPS = ROOT / "tests" / "apps"
# What a test's machine may have set and a server must not inherit.
_FOREIGN = ("PORT", "WEB_CONCURRENCY", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")


def command() -> list[str]:
    """The server under test."""
    return [os.environ.get("M0SERVE") or str(ROOT / "build" / "release" / "m0serve")]


def native(name: str = "tests/native/native_program") -> list[str]:
    """A native program of the same build."""
    build = os.environ.get("M0_BUILD") or ROOT / "build" / "release"
    return [str(Path(build) / name)]


@functools.cache
def _runtime() -> str:
    """The user's runtime directory: what the tests' servers leave there is not the machine's."""
    folder = tempfile.mkdtemp(prefix="m0-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k not in _FOREIGN and not k.startswith("M0_")}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["XDG_RUNTIME_DIR"] = _runtime()
    return {**env, **(extra or {})}


def run(
    *words: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | str = APPS,
    within: float = BOUND,
    program: Sequence[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command line that is expected to end by itself."""
    return subprocess.run(
        [*(program or command()), *words],
        env=environment(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=within,
        check=False,
    )


def refused(port: int) -> bool:
    """Whether nobody listens there any more."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


class Server:
    """One server. Started by the constructor; ready when it returns."""

    running: list[Server] = []

    def __init__(
        self,
        directory: Path,
        *words: str,
        bind: Sequence[str] | None = ("127.0.0.1:0",),
        env: Mapping[str, str] | None = None,
        cwd: Path | str = APPS,
        stdout: int | None = None,
        stderr: int | None = None,
        prefix: Sequence[str] = (),
        program: Sequence[str] | None = None,
        wait: bool = True,
    ) -> None:
        number = len(list(directory.glob("log-*")))
        self.log_path = directory / f"log-{number}"
        self.out_path = directory / f"out-{number}"
        self.program = list(program or command())
        self.words = [*prefix, *self.program, *words]
        for address in bind or ():
            self.words += ["--bind", address]
        self.addresses: list[Address] = []
        self.exit_code: int | None = None
        with self.log_path.open("wb") as log, self.out_path.open("wb") as out:
            self.process = subprocess.Popen(
                self.words,
                env=environment(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out if stdout is None else stdout,
                stderr=log if stderr is None else stderr,
                # A group of its own: a signal typed at the test's terminal is the test's to pass on.
                start_new_session=True,
            )
        Server.running.append(self)
        if wait:
            try:
                self.wait_ready()
            except BaseException:
                self.end_by_force()
                raise

    # -- where

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def address(self) -> Address:
        return self.addresses[0]

    @property
    def port(self) -> int:
        assert isinstance(self.address, tuple)
        return self.address[1]

    def wait_ready(self) -> None:
        wait_until(self._ready, f"ready line of {' '.join(self.words)}\n{self.log}")

    def _ready(self) -> bool:
        lines = [
            line
            for line in self.log.splitlines()
            if "ready" in line and "://" in line or "unix:" in line and "ready" in line
        ]
        if not lines:
            if self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode} before it was ready:\n{self.log}")
            return False
        for host6, host4, port, path in re.findall(
            r"http://(?:\[([0-9a-fA-F:.%]+)\]|([^\s:/\[\],]+)):(\d+)|unix:([^\s,]+)", lines[0]
        ):
            self.addresses.append(path if path else (host6 or host4, int(port)))
        return True

    # -- asking

    def connect(
        self, timeout: float = BOUND, address: Address | None = None, receive_buffer: int | None = None
    ) -> Client:
        return Client(address or self.address, timeout, receive_buffer)

    def get(self, target: str = "/", headers: Headers | None = None, method: str = "GET") -> Response:
        with self.connect() as client:
            return client.get(target, headers, method)

    def post(self, target: str, body: bytes, headers: Headers | None = None) -> Response:
        with self.connect() as client:
            return client.post(target, body, headers)

    def notes(self, key: str) -> list[str]:
        """What the application noted under that key."""
        return self.get(f"/notes?key={key}").json()

    def wait_note(self, key: str, note: str) -> list[str]:
        return wait_until(lambda: note in (found := self.notes(key)) and found, f"note {note!r} of {key!r}")

    # -- its log and its processes

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def out(self) -> str:
        return self.out_path.read_text(errors="replace")

    def wait_log(self, pattern: str) -> re.Match[str]:
        return wait_until(lambda: re.search(pattern, self.log), f"{pattern!r} in the log\n{self.log}")

    def workers(self) -> list[int]:
        return children(self.pid)

    # -- the end

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, within: float = BOUND) -> int:
        try:
            self.exit_code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {within:g} s:\n{self.log}") from None
        if self in Server.running:
            Server.running.remove(self)
        return self.exit_code

    def stop(self, within: float = BOUND) -> None:
        """SIGTERM, and nothing is left: exit 0, no process of it stays."""
        if self.exit_code is not None:
            return
        below = descendants(self.pid)
        try:
            if self.process.poll() is None:
                self.signal(signal.SIGTERM)
            code = self.wait(within)
            assert code == 0, f"exit {code} on SIGTERM:\n{self.log}"
            wait_until(lambda: not [pid for pid in below if alive(pid) and self._is_server(pid)], "its workers end too")
            unwanted = re.search(r"ERROR: AddressSanitizer|runtime error: |ERROR: LeakSanitizer", self.log)
            assert not unwanted, self.log
        finally:
            self.end_by_force()

    def _is_server(self, pid: int) -> bool:
        """Not a program that the application started and left behind."""
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return b"m0serve" in line or os.fsencode(Path(self.program[0]).name) in line

    def end_by_force(self) -> None:
        if self in Server.running:
            Server.running.remove(self)
        if self.process.poll() is None:
            for pid in [*descendants(self.pid), self.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait(BOUND)
        self.exit_code = self.process.returncode


@contextmanager
def serving(directory: Path, *words: str, **options: object) -> Iterator[Server]:
    """A server for one test or module, which ends with exit 0."""
    server = Server(directory, *words, **options)  # type: ignore[arg-type]
    try:
        yield server
    except BaseException:
        print(server.log, file=sys.stderr)
        server.end_by_force()
        raise
    server.stop()
