"""Every case that docs/rfc9112.md names is in the tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def existing_cases() -> set[str]:
    cases: set[str] = set()
    for path in (ROOT / "src" / "m0" / "http").glob("*_test.cpp"):
        text = path.read_text()
        cases.update(f"{suite}/{name}" for suite, name in re.findall(r"^TEST(?:_F)?\((\w+),\s*(\w+)\)", text, re.M))
        for suite, table in re.findall(r"^M0_HTTP_CASES\((\w+), \w+, (\w+)\)", text, re.M):
            entries = re.search(rf"{table} = \{{\n(.*?)^\}};", text, re.M | re.S)
            assert entries, f"{path.name} has no table {table}"
            cases.update(f"{suite}/{name}" for name in re.findall(r'^    \{"([^"]+)",', entries[1], re.M))
    return cases


def test_every_named_case_exists() -> None:
    rows = [line for line in (ROOT / "docs" / "rfc9112.md").read_text().splitlines() if line.startswith("| ")]
    named = [re.findall(r"`([^`]+/[^`]+)`", row.rsplit("|", 2)[1]) for row in rows if "| cases |" not in row]
    assert len(named) > 40
    assert all(named), "a row names no case"
    cases = existing_cases()
    assert len(cases) > 400
    missing = sorted({name for row in named for name in row} - cases)
    assert not missing
