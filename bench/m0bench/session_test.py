import json
from pathlib import Path

from .session import Results


def test_results_hold_the_facts_and_what_was_measured_last(tmp_path: Path) -> None:
    results = Results("probe", True, tmp_path / "new", plan={"runs": 3})
    results.write(cells=[1])
    results.write(cells=[1, 2])
    assert results.path.parent == tmp_path / "new"
    assert results.path.name.startswith("probe-") and results.path.name.endswith("Z.json")
    told = json.loads(results.path.read_text())
    assert told["cells"] == [1, 2] and told["plan"] == {"runs": 3}
    assert {"format", "date", "commit", "modified", "machine"} <= told.keys()
