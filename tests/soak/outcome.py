"""What a run measured, and what of it did not hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Outcome:
    measured: dict[str, Any] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def note(self, **measured: Any) -> None:
        self.measured.update(measured)

    def expect(self, holds: bool, statement: str) -> None:
        if not holds:
            self.broken.append(statement)

    def at_most(self, name: str, value: float, bound: float, statement: str) -> None:
        self.note(**{name: value})
        self.expect(value <= bound, f"{statement}: {value:.4g}, allowed {bound:.4g}")
