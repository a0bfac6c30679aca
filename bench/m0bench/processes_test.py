import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from . import processes

# Waits for a child that burns; the name of the parent holds what would confuse a careless reader of stat.
_PARENT = """
import subprocess, sys
open("/proc/self/comm", "w").write("a) 1 (b")
child = subprocess.Popen([sys.executable, "-c", "print('up', flush=True)\\nwhile True: pass"])
child.wait()
"""


@pytest.fixture
def family() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        yield process.pid
    finally:
        for pid in reversed(processes.tree(process.pid)):
            subprocess.run(["kill", "-9", str(pid)], check=True)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_the_tree_is_the_process_and_its_child(family: int) -> None:
    assert len(processes.tree(family)) == 2
    assert processes.threads(family) == 2


def test_cpu_counts_the_whole_tree(family: int) -> None:
    tick = os.sysconf("SC_CLK_TCK")
    enough = tick // 5

    def ticks(pid: int) -> int:
        """Whole ones: 0.21 is less than 0.01 + 0.2."""
        return round(processes.cpu_seconds(pid) * tick)

    parent, child = processes.tree(family)
    before, child_before = ticks(parent), ticks(child)
    deadline = time.monotonic() + 20
    while ticks(child) < child_before + enough:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert ticks(parent) >= before + enough


def test_memory_counts_the_whole_tree(family: int) -> None:
    parent, child = processes.tree(family)
    assert processes.rss_kib(parent) > 1.5 * processes.rss_kib(child) > 1000


def test_a_process_that_is_gone_has_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert processes.cpu_seconds(process.pid) == 0
    assert processes.rss_kib(process.pid) == 0
