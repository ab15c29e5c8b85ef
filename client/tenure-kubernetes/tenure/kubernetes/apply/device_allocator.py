"""Allocates devices to claims, in the order that the API asks for, and frees them when a group is given up.

    finalizer    resource.kubernetes.io/delete-protection, so that the claim stays until it is deallocated;
                 with it, an annotation with the adapter that allocates it
    status       allocation and reservedFor in one update, for the version that the first write returned
    then         the pods are bound

Each write can be the last one of a process: the next one finds the claim as it is, and continues. An
allocation is observed on the claim, or held in the ledger until it is, so no two claims get one device. The
devices of a claim are freed when no decision has used it for a while, and its pods are on no node.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from tenure.integration.applier import CallPool
from tenure.integration.ports import ApplyResult, LeaseLost, precondition_failed, retry
from tenure.kubernetes.api.api_errors import ApiError, NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH, STRATEGIC_PATCH, LeaderTransport
from tenure.kubernetes.apply.allocation_status import allocation_status
from tenure.kubernetes.apply.claim_writes import claim_path, delete_claim, free_devices
from tenure.kubernetes.apply.pod_writes import MANAGER, send_once
from tenure.kubernetes.devices.allocation import ChosenDevice, DeviceChoice
from tenure.kubernetes.devices.extended_resources import is_extended_claim
from tenure.kubernetes.devices.ledger import DeviceLedger, SentAllocation
from tenure.kubernetes.devices.pod_claims import MAX_CONSUMERS, PodClaims
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.device_claims import Consumer, ResourceClaim
from tenure.kubernetes.objects.meta import Object, ObjectMeta
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.volumes.matching import name_of
from tenure.v1.decision_pb2 import Decision

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
FREE_AFTER_SECONDS: Final = 15.0
"""Seconds without a decision for a claim until its devices are freed: longer than a binding may take."""
_OBJECT: Final = msgspec.json.Decoder(Object)
_POD: Final = msgspec.json.Decoder(Pod)


class NoDevices(Exception):
    """A pod cannot have its devices on the node of its decision."""

    def __init__(self, decision: Decision, result: ApplyResult, *, avoids_node: bool = False) -> None:
        super().__init__(result.detail)
        self.decision, self.result, self.avoids_node = decision, result, avoids_node


class PlannedAllocation(NamedTuple):
    """Devices for a claim, and the pods of its decisions."""

    claim: ResourceClaim
    node: str
    chosen: tuple[ChosenDevice, ...]
    pods: Sequence[ObjectMeta]
    decisions: tuple[str, ...]
    sent: SentAllocation


class _AllocationResult(NamedTuple):
    """The result of an allocation that was sent. `sent` is None if it never arrives."""

    result: ApplyResult | None
    sent: SentAllocation | None


class DeviceAllocator:
    """Plans and sends allocations. `now` returns seconds since 1970; `identity` names the adapter."""

    def __init__(
        self,
        transport: LeaderTransport,
        pods: Callable[[str], Pod | None],
        claims: PodClaims,
        identity: str,
        now: Callable[[], float],
    ) -> None:
        self._transport, self._find_pod = transport, pods
        self._claims, self._index = claims, claims.index
        self._identity, self._now = identity, now
        self._ledger = DeviceLedger(claims.index.holders, claims.index.find)
        self._idle_since: dict[str, float] = {}
        """When the last decision for a claim that no pod on a node uses ended, by uid of the claim."""
        self._freeing: dict[str, str] = {}
        """Version of each claim whose devices were being freed: while it has it, that may still happen."""
        self._pool = CallPool("tenure-devices")

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._pool.close()

    def settle(self) -> None:
        """Forget what is observed. Call it before plans are made."""
        self._ledger.settle()

    def node_of(self, claim: ResourceClaim) -> str:
        """Node of an allocation that is applied and not observed yet; "": there is none."""
        applied = self._ledger.applied(claim.metadata.uid)
        return applied.node if applied is not None else ""

    def is_reserved(self, claim: ResourceClaim, pod: str) -> bool:
        """Whether an allocation that is not observed yet reserves a claim for a pod."""
        applied = self._ledger.applied(claim.metadata.uid)
        return applied is not None and pod in applied.pods

    def is_being_freed(self, claim: ResourceClaim) -> bool:
        """Whether a request to free the devices of a claim may still arrive."""
        return self._freeing.get(claim.metadata.uid) == claim.metadata.resource_version

    def plan(self, group: Sequence[Decision]) -> list[PlannedAllocation]:
        """Allocations for the pods of a group, which hold their devices from now on. Raises NoDevices."""
        users: dict[str, list[Decision]] = {}
        claims: dict[str, ResourceClaim] = {}
        for decision in group:
            if not self._index.is_unbound(decision.bind.pod):
                continue
            for use in self._claims.uses_on(decision.bind.pod, decision.bind.node):
                claim = self._index.claim(use.name)
                if claim is None or claim.status.allocation is not None:
                    continue
                node = self.node_of(claim) or self._node_of(users.get(claim.metadata.uid, ()))
                if node not in ("", decision.bind.node):
                    other = f"resource claim {use.name.name!r} is allocated on node {node}"
                    raise NoDevices(decision, precondition_failed(other))
                if not self.node_of(claim):
                    claims[claim.metadata.uid] = claim
                    users.setdefault(claim.metadata.uid, []).append(decision)
        planned: list[PlannedAllocation] = []
        by_node: dict[str, list[str]] = {}
        for uid, decisions in users.items():
            by_node.setdefault(decisions[0].bind.node, []).append(uid)
        for node, uids in sorted(by_node.items()):
            undecided = {uid: self._ledger.undecided(uid, node) for uid in uids}
            known = self._claims.sets.inventory.devices.keys()
            again = {
                uid: sent.chosen
                for uid, sent in undecided.items()
                if sent is not None and known >= set(sent.devices)
            }
            new = {uid: claims[uid] for uid in uids if uid not in again}
            chosen = {**again, **self._choose(node, new, users[uids[0]][0])}
            planned.extend(self._planned(claims[uid], node, chosen[uid], users[uid]) for uid in uids)
        for one in planned:
            self._ledger.add(one.claim.metadata.uid, one.sent)
        return planned

    def send(self, planned: Sequence[PlannedAllocation]) -> dict[str, ApplyResult]:
        """Send allocations; returns results of the decisions whose allocation failed. Raises LeaseLost."""
        held: dict[str, ApplyResult] = {}
        is_lost = False
        for one, answer in zip(planned, self._pool.all(self._allocate, planned), strict=True):
            self._ledger.change(one.claim.metadata.uid, one.sent, answer.sent)
            if answer.result is None and (answer.sent is None or not answer.sent.is_applied):
                is_lost = True
            elif answer.result is not None:
                held.update(dict.fromkeys(one.decisions, answer.result))
        if is_lost:
            raise LeaseLost
        return held

    def free_unused(self, assigned: Set[str]) -> None:
        """Free the devices of claims whose decisions have ended; `assigned` are the pods of decisions."""
        now, unused = self._now(), self._claims.unused(self._identity)
        idle: dict[str, tuple[ResourceClaim, str]] = {}
        for uid, version in self._ledger.all_undecided():
            claim = self._index.find(uid)
            if not version or claim is None or claim.status.allocation is not None:
                continue
            if assigned.isdisjoint(self._index.users(name_of(claim.metadata))):
                idle[uid] = claim, version
        for claim in unused:
            if assigned.isdisjoint(one.uid for one in claim.status.reserved_for):
                idle[claim.metadata.uid] = claim, ""
        self._idle_since = {uid: self._idle_since.get(uid, now) for uid in idle}
        due = [idle[uid] for uid, since in self._idle_since.items() if now >= since + FREE_AFTER_SECONDS]
        freeing = {
            claim.metadata.uid: claim.metadata.resource_version for claim, version in due if not version
        }
        known = ((uid, self._index.find(uid)) for uid in self._freeing)
        kept = {uid for uid, claim in known if claim is not None and self.is_being_freed(claim)}
        self._freeing = {uid: version for uid, version in self._freeing.items() if uid in kept} | freeing
        self._idle_since.update({claim.metadata.uid: now for claim, _ in due})
        self._pool.all(self._free, due)
        ends = [since + FREE_AFTER_SECONDS for since in self._idle_since.values()]
        self._claims.recheck_seconds = min(ends, default=None)

    def _node_of(self, decisions: Iterable[Decision]) -> str:
        return next((one.bind.node for one in decisions), "")

    def _choose(
        self, node: str, claims: Mapping[str, ResourceClaim], decision: Decision
    ) -> dict[str, tuple[ChosenDevice, ...]]:
        """Free devices of a node for claims. Raises NoDevices."""
        sets, needs = self._claims.sets, {uid: self._index.needs(claim) for uid, claim in claims.items()}
        known = {uid: one for uid, one in needs.items() if one is not None}
        offered = sets.inventory.of_node.get(node, {}).values()
        free = [device for device in offered if self._ledger.is_free(device.id)]
        chosen = DeviceChoice(free, sets.fits, sets.rivals).choose(known)
        if chosen is None or len(known) < len(claims):
            named = ", ".join(repr(claim.metadata.name) for claim in claims.values())
            none = precondition_failed(f"node {node} has no free devices for resource claim {named}")
            raise NoDevices(decision, none, avoids_node=True)
        return {uid: tuple(devices) for uid, devices in chosen.items()}

    def _planned(
        self, claim: ResourceClaim, node: str, chosen: tuple[ChosenDevice, ...], decisions: Sequence[Decision]
    ) -> PlannedAllocation:
        found = (self._find_pod(decision.bind.pod) for decision in decisions)
        pods = list({pod.metadata.uid: pod.metadata for pod in found if pod is not None}.values())
        pods = pods[:MAX_CONSUMERS]
        sent = SentAllocation(node, chosen, frozenset(pod.uid for pod in pods), "", False)
        ids = tuple(decision.id for decision in decisions)
        return PlannedAllocation(claim, node, chosen, pods, ids, sent)

    def _allocate(self, one: PlannedAllocation) -> _AllocationResult:
        """Protect a claim, and allocate it."""
        meta = one.claim.metadata
        protection = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "finalizers": [FINALIZER],
                "annotations": {names.DEVICE_ALLOCATOR: self._identity},
            }
        }
        answers: list[bytes] = []
        try:
            failed = self._patch(claim_path(meta), protection, STRATEGIC_PATCH, answers)
            if failed is not None:
                return _AllocationResult(failed, None)
            version = _OBJECT.decode(answers[-1]).metadata.resource_version
            status = allocation_status(one.claim, one.chosen, one.node, one.pods, self._claims.sets)
            body = {"metadata": {"uid": meta.uid, "resourceVersion": version}, "status": status}
            failed = self._patch(f"{claim_path(meta)}/status", body, MERGE_PATCH, answers)
        except LeaseLost:
            return _AllocationResult(None, None)
        if failed is not None:
            # Without a response it may still arrive, unless another version of the claim exists.
            unknown = one.sent._replace(version=version) if failed.is_retryable else None
            return _AllocationResult(failed, unknown)
        written = _OBJECT.decode(answers[-1]).metadata.resource_version
        return _AllocationResult(None, one.sent._replace(version=written, is_applied=True))

    def _free(self, due: tuple[ResourceClaim, str]) -> None:
        """Free the devices of a claim, or make sure that an allocation of this version never arrives."""
        (claim, undecided), meta = due, due[0].metadata
        if self._claims.allocator_problem():
            return  # later
        try:
            if undecided:
                versioned = {"uid": meta.uid, "resourceVersion": undecided}
                fence = {"metadata": {**versioned, "annotations": {names.DEVICE_ALLOCATOR: None}}}
                self._patch(claim_path(meta), fence, MERGE_PATCH, [])
            elif not any(self._is_on_node(meta.namespace, one) for one in claim.status.reserved_for):
                (delete_claim if is_extended_claim(claim) else free_devices)(self._transport, claim)
        except (ApiError, LeaseLost):
            return  # later

    def _is_on_node(self, namespace: str, consumer: Consumer) -> bool:
        """Read whether a pod is on a node. Raises ApiError."""
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(consumer.name, safe='')}"
        try:
            pod = _POD.decode(self._transport.get(path))
        except NotFound:
            return False
        return pod.metadata.uid == consumer.uid and bool(pod.spec.node_name)

    def _patch(self, path: str, body: Any, kind: str, answers: list[bytes]) -> ApplyResult | None:
        """Send a patch once; None: it was sent, and its response is in `answers`. Raises LeaseLost."""
        if problem := self._claims.allocator_problem():
            return retry(problem)
        query = {"fieldManager": MANAGER}
        return send_once(lambda: answers.append(self._transport.patch(path, body, kind, query)))
