"""The project's own sources and what they include."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CXX_FOLDERS = ("src", "include", "fuzz", "bench", "tests", "examples")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


@dataclass(frozen=True)
class Include:
    path: str
    line: int
    quoted: bool


def cxx_files(root: Path) -> list[Path]:
    return sorted(
        path
        for folder in CXX_FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in (".hpp", ".cpp") and path.is_file()
    )


def includes_in(text: str) -> Iterator[Include]:
    for match in INCLUDE.finditer(text):
        yield Include(match[1] or match[2], text.count("\n", 0, match.start(1 if match[1] else 2)) + 1, bool(match[1]))


@cache
def includes_of(path: Path) -> tuple[Include, ...]:
    return tuple(includes_in(path.read_text()))


def resolve(root: Path, include: Include) -> Path | None:
    """The file of ours that an include names, if it is one of ours."""
    if not include.quoted and not include.path.startswith("m0/"):
        return None
    for folder in ("src", "include"):
        candidate = root / folder / include.path
        if candidate.is_file():
            return candidate
    return None


def closure(root: Path, path: Path) -> set[Path]:
    """A file and every file of ours that it reaches."""
    reached: set[Path] = set()
    waiting = [path]
    while waiting:
        here = waiting.pop()
        if here in reached:
            continue
        reached.add(here)
        waiting += [file for include in includes_of(here) if (file := resolve(root, include)) is not None]
    return reached
