"""A requeue cooldown holds whoever wrote it, through a complete adapter: if it exists, it gates."""

from datetime import UTC, datetime, timedelta

import pytest
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.kubernetes.adapter.adapter_stage import AdapterStage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

_PREFIX = "kai.scheduler/"
_NOT_BEFORE = f"{_PREFIX}requeue-not-before"
_OVERDUE = {"expected-runtime": "1h", "requeue-delay": "30m"}


def time_in(**span: float) -> str:
    return (datetime.now(UTC) + timedelta(**span)).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_overdue(stage: AdapterStage, **annotations: str) -> None:
    """Half of the node for a pod group past its expected runtime, the other half for one without."""
    terms = {**_OVERDUE, "last-start-timestamp": time_in(hours=-2), **annotations}
    named = {f"{_PREFIX}{key.replace('_', '-')}": text for key, text in terms.items()}
    stage.cluster.workload("long", 1, 4, annotations=named)
    stage.cluster.workload("short", 1, 4)
    stage.start("long-0", "short-0")


def annotate(cluster: UserCluster, name: str, **annotations: str | None) -> None:
    """Write annotations as the owner of a pod group does; None removes one."""
    path = f"{cluster.path(KAI_POD_GROUP)}/{name}"
    cluster.transport.patch(path, {"metadata": {"annotations": annotations}}, MERGE_PATCH)


def uids(cluster: UserCluster) -> list[str]:
    return [str(pod["metadata"]["uid"]) for pod in cluster.pods("long").values()]


UNSIGNED = {
    "five hours ahead": (time_in(hours=5), "was not written by the adapter"),
    "unreadable": ("tomorrow", "is not a time"),
    "blank": ("  ", "is not a time"),
}


@pytest.mark.parametrize(("text", "told"), UNSIGNED.values(), ids=UNSIGNED)
def test_not_before_of_another_writer_gates_and_is_told(
    stage: AdapterStage, caplog: pytest.LogCaptureFixture, text: str, told: str
) -> None:
    cluster = stage.cluster
    run_overdue(stage, requeue_not_before=text)
    cluster.workload("waits", 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.reasons_of("waits"))
        wait_until(lambda: "signature" in cluster.annotations_of("long"))
        cluster.workload("later", 1, 4, queue="other", priority="high")
        wait_until(lambda: cluster.reasons_of("later"))
    assert stage.sent("eviction") == []
    assert cluster.annotations_of("long")["requeue-not-before"] == text
    about = [line for line in caplog.messages if line.startswith("PodGroup team/long: annotation")]
    assert [told in line and "requeue-not-before" in line for line in about] == [True]


def test_not_before_of_another_writer_that_has_passed_does_not_gate(stage: AdapterStage) -> None:
    run_overdue(stage, requeue_not_before=time_in(hours=-1))
    stage.cluster.workload("waits", 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: stage.cluster.running("waits") == 1)
    assert stage.sent("eviction") == ["long-0"]


def test_signed_cooldown_holds_after_another_writer_changed_a_count(stage: AdapterStage) -> None:
    cluster = stage.cluster
    run_overdue(stage)
    cluster.workload("waits", 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.running("waits") == 1)
        noted = cluster.wait_for_annotations("long", "requeue-not-before", "eviction-count", "signature")
        cluster.end("waits")
        cluster.again("long", 1, 4)
        wait_until(lambda: cluster.running("long") == 1)
        started = datetime.now(UTC)
    [uid] = uids(cluster)
    annotate(cluster, "long", **{f"{_PREFIX}expected-runtime": "1s", "tenure.scheduler/eviction-count": "7"})
    wait_until(lambda: datetime.now(UTC) > started + timedelta(seconds=1))
    cluster.workload("next", 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.reasons_of("next"))
    assert uids(cluster) == [uid]
    assert cluster.annotations_of("long")["requeue-not-before"] == noted["requeue-not-before"]


def test_cooldown_on_pods_without_a_pod_group_gates(stage: AdapterStage) -> None:
    cluster = stage.cluster
    own = {"expected-runtime": "1s", "requeue-not-before": time_in(hours=5), "queue": "q"}
    terms = {f"{_PREFIX}{key}": text for key, text in own.items()}
    for name in ("gated-0", "due-0"):
        cluster.pod(name, 4, annotations=terms, spec={"priorityClassName": "low"})
        terms = {key: text for key, text in terms.items() if key != _NOT_BEFORE}
    stage.start("gated-0", "due-0")
    started = datetime.now(UTC)
    wait_until(lambda: datetime.now(UTC) > started + timedelta(seconds=2))
    for name in ("first", "second"):
        cluster.workload(name, 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.running("first") + cluster.running("second") == 1)
        waiting = "second" if cluster.running("first") else "first"
        wait_until(lambda: cluster.reasons_of(waiting))
    assert stage.sent("eviction") == ["due-0"]
