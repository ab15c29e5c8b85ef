"""The forms in which objects are stored: new ones, and those that a write makes of them."""

from typing import Any, Final
from uuid import uuid4

from tests.kube.fake import kinds
from tests.kube.fake.clock import now
from tests.kube.fake.kinds import Kinds, Resource
from tests.kube.fake.pods import admitted
from tests.kube.fake.request import Request
from tests.kube.fake.store import Item, Key, Store

_KEPT: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
"""Metadata that writers do not change."""
_NO_BUDGET_YET: Final = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
_SPEAKS_OF_ITSELF: Final = ("nodes",)
"""Kinds that may be created with a status."""


class Forms:
    """Makes them. Hold the store meanwhile."""

    def __init__(self, store: Store, served: Kinds) -> None:
        self._store, self._kinds = store, served

    def fresh(self, key: Key, body: Item) -> Item:
        """A new object as it is stored."""
        resource = key.resource
        given = {name: text for name, text in body["metadata"].items() if name not in _KEPT}
        metadata = {**given, "uid": str(uuid4()), "creationTimestamp": now()}
        if key.namespace:
            metadata["namespace"] = key.namespace
        if resource.has_generation:
            metadata["generation"] = 1
        kind = {"kind": resource.kind, "apiVersion": resource.api_version}
        item = {**self._known(resource, body), **kind, "metadata": metadata}
        if resource.has_status and resource.plural not in _SPEAKS_OF_ITSELF:
            item.pop("status", None)
        if resource == kinds.PODS:
            return admitted(item, list(self._store.all(kinds.PRIORITY_CLASSES).values()))
        return {**item, "status": _NO_BUDGET_YET} if resource == kinds.BUDGETS else item

    def written(self, request: Request, before: Item, body: Item) -> Item:
        """The new form: a path writes the status alone, or everything but the status."""
        resource = request.resource
        if request.subresource == "status":
            return {**before, "status": self._known(resource, body).get("status", {})}
        if not resource.has_status:
            kept = {}
        else:
            kept = {"status": before["status"]} if "status" in before else {}
            body = {name: part for name, part in body.items() if name != "status"}
        has = before["metadata"]
        metadata = {**body.get("metadata", {}), **{name: has[name] for name in _KEPT if name in has}}
        metadata |= {name: has[name] for name in ("name", "namespace", "resourceVersion") if name in has}
        kind = {"kind": resource.kind, "apiVersion": resource.api_version}
        after = {**self._known(resource, body), **kept, **kind, "metadata": metadata}
        if resource.has_generation and _asked(after) != _asked(before):
            metadata["generation"] += 1
        return after

    def _known(self, resource: Resource, body: Item) -> Item:
        schema = self._kinds.schema(resource)
        if schema is None:
            return dict(body)
        always = ("apiVersion", "kind", "metadata")
        parts = {name: part for name, part in body.items() if name not in always}
        return {**{name: body[name] for name in always if name in body}, **pruned(parts, schema)}


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386: null takes away, objects are merged, everything else is replaced."""
    if not isinstance(patch, dict):
        return patch
    base = dict(target) if isinstance(target, dict) else {}
    for name, part in patch.items():
        if part is None:
            base.pop(name, None)
        else:
            base[name] = merged(base.get(name), part)
    return base


def pruned(value: Any, schema: dict[str, Any]) -> Any:
    """A value without the fields that its definition does not know."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        if isinstance(others, dict):
            return {key: pruned(part, others) for key, part in value.items()}
        return {key: pruned(part, known[key]) for key, part in value.items() if key in known}
    if isinstance(value, list):
        return [pruned(part, schema.get("items", {})) for part in value]
    return value


def _asked(item: Item) -> Item:
    return {name: part for name, part in item.items() if name not in ("metadata", "status")}
