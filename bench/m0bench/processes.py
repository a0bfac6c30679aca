"""CPU time and memory of a process and all its descendants, from /proc."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str] | None:
    """The fields after the command's name, which may itself hold spaces and parentheses."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree(root: int) -> list[int]:
    """`root` and its descendants that live."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            parents[int(entry)] = int(fields[1])
    found = [root]
    for pid in found:  # grows while it is walked
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds(root: int) -> float:
    """utime + stime of the tree, with those of children it has already waited for."""
    ticks = 0
    for pid in tree(root):
        if fields := _stat(pid):
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / _TICKS


def rss_kib(root: int) -> int:
    """Resident memory of the tree; pages shared between its processes count in each."""
    total = 0
    for pid in tree(root):
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Rss:")), 0)
    return total


def threads(root: int) -> int:
    total = 0
    for pid in tree(root):
        if fields := _stat(pid):
            total += int(fields[17])
    return total
