"""A job with an expected runtime, and variants of its settings."""

from collections.abc import Callable
from typing import NamedTuple

from google.protobuf import text_format
from tenure.v1.decision_pb2 import NominationResult, NominationSkipReason
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

NOW = 1_700_000_000
HOUR = 3_600

ONE_JOB = """
cluster_id: "test"
version: 1
now { seconds: 1700000000 }
nodes { name: "n1" allocatable { cpu_milli: 8000 memory_bytes: 64000 gpu_milli: 1000 pods: 10 } }
queues { name: "left" gpu_milli { quota: 1000 } }
pod_groups { uid: "job" name: "training-job" namespace: "default" queue: "left" priority: 10
             preemptibility: PREEMPTIBILITY_PREEMPTIBLE creation_time { seconds: 1600000000 }
             last_start_time { seconds: 1699992800 } }
pods { uid: "job-0" pod_group: "job" shape: "gpu" status: POD_STATUS_RUNNING node: "n1" }
shapes { id: "gpu" requests { cpu_milli: 1000 memory_bytes: 1000 } gpu { devices: 1 } }
"""
CONTENDER = """
pod_groups { uid: "urgent" name: "urgent" namespace: "default" queue: "left" priority: 20
             preemptibility: PREEMPTIBILITY_PREEMPTIBLE creation_time { seconds: 1600000001 } }
pods { uid: "urgent-0" pod_group: "urgent" shape: "gpu" status: POD_STATUS_PENDING }
"""

EXPECTED_RUNTIME = "kai.scheduler/expected-runtime"
NOT_BEFORE = "kai.scheduler/requeue-not-before"


def one_job(expected_runtime: str = "1h") -> ClusterSnapshot:
    """A job on the only GPU that started two hours ago. An empty expected runtime is not set."""
    snapshot = text_format.Parse(ONE_JOB, ClusterSnapshot())
    if expected_runtime:
        snapshot.pod_groups[0].annotations[EXPECTED_RUNTIME] = expected_runtime
    return snapshot


def add_contender(snapshot: ClusterSnapshot) -> PodGroup:
    """A pending job of higher priority in the same queue."""
    text_format.Parse(CONTENDER, snapshot)
    return snapshot.pod_groups[-1]


class RequeueCase(NamedTuple):
    """A change of the job's settings, and the expected result."""

    change: Callable[[ClusterSnapshot], object]
    reason: str = ""
    """The skip reason; empty if the job is not skipped."""
    level: str = "INFO"
    error: str = ""
    result: str = "SKIPPED"
    warning: str = ""
    """Code of the corresponding snapshot warning."""

    @property
    def nomination(self) -> tuple[NominationResult, NominationSkipReason]:
        """The result and skip reason expected in the response."""
        reason = f"NOMINATION_SKIP_REASON_{self.reason.upper() or 'UNSPECIFIED'}"
        return NominationResult.Value(f"NOMINATION_RESULT_{self.result}"), NominationSkipReason.Value(reason)


def _job(snapshot: ClusterSnapshot) -> PodGroup:
    return snapshot.pod_groups[0]


def _annotate(key: str, value: str) -> Callable[[ClusterSnapshot], object]:
    return lambda snapshot: _job(snapshot).annotations.update({key: value})


def _set_start(seconds: int) -> Callable[[ClusterSnapshot], object]:
    return lambda snapshot: _job(snapshot).last_start_time.FromSeconds(seconds)


def _make_pending(snapshot: ClusterSnapshot) -> None:
    snapshot.pods[0].status, snapshot.pods[0].node = "POD_STATUS_PENDING", ""


def _make_non_preemptible(snapshot: ClusterSnapshot) -> None:
    _job(snapshot).preemptibility = "PREEMPTIBILITY_NON_PREEMPTIBLE"


def _make_semi_preemptible(snapshot: ClusterSnapshot) -> None:
    _job(snapshot).preemptibility = "PREEMPTIBILITY_SEMI_PREEMPTIBLE"


def _protect(snapshot: ClusterSnapshot) -> None:
    snapshot.queues[0].preempt_min_runtime.FromSeconds(3 * HOUR)
    add_contender(snapshot)


NOT_A_DURATION = (
    "annotation kai.scheduler/expected-runtime: '5' is not a duration: write it like 30s, 1h30m or 2d"
)
NOT_ABOVE_ZERO = "its expected runtime is not above zero"
NOT_A_TIME = (
    "annotation kai.scheduler/requeue-not-before: 'soon' is not a time: write it like 2025-01-15T10:30:00Z"
)
INVALID = "invalid_expected_runtime"

REQUEUE_CASES = {
    "cooldown": RequeueCase(lambda s: _job(s).requeue_not_before.FromSeconds(NOW + 1), "cooldown"),
    "missing_start": RequeueCase(
        lambda s: _job(s).ClearField("last_start_time"), "missing_start", warning="missing_start_time"
    ),
    "zero start": RequeueCase(_set_start(0), "missing_start"),
    "invalid_duration": RequeueCase(
        _annotate(EXPECTED_RUNTIME, "5"), "invalid_duration", "WARNING", NOT_A_DURATION, warning=INVALID
    ),
    "zero duration": RequeueCase(
        _annotate(EXPECTED_RUNTIME, "0s"),
        "invalid_duration",
        "WARNING",
        NOT_ABOVE_ZERO,
        warning=INVALID,
    ),
    "negative duration": RequeueCase(
        _annotate(EXPECTED_RUNTIME, "-1h"), "invalid_duration", "WARNING", NOT_ABOVE_ZERO, warning=INVALID
    ),
    "not_running": RequeueCase(_make_pending, "not_running"),
    "not_preemptible": RequeueCase(_make_non_preemptible, "not_preemptible"),
    "semi-preemptible without surplus": RequeueCase(_make_semi_preemptible, "not_preemptible"),
    "minruntime_protected": RequeueCase(_protect, "minruntime_protected", result="PROTECTED"),
    "clock_skew": RequeueCase(
        _set_start(NOW + 60),
        "clock_skew",
        "WARNING",
        "its start time is after the snapshot time",
        warning="clock_skew",
    ),
    "invalid_not_before": RequeueCase(
        _annotate(NOT_BEFORE, "soon"),
        "invalid_not_before",
        "WARNING",
        NOT_A_TIME,
        warning="invalid_requeue_not_before",
    ),
}
"""The edge cases of the proposal, with at least one for each reason."""
