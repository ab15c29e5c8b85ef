"""Allocated claims are reserved for pods before these are bound, and after the volumes of the group are."""

from collections.abc import Iterator
from typing import Any

import pytest
from tenure.integration.journal_entry import JournalEntry
from tenure.kubernetes.apply.claim_reserver import ClaimReserver
from tenure.kubernetes.apply.device_allocator import DeviceAllocator
from tenure.kubernetes.apply.volume_binder import VolumeBinder

from tests.kubernetes.apply.decision_groups import bind, group
from tests.kubernetes.apply.scripted_api_server import ScriptedResponse
from tests.kubernetes.apply.test_applier import results, sent
from tests.kubernetes.apply.test_volume_binder import BinderRig, Served
from tests.kubernetes.observe.cached_cluster import member, pod
from tests.kubernetes.observe.test_device_claims import NAMED, allocated, claim
from tests.kubernetes.volumes.volume_objects import mounts

RESERVED = "PATCH /apis/resource.k8s.io/v1/namespaces/team/resourceclaims/c/status"


class ReserverRig(BinderRig):
    """An applier that binds volumes and reserves claims."""

    def preparer(self, binder: VolumeBinder) -> ClaimReserver:
        caches, claims = self.world.mirrors, self.builder.claims
        allocator = DeviceAllocator(
            self.leader, caches.pods.find, claims, "test/tenure", lambda: self.seconds
        )
        return ClaimReserver(self.leader, caches, claims, binder, allocator)

    def claim_pods(self, *names: str, **more: Any) -> None:
        """Create pods that use the claim `c`."""
        for name in names:
            self.world.put("pods", pod(name, meta=member("winner"), spec={**NAMED, **more}))
            self.accept_binding(name)

    def reserves(self, *answers: ScriptedResponse) -> None:
        self.server.on("PATCH", RESERVED.split()[1], *answers)


@pytest.fixture
def rig(scripted_server: Served) -> Iterator[ReserverRig]:
    made = ReserverRig(scripted_server)
    made.world.put("resource_claims", claim(**allocated("n1")))
    yield made
    made.applier.close()


def test_claim_is_reserved_for_each_pod_of_a_group_before_any_is_bound(rig: ReserverRig) -> None:
    rig.claim_pods("p", "q")
    rig.reserves(ScriptedResponse(200))
    assert rig.apply(JournalEntry(group(bind("p"), bind("q")))) == [RESERVED] * 2 + sent("binding", "p", "q")
    order = [write.split()[0] for write in rig.server.writes()]
    assert order == ["PATCH", "PATCH", "POST", "POST"]
    added = [body["status"]["reservedFor"] for body in rig.bodies()]
    assert sorted(one["uid"] for (one,) in added) == ["uid-p", "uid-q"]
    assert {body["metadata"]["uid"] for body in rig.bodies()} == {"resource_claims-c"}


def test_claim_that_is_reserved_already_is_not_written(rig: ReserverRig) -> None:
    consumer = {"resource": "pods", "name": "p", "uid": "uid-p"}
    rig.world.put("resource_claims", claim(**allocated("n1"), reservedFor=[consumer]))
    rig.claim_pods("p")
    assert rig.apply(JournalEntry(group(bind("p")))) == sent("binding", "p")


def test_claim_is_reserved_after_the_volumes_of_the_group_are_bound(rig: ReserverRig) -> None:
    rig.select("data", "n1")
    rig.claim_pods("p")
    rig.claim_pods("q", **mounts("data"))
    assert rig.apply(JournalEntry(group(bind("p"), bind("q")))) == []


def test_no_pod_of_a_group_is_bound_when_a_claim_is_no_longer_allocated(rig: ReserverRig) -> None:
    rig.claim_pods("p")
    rig.world.put("pods", pod("other", meta=member("winner")))
    rig.accept_binding("other")
    rig.world.put("resource_claims", claim())
    entry = JournalEntry(group(bind("p"), bind("other")))
    assert rig.apply(entry) == []
    assert results(entry) == {"bind-p": "PRECONDITION_FAILED"}


@pytest.mark.parametrize(
    ("status", "is_retried"),
    [(409, True), (429, True), (500, True), (403, False), (422, False), (404, False)],
)
def test_reservation_that_fails_is_repeated_unless_it_was_rejected(
    rig: ReserverRig, status: int, is_retried: bool
) -> None:
    rig.claim_pods("p")
    rig.reserves(ScriptedResponse(status, {"message": "no"}), ScriptedResponse(200))
    entry = JournalEntry(group(bind("p")))
    assert rig.apply(entry) == [RESERVED]
    assert entry.results["bind-p"].retryable is is_retried
    rig.seconds += 60
    assert rig.apply(entry) == ([RESERVED, *sent("binding", "p")] if is_retried else [])
