"""The report of a decision: pod groups past their expected runtime, requeued pod groups, and warnings."""

from io import StringIO

import pytest
from rich.console import Console
from tenure.codec.engine import Engine
from tenure.render import print_report
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse, SnapshotWarning
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.telemetry.requeue_cases import HOUR, NOW, REQUEUE_CASES, add_contender, one_job


def report(snapshot: ClusterSnapshot, *actions: str, width: int = 100) -> str:
    request = DecideRequest(snapshot=snapshot, actions=actions or ["requeue"])
    return text_of(snapshot, Engine(default_profile()).decide(request).parse(), width)


def text_of(snapshot: ClusterSnapshot, response: DecideResponse, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width)
    print_report(console, snapshot, response)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def with_contender(delay: int = 600) -> ClusterSnapshot:
    """A job an hour past its expected runtime, and a contender that fits in its place."""
    snapshot = one_job()
    snapshot.pod_groups[0].requeue_delay.FromSeconds(delay)
    add_contender(snapshot)
    return snapshot


@pytest.mark.parametrize(
    "fact",
    [
        "1 pod group waiting for 1 evicted pod; 1 past expected runtime requeued.",
        "training-job 1 urgent it exceeded its expected runtime and the contender has higher priority",
        "training-job 1h requeued for urgent, not again before 22:23 UTC",
    ],
)
def test_requeue_is_in_the_headline_the_evictions_and_its_own_section(fact: str) -> None:
    assert fact in flat(report(with_contender()))


def test_requeue_without_delay_names_no_time() -> None:
    assert "requeued for urgent" in report(with_contender(delay=0))
    assert "not again before" not in report(with_contender(delay=0))


def snapshot_of(name: str) -> str:
    snapshot = one_job()
    REQUEUE_CASES[name].change(snapshot)
    return flat(report(snapshot))


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("cooldown", "training-job 1h keeps running: cooldown until 22:13 UTC"),
        (
            "minruntime_protected",
            "training-job 1h keeps running: training-job is protected by queue left; may change at 23:13 UTC",
        ),
        (
            "invalid_not_before",
            "training-job 1h keeps running: annotation kai.scheduler/requeue-not-before: 'soon' is not",
        ),
    ],
)
def test_overdue_pod_group_that_continues_has_reason_and_end(name: str, fact: str) -> None:
    assert fact in snapshot_of(name)


@pytest.mark.parametrize(
    "name", ["missing_start", "invalid_duration", "not_running", "not_preemptible", "clock_skew"]
)
def test_pod_group_within_its_expected_runtime_is_not_listed(name: str) -> None:
    assert "Past expected runtime" not in snapshot_of(name)


def test_overdue_pod_group_without_contender_continues() -> None:
    assert "training-job 1h keeps running: no pending pod group has higher priority" in flat(
        report(one_job())
    )


def test_overdue_pod_group_changed_by_another_action_is_not_requeued() -> None:
    text = flat(report(with_contender(), "preempt", "requeue"))
    assert "training-job 1h another action of this cycle already moved or evicted pods of it" in text


def test_headline_without_requeue_does_not_mention_requeues() -> None:
    assert "return" not in report(one_job())


def test_requeued_pod_groups_are_first_and_then_the_longest_overrun() -> None:
    snapshot = with_contender()
    for i in (1, 3, 2):
        group = snapshot.pod_groups.add()
        group.CopyFrom(snapshot.pod_groups[0])
        group.uid = group.name = f"hours-{i}"
        group.priority = 30
        group.last_start_time.FromSeconds(NOW - (1 + i) * HOUR)
        snapshot.nodes.add(name=f"n-{i}").allocatable.CopyFrom(snapshot.nodes[0].allocatable)
        snapshot.pods.add(
            uid=f"h{i}", pod_group=group.uid, shape="gpu", status="POD_STATUS_RUNNING", node=f"n-{i}"
        )
    section = report(snapshot).partition("Past expected runtime")[2]
    places = [section.index(name) for name in ("training-job", "hours-3", "hours-2", "hours-1")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        (
            "invalid_duration",
            "invalid expected runtime 1 training-job annotation kai.scheduler/expected-runtime: '5' is not a",
        ),
        ("missing_start", "missing start time 1 training-job start time is missing"),
        ("clock_skew", "clock skew 1 training-job start time is after the snapshot time"),
    ],
)
def test_warnings_are_described(name: str, fact: str) -> None:
    assert fact in snapshot_of(name)


def test_warnings_of_one_kind_share_a_row_with_the_first_names() -> None:
    snapshot = one_job()
    for i in range(5):
        group = snapshot.pod_groups.add(uid=f"g{i}", name=f"g{i}", queue="left")
        group.creation_time.seconds = 1
        group.annotations["kai.scheduler/expected-runtime"] = f"{i}"
    text = flat(report(snapshot))
    assert "invalid expected runtime 5 g0, g1, g2 and 2 more" in text
    assert "legacy preemptibility 5 g0, g1, g2 and 2 more preemptibility is not set" in text


def test_warning_row_counts_more_pod_groups_than_it_names() -> None:
    warning = SnapshotWarning(code="WARNING_CODE_CLOCK_SKEW", pod_groups=["job"], count=1_234, detail="m")
    assert "clock skew 1,234 training-job and 1,233 more m" in flat(
        text_of(one_job(), DecideResponse(warnings=[warning]))
    )


def test_unknown_warning_code_is_described_by_its_detail() -> None:
    answer = DecideResponse(warnings=[SnapshotWarning(code=999, count=2, detail="new")])  # type: ignore[arg-type]
    assert "other 2 2 more new" in flat(text_of(one_job(), answer))


def test_response_without_warnings_has_no_warnings_section() -> None:
    assert "Warnings" not in report(one_job())


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", REQUEUE_CASES)
def test_no_line_is_wider_than_the_terminal_and_the_text_is_always_the_same(name: str, width: int) -> None:
    snapshot = one_job()
    REQUEUE_CASES[name].change(snapshot)
    text = report(snapshot, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text == report(snapshot, width=width)


def test_next_wake_time_is_shown() -> None:
    snapshot = one_job()
    snapshot.pod_groups[0].last_start_time.FromSeconds(NOW - HOUR + 120)
    assert "Next evaluation needed at 22:15 UTC." in flat(report(snapshot))
