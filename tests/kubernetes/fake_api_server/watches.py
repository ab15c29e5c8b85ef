"""Watches: changes after a version as they happen, and bookmarks while there are none."""

import time
from collections.abc import Iterator
from typing import Any, Final

from tests.kubernetes.fake_api_server import errors
from tests.kubernetes.fake_api_server.lists import matches
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.store import Item, ObjectChange, ObjectStore, versioned

_DEFAULT_SECONDS: Final = 1800.0
_BEFORE_THE_END: Final = 2.0
"""Seconds before its end at which a watch sends a bookmark."""
_EVERY_SECONDS: Final = 60.0
"""Interval of bookmarks before that."""
_LOOK_SECONDS: Final = 0.5
_INITIAL_EVENTS_END: Final = {"k8s.io/initial-events-end": "true"}
Event = dict[str, Any]


class WatchStream:
    """A watch. `events` ends at its timeout; a notification of the store's condition wakes it."""

    def __init__(self, store: ObjectStore, request: ApiRequest) -> None:
        if {"labelSelector", "fieldSelector"} & set(request.query):
            raise errors.bad_request("this server knows no selectors of watches")
        self._store, self._request = store, request
        seconds = float(request.query.get("timeoutSeconds", _DEFAULT_SECONDS))
        self._end = time.monotonic() + seconds
        self._next_bookmark = self._bookmark_after(time.monotonic())
        self._seen_version = self._sent_version = int(request.query.get("resourceVersion") or 0)
        self._is_closed = self._is_expired = False

    def close(self) -> None:
        """End `events`."""
        self._is_closed = True

    def expire(self) -> None:
        """End `events` with the error that the version is compacted."""
        with self._store.changing:
            self._is_closed = self._is_expired = True
            self._store.changing.notify_all()

    def events(self) -> Iterator[Event]:
        """Return events until the watch ends, or until an error for a compacted version."""
        with self._store.changing:
            begin = list(self._begin())
        yield from begin
        if begin and begin[-1]["type"] == "ERROR":
            return
        while not self._is_closed and time.monotonic() < self._end:
            yield from self._pending_events()
        if self._is_expired:
            yield self._too_old()

    def _begin(self) -> Iterator[Event]:
        wants_all = self._request.query.get("sendInitialEvents") == "true"
        if not self._seen_version or wants_all:
            self._seen_version = self._sent_version = self._store.version
            for key, item in self._store.all(self._request.resource).items():
                if matches(self._request, key, item):
                    yield {"type": "ADDED", "object": item}
            if wants_all:
                yield self._bookmark(_INITIAL_EVENTS_END)
        elif self._seen_version < self._store.compacted:
            yield self._too_old()

    def _pending_events(self) -> list[Event]:
        """Return the events since the last call; wait for a moment if there are none."""
        with self._store.changing:
            changes = self._store.changes(self._request.resource, self._seen_version)
            if not changes:
                self._store.changing.wait(min(_LOOK_SECONDS, max(0.0, self._end - time.monotonic())))
        if changes:
            self._seen_version = changes[-1].version
        events = [self._event(change) for change in changes if self._concerns(change)]
        if events:
            self._sent_version = self._seen_version
        elif self._is_bookmark_due():
            self._sent_version = self._seen_version
            events.append(self._bookmark({}))
        return events

    def _is_bookmark_due(self) -> bool:
        """Whether a bookmark is due and its version is new."""
        now = time.monotonic()
        if now < self._next_bookmark or not self._allows_bookmarks:
            return False
        self._next_bookmark = self._bookmark_after(now)
        return self._seen_version > self._sent_version

    def _concerns(self, change: ObjectChange) -> bool:
        return not self._request.namespace or change.key.namespace == self._request.namespace

    def _too_old(self) -> Event:
        message = f"too old resource version: {self._seen_version} ({self._store.compacted})"
        return {"type": "ERROR", "object": errors.expired(message).body}

    @property
    def _allows_bookmarks(self) -> bool:
        return self._request.query.get("allowWatchBookmarks") == "true"

    def _bookmark_after(self, now: float) -> float:
        before_the_end = self._end - _BEFORE_THE_END
        return min(before_the_end, now + _EVERY_SECONDS) if now < before_the_end else now + _EVERY_SECONDS

    @staticmethod
    def _event(change: ObjectChange) -> Event:
        if change.after is None:
            assert change.before is not None
            return {"type": "DELETED", "object": versioned(change.before, change.version)}
        return {"type": "ADDED" if change.before is None else "MODIFIED", "object": change.after}

    def _bookmark(self, annotations: dict[str, str]) -> Event:
        resource = self._request.resource
        metadata: Item = {"resourceVersion": str(self._seen_version)}
        if annotations:
            metadata["annotations"] = annotations
        item = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return {"type": "BOOKMARK", "object": item}
