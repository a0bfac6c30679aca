"""All rows, in the order of the specifications."""

from __future__ import annotations

from collections import Counter

from . import deflated, endings, frames, openings, texts
from .rows import Row

ROWS: list[Row] = [*openings.ROWS, *frames.ROWS, *texts.ROWS, *endings.ROWS, *deflated.ROWS]


def counts() -> dict[str, int]:
    """Rows of each group."""
    return dict(Counter(row.group for row in ROWS))
