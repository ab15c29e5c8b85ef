"""What is put on a real API server for tests of observing: definitions of kinds, and objects."""

from typing import Any, Final

from tenure.client.kubernetes.transport import Transport

NAMESPACE: Final = "team"


def define(
    transport: Transport,
    group: str,
    version: str,
    kind: str,
    plural: str,
    *,
    namespaced: bool,
    has_status: bool = False,
) -> None:
    """Serve a kind whose objects may have any fields, the status perhaps by a path of its own."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": anything},
                    "subresources": {"status": {}} if has_status else {},
                }
            ],
        },
    }
    transport.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)


def in_namespace(item: dict[str, Any]) -> dict[str, Any]:
    """The same object, complete enough for an API server to take it as a pod."""
    containers = [{**one, "image": "none"} for one in item["spec"]["containers"]]
    return {**item, "spec": {**item["spec"], "containers": containers}}
