"""Claims for extended resources that devices serve: created before devices are allocated, then named to pods.

    claim        created with its pod as the controlling owner, and observed, before it gets devices
    status       of the pod: which request of the claim serves which resource, before the pod is bound

A claim for another node, whose device plugins serve other resources, is deleted and created again. A new
leader finds the claim by its name, and continues.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
from tenure.integration.applier import CallPool
from tenure.integration.ports import ApplyResult, precondition_failed, retry
from tenure.kubernetes.api.api_errors import Conflict
from tenure.kubernetes.api.transport import MERGE_PATCH, LeaderTransport
from tenure.kubernetes.apply.claim_writes import claims_path, delete_claim
from tenure.kubernetes.apply.pod_writes import MANAGER, send_once
from tenure.kubernetes.devices.extended_resources import ExtendedClaim, is_extended_claim
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import ExtendedClaimStatus, Pod
from tenure.v1.decision_pb2 import Decision

_POD: Final = msgspec.json.Decoder(Pod)
_NOT_KEPT: Final = (
    "the API server does not keep status.extendedResourceClaimStatus of the pod: its feature gate "
    "DRAExtendedResource is off, and no node offers these resources without it"
)


class _Write(NamedTuple):
    """A claim that a decision waits for: to be created, or to be deleted."""

    decision: Decision
    claim: ResourceClaim
    is_new: bool


class _Status(NamedTuple):
    """What the status of a pod is to say about its claim; None: it has none."""

    decision: Decision
    pod: ObjectMeta
    status: ExtendedClaimStatus | None


class ExtendedClaimWriter:
    """For one thread; it writes in others."""

    def __init__(self, transport: LeaderTransport, claims: PodClaims) -> None:
        self._transport, self._claims = transport, claims
        self._index = claims.index
        self._pool = CallPool("tenure-extended")

    def close(self) -> None:
        """Wait for running calls; later ones do not start."""
        self._pool.close()

    def prepare(self, group: Sequence[Decision]) -> dict[str, ApplyResult | None]:
        """Create and delete claims; returns the decisions that wait for one, or cannot have it."""
        writes = [one for decision in group if (one := self._write_of(decision)) is not None]
        results = self._pool.all(self._send, writes)
        return {one.decision.id: answer for one, answer in zip(writes, results, strict=True)}

    def publish(self, decisions: Sequence[Decision]) -> Mapping[str, ApplyResult]:
        """Tell pods of their claims; returns the decisions for which that failed. Raises LeaseLost."""
        statuses = [one for decision in decisions if (one := self._status_of(decision)) is not None]
        results = zip(statuses, self._pool.all(self._write_status, statuses), strict=True)
        return {one.decision.id: answer for one, answer in results if answer is not None}

    def _wanted(self, decision: Decision) -> ExtendedClaim | None:
        return self._claims.for_node(decision.bind.pod, decision.bind.node)

    def _write_of(self, decision: Decision) -> _Write | None:
        extended, wanted = self._index.extended_of(decision.bind.pod), self._wanted(decision)
        if extended is None or not self._index.is_unbound(decision.bind.pod):
            return None
        own = extended.claim.metadata
        claim = self._index.named_like(own)
        if claim is None or not is_own(claim, own):
            return None if wanted is None else _Write(decision, wanted.claim, True)
        is_right = wanted is not None and wanted.claim.spec == claim.spec
        return None if is_right else _Write(decision, claim, False)

    def _send(self, one: _Write) -> ApplyResult | None:
        """Create or delete a claim; None: wait until that is observed."""
        if problem := self._claims.allocator_problem():
            return retry(problem)
        meta = one.claim.metadata
        if not one.is_new:
            return send_once(lambda: delete_claim(self._transport, one.claim))
        body = {"metadata": _metadata(meta), "spec": msgspec.to_builtins(one.claim.spec)}

        def create() -> None:
            try:
                self._transport.post(claims_path(meta.namespace), body)
            except Conflict:
                return  # it exists, and will be observed

        return send_once(create)

    def _status_of(self, decision: Decision) -> _Status | None:
        pod, wanted = self._index.pods.get(decision.bind.pod), self._wanted(decision)
        if pod is None or pod.spec.node_name or self._index.extended_of(decision.bind.pod) is None:
            return None
        status = None
        if wanted is not None:
            status = ExtendedClaimStatus([*wanted.mappings], wanted.claim.metadata.name)
        is_known = status == pod.status.extended_resource_claim_status
        return None if is_known else _Status(decision, pod.metadata, status)

    def _write_status(self, one: _Status) -> ApplyResult | None:
        """Write the status of a pod; None: the API server keeps it."""
        namespace, name = quote(one.pod.namespace, safe=""), quote(one.pod.name, safe="")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        status = msgspec.to_builtins(one.status)
        body = {"metadata": {"uid": one.pod.uid}, "status": {"extendedResourceClaimStatus": status}}
        answers: list[bytes] = []
        query = {"fieldManager": MANAGER}
        failed = send_once(lambda: answers.append(self._transport.patch(path, body, MERGE_PATCH, query)))
        if failed is not None:
            return failed
        kept = _POD.decode(answers[-1]).status.extended_resource_claim_status
        return None if kept == one.status else precondition_failed(_NOT_KEPT)


def is_own(claim: ResourceClaim, wanted: ObjectMeta) -> bool:
    """Whether a claim was created for extended resources of the pod of a wanted one."""
    uids = {owner.uid for owner in wanted.owner_references}
    owner = claim.metadata.owner()
    return is_extended_claim(claim) and owner is not None and owner.uid in uids


def _metadata(meta: ObjectMeta) -> dict[str, Any]:
    """Metadata of a claim that is to be created."""
    owners = [
        {
            "apiVersion": one.api_version,
            "kind": one.kind,
            "name": one.name,
            "uid": one.uid,
            "controller": True,
        }
        for one in meta.owner_references
    ]
    own = {"name": meta.name, "namespace": meta.namespace, "annotations": meta.annotations}
    return {**own, "ownerReferences": owners}
