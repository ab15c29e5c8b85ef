"""What workloads of KAI-Scheduler say on owners and pods: read, refused in a condition, or without effect."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, pod_group

PAGE: Final = (Path(__file__).parents[3] / "docs/internals/deviations-from-kai.md").read_text()
LISTED: Final = PAGE.partition("## Inputs of workloads")[2].partition("\n## ")[0]
KAI: Final = "kai.scheduler"
RACK: Final = "example.com/rack"
OTHERS: Final = {f"{KAI}/topology": "fabric"}
"""Annotation beside those of levels, which mean nothing alone."""

READ: Final[dict[str, dict[str, Any]]] = {
    "queue": {"labels": {f"{KAI}/queue": "other"}},
    "project": {"labels": {"project": "other"}},
    "priority class": {"labels": {"priorityClassName": "build"}},
    "preemptibility": {"labels": {f"{KAI}/preemptibility": "non-preemptible"}},
    "preemption delay": {"annotations": {f"{KAI}/preemption-delay": "1m"}},
    "staleness grace period": {"annotations": {f"{KAI}/staleness-grace-period": "1m"}},
    "required level": {"annotations": {**OTHERS, f"{KAI}/topology-required-placement": RACK}},
    "preferred level": {"annotations": {**OTHERS, f"{KAI}/topology-preferred-placement": RACK}},
    "pod group": {"annotations": {"pod-group-name": "g"}},
    "subgroup": {"annotations": {"pod-group-name": "g"}, "labels": {f"{KAI}/subgroup-name": "s"}},
    "task priority": {"labels": {f"{KAI}/task-priority": "7"}},
    "fraction of a GPU": {"annotations": {"gpu-fraction": "0.5"}},
    "memory of a GPU": {"annotations": {"gpu-memory": "1000"}},
    "fractions of GPUs": {"annotations": {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}},
}
REFUSED: Final[dict[str, dict[str, Any]]] = {
    "segments": {"annotations": {f"{KAI}/segment-size": "4"}},
    "required level of segments": {"annotations": {f"{KAI}/segment-topology-required-placement": RACK}},
    "preferred level of segments": {"annotations": {f"{KAI}/segment-topology-preferred-placement": RACK}},
    "sharing mode": {"annotations": {f"{KAI}/gpu-compute-sharing-mode": "sm-sharing"}},
    "share of a container": {"annotations": {"nvidia.com/container.main.gpu-memory.request": "20Gi"}},
    "limit of a container": {"annotations": {"nvidia.com/container.main.gpu-memory.limit": "20Gi"}},
    "mode of a container": {"annotations": {"nvidia.com/container.main.gpu-compute.mode": "time-slicing"}},
    "no derived pod group": {"annotations": {f"{KAI}/skip-podgrouper": "true"}},
    "level without a topology": {"annotations": {f"{KAI}/topology-required-placement": RACK}},
    "topology without a level": {"annotations": OTHERS},
}
WITHOUT_EFFECT: Final[dict[str, dict[str, Any]]] = {
    "user": {"labels": {"user": "ann"}},
    "container of a share": {"annotations": {"gpu-fraction-container-name": "main"}},
    "percentage of a GPU": {"annotations": {"gpu-sm-percentage": "50"}},
    "cores of a GPU": {"annotations": {"gpu-sm-cores": "10"}},
    "MPS": {"annotations": {"mps": "true"}},
    "Workload API": {"annotations": {f"{KAI}/ignore-workload-api": "true"}},
    "minimum of a pod": {"annotations": {f"{KAI}/batch-min-member": "2"}},
}


def world_with(meta: dict[str, Any]) -> CachedCluster:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("topologies", {"metadata": {"name": "fabric"}, "spec": {"levels": [{"nodeLabel": RACK}]}})
    for name, value in (("train", 50), ("build", 100)):
        world.put("priority_classes", {"metadata": {"name": name}, "value": value})
    world.put("kai_pod_groups", pod_group("g", subGroups=[{"name": "s", "minMember": 1}]))
    world.put("pods", pod("p", meta=meta))
    return world


def said(snapshot: pb.ClusterSnapshot) -> list[str]:
    """All rows of workloads, as text."""
    return [str(row) for rows in (snapshot.pod_groups, snapshot.pods, snapshot.shapes) for row in rows]


def reasons(meta: dict[str, Any]) -> list[str]:
    """Why the pod waits: the reason of its row, or that it is set aside."""
    builder = world_with(meta).builder()
    blocked = [row.blocked_reason for row in builder.snapshot(NOW).pods if row.blocked_reason]
    return [*blocked, *(one.reason.text for one in builder.set_aside.take_new())]


@pytest.mark.parametrize("name", READ)
def test_input_is_read(name: str) -> None:
    assert said(world_with(READ[name]).snapshot()) != said(world_with({}).snapshot())
    assert reasons(READ[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused_input_makes_the_pod_wait_and_say_why(name: str) -> None:
    [reason] = reasons(REFUSED[name])
    [key] = REFUSED[name]["annotations"]
    assert key in reason or "topology" in reason


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_input_without_an_effect_is_on_the_page_of_deviations(name: str) -> None:
    meta = WITHOUT_EFFECT[name]
    assert said(world_with(meta).snapshot()) == said(world_with({}).snapshot())
    for key in (*meta.get("labels", {}), *meta.get("annotations", {})):
        assert re.search(rf"`{re.escape(key)}`|`{re.escape(key)} label", LISTED) or f"`{key}` " in LISTED


def test_pod_that_names_a_pod_group_is_in_the_subgroups_of_that_and_needs_no_segments() -> None:
    meta = {
        "annotations": {"pod-group-name": "g", f"{KAI}/segment-size": "4"},
        "labels": {f"{KAI}/subgroup-name": "s"},
    }
    assert reasons(meta) == []


def test_resource_that_only_a_device_class_names_is_said_in_the_reason() -> None:
    world = CachedCluster()
    world.put("nodes", node())
    world.put("pods", pod("p", requests={"cpu": "1", "example.com/accelerator": "1"}))
    [row] = world.snapshot().pods
    assert "example.com/accelerator" in row.blocked_reason
    assert "extendedResourceName" in LISTED
