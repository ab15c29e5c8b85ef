"""Metrics and logs of requeue after calls to a real server, with names, labels and words of the proposal."""

import logging
from collections.abc import Callable, Iterator

import pytest
from prometheus_client import REGISTRY
from tenure.client import Client
from tenure.server.labels import label
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.recorded import Counts, counted, lines
from tests.server.requeue_stories import NOW, STORIES, Story, add_contender, one_job
from tests.server.running import server_here

NOMINATED = "kai_scheduler_requeue_nominations_total"
SKIPPED = "kai_scheduler_requeue_nomination_skipped_total"
COMMITTED = "kai_scheduler_requeue_committed_total"
ROLLED_BACK = "kai_scheduler_requeue_rolled_back_total"
WARNINGS = "tenure_snapshot_warnings_total"
PLUGIN = "expectedruntime"
JOB = "job=training-job/default"

Decide = Callable[..., DecideResponse]


@pytest.fixture
def decide(caplog: pytest.LogCaptureFixture) -> Iterator[Decide]:
    """Asks a server of its own for the action requeue alone; all that came before is forgotten."""
    counted()
    caplog.set_level(logging.DEBUG, "tenure")
    with server_here() as (_, address), Client(address) as client:
        yield lambda snapshot, *actions: client.decide(snapshot, actions or ["requeue"])


def above_debug(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [line for line in lines(caplog.records) if line[0] != "DEBUG"]


def of_the_job(answer: DecideResponse) -> pb.Nomination:
    (nomination,) = [each for each in answer.nominations if each.pod_group == "job"]
    return nomination


@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
def test_every_reason_is_a_label(story: Story, decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = one_job()
    story.change(snapshot)
    nomination = of_the_job(decide(snapshot))
    assert (nomination.result, nomination.skip_reason) == story.nomination
    expected: Counts = {(SKIPPED, PLUGIN, story.reason): 1}
    if story.warning:
        expected[WARNINGS, story.warning] = 1
    skipped = f"Requeue nomination skipped: {JOB}, reason={story.reason}"
    written = [(story.level, f"{skipped}, error={story.error}" if story.error else skipped)]
    if story.result != "SKIPPED":
        expected[NOMINATED, PLUGIN] = 1
        written.insert(0, ("INFO", f"Requeue candidate nominated: {JOB}, plugin={PLUGIN}"))
    assert counted() == expected
    assert above_debug(caplog) == written


def test_reasons_are_those_of_the_contract() -> None:
    reasons = {label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value}
    assert {story.reason for story in STORIES.values()} == reasons


def late() -> ClusterSnapshot:
    return one_job()


def late_and_wanted() -> ClusterSnapshot:
    snapshot = one_job()
    add_contender(snapshot)
    return snapshot


def late_and_of_no_use() -> ClusterSnapshot:
    """The one that waits has a pod that fits on no node."""
    snapshot = late_and_wanted()
    snapshot.shapes.add(id="huge").gpu.devices = 2
    snapshot.pods[-1].shape = "huge"
    return snapshot


def due_in_a_second() -> ClusterSnapshot:
    snapshot = one_job()
    snapshot.pod_groups[0].last_start_time.FromSeconds(NOW - 3_599)
    return snapshot


def silent() -> ClusterSnapshot:
    return one_job("")


@pytest.mark.parametrize(
    ("snapshot", "result", "counts"),
    [
        (late, "NO_CONTENDER", {(NOMINATED, PLUGIN): 1}),
        (late_and_wanted, "REQUEUED", {(NOMINATED, PLUGIN): 1, (COMMITTED, PLUGIN): 1}),
        (late_and_of_no_use, "NO_BENEFIT", {(NOMINATED, PLUGIN): 1, (ROLLED_BACK, PLUGIN): 1}),
        (due_in_a_second, "NOT_DUE", {}),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_metrics_of_a_cycle(
    snapshot: Callable[[], ClusterSnapshot], result: str, counts: Counts, decide: Decide
) -> None:
    assert pb.NominationResult.Name(of_the_job(decide(snapshot())).result) == f"NOMINATION_RESULT_{result}"
    assert counted() == counts


def test_who_says_nothing_is_counted_nowhere_r12_62(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    assert not decide(silent()).nominations
    assert counted() == {}
    assert lines(caplog.records) == []


def test_without_the_action_nothing_is_counted(decide: Decide) -> None:
    decide(late(), "allocate")
    assert counted() == {}


def test_every_cycle_counts_again(decide: Decide) -> None:
    for _ in range(3):
        decide(late())
    assert counted() == {(NOMINATED, PLUGIN): 3}


@pytest.mark.parametrize(
    ("snapshot", "written"),
    [
        (due_in_a_second, ["DEBUG"]),
        (late, ["INFO", "DEBUG"]),
        (late_and_wanted, ["INFO", "INFO", "DEBUG"]),
        (late_and_of_no_use, ["INFO", "DEBUG"]),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_lines_and_their_levels(
    snapshot: Callable[[], ClusterSnapshot],
    written: list[str],
    decide: Decide,
    caplog: pytest.LogCaptureFixture,
) -> None:
    decide(snapshot())
    assert [level for level, _ in lines(caplog.records)] == written


@pytest.mark.parametrize(
    ("snapshot", "line"),
    [
        (late, f"Requeue candidate nominated: {JOB}, plugin=expectedruntime"),
        (
            late_and_wanted,
            f"Requeue committed: {JOB}, contender=urgent/default, not_before=2023-11-14T22:13:20Z",
        ),
        (
            due_in_a_second,
            f"Requeue eligibility: {JOB}, result=not_due, overrun=0s, until=2023-11-14T22:13:21Z, "
            "detail=for another 1s",
        ),
        (
            late_and_of_no_use,
            f"Requeue eligibility: {JOB}, result=no_benefit, overrun=3600s, "
            "detail=evicting it would make no room for those that wait",
        ),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_lines_read_like_the_examples(
    snapshot: Callable[[], ClusterSnapshot], line: str, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    decide(snapshot())
    assert line in [text for _, text in lines(caplog.records)]


def test_a_doubtful_value_is_a_warning_once_and_information_afterwards(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        decide(one_job("0s"))
    assert [level for level, _ in above_debug(caplog)] == ["WARNING", "INFO", "INFO"]
    assert counted()[SKIPPED, PLUGIN, "invalid_duration"] == 3


def test_a_delay_that_cannot_be_read_is_warned_about(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot = late()
    snapshot.pod_groups[0].annotations["kai.scheduler/requeue-delay"] = "soon"
    for _ in range(2):
        decide(snapshot)
    (warning,) = [text for level, text in lines(caplog.records) if level == "WARNING"]
    assert warning.startswith(f"Requeue delay ignored: {JOB}, error=annotation kai.scheduler/requeue-delay: ")
    assert counted()[WARNINGS, "invalid_requeue_delay"] == 2


def test_prometheus_exposes_exactly_these_names(decide: Decide) -> None:
    decide(late_and_wanted())
    decide(late_and_of_no_use())
    decide(one_job("5"))
    exposed = {
        sample.name: sorted(key for key in sample.labels if not key.startswith("otel_scope_"))
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name.startswith(("kai_", "tenure_snapshot_"))
    }
    assert exposed == {
        "kai_scheduler_requeue_nominations_total": ["plugin"],
        "kai_scheduler_requeue_nomination_skipped_total": ["plugin", "reason"],
        "kai_scheduler_requeue_committed_total": ["plugin"],
        "kai_scheduler_requeue_rolled_back_total": ["plugin"],
        "tenure_snapshot_warnings_total": ["code"],
    }
