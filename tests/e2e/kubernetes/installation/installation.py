"""The chart's objects for an adapter on a real API server: service account, roles and configuration."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.cluster import UserCluster
from tests.kubernetes.environment.control_plane import ControlPlane, account_token
from tests.kubernetes.environment.manifests import collection, create, is_cluster_scoped
from tests.packaging.charts import Object, only_object, render_chart

_FOR_THE_ADAPTER: Final = {"ServiceAccount", "Role", "RoleBinding"}


class Installation:
    """A release in the namespace of a test, with the name of the namespace."""

    def __init__(self, plane: ControlPlane, cluster: UserCluster, values: tuple[str, ...]) -> None:
        self._admin, self.namespace = cluster.transport, cluster.namespace
        self._objects = render_chart(values, release=self.namespace, namespace=self.namespace)
        self._account = only_object(self._objects, "ServiceAccount")["metadata"]["name"]
        for item in self._for_the_adapter():
            create(self._admin, item, self.namespace)
        self.kubeconfig = plane.kubeconfig(account_token(self._admin, self.namespace, self._account))

    @property
    def user(self) -> str:
        """The user name of the adapter on the API server."""
        return f"system:serviceaccount:{self.namespace}:{self._account}"

    @property
    def first_rights(self) -> tuple[dict[str, str], dict[str, str]]:
        """One permission of each of its two roles."""
        lease = {"group": "coordination.k8s.io", "resource": "leases", "namespace": self.namespace}
        return {"verb": "list", "resource": "pods"}, {"verb": "create", **lease}

    def configuration(self, folder: Path) -> Path:
        """Write the configuration file of the adapter's container."""
        file = folder / "adapter.yaml"
        file.write_text(only_object(self._objects, "ConfigMap")["data"]["adapter.yaml"])
        return file

    def remove(self) -> None:
        """Delete the objects outside of the namespace."""
        for item in self._for_the_adapter():
            if is_cluster_scoped(item):
                self._admin.delete(f"{collection(item, self.namespace)}/{item['metadata']['name']}")

    def _for_the_adapter(self) -> Iterator[Object]:
        return (item for item in self._objects if is_cluster_scoped(item) or item["kind"] in _FOR_THE_ADAPTER)


def is_permitted(adapter: Transport, asked: Mapping[str, str]) -> bool:
    """Whether the API server permits the adapter an operation, given as ResourceAttributes."""
    review = {"spec": {"resourceAttributes": asked}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return bool(json.loads(adapter.post(path, review))["status"]["allowed"])
