"""Expected operation counters and outcomes of every case: `counters.json`, written from one run."""

import json
from pathlib import Path
from typing import Any, Final

from tests.bench.sample import Sample

FILE: Final = Path(__file__).with_name("counters.json")


def load_counters() -> dict[str, Any]:
    """Return the entries of the file, by name of the case."""
    content: dict[str, Any] = json.loads(FILE.read_text())
    return content


def entry(sample: Sample) -> dict[str, Any]:
    """Return the entry of a case."""
    return {"counters": sample.counters, **sample.outcome}


def differences(sample: Sample) -> list[str]:
    """Return the differences from the file, one line each. A case that is missing there is a difference."""
    expected, found = load_counters().get(sample.case), entry(sample)
    if expected is None:
        return [f"{sample.case}: not in {FILE.name}"]
    return [
        f"{sample.case}: {name} should be {expected.get(name)}, is {found[name]}"
        for name in found
        if found[name] != expected.get(name)
    ]


def store_counters(samples: list[Sample]) -> None:
    """Write these cases into the file; other entries do not change."""
    content = {**load_counters(), **{sample.case: entry(sample) for sample in samples}}
    lines = [f"{json.dumps(name)}: {json.dumps(content[name], sort_keys=True)}" for name in sorted(content)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
