"""Volumes are requested and bound before the pods that use them, and a group waits for all of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.applier import GroupApplier
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ports import BindingPreparer
from tenure.kubernetes.api.transport import LeaderTransport, Transport
from tenure.kubernetes.apply.applier import PodApplier
from tenure.kubernetes.apply.owner_writes import OwnerWriter
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import PodWriter
from tenure.kubernetes.apply.volume_binder import VolumeBinder
from tenure.kubernetes.choices import EvictionMode
from tenure.kubernetes.owners.kinds import built_in_kinds

from tests.kubernetes.apply.decision_groups import NOW, bind, group
from tests.kubernetes.apply.scripted_api_server import ScriptedApiServer, ScriptedResponse
from tests.kubernetes.apply.test_applier import results, sent
from tests.kubernetes.observe.cached_cluster import member, pod, pod_group
from tests.kubernetes.volumes.volume_objects import bound_claim, claim, mounts, storage_cluster, volume

Served = tuple[ScriptedApiServer, Transport]
SELECTED = "volume.kubernetes.io/selected-node"
OK = ScriptedResponse(200)


class BinderRig:
    """An applier with a binder of volumes; tests put what the API server would show."""

    def __init__(self, served: Served) -> None:
        self.server, self.transport = served
        self.seconds = float(NOW.seconds)
        self.world = storage_cluster()
        self.world.put("kai_pod_groups", pod_group("winner"))
        self.builder = self.world.builder()
        self.applier = self.new_applier()

    def new_applier(self) -> GroupApplier:
        """Build an applier without memory, as after a restart."""
        caches = self.world.mirrors
        writer = PodWriter(self.transport, lambda: True, EvictionMode.EVICTION)
        binder = VolumeBinder(self.leader, caches, self.builder.volumes, lambda: self.seconds)
        ownership = Ownership(caches, self.builder, "kai-scheduler")
        owners = OwnerWriter(self.transport, built_in_kinds(), lambda: True)
        return GroupApplier(PodApplier(writer, caches, ownership, owners), self.now, self.preparer(binder))

    def preparer(self, binder: VolumeBinder) -> BindingPreparer:
        return binder

    @property
    def leader(self) -> LeaderTransport:
        """A transport of an adapter that leads."""
        return LeaderTransport(self.transport, lambda: True)

    def now(self) -> Timestamp:
        return Timestamp(seconds=int(self.seconds))

    def pods(self, **claims: str) -> None:
        """Create pending pods by name, each with one claim, and accept their bindings."""
        for name, of_pod in claims.items():
            self.world.put("pods", pod(name, meta=member("winner"), spec=mounts(of_pod)))
            self.accept_binding(name)

    def accept_binding(self, name: str) -> None:
        """Show a pod as unbound, and accept its binding."""
        path, unbound = f"/api/v1/namespaces/team/pods/{name}", {"metadata": {"uid": f"uid-{name}"}}
        self.server.on("GET", path, ScriptedResponse(200, unbound))
        self.server.on("POST", f"{path}/binding", ScriptedResponse(201))

    def accepts(self, path: str, *answers: ScriptedResponse) -> None:
        self.server.on("PATCH", f"/api/v1/{path}", *(answers or (OK,)))

    def select(self, name: str, node: str) -> None:
        """Show the annotation of a claim."""
        self.world.put("volume_claims", claim(name, meta={"annotations": {SELECTED: node}}))

    def apply(self, entry: JournalEntry) -> list[str]:
        """Run an apply pass; return the requests that were sent."""
        before = len(self.server.writes())
        self.builder.delta(NOW)
        self.applier.apply([entry])
        return sorted(self.server.writes()[before:])

    def bodies(self) -> list[Any]:
        return [call.body for call in self.server.calls if call.method == "PATCH"]

    @property
    def waits(self) -> dict[str, str]:
        return {uid: wait.reason for uid, wait in self.world.mirrors.volume_waits.waits.items()}


@pytest.fixture
def rig(scripted_server: Served) -> Iterator[BinderRig]:
    made = BinderRig(scripted_server)
    yield made
    made.applier.close()


def claims(*names: str) -> list[str]:
    return [f"PATCH /api/v1/namespaces/team/persistentvolumeclaims/{name}" for name in names]


def test_claim_is_provisioned_before_its_pod_is_bound(rig: BinderRig) -> None:
    uid = rig.world.put("volume_claims", claim())
    version = rig.world.mirrors.volume_claims.all()[0].metadata.resource_version
    rig.pods(p="data")
    rig.accepts("namespaces/team/persistentvolumeclaims/data")
    entry = JournalEntry(group(bind("p", "n2")))
    assert rig.apply(entry) == claims("data")
    of_claim = {"uid": uid, "resourceVersion": version, "annotations": {SELECTED: "n2"}}
    assert rig.bodies() == [{"metadata": of_claim}]
    assert rig.waits == {"uid-p": "volume claim 'data' has no volume on node n2 yet"}
    assert rig.apply(entry) == [], "the cache does not show the annotation yet"
    rig.select("data", "n2")
    assert rig.apply(entry) == []
    rig.world.put("volumes", volume("v", ("n2",), kind="disk", phase="Bound"))
    rig.world.put("volume_claims", bound_claim("data", "v"))
    assert rig.apply(entry) == sent("binding", "p")
    assert rig.waits == {}
    assert results(entry) == {"bind-p": "APPLIED"}


def test_free_volume_is_given_to_the_claim_the_smallest_first(rig: BinderRig) -> None:
    rig.world.put("volumes", volume("large", ("n1",), size="9Gi"))
    small = rig.world.put("volumes", volume("small", ("n1",), size="2Gi"))
    rig.world.put("volumes", volume("elsewhere", ("n2",)))
    uid = rig.world.put("volume_claims", claim(kind="local"))
    rig.pods(p="data")
    rig.accepts("persistentvolumes/small")
    assert rig.apply(JournalEntry(group(bind("p")))) == ["PATCH /api/v1/persistentvolumes/small"]
    (body,) = rig.bodies()
    assert body["metadata"]["uid"] == small
    assert body["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert body["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "team",
        "name": "data",
        "uid": uid,
    }


def test_two_claims_get_different_volumes_in_one_pass_and_in_the_next(rig: BinderRig) -> None:
    for name in ("v1", "v2", "v3"):
        rig.world.put("volumes", volume(name, ("n1",)))
        rig.accepts(f"persistentvolumes/{name}")
    for name in ("a", "b", "c"):
        rig.world.put("volume_claims", claim(name, "local"))
    rig.pods(p="a", q="b", r="c")
    first = rig.apply(JournalEntry(group(bind("p"), bind("q"))))
    assert first == ["PATCH /api/v1/persistentvolumes/v1", "PATCH /api/v1/persistentvolumes/v2"]
    assert rig.apply(JournalEntry(group(bind("r"), id="h"))) == ["PATCH /api/v1/persistentvolumes/v3"]


def test_no_pod_of_a_group_is_bound_before_all_its_volumes(rig: BinderRig) -> None:
    rig.world.put("volumes", volume("v", ("n1",), phase="Bound"))
    rig.world.put("volume_claims", bound_claim("ready", "v"))
    rig.select("slow", "n1")
    rig.pods(p="ready", q="slow")
    entry = JournalEntry(group(bind("p"), bind("q")))
    assert rig.apply(entry) == []
    rig.world.put("volumes", volume("w", ("n1",), kind="disk", phase="Bound"))
    rig.world.put("volume_claims", bound_claim("slow", "w"))
    assert rig.apply(entry) == sent("binding", "p", "q")


def test_pods_of_a_group_without_atomicity_do_not_wait_for_each_other(rig: BinderRig) -> None:
    rig.select("slow", "n1")
    rig.world.put("volumes", volume("v", ("n1",), phase="Bound"))
    rig.world.put("volume_claims", bound_claim("ready", "v"))
    rig.pods(p="ready", q="slow")
    assert rig.apply(JournalEntry(group(bind("p"), bind("q"), best_effort=True))) == sent("binding", "p")


def test_node_that_the_provisioner_refuses_is_given_up_and_avoided(rig: BinderRig) -> None:
    rig.world.put("volume_claims", claim())
    rig.pods(p="data")
    rig.accepts("namespaces/team/persistentvolumeclaims/data")
    entry = JournalEntry(group(bind("p")))
    rig.apply(entry)
    rig.select("data", "n1")
    rig.apply(entry)
    rig.world.put("volume_claims", claim())
    assert rig.apply(entry) == []
    assert results(entry) == {"bind-p": "FAILED"}
    assert "the request for node n1 was refused" in entry.results["bind-p"].detail
    assert entry.row() is None
    rig.builder.delta(NOW)
    assert rig.world.mirrors.volume_waits.avoided("uid-p") == ("n1",)


def test_wait_ends_after_a_time_limit(rig: BinderRig) -> None:
    rig.select("data", "n1")
    rig.pods(p="data")
    entry = JournalEntry(group(bind("p")))
    rig.apply(entry)
    assert rig.builder.recheck_seconds is None
    rig.builder.delta(NOW)
    assert rig.builder.recheck_seconds == NOW.seconds + 240
    rig.seconds += 239
    rig.apply(entry)
    assert results(entry) == {}
    rig.seconds += 1
    rig.apply(entry)
    assert results(entry) == {"bind-p": "FAILED"}
    assert "for more than 240 seconds" in entry.results["bind-p"].detail
    rig.builder.delta(NOW)
    rig.builder.delta(NOW)
    (row,) = rig.builder.snapshot(NOW).pods
    assert row.blocked_reason == (
        "volume claim 'data' was not bound in time on node n1, which its annotation selects"
    )


REFUSED: dict[str, tuple[list[tuple[str, dict[str, Any]]], str]] = {
    "the claim is gone": ([], "volume claim 'data' does not exist"),
    "its volume is elsewhere": (
        [("volumes", volume("v", ("n3",), phase="Bound")), ("volume_claims", bound_claim("data", "v"))],
        "volume 'v' of volume claim 'data' cannot be used on node n1",
    ),
    "another node is selected": (
        [("volume_claims", claim(meta={"annotations": {SELECTED: "n3"}}))],
        "a volume of volume claim 'data' is being created for node n3",
    ),
    "no volume is left on the node": (
        [("volumes", volume("v", ("n3",))), ("volume_claims", claim(kind="local"))],
        "volume claim 'data' can have no volume on node n1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_written_for_a_group_with_a_claim_that_can_have_no_volume(
    rig: BinderRig, case: str
) -> None:
    objects, detail = REFUSED[case]
    for collection, item in objects:
        rig.world.put(collection, item)
    rig.world.put("volume_claims", claim("other"))
    rig.pods(p="other", q="data")
    entry = JournalEntry(group(bind("p"), bind("q")))
    assert rig.apply(entry) == []
    assert {name: step.detail for name, step in entry.results.items()} == {"bind-q": detail}
    assert entry.row() is None


def test_pods_of_a_group_that_share_a_claim_wait_for_one_volume(rig: BinderRig) -> None:
    rig.world.put("volume_claims", claim())
    rig.pods(p="data", q="data")
    rig.accepts("namespaces/team/persistentvolumeclaims/data")
    entry = JournalEntry(group(bind("p", "n1"), bind("q", "n2")))
    assert rig.apply(entry) == claims("data")
    rig.select("data", "n1")
    assert rig.apply(entry) == []
    rig.world.put("volumes", volume("v", ("n1", "n2"), kind="disk", phase="Bound"))
    rig.world.put("volume_claims", bound_claim("data", "v"))
    assert rig.apply(entry) == sent("binding", "p", "q")


def test_restarted_adapter_continues_to_wait(rig: BinderRig) -> None:
    rig.select("data", "n1")
    rig.pods(p="data")
    entry = JournalEntry(group(bind("p")))
    rig.apply(entry)
    rig.applier.close()
    rig.applier = rig.new_applier()
    assert rig.apply(entry) == []
    rig.world.put("volumes", volume("v", ("n1",), kind="disk", phase="Bound"))
    rig.world.put("volume_claims", bound_claim("data", "v"))
    assert rig.apply(entry) == sent("binding", "p")


RESPONSES = {
    "conflict": (ScriptedResponse(409, {"message": "changed"}), True),
    "busy": (ScriptedResponse(429, {"message": "wait"}, {"Retry-After": "3"}), True),
    "internal error": (ScriptedResponse(500, {"message": "oops"}), True),
    "no permission": (ScriptedResponse(403, {"message": "no"}), False),
}


@pytest.mark.parametrize("case", RESPONSES)
def test_request_that_fails_is_repeated_unless_it_was_rejected(rig: BinderRig, case: str) -> None:
    answer, is_retried = RESPONSES[case]
    rig.world.put("volume_claims", claim())
    rig.pods(p="data")
    rig.accepts("namespaces/team/persistentvolumeclaims/data", answer, OK)
    entry = JournalEntry(group(bind("p")))
    rig.apply(entry)
    assert results(entry) == {"bind-p": "FAILED"}
    assert entry.results["bind-p"].retryable is is_retried
    rig.seconds += 60
    assert rig.apply(entry) == (claims("data") if is_retried else [])


def test_wait_of_a_group_that_the_server_dropped_ends(rig: BinderRig) -> None:
    rig.select("data", "n1")
    rig.pods(p="data")
    rig.apply(JournalEntry(group(bind("p"))))
    assert rig.waits
    rig.applier.apply([])
    assert rig.waits == {}
