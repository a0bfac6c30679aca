"""Runs autobahntestsuite against the mirror, and sums up: by hand, for it needs a Python 2.7 (docs/websocket-conformance.md).

tests/clients/autobahn.py PYTHON2 [CASES], as in "tests/clients/autobahn.py python2.7 '9.*'"
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.server import ROOT, serving  # noqa: E402

HOME = ROOT / "build" / "autobahn"
RUN = """
import sys
sys.argv = ["wstest", "-m", "fuzzingclient", "-s", "spec.json"]
from autobahntestsuite import wstest
wstest.run()
"""


def install(python: str) -> None:
    packages = HOME / "packages"
    if packages.exists():
        return
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--target", packages, "autobahntestsuite==25.10.1"], check=True
    )
    (packages / "zope" / "__init__.py").touch()  # a namespace that only an installed package would be


def main(python: str, cases: str = "*") -> int:
    HOME.mkdir(parents=True, exist_ok=True)
    install(python)
    # What its largest messages need.
    with serving(HOME, "mirror", "--max-message", "16M") as server:
        target = {"agent": "m0serve", "url": f"ws://127.0.0.1:{server.port}/"}
        spec = {
            "outdir": "./reports",
            "servers": [target],
            "cases": [cases],
            "exclude-cases": [],
            "exclude-agent-cases": {},
        }
        (HOME / "spec.json").write_text(json.dumps(spec))
        subprocess.run([python, "-c", RUN], cwd=HOME, env={"PYTHONPATH": str(HOME / "packages")}, check=True)
    found = json.loads((HOME / "reports" / "index.json").read_text())["m0serve"]
    for case, result in sorted(found.items()):
        if result["behavior"] != "OK" or result["behaviorClose"] != "OK":
            print(case, result["behavior"], result["behaviorClose"])
    print(dict(Counter(result["behavior"] for result in found.values())))
    return int(any("FAILED" in (result["behavior"], result["behaviorClose"]) for result in found.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
