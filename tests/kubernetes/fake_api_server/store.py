"""Objects by their keys, one version number for every change, and what changed until it is compacted."""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.kubernetes.fake_api_server.resource_kinds import Resource

Item = dict[str, Any]
"""One object as JSON. What is stored is never changed, only replaced."""


class ObjectKey(NamedTuple):
    """Where an object is. Objects outside of namespaces have an empty one."""

    resource: Resource
    namespace: str
    name: str


class ObjectChange(NamedTuple):
    """One write: what was before (None: nothing), and what is (None: nothing any more)."""

    version: int
    key: ObjectKey
    before: Item | None
    after: Item | None


class ObjectStore:
    """All objects. Hold `changing` for whatever must be seen or done at once; it is notified of changes."""

    def __init__(self) -> None:
        self.changing = threading.Condition()
        self.version = 1
        """Of the last change of any object."""
        self.compacted = 0
        """Nothing is known of what changed up to this version."""
        self._objects: dict[Resource, dict[ObjectKey, Item]] = {}
        self._changes: list[ObjectChange] = []

    def find(self, key: ObjectKey) -> Item | None:
        """The object, if there is one."""
        return self._objects.get(key.resource, {}).get(key)

    def put(self, key: ObjectKey, item: Item) -> Item:
        """Store an object, under the next version."""
        objects = self._objects.setdefault(key.resource, {})
        before, after = objects.get(key), versioned(item, self.version + 1)
        objects[key] = after
        self._note(ObjectChange(self.version + 1, key, before, after))
        return after

    def remove(self, key: ObjectKey) -> Item:
        """Forget an object; its last form, under the version of its end."""
        before = self._objects[key.resource].pop(key)
        self._note(ObjectChange(self.version + 1, key, before, None))
        return versioned(before, self.version)

    def all(self, resource: Resource, at: int | None = None) -> dict[ObjectKey, Item]:
        """All objects of a kind in the order of their keys, as they are or as they were at a version."""
        objects = dict(self._objects.get(resource, {}))
        for change in self._bump_version(self.version if at is None else at, resource):
            if change.before is None:
                del objects[change.key]
            else:
                objects[change.key] = change.before
        return dict(sorted(objects.items(), key=lambda pair: pair[0][1:]))

    def changes(self, resource: Resource, since: int) -> list[ObjectChange]:
        """What changed of a kind after a version, in order."""
        return list(self._bump_version(since, resource))[::-1]

    def compact(self) -> None:
        """Forget all history."""
        with self.changing:
            self.compacted = self.version
            self._changes.clear()

    def _note(self, change: ObjectChange) -> None:
        self.version = change.version
        self._changes.append(change)
        self.changing.notify_all()

    def _bump_version(self, version: int, resource: Resource) -> Iterator[ObjectChange]:
        """Changes after a version, the last one first."""
        for change in reversed(self._changes):
            if change.version <= version:
                return
            if change.key.resource == resource:
                yield change


def versioned(item: Item, version: int) -> Item:
    """The same object under a version."""
    return {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}
