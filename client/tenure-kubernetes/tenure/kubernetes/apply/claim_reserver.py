"""Reserves allocated resource claims for pods, after their volumes are bound and before the pods are.

A reservation is one entry of `status.reservedFor`, added by its key. The API server refuses it if the claim
is no longer allocated. It stays if the pod is not bound, and counts as one of the 256 pods of the claim; the
controller of resource claims removes it with the pod.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from tenure.integration.applier import CallPool
from tenure.integration.ports import ApplyResult, BindingPreparer, precondition_failed
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import STRATEGIC_PATCH, LeaderTransport
from tenure.kubernetes.apply.pod_writes import MANAGER, send_once
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.limits.binding_backoff import BindingBackoff
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.row_table import readable
from tenure.v1.decision_pb2 import Decision


class _Reservation(NamedTuple):
    """A pod that is added to the consumers of a claim."""

    decision: Decision
    claim: ObjectMeta
    pod: ObjectMeta


class ClaimReserver:
    """Implements BindingPreparer; `volumes` prepares first."""

    def __init__(
        self, transport: LeaderTransport, caches: ObjectCaches, claims: PodClaims, volumes: BindingPreparer
    ) -> None:
        self._transport, self._claims, self._volumes = transport, claims, volumes
        self._pods = caches.pods
        self._backoff: BindingBackoff = caches.binding_backoff
        self._pool = CallPool("tenure-claims")

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._volumes.close()
        self._pool.close()

    def prepare(self, groups: Sequence[Sequence[Decision]]) -> Mapping[str, ApplyResult | None]:
        """Bind volumes, and reserve the claims of groups whose volumes are bound. Raises LeaseLost."""
        held = dict(self._volumes.prepare(groups))
        reservations: list[_Reservation] = []
        for group in groups:
            if any(decision.id in held for decision in group):
                continue
            problems = {decision.id: self._problem(decision) for decision in group}
            found = {id: precondition_failed(why) for id, why in problems.items() if why}
            held.update(found)
            if not found:
                reservations.extend(one for decision in group for one in self._missing(decision))
        for one, answer in zip(reservations, self._pool.all(self._reserve, reservations), strict=True):
            if answer is not None:
                held[one.decision.id] = answer
                if not answer.is_retryable:
                    self._backoff.refuse(one.decision.bind.pod, readable(answer.detail))
        return held

    def _problem(self, decision: Decision) -> str:
        uid = decision.bind.pod
        return next(filter(None, (self._claims.problem(uid, use) for use in self._claims.uses(uid))), "")

    def _missing(self, decision: Decision) -> list[_Reservation]:
        """Reservations that the claims of a pod do not show."""
        uid = decision.bind.pod
        pod = self._pods.find(uid)
        claims = [self._claims.claim(use.name) for use in self._claims.uses(uid)]
        return [
            _Reservation(decision, claim.metadata, pod.metadata)
            for claim in claims
            if claim is not None and pod is not None
            if all(one.uid != uid for one in claim.status.reserved_for)
        ]

    def _reserve(self, one: _Reservation) -> ApplyResult | None:
        """Reserve a claim; None: it is reserved."""
        namespace, name = quote(one.claim.namespace, safe=""), quote(one.claim.name, safe="")
        path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}/status"
        consumer = {"resource": "pods", "name": one.pod.name, "uid": one.pod.uid}
        patch: dict[str, Any] = {
            "metadata": {"uid": one.claim.uid},
            "status": {"reservedFor": [consumer]},
        }
        return send_once(
            lambda: self._transport.patch(path, patch, STRATEGIC_PATCH, {"fieldManager": MANAGER})
        )
