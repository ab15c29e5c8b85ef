"""The stored form of objects that are created or written."""

from typing import Any, Final
from uuid import uuid4

from tests.kubernetes.fake_api_server import resource_kinds
from tests.kubernetes.fake_api_server.clock import now
from tests.kubernetes.fake_api_server.pods import admit
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.resource_kinds import KindRegistry, Resource
from tests.kubernetes.fake_api_server.store import Item, ObjectKey, ObjectStore

_PRESERVED: Final = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Metadata that writes do not change."""
_NO_BUDGET_YET: Final = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
_SELF_DESCRIPTION: Final = ("nodes",)
"""Kinds that can be created with a status."""


class ObjectStorage:
    """Builds stored objects. Callers lock the store."""

    def __init__(self, store: ObjectStore, served: KindRegistry) -> None:
        self._store, self._kinds = store, served

    def create(self, key: ObjectKey, body: Item) -> Item:
        """Build a new object."""
        resource = key.resource
        given = {name: text for name, text in body["metadata"].items() if name not in _PRESERVED}
        metadata = {**given, "uid": str(uuid4()), "creationTimestamp": now()}
        if key.namespace:
            metadata["namespace"] = key.namespace
        if resource.has_generation:
            metadata["generation"] = 1
        kind = {"kind": resource.kind, "apiVersion": resource.api_version}
        item = {**self._known(resource, body), **kind, "metadata": metadata}
        if resource.has_status and resource.plural not in _SELF_DESCRIPTION:
            item.pop("status", None)
        if resource == resource_kinds.PODS:
            return admit(item, list(self._store.all(resource_kinds.PRIORITY_CLASSES).values()))
        return {**item, "status": _NO_BUDGET_YET} if resource == resource_kinds.BUDGETS else item

    def update(self, request: ApiRequest, before: Item, body: Item) -> Item:
        """Build the new form: each path writes only the status, or everything except the status."""
        resource = request.resource
        if request.subresource == "status":
            return {**before, "status": self._known(resource, body).get("status", {})}
        if not resource.has_status:
            kept = {}
        else:
            kept = {"status": before["status"]} if "status" in before else {}
            body = {name: part for name, part in body.items() if name != "status"}
        has = before["metadata"]
        metadata = {**body.get("metadata", {}), **{name: has[name] for name in _PRESERVED if name in has}}
        metadata |= {name: has[name] for name in ("name", "namespace", "resourceVersion") if name in has}
        kind = {"kind": resource.kind, "apiVersion": resource.api_version}
        after = {**self._known(resource, body), **kept, **kind, "metadata": metadata}
        if resource.has_generation and _requested(after) != _requested(before):
            metadata["generation"] += 1
        return after

    def _known(self, resource: Resource, body: Item) -> Item:
        schema = self._kinds.schema(resource)
        if schema is None:
            return dict(body)
        always = ("apiVersion", "kind", "metadata")
        parts = {name: part for name, part in body.items() if name not in always}
        return {**{name: body[name] for name in always if name in body}, **prune_unknown(parts, schema)}


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: null deletes, objects are merged, other values are replaced."""
    if not isinstance(patch, dict):
        return patch
    base = dict(target) if isinstance(target, dict) else {}
    for name, part in patch.items():
        if part is None:
            base.pop(name, None)
        else:
            base[name] = merge_patch(base.get(name), part)
    return base


def prune_unknown(value: Any, schema: dict[str, Any]) -> Any:
    """Return a value without the fields that its definition does not contain."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        if isinstance(others, dict):
            return {key: prune_unknown(part, others) for key, part in value.items()}
        return {key: prune_unknown(part, known[key]) for key, part in value.items() if key in known}
    if isinstance(value, list):
        return [prune_unknown(part, schema.get("items", {})) for part in value]
    return value


def _requested(item: Item) -> Item:
    return {name: part for name, part in item.items() if name not in ("metadata", "status")}
