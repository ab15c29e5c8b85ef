"""Metrics and logs of requeue on a real server, with the names, labels and messages of the proposal."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tenure.client import Client
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_SEMI_PREEMPTIBLE, ClusterSnapshot
from tenure.wire.enum_labels import enum_label

from tests.codec.snapshots.contested_snapshot import evicted_pods
from tests.requirements.profiles import changed_profile, client_of
from tests.requirements.test_extension_points import nominator
from tests.server.servers import run_server
from tests.server.telemetry.captured_telemetry import Counts, count_metrics, log_lines
from tests.server.telemetry.requeue_cases import NOW, REQUEUE_CASES, RequeueCase, add_contender, one_job

NOMINATED = "kai_scheduler_requeue_nominations_total"
SKIPPED = "kai_scheduler_requeue_nomination_skipped_total"
SURPLUS = "tenure_requeue_surplus_nominations_total"
COMMITTED = "kai_scheduler_requeue_committed_total"
ROLLED_BACK = "kai_scheduler_requeue_rolled_back_total"
WARNINGS = "tenure_snapshot_warnings_total"
PLUGIN = "expectedruntime"
JOB = "job=training-job/default"

Decide = Callable[..., DecideResponse]


@pytest.fixture
def decide(caplog: pytest.LogCaptureFixture) -> Iterator[Decide]:
    """Call a separate server that runs only the action requeue; earlier telemetry is discarded."""
    count_metrics()
    caplog.set_level(logging.DEBUG, "tenure")
    with run_server() as (_, address), Client(address) as client:
        yield lambda snapshot, *actions: client.decide(snapshot, actions or ["requeue"])


def above_debug(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [line for line in log_lines(caplog.records) if line[0] != "DEBUG"]


def job_nomination(answer: DecideResponse) -> pb.Nomination:
    (nomination,) = [each for each in answer.nominations if each.pod_group == "job"]
    return nomination


@pytest.mark.parametrize("story", REQUEUE_CASES.values(), ids=list(REQUEUE_CASES))
def test_every_reason_is_a_label(
    story: RequeueCase, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    snapshot = one_job()
    story.change(snapshot)
    nomination = job_nomination(decide(snapshot))
    assert (nomination.result, nomination.skip_reason) == story.nomination
    expected: Counts = {(SKIPPED, PLUGIN, story.reason): 1}
    if story.warning:
        expected[WARNINGS, story.warning] = 1
    skipped = f"Requeue nomination skipped: {JOB}, reason={story.reason}"
    written = [(story.level, f"{skipped}, error={story.error}" if story.error else skipped)]
    assert count_metrics() == expected
    assert above_debug(caplog) == written


def test_reasons_are_those_of_the_contract() -> None:
    reasons = {
        enum_label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value
    }
    assert {story.reason for story in REQUEUE_CASES.values()} == reasons


def late_job() -> ClusterSnapshot:
    return one_job()


def late_job_with_contender() -> ClusterSnapshot:
    snapshot = one_job()
    add_contender(snapshot)
    return snapshot


def late_job_with_unfitting_contender() -> ClusterSnapshot:
    """The contender has a pod that fits on no node."""
    snapshot = late_job_with_contender()
    snapshot.shapes.add(id="huge").gpu.devices = 2
    snapshot.pods[-1].shape = "huge"
    return snapshot


def job_due_in_a_second() -> ClusterSnapshot:
    snapshot = one_job()
    snapshot.pod_groups[0].last_start_time.FromSeconds(NOW - 3_599)
    return snapshot


def job_without_expected_runtime() -> ClusterSnapshot:
    return one_job("")


@pytest.mark.parametrize(
    ("snapshot", "result", "counts"),
    [
        (late_job, "NO_CONTENDER", {(NOMINATED, PLUGIN): 1}),
        (late_job_with_contender, "REQUEUED", {(NOMINATED, PLUGIN): 1, (COMMITTED, PLUGIN): 1}),
        (late_job_with_unfitting_contender, "NO_BENEFIT", {(NOMINATED, PLUGIN): 1, (ROLLED_BACK, PLUGIN): 1}),
        (job_due_in_a_second, "NOT_DUE", {}),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_metrics_of_a_cycle(
    snapshot: Callable[[], ClusterSnapshot], result: str, counts: Counts, decide: Decide
) -> None:
    assert (
        pb.NominationResult.Name(job_nomination(decide(snapshot())).result) == f"NOMINATION_RESULT_{result}"
    )
    assert count_metrics() == counts


def test_pod_groups_without_expected_runtime_are_counted_and_logged_together(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    """The proposal calls a missing value an invalid duration; it is opt-in, so nothing warns about it."""
    for _ in range(3):
        assert not decide(job_without_expected_runtime()).nominations
    assert count_metrics() == {(SKIPPED, PLUGIN, "invalid_duration"): 3}
    line = "Requeue nomination skipped: 1 job, reason=invalid_duration, error=no expected runtime is set"
    assert log_lines(caplog.records) == [("INFO", line)]


def semi_preemptible_job() -> ClusterSnapshot:
    """Two of its pods run, one of them beyond its minimum."""
    snapshot = late_job_with_contender()
    snapshot.pod_groups[0].preemptibility = PREEMPTIBILITY_SEMI_PREEMPTIBLE
    snapshot.pod_groups[0].min_member = 1
    snapshot.nodes[0].allocatable.gpu_milli = 2000
    snapshot.pods.add().CopyFrom(snapshot.pods[0])
    snapshot.pods[-1].uid = "job-1"
    return snapshot


def test_surplus_of_a_semi_preemptible_pod_group_is_nominated_and_counted(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    answer = decide(semi_preemptible_job())
    nomination = job_nomination(answer)
    assert (nomination.result, nomination.surplus_only) == (pb.NOMINATION_RESULT_REQUEUED, True)
    assert evicted_pods(answer) == {"job-1"}
    assert count_metrics() == {(NOMINATED, PLUGIN): 1, (SURPLUS, PLUGIN): 1, (COMMITTED, PLUGIN): 1}
    line = f"Requeue candidate nominated: {JOB}, plugin={PLUGIN}, surplus only"
    assert ("INFO", line) in log_lines(caplog.records)


def test_preemptible_pod_group_is_nominated_as_a_whole(decide: Decide) -> None:
    assert not job_nomination(decide(late_job())).surplus_only


def test_no_counts_without_the_requeue_action(decide: Decide) -> None:
    decide(late_job(), "allocate")
    assert count_metrics() == {}


def test_every_cycle_is_counted(decide: Decide) -> None:
    for _ in range(3):
        decide(late_job())
    assert count_metrics() == {(NOMINATED, PLUGIN): 3}


@pytest.mark.parametrize(
    ("snapshot", "written"),
    [
        (job_due_in_a_second, ["DEBUG"]),
        (late_job, ["INFO", "DEBUG"]),
        (late_job_with_contender, ["INFO", "INFO", "DEBUG"]),
        (late_job_with_unfitting_contender, ["INFO", "DEBUG"]),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_log_records_have_their_levels(
    snapshot: Callable[[], ClusterSnapshot],
    written: list[str],
    decide: Decide,
    caplog: pytest.LogCaptureFixture,
) -> None:
    decide(snapshot())
    assert [level for level, _ in log_lines(caplog.records)] == written


@pytest.mark.parametrize(
    ("snapshot", "line"),
    [
        (late_job, f"Requeue candidate nominated: {JOB}, plugin=expectedruntime"),
        (
            late_job_with_contender,
            f"Requeue committed: {JOB}, contender=urgent/default, not_before=2023-11-14T22:13:20Z",
        ),
        (
            job_due_in_a_second,
            f"Requeue eligibility: {JOB}, result=not_due, overrun=0s, until=2023-11-14T22:13:21Z, "
            "detail=it ends in 1s",
        ),
        (
            late_job_with_unfitting_contender,
            f"Requeue eligibility: {JOB}, result=no_benefit, overrun=3600s, "
            "detail=no contender fits in its place",
        ),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_log_records_match_the_examples_of_the_proposal(
    snapshot: Callable[[], ClusterSnapshot], line: str, decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    decide(snapshot())
    assert line in [text for _, text in log_lines(caplog.records)]


def test_invalid_value_is_logged_as_warning_once_and_then_as_info(
    decide: Decide, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        decide(one_job("0s"))
    assert [level for level, _ in above_debug(caplog)] == ["WARNING", "INFO", "INFO"]
    assert count_metrics()[SKIPPED, PLUGIN, "invalid_duration"] == 3


def test_invalid_requeue_delay_is_a_warning(decide: Decide, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = late_job()
    snapshot.pod_groups[0].annotations["kai.scheduler/requeue-delay"] = "soon"
    for _ in range(2):
        decide(snapshot)
    (warning,) = [text for level, text in log_lines(caplog.records) if level == "WARNING"]
    assert warning.startswith(f"Requeue delay ignored: {JOB}, error=annotation kai.scheduler/requeue-delay: ")
    assert count_metrics()[WARNINGS, "invalid_requeue_delay"] == 2


def test_prometheus_exposes_exactly_these_names(decide: Decide) -> None:
    decide(late_job_with_contender())
    decide(late_job_with_unfitting_contender())
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


def decide_with(snapshot: ClusterSnapshot, without: str = "", **plugins: Any) -> DecideResponse:
    """Decide on a server with more plugins, or without one."""
    with client_of(changed_profile(without, plugins), plugins) as client:
        return client.decide(snapshot, ["requeue"])


def in_cooldown() -> ClusterSnapshot:
    snapshot = late_job_with_contender()
    snapshot.pod_groups[0].requeue_not_before.FromSeconds(NOW + 60)
    return snapshot


IDLE = "idle"


@pytest.mark.parametrize("snapshot", [late_job, job_without_expected_runtime, semi_preemptible_job])
@pytest.mark.parametrize("nominated", [(), ("training-job",)], ids=["by none", "by another plugin"])
def test_nothing_is_counted_or_logged_for_a_plugin_that_is_not_in_the_profile(
    snapshot: Callable[[], ClusterSnapshot], nominated: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    count_metrics()
    caplog.set_level(logging.DEBUG, "tenure")
    decide_with(snapshot(), PLUGIN, idle=nominator(*nominated))
    assert {labels[1] for labels in count_metrics()} <= {IDLE}
    assert [
        text for _, text in log_lines(caplog.records) if PLUGIN in text or "invalid_duration" in text
    ] == []


@pytest.mark.parametrize(
    ("snapshot", "reason"), [(in_cooldown, "cooldown"), (job_without_expected_runtime, "invalid_duration")]
)
def test_skip_of_a_plugin_counts_also_where_another_one_nominates(
    snapshot: Callable[[], ClusterSnapshot], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    count_metrics()
    caplog.set_level(logging.DEBUG, "tenure")
    nomination = job_nomination(decide_with(snapshot(), idle=nominator("training-job")))
    assert list(nomination.nominated_by) == [IDLE]
    counts = count_metrics()
    assert (counts[SKIPPED, PLUGIN, reason], counts[NOMINATED, IDLE]) == (1, 1)
    assert (NOMINATED, PLUGIN) not in counts
    lines = [text for _, text in log_lines(caplog.records)]
    assert f"Requeue candidate nominated: {JOB}, plugin={IDLE}" in lines
    assert any(
        line.startswith("Requeue nomination skipped: ") and f"reason={reason}" in line for line in lines
    )


def skipping(reason: NominationSkipReason) -> Any:
    """A plugin that skips every pod group for a reason."""

    class Skipping:
        def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
            self._number = len(context.cluster.pod_groups)

        def nominate(self, action: Action) -> Iterator[Nomination]:
            for index in range(self._number):
                yield Nomination(index, NominationResult.SKIPPED, "so", reason)

    return Skipping


def test_plugins_that_skip_for_other_reasons_count_each_with_its_own() -> None:
    count_metrics()
    decide_with(in_cooldown(), idle=skipping(NominationSkipReason.NOT_RUNNING))
    counts = count_metrics()
    assert counts[SKIPPED, PLUGIN, "cooldown"] == 1
    assert (SKIPPED, PLUGIN, "not_running") not in counts
    assert counts[SKIPPED, IDLE, "not_running"] == 2
