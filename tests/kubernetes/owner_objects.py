"""Owners of pods that name no pod group."""

import json
from typing import Any

from tests.kubernetes.cluster import UserCluster


def create_owner(cluster: UserCluster, api: str, kind: str, plural: str, name: str) -> dict[str, Any]:
    """Create an owner of pods; return the reference that its controller adds to them."""
    labels = {"app": name}
    container = {"name": "main", "image": "none"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec: dict[str, Any] = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": labels}
    body = {"metadata": {"name": name}, "spec": spec}
    made = json.loads(cluster.transport.post(f"{api}/namespaces/{cluster.namespace}/{plural}", body))
    reference = {"apiVersion": api.removeprefix("/apis/"), "kind": kind}
    return {**reference, "name": name, "uid": made["metadata"]["uid"], "controller": True}
