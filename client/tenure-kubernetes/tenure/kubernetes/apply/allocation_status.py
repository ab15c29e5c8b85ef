"""The status of an allocated claim, as kube-scheduler writes it."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from tenure.kubernetes.devices.allocation import ChosenDevice
from tenure.kubernetes.devices.device_sets import DeviceSets
from tenure.kubernetes.objects.device_claims import ExactRequest, ResourceClaim
from tenure.kubernetes.objects.meta import ObjectMeta


def allocation_status(
    claim: ResourceClaim,
    chosen: Sequence[ChosenDevice],
    node: str,
    pods: Sequence[ObjectMeta],
    sets: DeviceSets,
) -> dict[str, Any]:
    """`allocation` and `reservedFor` of devices of a node."""
    requests = dict(_requests(claim))
    results = [
        {
            "request": one.alternative.name,
            "driver": one.device.driver,
            "pool": one.device.pool,
            "device": one.device.device,
            **_tolerations(requests.get(one.alternative.name)),
        }
        for one in chosen
    ]
    used = {one.alternative.name: one.alternative.kind.device_class for one in chosen}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    allocation = {
        "devices": {"results": results, "config": list(_config(claim, used, sets))},
        "nodeSelector": {"nodeSelectorTerms": [term]},
    }
    consumers = [{"resource": "pods", "name": pod.name, "uid": pod.uid} for pod in pods]
    return {"allocation": allocation, "reservedFor": consumers}


def _requests(claim: ResourceClaim) -> Iterator[tuple[str, ExactRequest]]:
    """Requests and subrequests by name."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.name, request.exactly
        for sub in request.first_available:
            yield f"{request.name}/{sub.name}", sub


def _tolerations(request: ExactRequest | None) -> dict[str, Any]:
    tolerations = msgspec.to_builtins(request.tolerations) if request is not None else []
    return {"tolerations": tolerations} if tolerations else {}


def _config(claim: ResourceClaim, used: dict[str, str], sets: DeviceSets) -> Iterator[dict[str, Any]]:
    """Parameters of the classes, and then those of the claim, for the requests that have devices."""
    for name in sorted(set(used.values())):
        found = sets.device_class(name)
        requests = [request for request, of in used.items() if of == name]
        for one in found.spec.config if found is not None else ():
            yield {"source": "FromClass", "requests": requests, "opaque": one.opaque}
    concerned = {*used, *(request.partition("/")[0] for request in used)}
    for one in claim.spec.devices.config:
        if not one.requests or not concerned.isdisjoint(one.requests):
            yield {"source": "FromClaim", "requests": one.requests, "opaque": one.opaque}
