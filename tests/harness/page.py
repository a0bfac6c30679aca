"""A page of the documentation, followed to the letter: its files written, its commands typed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .server import environment

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LANGUAGES = ("python", "html")
_SHELL = ("sh", "sh install", "sh serve", "sh meanwhile")


@dataclass(frozen=True)
class Block:
    """What stands in a fence. `info` says what it is for:

    `sh` is typed; `sh install` needs a package index and is not, the tests have what it installs; `sh serve` starts the
    server and `sh meanwhile` is typed while it serves. `python FILE` and `html FILE` are the file, and with `append`
    behind that its end.
    """

    info: str
    text: str

    def __post_init__(self) -> None:
        words = self.info.split()
        file = len(words) in (2, 3) and words[0] in _LANGUAGES and words[2:] in ([], ["append"])
        assert self.info in _SHELL or file, f"a block that says {self.info!r} is nothing that can be followed"

    @property
    def command(self) -> list[str]:
        """The only line of a block, in words."""
        (line,) = self.text.splitlines()
        return line.split()


def blocks(text: str) -> list[Block]:
    return [Block(info.strip(), body) for info, body in _FENCE.findall(text)]


def section(text: str, heading: str) -> str:
    """From a heading to the next of its level or above."""
    level = len(heading.split()[0])
    prose = _FENCE.sub(lambda fence: " " * len(fence[0]), text)  # what looks like a heading there is a comment
    found = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{level}}} |\Z)", prose, re.MULTILINE | re.DOTALL)
    assert found, f"no {heading!r}"
    return text[found.start(1) : found.end(1)]


class Reader:
    """Follows a page in a folder. `serving` is the last `sh serve`, `meanwhile` what is typed then."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.here = folder
        self.env = environment(env)
        self.serving: list[str] = []
        self.meanwhile: list[list[str]] = []

    def follow(self, block: Block) -> None:
        kind, *words = block.info.split()
        if block.info == "sh serve":
            self.serving = block.command
        elif block.info == "sh meanwhile":
            self.meanwhile.append(block.command)
        elif block.info == "sh":
            self._type(block.text)
        elif kind in _LANGUAGES:
            self._write(self.here / words[0], block.text, append="append" in words)

    def _write(self, path: Path, text: str, append: bool) -> None:
        assert append == path.exists() or path.name in ("urls.py",), f"{path} is there: {path.exists()}"
        path.parent.mkdir(exist_ok=True)
        with path.open("a" if append else "w") as file:
            file.write(text)

    def _type(self, lines: str) -> None:
        """In one shell, whose folder is the reader's afterwards."""
        place = self.here / ".place"
        done = subprocess.run(
            ["sh", "-e", "-c", f'{lines}\npwd > "$PLACE"'],
            cwd=self.here,
            env={**self.env, "PLACE": os.fspath(place)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{lines}\n{done.stdout}{done.stderr}"
        self.here = Path(place.read_text().strip())
        place.unlink()
