"""Counting one answer: a nomination counts for every plugin that looked at it."""

from pathlib import Path

import pytest
from tenure.server.telemetry.requeue_metrics import count
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse, SnapshotWarning
from tenure.wire.enum_labels import enum_label

from tests.server.telemetry.captured_telemetry import Counts, count_metrics

NOMINATED = "kai_scheduler_requeue_nominations_total"
SKIPPED = "kai_scheduler_requeue_nomination_skipped_total"
COMMITTED = "kai_scheduler_requeue_committed_total"
ROLLED_BACK = "kai_scheduler_requeue_rolled_back_total"
WARNINGS = "tenure_snapshot_warnings_total"

BOTH = ("expectedruntime", "idle")


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    count_metrics()


def response_with(result: str, skip_reason: str = "UNSPECIFIED") -> pb.Nomination:
    return pb.Nomination(
        pod_group="job",
        result=f"NOMINATION_RESULT_{result}",
        skip_reason=f"NOMINATION_SKIP_REASON_{skip_reason}",
        nominated_by=BOTH,
        reason=pb.Reason(source="requeue"),
    )


def response_without_job(result: str, skip_reason: str = "UNSPECIFIED") -> pb.Nomination:
    return pb.Nomination(
        pod_group="job",
        result=f"NOMINATION_RESULT_{result}",
        skip_reason=f"NOMINATION_SKIP_REASON_{skip_reason}",
        reason=pb.Reason(source=", ".join(BOTH)),
    )


def nominated_by_two_plugins(*names: str) -> Counts:
    return {(name, plugin): 1 for name in names for plugin in BOTH}


@pytest.mark.parametrize(
    ("nomination", "counts"),
    [
        (response_without_job("NOT_DUE"), {}),
        (response_without_job("SKIPPED", "COOLDOWN"), {(SKIPPED, plugin, "cooldown"): 1 for plugin in BOTH}),
        (response_with("NO_CONTENDER"), nominated_by_two_plugins(NOMINATED)),
        (response_with("NO_BENEFIT"), nominated_by_two_plugins(NOMINATED, ROLLED_BACK)),
        (response_with("PROTECTED"), nominated_by_two_plugins(NOMINATED)),
        (
            response_with("PROTECTED", "MINRUNTIME_PROTECTED"),
            nominated_by_two_plugins(NOMINATED)
            | {(SKIPPED, plugin, "minruntime_protected"): 1 for plugin in BOTH},
        ),
        (response_with("REQUEUED"), nominated_by_two_plugins(NOMINATED, COMMITTED)),
        (response_with("BUDGET_EXHAUSTED"), nominated_by_two_plugins(NOMINATED)),
        (response_with("ALREADY_MOVED"), nominated_by_two_plugins(NOMINATED)),
    ],
    ids=lambda given: pb.NominationResult.Name(given.result) if isinstance(given, pb.Nomination) else "",
)
def test_every_result_counts_once_for_each_plugin_r12_64(nomination: pb.Nomination, counts: Counts) -> None:
    count(DecideResponse(nominations=[nomination]))
    assert count_metrics() == counts


def test_nominations_are_counted_by_plugin() -> None:
    one = response_with("NO_CONTENDER")
    one.nominated_by[:] = ["expectedruntime"]
    count(DecideResponse(nominations=[one, response_with("NO_CONTENDER"), response_without_job("NOT_DUE")]))
    assert count_metrics() == {(NOMINATED, "expectedruntime"): 2, (NOMINATED, "idle"): 1}


def test_skipped_nominations_are_counted_by_plugin_and_reason() -> None:
    skips = [response_without_job("SKIPPED", reason) for reason in ("COOLDOWN", "NOT_RUNNING", "COOLDOWN")]
    skips[2].reason.source = "expectedruntime"
    count(DecideResponse(nominations=skips))
    assert count_metrics() == {
        (SKIPPED, "expectedruntime", "cooldown"): 2,
        (SKIPPED, "idle", "cooldown"): 1,
        (SKIPPED, "expectedruntime", "not_running"): 1,
        (SKIPPED, "idle", "not_running"): 1,
    }


def test_warnings_count_pod_groups_and_not_only_those_they_name() -> None:
    warning = SnapshotWarning(code="WARNING_CODE_LEGACY_PREEMPTIBILITY", pod_groups=["a", "b"], count=250)
    count(DecideResponse(warnings=[warning]))
    assert count_metrics() == {(WARNINGS, "legacy_preemptibility"): 250}


@pytest.mark.parametrize("value", [999, -1])
def test_unknown_code_has_label_other(value: int) -> None:
    assert enum_label(pb.NominationSkipReason, value) == "other"


def test_the_documentation_names_every_counter_and_reason() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text()
    reasons = [
        enum_label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value
    ]
    names = [NOMINATED, SKIPPED, COMMITTED, ROLLED_BACK, WARNINGS, *reasons]
    assert [name for name in names if f"`{name}`" not in page] == []
