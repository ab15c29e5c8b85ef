"""Keeps up with one collection of an API server: list, watch, go on where it broke off.

    list pages ──► replaced(objects) ──► watch from that version ──► changed / removed, one by one
        ▲                                              │
        │   410: the version is forgotten              │  the connection breaks: watch again from the last
        └──────────────────────────────────────────────┘  version, after a pause that grows

Nothing is lost or told twice: a watch goes on from the version of the last event that was told. Should an API
server lose an event all the same, it is noticed when the collection is listed again, every few hours.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from tenure.integration.timing import Backoff
from tenure.kubernetes.api.api_errors import ApiError, ApiServerError, Expired, NotFound
from tenure.kubernetes.api.api_paths import LineStream, collection_of
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects.meta import Object, ObjectMeta
from tenure.kubernetes.telemetry import LIST_WATCH_FAILURES, LISTS, OBJECT_CHANGES, WATCHES

PAGE: Final = 2000
"""Objects of one page of a list."""
_WATCH_SECONDS: Final = (240, 360)
"""A watch ends by itself after a time between these, so that not all begin anew at once."""
_BOOKMARK_SECONDS: Final = 60.0
"""How often an API server says something at least, if it is asked for bookmarks."""
_SILENCE: Final = 3 * _BOOKMARK_SECONDS
"""After so many seconds without a word the connection is taken for broken."""
MAX_WATCH_SECONDS: Final = 6 * 3_600.0
"""Seconds after which a collection is listed again though nothing seems to be missed."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_GONE: Final = 410
_BOOKMARK: Final = "BOOKMARK"
_LOG: Final = logging.getLogger(__name__)


Kind = TypeVar("Kind")


class ResourceEventHandler(Protocol[Kind]):
    """Whoever wants to know. Called from the reflector's thread, one call after the other."""

    def on_replace(self, objects: list[Kind]) -> None:
        """These are all objects of the collection: others are gone."""

    def on_change(self, item: Kind) -> None:
        """The object is new or has changed."""

    def on_remove(self, item: Object) -> None:
        """The object is gone. Its names, uid and version are told, whether or not the rest can be read."""

    def on_unreadable(self, item: bytes, problem: str) -> None:
        """An object is not what its kind should be; it is left out, and so is its last form."""

    def on_failure(self, failure: ApiError) -> None:
        """The collection cannot be followed just now; it is tried again."""

    def on_synced(self) -> None:
        """A watch has begun, after a list or where the last one broke off: nothing is missed."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] = []


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _ObjectMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Versioned(msgspec.Struct):
    metadata: _ObjectMeta = msgspec.field(default_factory=_ObjectMeta)
    code: int = 0
    message: str = ""


_PAGES: Final = msgspec.json.Decoder(_Page)
_EVENTS: Final = msgspec.json.Decoder(_Event)
_VERSIONED: Final = msgspec.json.Decoder(_Versioned)


class Reflector(Generic[Kind]):
    """Follows the collection at a path until it is stopped. One thread calls `run`.

    `kind` is the msgspec type of its objects: fields it does not name are not decoded.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        kind: type[Kind],
        listener: ResourceEventHandler[Kind],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport
        self._path = path
        self._about = {"resource": collection_of(path)}
        self._objects = msgspec.json.Decoder(kind)
        self._handler = listener
        self._clock = clock
        self._relist_at = 0.0
        self._stopped = threading.Event()
        self._version = ""
        """Of the last event told; empty: a list is due."""
        self._watched: LineStream | None = None
        """The watch that is under way."""
        self._changing = threading.Lock()

    def stop(self) -> None:
        """Let `run` return, at the end of a page at the latest: a watch is broken off."""
        self._stopped.set()
        with self._changing:
            if self._watched is not None:
                self._watched.close()

    def list_once(self) -> None:
        """Tell all objects, and follow no further. Raises ApiError."""
        self._list()

    def run(self) -> None:
        """Follow until stopped; failures are told and tried again, in growing intervals."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while not self._stopped.is_set():
            if self._has_news():
                backoff.reset()
                if self._version:
                    continue
            self._stopped.wait(random.uniform(0, backoff.fail()))  # noqa: S311  (so that not all come at once)

    def _has_news(self) -> bool:
        """Follow as long as it goes well; whether anything was heard.

        A list alone does not count when what comes after it is forgotten at once.
        """
        listed = heard = False
        try:
            if not self._version or self._clock() >= self._relist_at:
                self._list()
                listed = True
            for _ in self._watch():
                heard = True
        except ApiError as failure:
            listed &= not isinstance(failure, Expired | NotFound)
            self._fail(failure)
        except Exception as problem:  # a thread that dies leaves a copy of which nobody knows that it is old
            listed = heard = False
            _LOG.warning("%s is listed anew: %r", self._path, problem)
            self._version = ""
            self._fail(ApiServerError(f"{self._path}: {problem!r}"))
        return listed or heard

    def _fail(self, failure: ApiError) -> None:
        if self._stopped.is_set():
            return
        if isinstance(failure, Expired | NotFound):
            self._version = ""
        LIST_WATCH_FAILURES.add(1, {**self._about, "cause": failure.metric_label})
        if not isinstance(failure, Expired):
            self._handler.on_failure(failure)

    def _list(self) -> None:
        """Tell all objects, as of one version; none when stopped."""
        objects: list[Kind] = []
        page = self._page("")
        while page.metadata.continue_ and not self._stopped.is_set():
            objects.extend(self._read(page.items))
            page = self._page(page.metadata.continue_)
        if self._stopped.is_set():
            return
        objects.extend(self._read(page.items))
        LISTS.add(1, self._about)
        self._relist_at = self._clock() + MAX_WATCH_SECONDS * random.uniform(0.5, 1)  # noqa: S311
        self._handler.on_replace(objects)
        self._version = page.metadata.resource_version

    def _page(self, continue_from: str) -> _Page:
        query = {"limit": str(PAGE)}
        if continue_from:
            query["continue"] = continue_from
        return _PAGES.decode(self._transport.get(self._path, query))

    def _read(self, items: Iterable[msgspec.Raw]) -> Iterator[Kind]:
        for item in items:
            try:
                yield self._objects.decode(item)
            except msgspec.DecodeError as problem:
                self._handler.on_unreadable(bytes(item), str(problem))

    def _watch(self) -> Iterator[None]:
        """Tell what changes until the watch ends; yields at every event, bookmarks included."""
        if self._stopped.is_set():
            return
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(*_WATCH_SECONDS)),  # noqa: S311
        }
        with self._transport.lines(self._path, query, _SILENCE) as lines, self._may_be_cut(lines):
            WATCHES.add(1, self._about)
            self._handler.on_synced()
            for line in lines:
                if self._stopped.is_set():
                    return
                self._dispatch(_EVENTS.decode(line))
                yield

    @contextmanager
    def _may_be_cut(self, lines: LineStream) -> Iterator[None]:
        """While a watch goes on, and no longer, `stop` breaks it off."""
        with self._changing:
            self._watched = lines
            if self._stopped.is_set():
                lines.close()
        try:
            yield
        finally:
            with self._changing:
                self._watched = None

    def _dispatch(self, event: _Event) -> None:
        """One event of a watch. Raises Expired when the server has forgotten the version."""
        known = _VERSIONED.decode(event.object)
        match event.type:
            case "ERROR":
                said = f"watching {self._path}: {known.code} {known.message}"
                raise Expired(said) if known.code == _GONE else ApiServerError(said)
            case "ADDED" | "MODIFIED":
                for item in self._read([event.object]):
                    self._handler.on_change(item)
            case "DELETED":
                self._handler.on_remove(_deleted_object(known.metadata))
        if event.type != _BOOKMARK:
            OBJECT_CHANGES.add(1, self._about)
        self._version = known.metadata.resource_version


def _deleted_object(known: _ObjectMeta) -> Object:
    meta = ObjectMeta(known.name, known.namespace, known.uid, known.resource_version)
    return Object(meta)
