"""The walls: a small house in a temporary folder, broken in one place a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tooling import rooms
from tooling.sources import includes_in, includes_of

ROOT = Path(__file__).resolve().parents[2]

TABLE = """
| floor | room | what it is | leans on |
|---|---|---|---|
| 8 | `python/` | a door | handler, http, base |
| 8 | `native/` | a door | handler, http, base |
| 3 | `handler/` | a table | http, pool, base |
| 2 | `http/` | bytes | base |
| 2 | `pool/` | threads | base |
| 1 | `base/` | ground | - |
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text(TABLE)
    for room in ("python", "native", "handler", "http", "pool", "base"):
        (tmp_path / "src" / "m0" / room).mkdir(parents=True)
        (tmp_path / "src" / "m0" / room / "thing.hpp").write_text("#pragma once\n#include <string>\n")
    (tmp_path / "include" / "m0").mkdir(parents=True)
    return tmp_path


def add(house: Path, path: str, text: str) -> None:
    (house / path).write_text(text)
    includes_of.cache_clear()


def test_a_house_in_order_has_no_problem(house: Path) -> None:
    add(house, "src/m0/handler/use.cpp", '#include "m0/http/thing.hpp"\n#include "m0/handler/thing.hpp"\n')
    add(house, "src/m0/python/door.cpp", '#include <Python.h>\n#include "m0/handler/thing.hpp"\n')
    assert rooms.check(house) == []


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("http/x.cpp", '#include "m0/pool/thing.hpp"\n', "http leans on base, not on pool"),
        ("base/x.cpp", '#include "m0/http/thing.hpp"\n', "base leans on nothing, not on http"),
        ("http/x.cpp", '#include "m0/handler/thing.hpp"\n', "not on handler"),
        ("http/x.hpp", "#  include  <Python.h>\n", "Python.h belongs to python/ alone"),
        ("native/x.cpp", "#include <Python.h>\n", "Python.h belongs to python/ alone"),
        ("native/x.cpp", '#include "m0/python/thing.hpp"\n', "the two doors never include each other"),
        ("python/x.cpp", '#include "m0/native/thing.hpp"\n', "the two doors never include each other"),
        ("http/x.cpp", '#include "thing.hpp"\n', 'begins with "m0/<room>/"'),
        ("http/x.cpp", '#include "../base/thing.hpp"\n', 'begins with "m0/<room>/"'),
        ("http/x.cpp", "#include <m0/base/thing.hpp>\n", "ours is written"),
        ("http/x.cpp", '#include "m0/base/missing.hpp"\n', "does not exist"),
        ("http/x.cpp", '#include "m0/cellar/thing.hpp"\n', "cellar is no room"),
        ("http/x.cpp", '#include "m0/m0.hpp"\n', "does not include its front door"),
    ],
)
def test_a_broken_wall_is_named_with_file_and_line(house: Path, path: str, text: str, said: str) -> None:
    add(house, "include/m0/m0.hpp", "#pragma once\n")
    add(house, f"src/m0/{path}", "// first line\n" + text)
    problems = rooms.check(house)
    assert len(problems) == 1
    assert problems[0].startswith(f"src/m0/{path}:2: ")
    assert said in problems[0]


def test_a_room_that_is_not_in_the_table(house: Path) -> None:
    (house / "src" / "m0" / "cellar").mkdir()
    add(house, "src/m0/cellar/x.cpp", "\n")
    assert rooms.check(house) == ["src/m0/cellar/x.cpp: cellar is not in the table of docs/architecture.md"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("| 2 | `http/` | bytes | base |", "| 2 | `http/` | bytes | base, pool |", "must lean on base alone"),
        ("| 1 | `base/` | ground | - |", "| 1 | `base/` | ground | http |", "leans on http (floor 2)"),
        ("| 2 | `pool/` | threads | base |", "| 2 | `pool/` | threads | cellar |", "cellar, which is no room"),
        ("| 2 | `pool/` | threads | base |", "| 2 | `http/` | threads | base |", "stands in the table twice"),
    ],
)
def test_the_table_itself_points_down_only(house: Path, old: str, new: str, said: str) -> None:
    text = TABLE.replace(old, new)
    assert text != TABLE
    add(house, "docs/architecture.md", text)
    assert any(said in problem for problem in rooms.check(house))


def test_a_missing_table_is_a_problem(house: Path) -> None:
    add(house, "docs/architecture.md", "nothing here\n")
    assert rooms.check(house) == ["no room table was found in docs/architecture.md"]


def test_the_front_door_holds_includes_and_using_declarations(house: Path) -> None:
    fine = '#pragma once\n// why\n#include "m0/handler/thing.hpp"\nnamespace m0 {\nusing handler::Request;\n}  // namespace m0\n'
    add(house, "include/m0/m0.hpp", fine)
    assert rooms.check(house) == []
    add(house, "include/m0/m0.hpp", fine + "inline int answer() { return 42; }\n")
    assert rooms.check(house) == ["include/m0/m0.hpp:7: only includes and using-declarations belong here"]
    add(house, "include/m0/m0.hpp", '#include "m0/python/thing.hpp"\n')
    assert rooms.check(house) == ["include/m0/m0.hpp:1: m0/python/thing.hpp is not for the public"]


def test_the_build_links_no_more_than_the_table_allows(house: Path) -> None:
    add(
        house,
        "src/m0/CMakeLists.txt",
        "m0_room(base)\nm0_room(http LEANS_ON base)\nm0_room(pool LEANS_ON base LIBRARIES x)\n",
    )
    assert rooms.check(house) == []
    add(house, "src/m0/CMakeLists.txt", "m0_room(http LEANS_ON base\n  pool)\n")
    assert rooms.check(house) == ["src/m0/CMakeLists.txt: http links pool, which the table does not allow"]


def test_includes_are_found_at_their_line() -> None:
    found = list(includes_in('\n#include "m0/a/b.hpp"  // why\n// #include "no.hpp"\n  # include <vector>\n'))
    assert [(include.path, include.line, include.quoted) for include in found] == [
        ("m0/a/b.hpp", 2, True),
        ("vector", 4, False),
    ]


def test_the_command_fails_with_the_problem(house: Path) -> None:
    add(house, "src/m0/http/x.cpp", '#include "m0/pool/thing.hpp"\n')
    done = subprocess.run([ROOT / "scripts" / "lint_rooms", house], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "http leans on base, not on pool" in done.stdout


def test_the_real_house_is_in_order() -> None:
    assert rooms.check(ROOT) == []
