"""A whole adapter with hostile tenants: they gain nothing, and are told why."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.adapter.adapter_stage import AdapterStage, open_stage
from tests.kubernetes.cluster import wait_until
from tests.server.servers import run_server

OpenStage = Callable[..., AdapterStage]
FORBIDDEN = "QueueForbidden"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with run_server() as (_, address):
        yield address


@pytest.fixture
def open_with(tmp_path: Path, server: str) -> Iterator[OpenStage]:
    """Open a stage whose adapter has these settings."""
    with ExitStack() as ends:
        yield lambda **more: ends.enter_context(open_stage(tmp_path, server, tmp_path.name, **more))


def pod_condition(stage: AdapterStage, name: str) -> dict[str, Any]:
    status = json.loads(stage.cluster.transport.get(f"{stage.cluster.pods_path}/{name}"))["status"]
    conditions = status.get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def test_forbidden_queue_is_refused_with_an_event_and_conditions(open_with: OpenStage) -> None:
    stage = open_with(queueAccess={"namespaces": {"other": ["elsewhere"]}})
    cluster = stage.cluster
    with stage.adapter():
        cluster.workload("thief", pods=1, gpus=1, queue="other")
        meta = {"labels": {"kai.scheduler/queue": "other"}}
        cluster.pod("derived-0", gpus=1, **meta)
        cluster.workload("honest", pods=1, gpus=1)
        wait_until(lambda: cluster.running("honest") == 1)
        condition = wait_until(lambda: cluster.conditions_of("thief"))
        wait_until(lambda: pod_condition(stage, "thief-0").get("reason") == FORBIDDEN)
        wait_until(lambda: pod_condition(stage, "derived-0").get("reason") == FORBIDDEN)
        wait_until(lambda: cluster.events(FORBIDDEN) == ["derived-0", "thief"])
    assert condition["message"] == "Not scheduled: namespace team may not use queue 'other'"
    assert stage.sent("binding") == ["honest-0"]


def test_pod_group_is_scheduled_when_its_queue_is_permitted_after_all(open_with: OpenStage) -> None:
    stage = open_with(queueAccess={"namespaceLabels": True})
    cluster = stage.cluster
    with stage.adapter():
        cluster.workload("job", pods=1, gpus=1)
        wait_until(lambda: cluster.events(FORBIDDEN))
        change = {"metadata": {"labels": {"queues.tenure.scheduler/q": ""}}}
        cluster.transport.patch(
            f"/api/v1/namespaces/{cluster.namespace}", change, "application/merge-patch+json"
        )
        wait_until(lambda: cluster.running("job") == 1)


def test_start_in_2261_protects_no_longer_than_the_start_of_the_pods(open_with: OpenStage) -> None:
    stage = open_with()
    cluster = stage.cluster
    cluster.queue("short", gpus=8, preemptMinRuntime="1s", reclaimMinRuntime="1s")
    forged = {"kai.scheduler/last-start-timestamp": "2261-01-01T00:00:00Z"}
    cluster.workload("immortal", pods=1, gpus=8, queue="short", annotations=forged)
    stage.start("immortal-0")
    with stage.adapter():
        cluster.workload("urgent", pods=1, gpus=8, queue="short", priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
    assert stage.sent("eviction") == ["immortal-0"]


def test_system_class_in_a_label_evicts_no_neighbour(open_with: OpenStage) -> None:
    stage = open_with()
    cluster = stage.cluster
    cluster.priorities(**{"system-node-critical": 2_000_001_000})
    cluster.workload("neighbour", pods=1, gpus=8, priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.running("neighbour") == 1)
        meta = {"labels": {"kai.scheduler/queue": "q", "priorityClassName": "system-node-critical"}}
        cluster.pod("pusher-0", gpus=8, **meta)
        wait_until(lambda: pod_condition(stage, "pusher-0"))
        cluster.workload("huge", pods=1, gpus=64)
        wait_until(lambda: cluster.reasons_of("huge"))
        assert cluster.running("neighbour") == 1
    assert stage.sent("eviction") == []
