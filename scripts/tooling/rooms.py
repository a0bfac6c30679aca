"""The house: which room may include which, read from the table in docs/architecture.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tooling.sources import Include, cxx_files, includes_of, resolve

TABLE = "docs/architecture.md"
ROW = re.compile(r"^\|\s*(\d+)\s*\|\s*`(\w+)/`\s*\|(.*)\|\s*$")
# The floor whose rooms lean on `base` and on nothing else of ours, not even on each other.
MACHINES_FLOOR = 2
DOORS = ("native", "python")
# What the one public header may reach.
PUBLIC_ROOMS = ("native", "handler", "http", "pool", "pubsub", "base")
PUBLIC_HEADER = "include/m0/m0.hpp"
PUBLIC_LINE = re.compile(
    r"^(#pragma once|#include\s.*|using\s[^=]*;|using\s+\w+\s*=\s*[\w:]+;|namespace\s[\w:]+\s*\{|\})?$"
)


@dataclass(frozen=True)
class Room:
    name: str
    floor: int
    leans_on: tuple[str, ...]


class TableError(ValueError):
    pass


def read_table(text: str) -> dict[str, Room]:
    rooms: dict[str, Room] = {}
    for line in text.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        columns = [column.strip() for column in row[3].split("|")]
        leans_on = tuple(word for word in re.split(r"[\s,`]+", columns[-1]) if word and word != "-")
        if row[2] in rooms:
            raise TableError(f"the room {row[2]} stands in the table twice")
        rooms[row[2]] = Room(row[2], int(row[1]), leans_on)
    if not rooms:
        raise TableError(f"no room table was found in {TABLE}")
    return rooms


def check_table(rooms: dict[str, Room]) -> list[str]:
    """Arrows point down only, and the machines do not know each other."""
    problems = []
    for room in rooms.values():
        for other in room.leans_on:
            if other not in rooms:
                problems.append(f"{TABLE}: {room.name} leans on {other}, which is no room")
            elif rooms[other].floor >= room.floor:
                problems.append(
                    f"{TABLE}: {room.name} (floor {room.floor}) leans on {other} (floor {rooms[other].floor})"
                )
        if room.floor == MACHINES_FLOOR and room.leans_on != ("base",):
            problems.append(f"{TABLE}: {room.name} is on floor {MACHINES_FLOOR} and must lean on base alone")
    return problems


def room_of(root: Path, path: Path) -> str | None:
    parts = path.relative_to(root).parts
    return parts[2] if len(parts) > 3 and parts[:2] == ("src", "m0") else None


def check_include(rooms: dict[str, Room], room: str | None, include: Include) -> str | None:
    """What is wrong with one include of a file in `room` (None: outside the house), or None."""
    if include.path == "Python.h" or include.path.startswith("cpython/"):
        return None if room == "python" else "Python.h belongs to python/ alone"
    if include.path == "m0/m0.hpp" and room is None:
        return None  # a program that uses us writes <m0/m0.hpp>, as the examples and tests do
    if include.path.startswith("m0/") and not include.quoted:
        return f'ours is written "{include.path}"'
    if not include.quoted:
        return None
    if room is None:
        return None
    parts = include.path.split("/")
    if parts[0] != "m0" or len(parts) < 2:
        return f'"{include.path}": a quoted include begins with "m0/<room>/"'
    if include.path == "m0/m0.hpp":
        return f"{room}/ is inside the house and does not include its front door"
    other = parts[1]
    if other not in rooms:
        return f'"{include.path}": {other} is no room'
    if other == room or other in rooms[room].leans_on:
        return None
    if room in DOORS and other in DOORS:
        return f'"{include.path}": the two doors never include each other'
    return f'"{include.path}": {room} leans on {", ".join(rooms[room].leans_on) or "nothing"}, not on {other}'


def check_files(root: Path, rooms: dict[str, Room], files: Sequence[Path]) -> list[str]:
    problems = []
    for path in files:
        where = path.relative_to(root)
        room = room_of(root, path)
        if room is not None and room not in rooms:
            problems.append(f"{where}: {room} is not in the table of {TABLE}")
            continue
        for include in includes_of(path):
            problem = check_include(rooms, room, include)
            if problem is None and include.path.startswith("m0/") and resolve(root, include) is None:
                problem = f'"{include.path}" does not exist'
            if problem:
                problems.append(f"{where}:{include.line}: {problem}")
    return problems


def check_public_header(root: Path) -> list[str]:
    """The front door holds includes and using-declarations, nothing else."""
    header = root / PUBLIC_HEADER
    if not header.exists():
        return []
    problems = []
    for number, line in enumerate(header.read_text().splitlines(), 1):
        code = line.partition("//")[0].strip()
        if not PUBLIC_LINE.match(code):
            problems.append(f"{PUBLIC_HEADER}:{number}: only includes and using-declarations belong here")
    for include in includes_of(header):
        if include.path.startswith("m0/") and include.path.split("/")[1] not in PUBLIC_ROOMS:
            problems.append(f"{PUBLIC_HEADER}:{include.line}: {include.path} is not for the public")
    return problems


def check_build(rooms: dict[str, Room], text: str) -> list[str]:
    """What src/m0/CMakeLists.txt links must not be more than the table allows."""
    problems = []
    for match in re.finditer(r"m0_room\(\s*(\w+)([^)]*)\)", text):
        words = match[2].split()
        if match[1] not in rooms:
            problems.append(f"src/m0/CMakeLists.txt: {match[1]} is not in the table of {TABLE}")
            continue
        linked = words[words.index("LEANS_ON") + 1 :] if "LEANS_ON" in words else []
        for other in linked:
            if other == "LIBRARIES":
                break
            if other not in rooms[match[1]].leans_on:
                problems.append(f"src/m0/CMakeLists.txt: {match[1]} links {other}, which the table does not allow")
    return problems


def check(root: Path) -> list[str]:
    try:
        rooms = read_table((root / TABLE).read_text())
    except (OSError, TableError) as problem:
        return [str(problem)]
    problems = check_table(rooms) + check_files(root, rooms, cxx_files(root)) + check_public_header(root)
    build = root / "src" / "m0" / "CMakeLists.txt"
    if build.exists():
        problems += check_build(rooms, build.read_text())
    return problems
