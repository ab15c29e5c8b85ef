"""Minimum runtimes of a queue, from a snapshot file to the solver: unset, zero, and a duration."""

from pathlib import Path

import pytest
from tenure.client.snapshot_file import read_snapshot
from tenure.codec.decode import decode_snapshot
from tenure.solver.model.queue import Queue
from tenure.terms.durations import SECOND
from tenure.wire.violations import SnapshotValidationError

FILE = """
clusterId: test
now: 2025-06-15T12:00:00Z
queues:
- name: production
"""


def queue(folder: Path, fields: str) -> Queue:
    """The only queue of a snapshot file, in the model of the solver."""
    file = folder / "snapshot.yaml"
    file.write_text(f"{FILE}  {fields}\n")
    (found,) = decode_snapshot(read_snapshot(str(file))).queues
    return found


WRITTEN = {
    "the documentation's example": (
        'preemptMinRuntime: "20s"\n  reclaimMinRuntime: "30s"',
        20 * SECOND,
        30 * SECOND,
    ),
    "names of the contract": ("reclaim_min_runtime: 600s", None, 600 * SECOND),
    "R7.4 unset: to be inherited": ("priority: 100", None, None),
    "R7.4 null: to be inherited": ("reclaimMinRuntime: null", None, None),
    "R7.4 an explicit zero is a value": ("reclaimMinRuntime: 0s\n  preemptMinRuntime: 0s", 0, 0),
    "less than a second": ("preemptMinRuntime: 0.5s", SECOND // 2, None),
}


@pytest.mark.parametrize(("fields", "preempt", "reclaim"), WRITTEN.values(), ids=WRITTEN)
def test_values_of_the_file_reach_the_solver(
    fields: str, preempt: int | None, reclaim: int | None, tmp_path: Path
) -> None:
    found = queue(tmp_path, fields)
    assert (found.facts.preempt_min_runtime, found.facts.reclaim_min_runtime) == (preempt, reclaim)


@pytest.mark.parametrize("field", ["preemptMinRuntime", "reclaimMinRuntime"])
def test_bare_number_is_rejected_with_its_path(field: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"queues\[0\].{field}"):
        queue(tmp_path, f"{field}: 600")


@pytest.mark.parametrize("field", ["preempt_min_runtime", "reclaim_min_runtime"])
def test_negative_minimum_is_rejected_with_its_path(field: str, tmp_path: Path) -> None:
    with pytest.raises(SnapshotValidationError) as refused:
        queue(tmp_path, f"{field}: -5s")
    ((path, problem),) = [(each.field, each.description) for each in refused.value.violations]
    assert (path, problem) == (f"queues[0].{field}", "is negative")
