"""A user with the stock role `edit` in one namespace, and with the right to write its pod groups.

The control plane of the tests has no controllers, so the stock roles are not aggregated: the tenant is bound
to their parts.
"""

import json
from contextlib import closing
from pathlib import Path

from tenure.kubernetes.api.transport import Transport

from tests.e2e.kubernetes.installation.installation import is_permitted
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ControlPlane

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_NAME = "tenant"
_POD_GROUPS = {
    "apiGroups": ["scheduling.run.ai", "scheduling.volcano.sh"],
    "resources": ["podgroups"],
    "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
}


def create_tenant(plane: ControlPlane, cluster: UserCluster) -> Path:
    """Create the user; return its kubeconfig, once its permissions are in effect."""
    admin, space = cluster.transport, cluster.namespace
    accounts = f"/api/v1/namespaces/{space}/serviceaccounts"
    admin.post(accounts, {"metadata": {"name": _NAME}})
    role = {"metadata": {"name": _NAME}, "rules": [_POD_GROUPS]}
    admin.post(f"{_RBAC}/namespaces/{space}/roles", role)
    subject = {"kind": "ServiceAccount", "name": _NAME, "namespace": space}
    parts = (
        ("ClusterRole", "system:aggregate-to-edit"),
        ("ClusterRole", "system:aggregate-to-view"),
        ("Role", _NAME),
    )
    for number, (kind, name) in enumerate(parts):
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding = {"metadata": {"name": f"{_NAME}-{number}"}, "roleRef": reference, "subjects": [subject]}
        admin.post(f"{_RBAC}/namespaces/{space}/rolebindings", binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = json.loads(admin.post(f"{accounts}/{_NAME}/token", request))["status"]["token"]
    kubeconfig = plane.kubeconfig(str(token))
    with closing(Transport(kubeconfig)) as user:
        for group, resource in (("", "pods"), ("scheduling.run.ai", "podgroups")):
            right = {"group": group, "resource": resource, "namespace": space, "verb": "create"}
            wait_until(lambda right=right: is_permitted(user, right))  # type: ignore[misc]
    return kubeconfig
