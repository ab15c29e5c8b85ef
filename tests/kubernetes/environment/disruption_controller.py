"""The disruption controller's work: write how many pods of each budget can be evicted now."""

from typing import Any

import msgspec
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"


def allow_disruptions(transport: Transport) -> None:
    """Update the status of every budget. Raises ApiError."""
    pods = msgspec.json.decode(transport.get("/api/v1/pods"))["items"]
    for budget in msgspec.json.decode(transport.get(_BUDGETS))["items"]:
        meta, spec = budget["metadata"], budget["spec"]
        members = [pod for pod in pods if _belongs(pod, meta["namespace"], spec)]
        healthy = sum("deletionTimestamp" not in pod["metadata"] and _is_ready(pod) for pod in members)
        wanted = spec.get("minAvailable", len(members) - spec.get("maxUnavailable", 0))
        status = {
            "observedGeneration": meta["generation"],
            "disruptionsAllowed": max(0, healthy - wanted),
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": len(members),
        }
        path = f"/apis/policy/v1/namespaces/{meta['namespace']}/poddisruptionbudgets/{meta['name']}/status"
        transport.patch(path, {"status": status}, MERGE_PATCH)


def _belongs(pod: dict[str, Any], namespace: str, spec: dict[str, Any]) -> bool:
    labels = pod["metadata"].get("labels", {})
    wanted = spec["selector"].get("matchLabels", {})
    return pod["metadata"]["namespace"] == namespace and wanted.items() <= labels.items()


def _is_ready(pod: dict[str, Any]) -> bool:
    found = pod["status"].get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in found)
