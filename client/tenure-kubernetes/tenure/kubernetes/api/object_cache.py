"""Caches of observed objects, by uid, one per collection."""

import logging
import threading
from collections.abc import Callable, Iterable, Set
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.objects.meta import Object, ObjectMeta


class HasMetadata(Protocol):
    """Any object of an API server."""

    @property
    def metadata(self) -> ObjectMeta:
        """Metadata of the object."""


Kind = TypeVar("Kind", bound=HasMetadata)
_LOG: Final = logging.getLogger(__name__)


class Unreadable(NamedTuple):
    """An object without any known version that matches its kind."""

    metadata: ObjectMeta
    """Only names and uid, if not even this matches."""
    item: bytes
    problem: str


class _Name(msgspec.Struct):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _Named(msgspec.Struct):
    kind: str = "object"
    metadata: _Name = msgspec.field(default_factory=_Name)


_NAMED: Final = msgspec.json.Decoder(_Named)
_OBJECTS: Final = msgspec.json.Decoder(Object)


class ObjectCache(Generic[Kind]):
    """The last observed state of a collection. A reflector writes, other threads read.

    `wake` is called after each change, and must return at once.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._objects: dict[str, Kind] = {}
        self._changed: set[str] = set()
        self._problem: str = "not listed yet"
        self._logged: set[str] = set()
        """Messages about unreadable objects."""
        self._unreadable: dict[str, Unreadable] = {}
        self._changing = threading.Lock()

    @property
    def problem(self) -> str:
        """Why the cache may be out of date; "": it is not."""
        return self._problem

    @property
    def unreadable_count(self) -> int:
        """Number of unreadable objects."""
        return len(self._logged)

    def unreadable(self, uid: str) -> Unreadable | None:
        """The object with this uid, if no version of it was readable, else None."""
        return self._unreadable.get(uid)

    def find(self, uid: str) -> Kind | None:
        """The object with this uid, or None."""
        return self._objects.get(uid)

    def all(self) -> list[Kind]:
        """All objects, in no particular order."""
        with self._changing:
            return list(self._objects.values())

    def take_changes(self) -> set[str]:
        """Uids of objects that were created, changed or deleted since the last call."""
        with self._changing:
            changes, self._changed = self._changed, set()
            return changes

    def on_replace(self, objects: Iterable[Kind], unreadable: Set[str] = frozenset()) -> None:
        """Replace all objects. Those that are equal to the cached ones are no changes.

        `unreadable`: uids of those that exist, too; their last readable versions stay.
        """
        fresh = {item.metadata.uid: item for item in objects}
        with self._changing:
            kept = (self._objects.get(uid) for uid in unreadable - fresh.keys())
            fresh.update({item.metadata.uid: item for item in kept if item is not None})
            for uid in self._unreadable.keys() - (unreadable - fresh.keys()):
                del self._unreadable[uid]
                self._changed.add(uid)
            versions = {uid: item.metadata.resource_version for uid, item in self._objects.items()}
            for uid, item in fresh.items():
                if versions.pop(uid, None) != item.metadata.resource_version:
                    self._changed.add(uid)
            self._changed.update(versions)
            self._objects = fresh
            self._problem = ""
        self._wake()

    def on_change(self, item: Kind) -> None:
        """Cache an object. A change of fields that are not read is none."""
        with self._changing:
            before = self._objects.get(item.metadata.uid)
            self._unreadable.pop(item.metadata.uid, None)
            self._objects[item.metadata.uid] = item
            if before is not None and not self._problem and _is_equal(before, item):
                return
            self._changed.add(item.metadata.uid)
            self._problem = ""
        self._wake()

    def on_remove(self, item: HasMetadata) -> None:
        """Remove an object that was deleted."""
        with self._changing:
            uid = item.metadata.uid
            if self._objects.pop(uid, None) is not None or self._unreadable.pop(uid, None) is not None:
                self._changed.add(uid)
        self._wake()

    def on_unreadable(self, item: bytes, problem: str) -> None:
        """Log an unreadable object once; its last readable version stays in the cache."""
        named = _named(item)
        about = f"{named.kind} {named.metadata.namespace}/{named.metadata.name}" if named else "An object"
        message = f"{about} is unreadable and ignored: {problem}"
        if message not in self._logged:
            self._logged.add(message)
            _LOG.warning("%s", message)
        if named is None or not named.metadata.uid:
            return
        with self._changing:
            if named.metadata.uid in self._objects:
                return
            self._unreadable[named.metadata.uid] = Unreadable(_meta(item, named), item, problem)
            self._changed.add(named.metadata.uid)
        self._wake()

    def on_failure(self, failure: ApiError) -> None:
        """Note why the collection cannot be followed for now."""
        self._problem = str(failure)

    def on_synced(self) -> None:
        """Clear the problem: missed changes arrive with the watch."""
        if self._problem:
            self._problem = ""
            self._wake()


def _is_equal(before: Any, item: Any) -> bool:
    """Whether two versions of an object differ in nothing that is read."""
    seen = before.metadata
    unread = {"resource_version": seen.resource_version, "generation": seen.generation}
    same_meta = msgspec.structs.replace(item.metadata, **unread)
    return bool(msgspec.structs.replace(item, metadata=same_meta) == before)


def _named(item: bytes) -> _Named | None:
    """Kind, namespace, name and uid; None: they are unreadable, too."""
    try:
        return _NAMED.decode(item)
    except msgspec.DecodeError:
        return None


def _meta(item: bytes, named: _Named) -> ObjectMeta:
    try:
        return _OBJECTS.decode(item).metadata
    except msgspec.DecodeError:
        name = named.metadata
        return ObjectMeta(name=name.name, namespace=name.namespace, uid=name.uid)
