"""Create, replace, patch and delete: the rules for all kinds."""

from collections.abc import Callable
from typing import Any

from tests.kubernetes.fake_api_server import errors, resource_kinds
from tests.kubernetes.fake_api_server.clock import now
from tests.kubernetes.fake_api_server.pods import check_change, start_termination
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.resource_kinds import KindRegistry, Resource
from tests.kubernetes.fake_api_server.server_side_apply import FieldOwners
from tests.kubernetes.fake_api_server.store import Item, ObjectKey, ObjectStore
from tests.kubernetes.fake_api_server.stored_objects import ObjectStorage, merge_patch


class WriteHandler:
    """Changes the store by the rules of an API server.

    Callers lock the store. All methods raise ApiStatusError.
    """

    def __init__(self, store: ObjectStore, served: KindRegistry) -> None:
        self._store, self._kinds = store, served
        self._forms = ObjectStorage(store, served)
        self._owners = FieldOwners()

    def create(self, request: ApiRequest) -> Item:
        """Create an object."""
        body, resource = request.body, request.resource
        name = body.get("metadata", {}).get("name", "")
        self._check_kind(resource, body)
        if (
            request.namespace
            and self._store.find(ObjectKey(resource_kinds.NAMESPACES, "", request.namespace)) is None
        ):
            raise errors.not_found(resource_kinds.NAMESPACES, request.namespace)
        if not name:
            raise errors.invalid(resource, name, "metadata.name", "Required value: name is required")
        key = ObjectKey(resource, request.namespace, name)
        if self._store.find(key) is not None:
            raise errors.already_exists(resource, name)
        made = self._store.put(key, self._forms.create(key, body))
        self._owners.record_write(request, {}, made)
        if resource == resource_kinds.DEFINITIONS:
            self._kinds.define(made)
        return made

    def replace(self, request: ApiRequest) -> Item:
        """Replace an object, if it is unchanged since it was read."""
        before, asked = self._before(request), request.body.get("metadata", {})
        has, resource = before["metadata"], request.resource
        if asked.get("uid", has["uid"]) != has["uid"]:
            raise errors.precondition(resource, request.name, "UID", asked["uid"], has["uid"])
        if not asked.get("resourceVersion") and not resource.may_replace_blindly:
            why = "Invalid value: 0: must be specified for an update"
            raise errors.invalid(resource, request.name, "metadata.resourceVersion", why)
        return self._change(request, before, request.body)

    def merge(self, request: ApiRequest) -> Item:
        """Apply a merge patch (RFC 7386)."""
        before = self._before(request)
        self._check_version(request, before, request.body)
        self._check_uid(request, before)
        return self._change(request, before, merge_patch(before, request.body))

    def apply(self, request: ApiRequest) -> Item:
        """Apply the fields of one manager (server-side apply)."""
        if "fieldManager" not in request.query:
            raise errors.invalid(request.resource, "", "fieldManager", "Required value: is required")
        before = self._store.find(request.key)
        if before is None:
            return self._apply_to_nothing(request)
        self._check_version(request, before, request.body)
        after = self._owners.apply(request, before)
        self._check_uid(request, before)
        return self._change(request, before, after, self._owners.retain)

    def delete(self, request: ApiRequest) -> Item:
        """Delete an object; return its last form, or its terminating one."""
        return self.delete_by(request, request.body or {})

    def delete_by(self, request: ApiRequest, options: dict[str, Any]) -> Item:
        """Delete an object with options from another source."""
        before = self._before(request)
        self.check_preconditions(request, before, options.get("preconditions", {}))
        return self._end(request.key, before, options.get("gracePeriodSeconds"))

    def check_preconditions(self, request: ApiRequest, item: Item, asked: dict[str, str]) -> None:
        """Raises ApiStatusError if the object does not meet the preconditions of the deletion."""
        has = item["metadata"]
        for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            if asked.get(field, has[field]) != has[field]:
                why = f"the {shown} in the precondition ({asked[field]}) does not match the {shown} in record"
                raise errors.conflict(request.resource.kind, request.name, f"{why} ({has[field]})")

    def _end(self, key: ObjectKey, item: Item, grace: int | None) -> Item:
        """Delete an object or start its deletion.

        Pods are deleted after their grace period, all objects after their finalizers are removed.
        """
        ending = start_termination(item, grace) if key.resource == resource_kinds.PODS else _deleted(item)
        is_over = not ending["metadata"]["deletionGracePeriodSeconds"]
        if not is_over or item["metadata"].get("finalizers") or key.resource == resource_kinds.PODS:
            ending = self.put(key, ending)
        return self._store.remove(key) if is_over and not item["metadata"].get("finalizers") else ending

    def delete_all(self, request: ApiRequest, items: list[Item]) -> None:
        """Delete the objects of a list."""
        grace = (request.body or {}).get("gracePeriodSeconds")
        for item in items:
            metadata = item["metadata"]
            self._end(
                ObjectKey(request.resource, metadata.get("namespace", ""), metadata["name"]), item, grace
            )

    def put(self, key: ObjectKey, item: Item) -> Item:
        """Store an object that the server changed, if it changed."""
        return item if item == self._store.find(key) else self._store.put(key, item)

    def _before(self, request: ApiRequest) -> Item:
        found = self._store.find(request.key)
        if found is None:
            raise errors.not_found(request.resource, request.name)
        return found

    def _check_kind(self, resource: Resource, body: Any) -> None:
        """Objects of defined kinds must contain their kind; for others the path determines it."""
        declared_type = (body.get("apiVersion"), body.get("kind"))
        if resource.is_defined and declared_type != (resource.api_version, resource.kind):
            message = f"the object provided is unrecognized (must be of type {resource.kind})"
            raise errors.bad_request(message)

    def _check_uid(self, request: ApiRequest, before: Item) -> None:
        asked, has = request.body.get("metadata", {}).get("uid"), before["metadata"]["uid"]
        if asked not in (None, has):
            why = f'Invalid value: "{asked}": field is immutable'
            raise errors.invalid(request.resource, request.name, "metadata.uid", why)

    def _check_version(self, request: ApiRequest, before: Item, body: Item) -> None:
        has = before["metadata"]["resourceVersion"]
        if body.get("metadata", {}).get("resourceVersion") not in (None, "", has):
            raise errors.modified(request.resource, request.name)

    def _change(
        self,
        request: ApiRequest,
        before: Item,
        body: Item,
        own: Callable[[ApiRequest, Item, Item], None] | None = None,
    ) -> Item:
        """Store the result of a write. Nothing is stored if nothing changes."""
        self._check_version(request, before, body)
        after = self._forms.update(request, before, body)
        if request.resource == resource_kinds.PODS:
            check_change(request, before, after)
        stored = self.put(request.key, after)
        (own or self._owners.record_write)(request, before, stored)
        metadata = stored["metadata"]
        if metadata.get("deletionGracePeriodSeconds") == 0 and not metadata.get("finalizers"):
            return self._store.remove(request.key)
        return stored

    def _apply_to_nothing(self, request: ApiRequest) -> Item:
        if request.subresource or request.resource == resource_kinds.PODS:
            raise errors.not_found(request.resource, request.name)
        if uid := request.body.get("metadata", {}).get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(request.resource.full_name, request.name, why)
        return self.create(request)


def _deleted(item: Item) -> Item:
    metadata = {"deletionTimestamp": now(), "deletionGracePeriodSeconds": 0}
    return {**item, "metadata": {**metadata, **item["metadata"]}}
