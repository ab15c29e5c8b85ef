"""Owners of pods that name no pod group."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.kubernetes.cluster import UserCluster, wait_until

_PATHS: Final = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "PodGroup": "/apis/{}/namespaces/{}/podgroups",
}
"""Collections by kind."""


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


class OwnerCluster:
    """A namespace whose pods are created by the real controllers of their owners."""

    def __init__(self, cluster: UserCluster) -> None:
        self.cluster = cluster

    def apply(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object, as `kubectl create` does. A CronJob is run once, as `kubectl create job` does."""
        made = self._post(manifest)
        if manifest["kind"] == "CronJob":
            named = {key: made["metadata"][key] for key in ("name", "uid")}
            owner = {"apiVersion": "batch/v1", "kind": "CronJob", **named, "controller": True}
            template = manifest["spec"]["jobTemplate"]
            meta = {**template.get("metadata", {}), "name": f"{named['name']}-1", "ownerReferences": [owner]}
            self._post({**template, "apiVersion": "batch/v1", "kind": "Job", "metadata": meta})
        return made

    def pods(self, name: str, number: int = 1) -> None:
        """Wait until the controllers have created the pods of an owner."""
        wait_until(lambda: len(self.cluster.pods(name)) == number)

    def clear(self) -> None:
        """Delete owners and pods, after their controllers have ended.

        A controller that has not yet seen the end of an owner would create its pods again.
        """
        transport, space = self.cluster.transport, self.cluster.namespace
        for path in list(_PATHS.values())[:-1]:
            transport.delete(path.format(space), {"propagationPolicy": "Background"})
        transport.delete(self.cluster.pods_path, {"gracePeriodSeconds": 0})
        for name in self.cluster.pods():  # of Jobs, whose controller would release them
            transport.patch(
                f"{self.cluster.pods_path}/{name}", {"metadata": {"finalizers": None}}, MERGE_PATCH
            )
        wait_until(lambda: not self.cluster.pods())

    def _post(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        path = _PATHS[manifest["kind"]]
        space = self.cluster.namespace
        both = (manifest["apiVersion"], space) if manifest["kind"] == "PodGroup" else (space,)
        made: dict[str, Any] = json.loads(self.cluster.transport.post(path.format(*both), dict(manifest)))
        return made
