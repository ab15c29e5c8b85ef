"""Manifests, and the objects that `kubectl create` makes of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from tenure.kubernetes.api.transport import Transport

Object = Mapping[str, Any]
_PLURALS: Final = {
    "NetworkPolicy": "networkpolicies",
    "PriorityClass": "priorityclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}
_CLUSTER_SCOPED: Final = {
    "ClusterRole",
    "ClusterRoleBinding",
    "FlowSchema",
    "Namespace",
    "Node",
    "PriorityClass",
    "Queue",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}
_STRICTLY: Final = {"fieldValidation": "Strict"}


def is_cluster_scoped(item: Object) -> bool:
    """Whether an object is in no namespace."""
    return item["kind"] in _CLUSTER_SCOPED


def collection(item: Object, namespace: str) -> str:
    """Return the path of the collection of an object."""
    version, kind = item["apiVersion"], item["kind"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    within = "" if is_cluster_scoped(item) else f"/namespaces/{namespace}"
    return f"{base}{within}/{_PLURALS.get(kind, f'{kind.lower()}s')}"


def read_manifests(file: Path) -> Iterator[Object]:
    """Return the objects of a file."""
    return (item for item in yaml.safe_load_all(file.read_text()) if item)


def create(transport: Transport, item: Object, namespace: str = "default") -> bytes:
    """Create an object in its namespace, or in this one if it names none. Raises ApiError."""
    return transport.post(
        collection(item, item["metadata"].get("namespace", namespace)), dict(item), _STRICTLY
    )
