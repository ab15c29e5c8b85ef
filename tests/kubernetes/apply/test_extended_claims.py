"""Before a pod is bound to devices that serve its extended resources, it has a claim of its own to them."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tenure.integration.journal_entry import JournalEntry

from tests.kubernetes.apply.decision_groups import bind, group
from tests.kubernetes.apply.scripted_api_server import ScriptedResponse
from tests.kubernetes.apply.test_applier import results, sent
from tests.kubernetes.apply.test_claim_reserver import ReserverRig
from tests.kubernetes.apply.test_volume_binder import Served
from tests.kubernetes.devices.test_extended_claim_requests import FPGA
from tests.kubernetes.devices.test_extended_resources import by_devices, by_plugin, device_class
from tests.kubernetes.observe.cached_cluster import NOW, member, pod

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims"
STATUS = "/api/v1/namespaces/team/pods/p/status"
FINALIZER = "resource.kubernetes.io/delete-protection"


class ExtendedRig(ReserverRig):
    """Node n1 serves FPGAs with devices, node n2 with a device plugin; pod p requests two."""

    def fill(self) -> None:
        by_devices(self.world, 4, "n1")
        by_plugin(self.world, FPGA, name="n2")
        device_class(self.world, "c", FPGA)
        self.builder.claims.allocator_problem = lambda: ""
        self.show_pod()
        self.accept_binding("p")
        self.server.on("POST", CLAIMS, ScriptedResponse(201))
        self.builder.snapshot(NOW)

    def show_pod(self, **status: Any) -> None:
        self.world.put("pods", pod("p", meta=member("winner"), requests={FPGA: "2"}, status=status))

    def created(self) -> dict[str, Any]:
        """Return the claim that was created."""
        (body,) = [call.body for call in self.server.calls if (call.method, call.path) == ("POST", CLAIMS)]
        return deepcopy(dict(body))

    @property
    def path(self) -> str:
        return f"{CLAIMS}/{self.created()['metadata']['name']}"

    def show_claim(self, **changes: Any) -> None:
        """Show the claim that was created; `changes` replace its fields."""
        item = {**self.created(), "status": {}, **changes}
        self.world.put("resource_claims", item)

    def accept_claim(self) -> None:
        """Accept all writes to the claim, and keep the status of the pod."""
        answer = ScriptedResponse(200, {"metadata": {"resourceVersion": "9999"}})
        self.server.on("PATCH", self.path, answer)
        self.server.on("PATCH", f"{self.path}/status", answer)
        self.server.on("DELETE", self.path, ScriptedResponse(200))

    def keep_status(self) -> None:
        """Keep what is written to the status of the pod."""

        def rule(call: Any) -> ScriptedResponse | None:
            is_it = (call.method, call.path) == ("PATCH", STATUS)
            return ScriptedResponse(200, {"status": call.body["status"]}) if is_it else None

        self.server.rules.append(rule)

    def body_of(self, method: str, path: str) -> Any:
        return [call.body for call in self.server.calls if (call.method, call.path) == (method, path)][-1]


@pytest.fixture
def rig(scripted_server: Served) -> Iterator[ExtendedRig]:
    made = ExtendedRig(scripted_server)
    made.fill()
    yield made
    made.applier.close()


def allocated(node: str = "n1") -> dict[str, Any]:
    """Build the status of a claim that this adapter allocated."""
    results = [
        {"request": "container-0-request-0", "driver": "gpu.io", "pool": node, "device": f"d{at}"}
        for at in (0, 1)
    ]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    consumer = {"resource": "pods", "name": "p", "uid": "uid-p"}
    return {"allocation": allocation, "reservedFor": [consumer]}


def test_claim_is_created_allocated_and_told_before_its_pod_is_bound(rig: ExtendedRig) -> None:
    entry = JournalEntry(group(bind("p", "n1")))
    assert rig.apply(entry) == [f"POST {CLAIMS}"]
    made = rig.created()
    assert made["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    assert made["metadata"]["ownerReferences"] == [owner]
    (request,) = made["spec"]["devices"]["requests"]
    assert request["name"] == "container-0-request-0"
    assert request["exactly"] == {"deviceClassName": "c", "count": 2}
    rig.show_claim()
    rig.accept_claim()
    rig.keep_status()
    start = len(rig.server.calls)
    assert rig.apply(entry)
    writes = [f"{call.method} {call.path}" for call in rig.server.calls[start:] if call.method != "GET"]
    assert writes == [
        f"PATCH {rig.path}",
        f"PATCH {rig.path}/status",
        f"PATCH {STATUS}",
        *sent("binding", "p"),
    ]
    status = rig.body_of("PATCH", f"{rig.path}/status")["status"]
    assert [one["device"] for one in status["allocation"]["devices"]["results"]] == ["d0", "d1"]
    assert [one["uid"] for one in status["reservedFor"]] == ["uid-p"]
    mapping = {"containerName": "main", "resourceName": FPGA, "requestName": "container-0-request-0"}
    told = {"requestMappings": [mapping], "resourceClaimName": made["metadata"]["name"]}
    assert rig.body_of("PATCH", STATUS) == {
        "metadata": {"uid": "uid-p"},
        "status": {"extendedResourceClaimStatus": told},
    }
    assert results(entry) == {"bind-p": "APPLIED"}


def test_pod_on_a_node_with_a_device_plugin_needs_no_claim(rig: ExtendedRig) -> None:
    assert rig.apply(JournalEntry(group(bind("p", "n2")))) == sent("binding", "p")


def test_claim_that_exists_already_is_awaited(rig: ExtendedRig) -> None:
    rig.server.rules.clear()
    rig.server.on("POST", CLAIMS, ScriptedResponse(409, {"message": "already exists"}))
    entry = JournalEntry(group(bind("p", "n1")))
    assert rig.apply(entry) == rig.apply(entry) == [f"POST {CLAIMS}"]
    assert results(entry) == {}


def test_claim_that_cannot_be_created_is_told(rig: ExtendedRig) -> None:
    rig.server.rules.clear()
    rig.server.on("POST", CLAIMS, ScriptedResponse(403, {"message": "no such right"}))
    entry = JournalEntry(group(bind("p", "n1")))
    rig.apply(entry)
    assert results(entry) == {"bind-p": "FAILED"}
    assert "lacks a permission" in entry.results["bind-p"].detail
    rig.builder.delta(NOW)
    assert "no such right" in rig.world.mirrors.binding_backoff.reason("uid-p")


def test_pod_is_not_bound_where_the_api_server_keeps_no_status(rig: ExtendedRig) -> None:
    entry = JournalEntry(group(bind("p", "n1")))
    rig.apply(entry)
    rig.show_claim(status=allocated())
    rig.server.on("PATCH", STATUS, ScriptedResponse(200, {"status": {}}))
    assert rig.apply(entry) == [f"PATCH {STATUS}"]
    assert results(entry) == {"bind-p": "PRECONDITION_FAILED"}
    assert "DRAExtendedResource is off" in entry.results["bind-p"].detail


def test_claim_of_a_pod_that_is_not_bound_is_freed_and_deleted(rig: ExtendedRig) -> None:
    entry = JournalEntry(group(bind("p", "n1")))
    rig.apply(entry)
    made = rig.created()
    annotations = {**made["metadata"]["annotations"], "tenure.scheduler/device-allocator": "test/tenure"}
    rig.show_claim(metadata={**made["metadata"], "annotations": annotations}, status=allocated())
    rig.accept_claim()
    rig.world.put("pods", pod("other", meta=member("winner")))
    rig.accept_binding("other")
    others = [JournalEntry(group(bind(name, "n2"))) for name in ("other", "other")]
    assert rig.apply(others[0]) == sent("binding", "other")
    rig.seconds += 16
    rig.apply(others[1])
    assert f"PATCH {rig.path}/status" in rig.server.writes()
    assert f"DELETE {rig.path}" in rig.server.writes()
    assert rig.body_of("PATCH", f"{rig.path}/status")["status"]["allocation"] is None
    uid = f"resource_claims-{made['metadata']['name']}"
    only = {"uid": uid, "resourceVersion": "9999"}
    assert rig.body_of("DELETE", rig.path)["preconditions"] == only


def test_claim_for_other_resources_is_deleted_and_the_pod_told(rig: ExtendedRig) -> None:
    rig.apply(JournalEntry(group(bind("p", "n1"))))
    rig.show_claim()
    rig.accept_claim()
    rig.keep_status()
    entry = JournalEntry(group(bind("p", "n2")))
    assert rig.apply(entry) == [f"DELETE {rig.path}"]
    (claim,) = rig.world.mirrors.resource_claims.all()
    only = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
    assert rig.body_of("DELETE", rig.path)["preconditions"] == only
    rig.world.remove("resource_claims", f"resource_claims-{rig.created()['metadata']['name']}")
    told = {"requestMappings": [], "resourceClaimName": rig.created()["metadata"]["name"]}
    rig.show_pod(extendedResourceClaimStatus=told)
    assert rig.apply(entry) == [f"PATCH {STATUS}", *sent("binding", "p")]
    assert rig.body_of("PATCH", STATUS)["status"] == {"extendedResourceClaimStatus": None}


def test_claim_of_a_user_with_this_name_is_left_alone(rig: ExtendedRig) -> None:
    rig.apply(JournalEntry(group(bind("p", "n1"))))
    meta = rig.created()["metadata"]
    rig.show_claim(metadata={"name": meta["name"], "namespace": "team"})
    entry = JournalEntry(group(bind("p", "n1")))
    assert rig.apply(entry) == []
    assert "was not created for this pod" in entry.results["bind-p"].detail
    assert rig.apply(JournalEntry(group(bind("p", "n2")))) == sent("binding", "p")
