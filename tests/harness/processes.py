"""What /proc says about processes."""

from __future__ import annotations

import os
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits to be collected does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def stopped(pid: int) -> bool:
    """By SIGSTOP."""
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def children(pid: int) -> list[int]:
    """The living children of all its threads."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [child for child in found if alive(child)]


def descendants(pid: int) -> list[int]:
    """Children, their children and so on."""
    below: list[int] = []
    todo = [pid]
    while todo:
        for child in children(todo.pop()):
            below.append(child)
            todo.append(child)
    return below


def status_field(pid: int, name: str) -> str:
    """A line of /proc/PID/status, without its name."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.partition(":")[2].strip()
    raise KeyError(name)


def open_sockets(pid: int) -> list[str]:
    """What its descriptors that are sockets point to."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(entry)
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            found.append(target)
    return found
