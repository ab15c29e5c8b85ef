"""Pods that do not end, whatever their authors try, are not waited for: others are evicted instead."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.rows.pods import LONGEST_WAIT, STUCK_AFTER
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.adapter.adapter_stage import AdapterStage, open_stage
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.kubelet import Kubelet
from tests.kubernetes.observe.cached_cluster import CachedCluster, member, node, pod_group, running
from tests.server.servers import run_server

END: Final = 1_900_000_000
"""End of the grace period of a deleted pod, in seconds since 1970."""
ENDLESS: Final = 2**31 - 1


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AdapterStage]:
    """Two nodes; pods called endless-* are deleted, but never end."""
    end: Callable[..., None] = Kubelet._end

    def end_others(kubelet: Kubelet, pod: dict[str, Any]) -> None:
        if not pod["metadata"]["name"].startswith("endless"):
            end(kubelet, pod)

    monkeypatch.setattr(Kubelet, "_end", end_others)
    with run_server() as (_, server), open_stage(tmp_path, server, tmp_path.name) as made:
        made.cluster.node("n2")
        yield made


def make_endless_pod(stage: AdapterStage) -> None:
    cluster = stage.cluster
    cluster.workload("endless", pods=0, gpus=0, minMember=1, priority="low")
    amounts = {"cpu": "1", "nvidia.com/gpu": "8"}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    spec = {
        "schedulerName": "kai-scheduler",
        "containers": [container],
        "terminationGracePeriodSeconds": ENDLESS,
    }
    meta = {"name": "endless-0", "labels": {"app": "endless"}, **member("endless")}
    cluster.transport.post(cluster.pods_path, {"metadata": meta, "spec": spec})


def test_victim_with_a_grace_period_of_68_years_does_not_stop_its_preemptor(stage: AdapterStage) -> None:
    cluster = stage.cluster
    cluster.priorities(medium=50)
    make_endless_pod(stage)
    cluster.workload("victim", pods=1, gpus=8, priority="medium")
    with stage.adapter():
        wait_until(lambda: cluster.running("endless") + cluster.running("victim") == 2)
        cluster.workload("urgent", pods=1, gpus=8, priority="high")
        wait_until(lambda: cluster.running("urgent") == 1)
    assert stage.sent("eviction") == ["endless-0", "victim-0"]


@pytest.mark.parametrize(
    ("seconds", "status"),
    [
        (END - ENDLESS, pb.POD_STATUS_STUCK_IN_RELEASING),
        (END - LONGEST_WAIT - 1, pb.POD_STATUS_STUCK_IN_RELEASING),
        (END - LONGEST_WAIT, pb.POD_STATUS_RELEASING),
        (END + STUCK_AFTER.seconds - 1, pb.POD_STATUS_RELEASING),
        (END + STUCK_AFTER.seconds, pb.POD_STATUS_STUCK_IN_RELEASING),
    ],
)
def test_deleted_pod_is_waited_for_from_an_hour_before_its_end(seconds: float, status: pb.PodStatus) -> None:
    world, moment = CachedCluster(), Timestamp(seconds=int(seconds))
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g"))
    deleted = {**member("g"), "deletionTimestamp": "2030-03-17T17:46:40Z"}
    world.put("pods", running("p", meta=deleted))
    builder = world.builder()
    (row,) = builder.snapshot(Timestamp(seconds=END - ENDLESS)).pods
    assert row.status == pb.POD_STATUS_STUCK_IN_RELEASING
    builder.delta(moment)
    found = builder.pod("uid-p")
    assert found is not None
    assert found.status == status


@pytest.mark.parametrize("deletion", ["0001-01-01T00:00:00Z", "1733-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_deletion_time_beyond_all_bounds_is_accepted(deletion: str) -> None:
    """A grace period of 2^62 seconds overflows in the API server, to any year."""
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_pod_groups", pod_group("g"))
    world.put("pods", running("p", meta={**member("g"), "deletionTimestamp": deletion}))
    (row,) = world.snapshot().pods
    assert row.status == pb.POD_STATUS_STUCK_IN_RELEASING
