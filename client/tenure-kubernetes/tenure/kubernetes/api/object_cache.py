"""What was observed last: objects by uid, for every collection that is followed."""

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.objects.meta import ObjectMeta


class HasMetadata(Protocol):
    """Any object of an API server."""

    @property
    def metadata(self) -> ObjectMeta:
        """Who it is."""


Kind = TypeVar("Kind", bound=HasMetadata)
_LOG: Final = logging.getLogger(__name__)


class _Name(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct):
    kind: str = "object"
    metadata: _Name = msgspec.field(default_factory=_Name)


class ObjectCache(Generic[Kind]):
    """One collection as it was when last heard of. A reflector writes, others read; all may be threads.

    `wake` is called whenever something changed; it must return at once.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._objects: dict[str, Kind] = {}
        self._changed: set[str] = set()
        self._problem: str = "not listed yet"
        self._unreadable: set[str] = set()
        """What was told of objects that cannot be read."""
        self._changing = threading.Lock()

    @property
    def problem(self) -> str:
        """Why what is here may be out of date; empty when it is not."""
        return self._problem

    @property
    def unreadable_count(self) -> int:
        """How many objects could not be read so far."""
        return len(self._unreadable)

    def find(self, uid: str) -> Kind | None:
        """The object with this uid, if there is one."""
        return self._objects.get(uid)

    def all(self) -> list[Kind]:
        """All objects, in no particular order."""
        with self._changing:
            return list(self._objects.values())

    def take_changes(self) -> set[str]:
        """Uids of objects that are new, changed or gone since this was called last."""
        with self._changing:
            changes, self._changed = self._changed, set()
            return changes

    def on_replace(self, objects: Iterable[Kind]) -> None:
        """See ResourceEventHandler: what is unchanged since the last list is no change."""
        fresh = {item.metadata.uid: item for item in objects}
        with self._changing:
            versions = {uid: item.metadata.resource_version for uid, item in self._objects.items()}
            for uid, item in fresh.items():
                if versions.pop(uid, None) != item.metadata.resource_version:
                    self._changed.add(uid)
            self._changed.update(versions)
            self._objects = fresh
            self._problem = ""
        self._wake()

    def on_change(self, item: Kind) -> None:
        """See ResourceEventHandler."""
        with self._changing:
            self._objects[item.metadata.uid] = item
            self._changed.add(item.metadata.uid)
            self._problem = ""
        self._wake()

    def on_remove(self, item: HasMetadata) -> None:
        """See ResourceEventHandler."""
        with self._changing:
            if self._objects.pop(item.metadata.uid, None) is not None:
                self._changed.add(item.metadata.uid)
        self._wake()

    def on_unreadable(self, item: bytes, problem: str) -> None:
        """See ResourceEventHandler. Reported once; the version that was read before stays in the cache."""
        told = f"{_name(item)} cannot be read, so it is not looked at: {problem}"
        if told not in self._unreadable:
            self._unreadable.add(told)
            _LOG.warning("%s", told)

    def on_failure(self, failure: ApiError) -> None:
        """See ResourceEventHandler."""
        self._problem = str(failure)

    def on_synced(self) -> None:
        """See ResourceEventHandler: what was missed comes with the watch."""
        if self._problem:
            self._problem = ""
            self._wake()


def _name(item: bytes) -> str:
    """Which object it is, as far as that can be read."""
    try:
        named = msgspec.json.decode(item, type=_Named)
    except msgspec.DecodeError:
        return "An object"
    return f"{named.kind} {named.metadata.namespace}/{named.metadata.name}"
