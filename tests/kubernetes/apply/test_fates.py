"""Owners of evicted pods are deleted or suspended where their pod group asks for that, and only then."""

from typing import Any, Final

import pytest
from tenure.integration.journal_entry import EntryState, JournalEntry
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.apply.applier_rig import ApplierRig, results, sent
from tests.kubernetes.apply.decision_groups import NOW, evict, group
from tests.kubernetes.apply.scripted_api_server import ScriptedResponse

SERVED: Final = {
    "batch/v1": [("jobs", "Job"), ("cronjobs", "CronJob")],
    "apps/v1": [("replicasets", "ReplicaSet")],
    "jobset.x-k8s.io/v1alpha2": [("jobsets", "JobSet")],
    "example.com/v1": [("things", "Thing")],
}


def reference(version: str, kind: str, name: str) -> dict[str, Any]:
    """An owner reference."""
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


class Cluster(ApplierRig):
    """A pod with owners on a scripted API server."""

    def own(self, *owners: tuple[str, str, str], on_evict: str = "delete", **annotations: str) -> None:
        """The pod `old`, and its owners from the nearest to the highest."""
        for version, kinds in SERVED.items():
            listed = [{"name": name, "kind": kind, "namespaced": True} for name, kind in kinds]
            self.server.on("GET", f"/apis/{version}", ScriptedResponse(200, {"resources": listed}))
        references = [reference(*owner) for owner in owners]
        for number, (version, kind, name) in enumerate(owners):
            meta: dict[str, Any] = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
            meta["ownerReferences"] = references[number + 1 : number + 2]
            self.server.on("GET", path(version, kind, name), ScriptedResponse(200, {"metadata": meta}))
        notes = {"tenure.scheduler/on-evict": on_evict, **annotations}
        self.running("old", meta={"annotations": notes, "ownerReferences": references[:1]})
        self.messages("eviction", "old", ScriptedResponse(201))

    def evict(self, fate: pb.Fate = pb.FATE_DELETE) -> JournalEntry:
        """Apply the eviction of the pod, with a fate."""
        self.builder.delta(NOW)
        decision = evict("old", victim=self.builder.pod("uid-old").pod_group)  # type: ignore[union-attr]
        decision.evict.fate = fate
        entry = JournalEntry(group(decision))
        self.apply(entry)
        return entry


def path(version: str, kind: str, name: str) -> str:
    """Path of an owner."""
    plural = next(plural for plural, served in SERVED[version] if served == kind)
    return f"/apis/{version}/namespaces/team/{plural}/{name}"


JOB: Final = ("batch/v1", "Job", "train")
JOBSET: Final = ("jobset.x-k8s.io/v1alpha2", "JobSet", "set")
CRON: Final = ("batch/v1", "CronJob", "nightly")
HIGHEST: Final = {
    "a Job": ([JOB], JOB),
    "a JobSet above its Job": ([JOB, JOBSET], JOBSET),
    "a Job below its CronJob": ([JOB, CRON], JOB),
}


@pytest.fixture
def cluster(scripted_server: Any) -> Any:
    made = Cluster(scripted_server)
    yield made
    made.applier.close()


@pytest.mark.parametrize(("owners", "deleted"), HIGHEST.values(), ids=HIGHEST)
def test_owner_that_the_pod_group_stands_for_is_deleted_after_the_eviction(
    cluster: Cluster, owners: list[tuple[str, str, str]], deleted: tuple[str, str, str]
) -> None:
    cluster.own(*owners)
    cluster.server.on("DELETE", path(*deleted), ScriptedResponse(200))
    entry = cluster.evict()
    assert cluster.server.writes() == [*sent("eviction", "old"), f"DELETE {path(*deleted)}"]
    assert cluster.server.calls[-1].body["preconditions"] == {"uid": f"uid-{deleted[2]}"}
    assert results(entry) == {"evict-old": "APPLIED"}
    assert [step.detail for step in entry.results.values()] == [""]


def test_owner_is_deleted_at_a_time_limit_that_asks_for_that(cluster: Cluster) -> None:
    limit = {"tenure.scheduler/time-limit": "1h", "tenure.scheduler/on-time-limit": "delete"}
    cluster.own(JOB, on_evict="requeue", **limit)
    cluster.server.on("DELETE", path(*JOB), ScriptedResponse(200))
    entry = cluster.evict()
    assert cluster.server.writes() == [*sent("eviction", "old"), f"DELETE {path(*JOB)}"]
    assert [step.detail for step in entry.results.values()] == [""]


def test_owner_is_not_deleted_because_another_pod_group_asks_for_that(cluster: Cluster) -> None:
    """The pod of the decision terminates already, as after a crash of the adapter."""
    cluster.own(JOB, on_evict="requeue")
    asks = {"annotations": {"tenure.scheduler/on-evict": "delete"}}
    cluster.running("asks", meta=asks)
    cluster.builder.delta(NOW)
    ending = {"metadata": {"name": "old", "uid": "uid-old", "deletionTimestamp": "2027-01-01T00:00:00Z"}}
    cluster.server.on("GET", "/api/v1/namespaces/team/pods/old", ScriptedResponse(200, ending))
    decision = evict("old", victim="uid-asks")
    decision.evict.fate = pb.FATE_DELETE
    entry = JournalEntry(group(decision), state=EntryState.UNREPORTED)
    cluster.apply(entry)
    assert cluster.server.writes() == []


def test_owner_is_suspended_by_the_field_of_its_kind(cluster: Cluster) -> None:
    cluster.own(JOB, on_evict="suspend", **{"tenure.scheduler/suspendable": "true"})
    cluster.server.on("PATCH", path(*JOB), ScriptedResponse(200))
    cluster.evict(pb.FATE_SUSPEND)
    assert cluster.server.writes()[-1] == f"PATCH {path(*JOB)}"
    assert cluster.server.calls[-1].body == {"metadata": {"uid": "uid-train"}, "spec": {"suspend": True}}


LEFT: Final = {
    "the server decides what nobody asked for": (
        {"owners": [JOB], "on_evict": "requeue"},
        "not deleted: neither it nor its queue asks for that",
    ),
    "pods of a ReplicaSet are independent": (
        {"owners": [("apps/v1", "ReplicaSet", "web")]},
        "not deleted: ReplicaSet web is of a kind whose pods are not one workload",
    ),
    "an unknown kind": (
        {"owners": [("example.com/v1", "Thing", "thing")]},
        "not deleted: Thing thing is of a kind whose pods are not one workload",
    ),
    "it is not permitted": (
        {"owners": [JOB], "status": 403},
        "not deleted: the adapter lacks a permission: ",
    ),
}


@pytest.mark.parametrize(("row", "why"), LEFT.values(), ids=LEFT)
def test_victim_is_evicted_and_its_owner_is_left_with_the_reason(
    cluster: Cluster, row: dict[str, Any], why: str
) -> None:
    status = row.pop("status", 0) if "status" in row else 0
    owners = row["owners"]
    cluster.own(*owners, on_evict=row.get("on_evict", "delete"))
    if status:
        cluster.server.on("DELETE", path(*owners[0]), ScriptedResponse(status, {"message": "no"}))
    entry = cluster.evict()
    assert cluster.server.writes()[:1] == sent("eviction", "old")
    (step,) = entry.results.values()
    assert results(entry) == {"evict-old": "APPLIED"}
    assert step.detail.startswith(why)


def test_failed_call_is_repeated_while_the_pod_terminates(cluster: Cluster) -> None:
    cluster.own(JOB)
    cluster.server.on("DELETE", path(*JOB), ScriptedResponse(503), ScriptedResponse(200))
    entry = cluster.evict()
    assert results(entry) == {"evict-old": "FAILED"}
    ending = {"metadata": {"name": "old", "uid": "uid-old", "deletionTimestamp": "2027-01-01T00:00:00Z"}}
    cluster.server.on("GET", "/api/v1/namespaces/team/pods/old", ScriptedResponse(200, ending))
    cluster.seconds += 60
    cluster.apply(entry)
    assert results(entry) == {"evict-old": "APPLIED"}
    assert cluster.server.writes() == [*sent("eviction", "old"), *[f"DELETE {path(*JOB)}"] * 2]


def test_pod_without_owner_is_only_evicted(cluster: Cluster) -> None:
    cluster.own()
    entry = cluster.evict()
    assert cluster.server.writes() == sent("eviction", "old")
    assert [step.detail for step in entry.results.values()] == [""]
