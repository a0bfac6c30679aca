"""What runs under load are judged by: shares of a sample, queues in the kernel, memory and CPU of a process."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from .processes import status_field


def percentile(sample: Sequence[float], share: float) -> float:
    """Nearest rank: never less than the true one."""
    ordered = sorted(sample)
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]


def resident_kib(pid: int) -> int:
    return int(status_field(pid, "VmRSS").split()[0])


def cpu_seconds(pid: int) -> float:
    """User and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def queued_bytes(port: int) -> dict[int, int]:
    """Of each connection of a server at that port, by the client's port: what lies in the kernel, on both ends.

    /proc/net/sockstat tells of memory for all of the machine, whatever the network namespace."""
    queued: dict[int, int] = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        ports = int(local.rpartition(":")[2], 16), int(remote.rpartition(":")[2], 16)
        if port in ports:
            client = ports[1] if ports[0] == port else ports[0]
            queued[client] = queued.get(client, 0) + sum(int(part, 16) for part in queues.split(":"))
    return queued
