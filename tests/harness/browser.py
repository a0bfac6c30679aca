"""A real Chromium without a window, driven through its pipe (the DevTools protocol)."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from .waiting import BOUND, wait_until

# Background tabs would be slowed down, and a first start would look for updates.
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-dev-shm-usage"),
    "--remote-debugging-pipe",
)


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        said = self._browser.call(
            "Runtime.evaluate", session=self._session, expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def text(self, element: str) -> str:
        return str(self.evaluate(f"document.getElementById({element!r}).textContent"))

    def wait_text(self, element: str, text: str) -> None:
        wait_until(lambda: text in self.text(element), f"{text!r} in {element}, which says {self.text(element)!r}")


class Browser:
    """Started by the constructor. It keeps nothing beyond `directory`."""

    def __init__(self, directory: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        words = ["chromium", *_FLAGS, f"--user-data-dir={directory}"]
        # It reads descriptor 3 and writes 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *words],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(directory)},
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last = 0

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(BOUND)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + BOUND
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], max(0.0, end - time.monotonic()))[0], "the browser says nothing"
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def open(self, url: str) -> Page:
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, str(session))
        # A new tab is an empty page at first, which is complete too.
        loaded = f"location.href.startsWith({url!r}) && document.readyState == 'complete'"
        wait_until(lambda: page.evaluate(loaded), f"{url} is loaded")
        return page
