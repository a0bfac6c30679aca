"""How what a sanitizer built is started."""

from __future__ import annotations

import subprocess
from pathlib import Path

# A report is a failure: the process ends. Leaks are looked for in our own test binaries.
ADDRESS = "abort_on_error=0:exitcode=86:detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
UNDEFINED = "print_stacktrace=1:halt_on_error=1"
THREAD = "exitcode=86:halt_on_error=0:second_deadlock_stack=1"
SYMBOLIZER = "/usr/bin/llvm-symbolizer-19"


def environment(preset: str) -> dict[str, str]:
    if preset == "asan":
        symbolizer = f":external_symbolizer_path={SYMBOLIZER}"
        return {"ASAN_OPTIONS": ADDRESS + symbolizer, "UBSAN_OPTIONS": UNDEFINED + symbolizer}
    if preset == "tsan":
        return {"TSAN_OPTIONS": f"{THREAD}:external_symbolizer_path={SYMBOLIZER}"}
    return {}


def launcher(preset: str, tree: Path) -> Path:
    """The server's command. The interpreter is not sanitized: for asan a wrapper preloads the runtime into it."""
    plain = tree / "m0serve"
    if preset != "asan" or not plain.exists():
        return plain
    runtime = subprocess.run(
        ["clang++-19", "-print-file-name=libclang_rt.asan-x86_64.so"], check=True, capture_output=True, text=True
    ).stdout.strip()
    # The C++ runtime is preloaded too: the interceptor of throw looks for it before the module brings it along.
    cxx = subprocess.run(
        ["g++", "-print-file-name=libstdc++.so.6"], check=True, capture_output=True, text=True
    ).stdout.strip()
    # CPython leaks on purpose at exit, and its own allocator would hide our errors.
    options = ADDRESS.replace("detect_leaks=1", "detect_leaks=0") + f":external_symbolizer_path={SYMBOLIZER}"
    wrapper = tree / "m0serve-preloaded"
    wrapper.write_text(
        "#!/bin/sh\n"
        f'export LD_PRELOAD="{runtime} {cxx}" PYTHONMALLOC=malloc\n'
        f'export ASAN_OPTIONS="{options}" UBSAN_OPTIONS="{UNDEFINED}"\n'
        f'exec "{plain}" "$@"\n'
    )
    wrapper.chmod(0o755)
    return wrapper
