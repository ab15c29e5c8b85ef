"""Objects by key, with one version number per change, and the changes since the last compaction."""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.kubernetes.fake_api_server.resource_kinds import Resource

Item = dict[str, Any]
"""An object as JSON. Stored objects are replaced, never changed."""


class ObjectKey(NamedTuple):
    """Key of an object. The namespace is empty for objects outside of namespaces."""

    resource: Resource
    namespace: str
    name: str


class ObjectChange(NamedTuple):
    """A write: the object before (None: created) and after (None: deleted)."""

    version: int
    key: ObjectKey
    before: Item | None
    after: Item | None


class ObjectStore:
    """All objects. Hold `changing` for atomic reads and writes; it is notified of changes."""

    def __init__(self) -> None:
        self.changing = threading.Condition()
        self.version = 1
        """Version of the last change of any object."""
        self.compacted = 0
        """Changes up to this version are discarded."""
        self._objects: dict[Resource, dict[ObjectKey, Item]] = {}
        self._changes: list[ObjectChange] = []

    def find(self, key: ObjectKey) -> Item | None:
        """Return the object, or None."""
        return self._objects.get(key.resource, {}).get(key)

    def put(self, key: ObjectKey, item: Item) -> Item:
        """Store an object under the next version."""
        objects = self._objects.setdefault(key.resource, {})
        before, after = objects.get(key), versioned(item, self.version + 1)
        objects[key] = after
        self._note(ObjectChange(self.version + 1, key, before, after))
        return after

    def remove(self, key: ObjectKey) -> Item:
        """Delete an object; return its last form with the version of the deletion."""
        before = self._objects[key.resource].pop(key)
        self._note(ObjectChange(self.version + 1, key, before, None))
        return versioned(before, self.version)

    def all(self, resource: Resource, at: int | None = None) -> dict[ObjectKey, Item]:
        """Return all objects of a kind in the order of their keys, now or at a version."""
        objects = dict(self._objects.get(resource, {}))
        for change in self._bump_version(self.version if at is None else at, resource):
            if change.before is None:
                del objects[change.key]
            else:
                objects[change.key] = change.before
        return dict(sorted(objects.items(), key=lambda pair: pair[0][1:]))

    def changes(self, resource: Resource, since: int) -> list[ObjectChange]:
        """Return the changes of a kind after a version, in order."""
        return list(self._bump_version(since, resource))[::-1]

    def compact(self) -> None:
        """Discard the history."""
        with self.changing:
            self.compacted = self.version
            self._changes.clear()

    def _note(self, change: ObjectChange) -> None:
        self.version = change.version
        self._changes.append(change)
        self.changing.notify_all()

    def _bump_version(self, version: int, resource: Resource) -> Iterator[ObjectChange]:
        """Return the changes after a version, latest first."""
        for change in reversed(self._changes):
            if change.version <= version:
                return
            if change.key.resource == resource:
                yield change


def versioned(item: Item, version: int) -> Item:
    """Return the object with this version."""
    return {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}
