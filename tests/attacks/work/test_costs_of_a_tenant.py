"""What a tenant says about the costs of its evictions, or about its priority, crosses no queue (R14.16)."""

from dataclasses import replace
from typing import Final

import pytest
from google.protobuf.json_format import ParseDict
from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest

NOW: Final = "2026-03-02T12:00:00Z"
MOST: Final = 2**30


def _snapshot(pods: int, wanted: int, costs: dict[str, int]) -> pb.ClusterSnapshot:
    """Two queues that borrow all GPUs, `pods` each, and a gang of their lender. `costs` of each queue."""
    amounts = {"cpu_milli": 64_000, "memory_bytes": 2**38, "gpu_milli": 2_000 * pods, "pods": 110}
    quotas = {"lends": 2_000 * pods, "left": 0, "right": 0}
    groups = [
        _group(f"{queue}-{number}", queue, costs) for queue in ("left", "right") for number in range(pods)
    ]
    made = {
        "cluster_id": "costs",
        "version": 1,
        "now": NOW,
        "nodes": [{"name": "n", "allocatable": amounts}],
        "queues": [
            {"name": name, "gpu_milli": {"quota": gpus, "limit": -1}} for name, gpus in quotas.items()
        ],
        "shapes": [{"id": "one", "requests": {"cpu_milli": 100}, "gpu": {"devices": 1}}],
        "pod_groups": [*groups, {**_group("owner", "lends", {}), "min_member": wanted}],
        "pods": [
            *(
                {"uid": group["uid"], "pod_group": group["uid"], "status": "POD_STATUS_RUNNING", "node": "n"}
                for group in groups
            ),
            *(
                {"uid": f"owner-{i}", "pod_group": "owner", "status": "POD_STATUS_PENDING"}
                for i in range(wanted)
            ),
        ],
    }
    for pod in made["pods"]:
        pod["shape"] = "one"
    return ParseDict(made, pb.ClusterSnapshot())


def _group(uid: str, queue: str, costs: dict[str, int]) -> dict[str, object]:
    return {
        "uid": uid,
        "queue": queue,
        "priority": 50,
        "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE",
        "creation_time": NOW,
        "last_start_time": "2026-03-02T09:00:00Z",
        "eviction_cost": costs.get(queue, 0),
    }


def _victims(snapshot: pb.ClusterSnapshot) -> tuple[int, int]:
    """Numbers of pods that both queues lose."""
    profile = default_profile()
    profile = replace(profile, plugins=(*profile.plugins, PluginConfig("evictioncost")))
    response = Engine(profile).decide(DecideRequest(snapshot=snapshot)).parse()
    steps = [step.evict for group in response.groups for step in group.decisions if step.HasField("evict")]
    left, right = (sum(step.pod.startswith(queue) for step in steps) for queue in ("left", "right"))
    return left, right


SIZES: Final = ((2, 1), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5))


@pytest.mark.parametrize(("pods", "wanted"), SIZES)
@pytest.mark.parametrize("queue", ["left", "right"])
def test_costs_that_a_tenant_writes_cross_no_queue_r14_16(queue: str, pods: int, wanted: int) -> None:
    without = _victims(_snapshot(pods, wanted, {}))
    assert sum(without) == wanted
    assert _victims(_snapshot(pods, wanted, {queue: MOST})) == without


@pytest.mark.parametrize(("pods", "wanted"), SIZES)
@pytest.mark.parametrize("queue", ["left", "right"])
def test_priority_that_a_tenant_writes_crosses_no_queue_r8_5(queue: str, pods: int, wanted: int) -> None:
    snapshot = _snapshot(pods, wanted, {})
    for group in snapshot.pod_groups:
        group.priority = 90 if group.queue == queue else 50
    assert _victims(snapshot) == _victims(_snapshot(pods, wanted, {}))
