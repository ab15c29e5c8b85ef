"""Counting one answer: a nomination counts for every plugin that looked at it."""

from pathlib import Path

import pytest
from tenure.server.labels import label
from tenure.server.telemetry.requeue_metrics import count
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideResponse, SnapshotWarning

from tests.server.recorded import Counts, counted

NOMINATED = "kai_scheduler_requeue_nominations_total"
SKIPPED = "kai_scheduler_requeue_nomination_skipped_total"
COMMITTED = "kai_scheduler_requeue_committed_total"
ROLLED_BACK = "kai_scheduler_requeue_rolled_back_total"
WARNINGS = "tenure_snapshot_warnings_total"

BOTH = ("expectedruntime", "idle")


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    counted()


def nominated(result: str, skip_reason: str = "UNSPECIFIED") -> pb.Nomination:
    return pb.Nomination(
        pod_group="job",
        result=f"NOMINATION_RESULT_{result}",
        skip_reason=f"NOMINATION_SKIP_REASON_{skip_reason}",
        nominated_by=BOTH,
        reason=pb.Reason(source="requeue"),
    )


def left_out(result: str, skip_reason: str = "UNSPECIFIED") -> pb.Nomination:
    return pb.Nomination(
        pod_group="job",
        result=f"NOMINATION_RESULT_{result}",
        skip_reason=f"NOMINATION_SKIP_REASON_{skip_reason}",
        reason=pb.Reason(source=", ".join(BOTH)),
    )


def by_both(*names: str) -> Counts:
    return {(name, plugin): 1 for name in names for plugin in BOTH}


@pytest.mark.parametrize(
    ("nomination", "counts"),
    [
        (left_out("NOT_DUE"), {}),
        (left_out("SKIPPED", "COOLDOWN"), {(SKIPPED, plugin, "cooldown"): 1 for plugin in BOTH}),
        (nominated("NO_CONTENDER"), by_both(NOMINATED)),
        (nominated("NO_BENEFIT"), by_both(NOMINATED, ROLLED_BACK)),
        (nominated("PROTECTED"), by_both(NOMINATED)),
        (
            nominated("PROTECTED", "MINRUNTIME_PROTECTED"),
            by_both(NOMINATED) | {(SKIPPED, plugin, "minruntime_protected"): 1 for plugin in BOTH},
        ),
        (nominated("REQUEUED"), by_both(NOMINATED, COMMITTED)),
        (nominated("BUDGET_EXHAUSTED"), by_both(NOMINATED)),
        (nominated("ALREADY_MOVED"), by_both(NOMINATED)),
    ],
    ids=lambda given: pb.NominationResult.Name(given.result) if isinstance(given, pb.Nomination) else "",
)
def test_every_result_counts_once_for_each_plugin_r12_64(nomination: pb.Nomination, counts: Counts) -> None:
    count(DecideResponse(nominations=[nomination]))
    assert counted() == counts


def test_nominations_are_counted_by_plugin() -> None:
    one = nominated("NO_CONTENDER")
    one.nominated_by[:] = ["expectedruntime"]
    count(DecideResponse(nominations=[one, nominated("NO_CONTENDER"), left_out("NOT_DUE")]))
    assert counted() == {(NOMINATED, "expectedruntime"): 2, (NOMINATED, "idle"): 1}


def test_skipped_nominations_are_counted_by_plugin_and_reason() -> None:
    skips = [left_out("SKIPPED", reason) for reason in ("COOLDOWN", "NOT_RUNNING", "COOLDOWN")]
    skips[2].reason.source = "expectedruntime"
    count(DecideResponse(nominations=skips))
    assert counted() == {
        (SKIPPED, "expectedruntime", "cooldown"): 2,
        (SKIPPED, "idle", "cooldown"): 1,
        (SKIPPED, "expectedruntime", "not_running"): 1,
        (SKIPPED, "idle", "not_running"): 1,
    }


def test_warnings_count_pod_groups_and_not_only_those_they_name() -> None:
    warning = SnapshotWarning(code="WARNING_CODE_LEGACY_PREEMPTIBILITY", pod_groups=["a", "b"], count=250)
    count(DecideResponse(warnings=[warning]))
    assert counted() == {(WARNINGS, "legacy_preemptibility"): 250}


@pytest.mark.parametrize("value", [999, -1])
def test_a_code_of_a_later_version_makes_no_new_label(value: int) -> None:
    assert label(pb.NominationSkipReason, value) == "other"


def test_the_documentation_names_every_counter_and_reason() -> None:
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text()
    reasons = [label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value]
    names = [NOMINATED, SKIPPED, COMMITTED, ROLLED_BACK, WARNINGS, *reasons]
    assert [name for name in names if f"`{name}`" not in page] == []
