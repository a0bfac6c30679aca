"""What the numbers were taken on: machine, versions, commit."""

import json
import os
import platform
import subprocess
from pathlib import Path

from .servers import M0SERVE, PYTHON, ROOT, TOOLS, VENV

_CALIBRATION = """
import hashlib, json, time

def loops(count):
    for _ in range(count):
        pass

def best(work, amount):
    times = []
    for _ in range(25):
        start = time.perf_counter()
        work(amount)
        times.append(time.perf_counter() - start)
    return amount / min(times)

def rounds(count):
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", count)

print(json.dumps({"loops_per_ms": int(best(loops, 100000) / 1e3), "hash_rounds": int(best(rounds, 20000) * 0.2)}))
"""


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).strip()


def _field(path: str, name: str) -> str:
    lines = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def describe() -> dict[str, object]:
    system = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "system": system.get("PRETTY_NAME", "").strip('"'),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    modules = (
        "import django, flask, gunicorn, importlib.metadata as m; print(django.__version__, "
        "m.version('flask'), gunicorn.__version__)"
    )
    django, flask, gunicorn = (_said(PYTHON, "-c", modules).split() + ["", "", ""])[:3]
    return {
        "python": _said(PYTHON, "--version").removeprefix("Python "),
        "m0serve": _said(str(M0SERVE), "--version"),
        "granian": _said(str(VENV / "bin" / "granian"), "--version"),
        "gunicorn": gunicorn,
        "uwsgi": _said("uwsgi", "--version"),
        "django": django,
        "flask": flask,
        "wrk": " ".join(_said("wrk", "--version").split()[1:2]),
    }


def compiler() -> dict[str, str]:
    """Of the build tree that the native programs come from."""
    try:
        cache = (TOOLS.parent / "CMakeCache.txt").read_text().splitlines()
    except OSError:
        return {}
    values = {line.partition(":")[0]: line.partition("=")[2] for line in cache if ":" in line and "=" in line}
    path = values.get("CMAKE_CXX_COMPILER", "")
    return {
        "compiler": _said(path, "--version").partition("\n")[0] if path else "",
        "build_type": values.get("CMAKE_BUILD_TYPE", ""),
    }


def commit() -> dict[str, object]:
    return {
        "commit": _said("git", "rev-parse", "HEAD"),
        "modified": bool(_said("git", "status", "--porcelain", "--", "src", "include", "python", "bench")),
    }


def calibrate() -> dict[str, int]:
    """How much work 1 ms of Python and 200 ms of hashing are here, with the interpreter that serves."""
    done = subprocess.run([PYTHON, "-c", _CALIBRATION], capture_output=True, text=True, check=True)
    told: dict[str, int] = json.loads(done.stdout)
    return told
