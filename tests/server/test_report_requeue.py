"""The report of a decision: who ran longer than expected, who is requeued, and what was doubtful."""

from io import StringIO

import pytest
from rich.console import Console
from tenure.server.engine import Engine
from tenure.server.report import print_report
from tenure.solver.registry import default_profile
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse, SnapshotWarning
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.requeue_stories import HOUR, NOW, STORIES, add_contender, one_job


def report(snapshot: ClusterSnapshot, *actions: str, width: int = 100) -> str:
    request = DecideRequest(snapshot=snapshot, actions=actions or ["requeue"])
    return text_of(snapshot, Engine(default_profile()).decide(request), width)


def text_of(snapshot: ClusterSnapshot, response: DecideResponse, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width)
    print_report(console, snapshot, response)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def wanted(delay: int = 600) -> ClusterSnapshot:
    """Late by an hour, and another job of higher priority fits in its place."""
    snapshot = one_job()
    snapshot.pod_groups[0].requeue_delay.FromSeconds(delay)
    add_contender(snapshot)
    return snapshot


@pytest.mark.parametrize(
    "fact",
    [
        "1 starts as soon as 1 pod of others leaves; 1 that ran longer than expected returns to its queue.",
        "training-job 1 urgent ran longer than expected, the other has a higher priority",
        "training-job 1h goes back to its queue for urgent, not again before 22:23 UTC",
    ],
)
def test_a_requeue_is_told_in_headline_yields_and_its_own_section(fact: str) -> None:
    assert fact in flat(report(wanted()))


def test_without_a_delay_no_time_is_named() -> None:
    assert "goes back to its queue for urgent" in report(wanted(delay=0))
    assert "not again before" not in report(wanted(delay=0))


def told(name: str) -> str:
    snapshot = one_job()
    STORIES[name].change(snapshot)
    return flat(report(snapshot))


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("cooldown", "training-job 1h keeps running: cooldown until 22:13 UTC"),
        (
            "minruntime_protected",
            "training-job 1h keeps running: training-job is protected for another 1h by queue left; "
            "may change at 23:13 UTC",
        ),
        (
            "invalid_not_before",
            "training-job 1h keeps running: annotation kai.scheduler/requeue-not-before: 'soon' is not",
        ),
    ],
)
def test_who_is_late_and_keeps_running_is_told_why_and_until_when(name: str, fact: str) -> None:
    assert fact in told(name)


@pytest.mark.parametrize(
    "name", ["missing_start", "invalid_duration", "not_running", "not_preemptible", "clock_skew"]
)
def test_who_is_not_late_is_not_in_the_section(name: str) -> None:
    assert "Ran longer than expected" not in told(name)


def test_late_and_nobody_waits() -> None:
    assert "training-job 1h keeps running: no pod group of higher priority waits" in flat(report(one_job()))


def test_another_action_went_first() -> None:
    text = flat(report(wanted(), "preempt", "requeue"))
    assert "training-job 1h another action of this cycle already moved or evicted pods of it" in text


def test_nobody_returns_nothing_is_said_of_it() -> None:
    assert "return" not in report(one_job())


def test_those_that_are_requeued_come_first_and_then_the_latest() -> None:
    snapshot = wanted()
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
    section = report(snapshot).partition("Ran longer than expected")[2]
    places = [section.index(name) for name in ("training-job", "hours-3", "hours-2", "hours-1")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        (
            "invalid_duration",
            "invalid expected runtime 1 training-job annotation kai.scheduler/expected-runtime: '5' is not a",
        ),
        ("missing_start", "missing start time 1 training-job nobody says since when these pod groups run"),
        ("clock_skew", "clock skew 1 training-job these pod groups start after the time of the snapshot"),
    ],
)
def test_doubts_are_told_in_words(name: str, fact: str) -> None:
    assert fact in told(name)


def test_doubts_of_one_kind_share_a_line_that_names_the_first_few() -> None:
    snapshot = one_job()
    for i in range(5):
        group = snapshot.pod_groups.add(uid=f"g{i}", name=f"g{i}", queue="left")
        group.creation_time.seconds = 1
        group.annotations["kai.scheduler/expected-runtime"] = f"{i}"
    text = flat(report(snapshot))
    assert "invalid expected runtime 5 g0, g1, g2 and 2 more" in text
    assert "legacy preemptibility 5 g0, g1, g2 and 2 more nothing says whether" in text


def test_a_doubt_names_fewer_than_it_counts() -> None:
    warning = SnapshotWarning(code="WARNING_CODE_CLOCK_SKEW", pod_groups=["job"], count=1_234, message="m")
    assert "clock skew 1,234 training-job and 1,233 more m" in flat(
        text_of(one_job(), DecideResponse(warnings=[warning]))
    )


def test_a_doubt_of_a_later_version_is_told_by_its_message() -> None:
    answer = DecideResponse(warnings=[SnapshotWarning(code=999, count=2, message="new")])  # type: ignore[arg-type]
    assert "other 2 2 more new" in flat(text_of(one_job(), answer))


def test_nothing_doubtful_no_section() -> None:
    assert "Doubtful" not in report(one_job())


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", STORIES)
def test_no_line_is_wider_than_the_terminal_and_the_text_is_always_the_same(name: str, width: int) -> None:
    snapshot = one_job()
    STORIES[name].change(snapshot)
    text = report(snapshot, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text == report(snapshot, width=width)


def test_the_time_to_ask_again_is_shown() -> None:
    snapshot = one_job()
    snapshot.pod_groups[0].last_start_time.FromSeconds(NOW - HOUR + 120)
    assert "Ask again at 22:15 UTC: time alone may change the answer then." in flat(report(snapshot))
