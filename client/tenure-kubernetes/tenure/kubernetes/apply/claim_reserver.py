"""Allocates resource claims and reserves them for pods, after volumes are bound and before the pods are.

A claim for extended resources is created first. Once it has its devices, the status of its pod names it.

A reservation of an allocated claim is one entry of `status.reservedFor`, added by its key. The API server
refuses it if the claim is no longer allocated. It stays if the pod is not bound, and counts as one of the 256
pods of the claim; the controller of resource claims removes it with the pod.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tenure.integration.applier import CallPool
from tenure.integration.ports import ApplyResult, BindingPreparer, precondition_failed
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import STRATEGIC_PATCH, LeaderTransport
from tenure.kubernetes.apply.claim_writes import claim_path
from tenure.kubernetes.apply.device_allocator import DeviceAllocator, NoDevices, PlannedAllocation
from tenure.kubernetes.apply.extended_claims import ExtendedClaimWriter
from tenure.kubernetes.apply.pod_writes import MANAGER, send_once
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.limits.binding_backoff import BindingBackoff
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.node import Node
from tenure.kubernetes.rows.row_table import readable
from tenure.kubernetes.volumes.node_terms import matches, terms_of
from tenure.v1.decision_pb2 import Decision


class _Reservation(NamedTuple):
    """A pod that is added to the consumers of a claim."""

    decision: Decision
    claim: ObjectMeta
    pod: ObjectMeta


class ClaimReserver:
    """Implements BindingPreparer; `volumes` prepares first."""

    def __init__(
        self,
        transport: LeaderTransport,
        caches: ObjectCaches,
        claims: PodClaims,
        volumes: BindingPreparer,
        allocator: DeviceAllocator,
    ) -> None:
        self._transport, self._claims, self._volumes = transport, claims, volumes
        self._caches, self._pods, self._allocator = caches, caches.pods, allocator
        self._extended = ExtendedClaimWriter(transport, claims)
        self._backoff: BindingBackoff = caches.binding_backoff
        self._pool = CallPool("tenure-claims")

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._volumes.close()
        self._allocator.close()
        self._extended.close()
        self._pool.close()

    def prepare(self, groups: Sequence[Sequence[Decision]]) -> Mapping[str, ApplyResult | None]:
        """Bind volumes, then allocate and reserve the claims of groups that have them. Raises LeaseLost."""
        held = dict(self._volumes.prepare(groups))
        self._allocator.settle()
        ready: list[Sequence[Decision]] = []
        creating: list[Sequence[Decision]] = []
        planned: list[PlannedAllocation] = []
        nodes: dict[str, Node] = {}
        for group in groups:
            if any(decision.id in held for decision in group):
                continue
            if not nodes and any(self._claims.index.uses(decision.bind.pod) for decision in group):
                nodes = {node.metadata.name: node for node in self._caches.nodes.all()}
            problems = {decision.id: self._problem(decision, nodes) for decision in group}
            found = {id: precondition_failed(why) for id, why in problems.items() if why}
            held.update(found)
            waiting = {} if found else self._extended.prepare(group)
            held.update(waiting)
            if waiting:
                creating.append(group)
            if not found and not waiting:
                try:
                    planned.extend(self._allocator.plan(group))
                    ready.append(group)
                except NoDevices as none:
                    held[none.decision.id] = none.result
                    if none.avoids_node:
                        self._caches.device_waits.avoid(none.decision.bind.pod, none.decision.bind.node)
        held.update(self._allocator.send(planned))
        missing = [one for group in ready for decision in group for one in self._missing(decision)]
        reservations = [one for one in missing if one.decision.id not in held]
        for one, answer in zip(reservations, self._pool.all(self._reserve, reservations), strict=True):
            if answer is not None:
                held[one.decision.id] = answer
        last = [one for group in ready for one in group if one.id not in held]
        held.update(self._extended.publish(last))
        for decision in (decision for group in (*ready, *creating) for decision in group):
            answer = held.get(decision.id)
            if answer is not None and not answer.is_retryable:
                self._backoff.refuse(decision.bind.pod, readable(answer.detail))
        self._allocator.free_unused({decision.bind.pod for group in groups for decision in group})
        return held

    def _problem(self, decision: Decision, nodes: Mapping[str, Node]) -> str:
        uid, name = decision.bind.pod, decision.bind.node
        for use in self._claims.uses_on(uid, name):
            if problem := self._claims.problem(uid, use):
                return problem
            claim, node = self._claims.index.claim(use.name), nodes.get(name)
            allocation = claim.status.allocation if claim is not None else None
            if claim is None or allocation is None or node is None:
                continue
            if self._allocator.is_being_freed(claim):
                return f"the devices of resource claim {use.name.name!r} are being freed"
            if not matches(terms_of(allocation.node_selector), name, node.metadata.labels):
                return f"resource claim {use.name.name!r} has no devices for node {name}"
        return ""

    def _missing(self, decision: Decision) -> list[_Reservation]:
        """Reservations that the claims of a pod do not show, and that no allocation has made."""
        uid = decision.bind.pod
        pod = self._pods.find(uid)
        uses = self._claims.uses_on(uid, decision.bind.node)
        claims = [self._claims.index.claim(use.name) for use in uses]
        return [
            _Reservation(decision, claim.metadata, pod.metadata)
            for claim in claims
            if claim is not None and pod is not None
            if all(one.uid != uid for one in claim.status.reserved_for)
            if not self._allocator.is_reserved(claim, uid)
        ]

    def _reserve(self, one: _Reservation) -> ApplyResult | None:
        """Reserve a claim; None: it is reserved."""
        path = f"{claim_path(one.claim)}/status"
        consumer = {"resource": "pods", "name": one.pod.name, "uid": one.pod.uid}
        patch: dict[str, Any] = {
            "metadata": {"uid": one.claim.uid},
            "status": {"reservedFor": [consumer]},
        }
        return send_once(
            lambda: self._transport.patch(path, patch, STRATEGIC_PATCH, {"fieldManager": MANAGER})
        )
