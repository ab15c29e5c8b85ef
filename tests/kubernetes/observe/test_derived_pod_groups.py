"""Pod groups derived from the owners of pods that name none (R8.2, R8.3)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.objects.meta import ObjectMeta, OwnerReference
from tenure.kubernetes.owners.chains import Owner
from tenure.kubernetes.owners.gangs import Gang
from tenure.kubernetes.owners.kinds import Grouping, built_in_kinds
from tenure.kubernetes.owners.owner_object import OwnerObject
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    LATER,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    running,
)


class KnownOwners:
    """A fixed set of owners; other owners cannot be looked up."""

    kinds = built_in_kinds()

    def __init__(self, owners: Mapping[str, Owner]) -> None:
        self.owners = dict(owners)

    def begin(self) -> set[str]:
        return set()

    def wait(self) -> float | None:
        return None

    def refused_kinds(self) -> dict[str, str]:
        return {}

    def unread(self, namespace: str, reference: OwnerReference) -> str:
        return ""

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        return self.owners.get(reference.uid)


VERSIONS: Final = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "ReplicationController": "v1",
    "Notebook": "kubeflow.org/v1beta1",
}
"""API versions of kinds; of others it is apps/v1."""


def owned(kind: str, uid: str, **meta: Any) -> dict[str, Any]:
    version = VERSIONS.get(kind, "apps/v1")
    reference = {"apiVersion": version, "kind": kind, "name": f"{kind}-{uid}", "uid": uid, "controller": True}
    return {"ownerReferences": [reference], **meta}


def owner(meta: ObjectMeta, gang: int = 1, **more: Any) -> Owner:
    """An owner of a pod group with a minimum."""
    return Owner(meta, None, Grouping.OWNER, Gang(gang), **more)


def groups(world: CachedCluster) -> dict[str, pb.PodGroup]:
    return {row.uid: row for row in world.snapshot().pod_groups}


CLASSES_OF_KINDS: Final = {
    "Deployment": 125,
    "ReplicationController": 125,
    "ReplicaSet": 50,
    "StatefulSet": 50,
    "Notebook": 100,
}


@pytest.mark.parametrize("kind", CLASSES_OF_KINDS)
def test_independent_pods_get_one_pod_group_each_and_the_class_of_their_kind_r8_3(kind: str) -> None:
    world = CachedCluster()
    for name, value in (("train", 50), ("build", 100), ("inference", 125)):
        world.put("priority_classes", {"metadata": {"name": name}, "value": value})
    for name in "ab":
        world.put("pods", pod(name, meta=owned(kind, "r")))
    found = groups(world)
    assert set(found) == {"uid-a", "uid-b"}
    assert {(row.min_member, row.priority) for row in found.values()} == {(1, CLASSES_OF_KINDS[kind])}


def test_pods_without_owner_get_one_pod_group_each() -> None:
    world = CachedCluster()
    world.put("priority_classes", {"metadata": {"name": "train"}, "value": 40})
    world.put("pods", pod("a"))
    row = groups(world)["uid-a"]
    assert (row.name, row.namespace, row.queue, row.min_member, row.priority) == (
        "a",
        "team",
        "default-queue",
        1,
        40,
    )


def test_pods_of_a_job_are_one_elastic_pod_group() -> None:
    world = CachedCluster()
    for name in "abc":
        world.put("pods", pod(name, meta=owned("Job", "j", labels={"kai.scheduler/queue": "x"})))
    [row] = groups(world).values()
    assert (row.name, row.queue, row.min_member) == ("Job-j", "x", 1)
    assert {one.pod_group for one in world.snapshot().pods} == {row.uid}


def test_fields_of_the_owner_precede_those_of_its_pods_and_set_the_gang_size() -> None:
    world = CachedCluster()
    world.put("priority_classes", {"metadata": {"name": "high"}, "value": 125})
    world.put("priority_classes", {"metadata": {"name": "low"}, "value": 5})
    labels = {"kai.scheduler/queue": "of-pod", "priorityClassName": "low"}
    annotations = {"kai.scheduler/requeue-delay": "1h", "kai.scheduler/expected-runtime": "2h"}
    for name in "ab":
        world.put("pods", pod(name, meta=owned("JobSet", "s", labels=labels, annotations=annotations)))
    meta = ObjectMeta(
        name="set",
        uid="s",
        labels={
            "kai.scheduler/queue": "of-owner",
            "priorityClassName": "high",
            "kai.scheduler/preemptibility": "non-preemptible",
        },
        annotations={"kai.scheduler/expected-runtime": "3h", "kai.scheduler/preemption-delay": "30s"},
    )
    owners = KnownOwners({"s": owner(meta, gang=2, chain=(OwnerObject(meta),))})
    [row] = world.builder(CONFIG, owners).snapshot(NOW).pod_groups
    assert (row.name, row.queue, row.priority, row.min_member) == ("set", "of-owner", 125, 2)
    assert row.preemption_delay.seconds == 30
    assert dict(row.annotations) == {
        "kai.scheduler/preemptibility": "non-preemptible",
        "kai.scheduler/expected-runtime": "3h",
        "kai.scheduler/requeue-delay": "1h",
    }


def test_leaders_and_workers_are_a_pod_group_for_each_replica() -> None:
    world = CachedCluster()
    for name, key in {"a": "x", "b": "x", "c": "y"}.items():
        meta = owned(
            "StatefulSet",
            name,
            labels={"leaderworkerset.sigs.k8s.io/group-key": key},
            annotations={"leaderworkerset.sigs.k8s.io/size": "2"},
        )
        world.put("pods", pod(name, meta=meta))
    snapshot = world.snapshot()
    of = {row.name: row.pod_group for row in snapshot.pods}
    assert of["a"] == of["b"] != of["c"]


def replica_of(uid: str) -> dict[str, Any]:
    return {"labels": {"leaderworkerset.sigs.k8s.io/group-key": uid}}


@pytest.mark.parametrize("claim", [replica_of, partial(owned, "Job")], ids=["replica", "owner"])
def test_pod_cannot_join_a_foreign_pod_group_by_its_own_labels(
    claim: Callable[[str], dict[str, Any]],
) -> None:
    """A pod cannot join an existing pod group object, the group of a pod, or a group of another namespace."""
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("gang"))
    world.put("pods", pod("alone"))
    world.put("pods", pod("theirs", meta=claim("x")))
    world.put("pods", pod("ours", meta=claim("x")))
    before = {row.name: row.pod_group for row in world.snapshot().pods}
    assert before["theirs"] == before["ours"]
    for number, uid in enumerate(("uid-gang", "uid-alone", "x", before["theirs"])):
        world.put("pods", pod(f"evil{number}", meta={**claim(uid), "namespace": "poor"}))
    after = {row.name: row.pod_group for row in world.snapshot().pods}
    evil = {after.pop(f"evil{number}") for number in range(4)}
    assert len(evil) == 4
    assert evil.isdisjoint({*after.values(), "uid-gang"})


def test_pod_with_an_unavailable_owner_is_delayed_until_lookup() -> None:
    world, owners = CachedCluster(), KnownOwners({})
    world.put("nodes", node())
    world.put("pods", pod("waits", meta=owned("Job", "j")))
    world.put("pods", running("runs", meta=owned("Job", "j")))
    picture = world.builder(CONFIG, owners)
    snapshot = picture.snapshot(NOW)
    assert not snapshot.pods
    assert snapshot.nodes[0].allocatable.cpu_milli == 63_000
    assert picture.recheck_seconds is not None
    assert not picture.delta(NOW).upserts.pods
    owners.owners["j"] = owner(ObjectMeta(name="j", uid="j"))
    delta = picture.delta(NOW)
    assert [row.name for row in delta.upserts.pod_groups] == ["j"]
    assert {row.pod_group for row in delta.upserts.pods} == {row.uid for row in delta.upserts.pod_groups}
    assert delta.upserts.nodes[0].allocatable.cpu_milli == 64_000


def test_owner_known_only_by_name_is_a_warning_and_looked_up_again() -> None:
    world, meta = CachedCluster(), ObjectMeta(name="j", uid="j")
    owners = KnownOwners({"j": owner(meta, warnings=("403",), is_retried=True)})
    world.put("pods", pod("a", meta=owned("Job", "j")))
    picture = world.builder(CONFIG, owners)
    assert [row.min_member for row in picture.snapshot(NOW).pod_groups] == [1]
    assert [warned.text for warned in picture.warnings.active] == ["403"]
    owners.owners["j"] = owner(meta, 8)
    assert not picture.delta(NOW).upserts.pod_groups
    assert picture.recheck_seconds is not None
    later = Timestamp(seconds=int(picture.recheck_seconds))
    assert [row.min_member for row in picture.delta(later).upserts.pod_groups] == [8]
    assert picture.recheck_seconds is None
    assert not picture.warnings.active


def test_foreign_pods_and_pods_of_other_node_pools_get_no_pod_group() -> None:
    world = CachedCluster()
    world.put("pods", pod("other", spec={"schedulerName": "default-scheduler"}))
    world.put("pods", pod("elsewhere", meta={"labels": {"kai.scheduler/node-pool": "b"}}))
    world.put("pods", pod("ours"))
    snapshot = world.snapshot(replace(CONFIG, node_pool_label="kai.scheduler/node-pool"))
    assert [row.uid for row in snapshot.pod_groups] == ["uid-ours"]


def test_disabled_derivation_creates_no_pod_groups() -> None:
    world = CachedCluster()
    world.put("pods", pod("a"))
    picture = world.builder(replace(CONFIG, derive=False))
    assert not picture.snapshot(NOW).pod_groups
    assert "it has no pod group" in picture.warnings.take_new()[0].text


def test_derived_pod_group_is_removed_with_its_pods() -> None:
    world = CachedCluster()
    world.put("pods", pod("a"))
    picture = world.builder()
    picture.snapshot(NOW)
    world.put("pods", pod("a", status={"phase": "Succeeded"}))
    delta = picture.delta(NOW)
    assert list(delta.removals.pod_groups) == list(delta.removals.pods) == ["uid-a"]


NATIVE: Final[dict[str, dict[str, Any]]] = {
    "schedulingGroup": {"schedulingGroup": {"podGroupName": "gang"}},
    "workloadRef": {"workloadRef": {"name": "gang", "podGroup": "workers"}},
}


@pytest.mark.parametrize("field", NATIVE)
def test_pod_of_a_pod_group_of_kubernetes_is_not_started_alone(field: str) -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("named"))
    world.put("pods", pod("waits", spec=NATIVE[field]))
    world.put("pods", pod("named", spec=NATIVE[field], meta=member("named")))
    world.put("pods", running("runs", spec=NATIVE[field]))
    picture = world.builder()
    picture.snapshot(NOW)
    reasons = {row.name: row.blocked_reason for row in picture.snapshot(LATER).pods}
    assert "its pod group 'gang' of scheduling.k8s.io is not supported" in reasons.pop("waits")
    assert reasons == {"named": "", "runs": ""}
