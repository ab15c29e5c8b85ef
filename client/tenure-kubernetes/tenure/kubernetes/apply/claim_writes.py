"""Paths of resource claims, and how their devices are given back."""

from typing import Any, Final
from urllib.parse import quote

import msgspec
from tenure.kubernetes.api.api_errors import NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH, LeaderTransport
from tenure.kubernetes.apply.pod_writes import MANAGER
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.objects.meta import Object, ObjectMeta

_OBJECT: Final = msgspec.json.Decoder(Object)


def claims_path(namespace: str) -> str:
    """Path of the claims of a namespace."""
    return f"/apis/resource.k8s.io/v1/namespaces/{quote(namespace, safe='')}/resourceclaims"


def claim_path(claim: ObjectMeta) -> str:
    """Path of a claim."""
    return f"{claims_path(claim.namespace)}/{quote(claim.name, safe='')}"


def free_devices(transport: LeaderTransport, claim: ResourceClaim) -> str:
    """Take the devices of a claim, if it is as observed; returns its new version.

    Raises ApiError and LeaseLost.
    """
    meta = claim.metadata
    body: dict[str, Any] = {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
        "status": {"allocation": None, "reservedFor": None, "devices": None},
    }
    path, query = f"{claim_path(meta)}/status", {"fieldManager": MANAGER}
    return _OBJECT.decode(transport.patch(path, body, MERGE_PATCH, query)).metadata.resource_version


def delete_claim(transport: LeaderTransport, claim: ResourceClaim) -> None:
    """Free the devices of a claim, and delete it, if it is as observed. Raises ApiError and LeaseLost.

    A request that arrives late deletes no claim that has devices again.
    """
    meta = claim.metadata
    try:
        has_devices = claim.status.allocation is not None
        version = free_devices(transport, claim) if has_devices else meta.resource_version
        transport.delete(claim_path(meta), meta.uid, version)
    except NotFound:
        return  # its pod is gone, and with it the claim
