"""Follows one collection of an API server: list, then watch; resume where a watch ended.

    list pages ──► on_replace(objects) ──► watch from that version ──► on_change / on_remove, one by one
       ▲                                              │
       │   410: the version is too old                │  the connection breaks: watch again from the last
       └──────────────────────────────────────────────┘  version, after a growing pause

No event is lost or delivered twice: a watch resumes at the version of the last delivered event. In case an
API server loses an event, the collection is listed again every few hours.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from tenure.integration.timing import Backoff
from tenure.kubernetes.api.api_errors import ApiError, ApiServerError, Expired, NotFound
from tenure.kubernetes.api.api_paths import LineStream, collection_of
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.objects.meta import Object, ObjectMeta
from tenure.kubernetes.telemetry import LIST_WATCH_FAILURES, LISTS, OBJECT_CHANGES, WATCHES

PAGE: Final = 2000
"""Objects per page of a list."""
_WATCH_SECONDS: Final = (240, 360)
"""A watch ends after a random time between these, so that not all restart at once."""
_BOOKMARK_SECONDS: Final = 60.0
"""Minimum frequency of messages from an API server, if bookmarks are requested."""
_SILENCE: Final = 3 * _BOOKMARK_SECONDS
"""Seconds without a message after which the connection counts as broken."""
MAX_WATCH_SECONDS: Final = 6 * 3_600.0
"""Seconds after which a collection is listed again."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_GONE: Final = 410
_BOOKMARK: Final = "BOOKMARK"
_LOG: Final = logging.getLogger(__name__)


Kind = TypeVar("Kind")


class ResourceEventHandler(Protocol[Kind]):
    """Receives events of a collection, one call at a time, from the reflector's thread."""

    def on_replace(self, objects: list[Kind], unreadable: Set[str]) -> None:
        """These are all objects of the collection, and uids of the others, which do not match its kind."""

    def on_change(self, item: Kind) -> None:
        """The object is new or changed."""

    def on_remove(self, item: Object) -> None:
        """The object was deleted. Its names, uid and version are set, even if the rest is unreadable."""

    def on_unreadable(self, item: bytes, problem: str) -> None:
        """An object does not match its kind. Ignore it, but keep its last readable version."""

    def on_failure(self, failure: ApiError) -> None:
        """The collection cannot be followed for now; the reflector retries."""

    def on_synced(self) -> None:
        """A watch started, after a list or where the last watch ended: nothing is missed."""


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
    """Follows the collection at a path until stopped. Call `run` in one thread.

    `kind` is the msgspec type of the objects; other fields are not decoded.
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
        """Resource version of the last delivered event; "": a list is due."""
        self._watched: LineStream | None = None
        """The current watch."""
        self._changing = threading.Lock()

    def stop(self) -> None:
        """Return from `run`, at the latest at the end of a page. Breaks the current watch."""
        self._stopped.set()
        with self._changing:
            if self._watched is not None:
                self._watched.close()

    def list_once(self) -> None:
        """List all objects once. Raises ApiError."""
        self._list()

    def run(self) -> None:
        """Follow until stopped. Failures are reported and retried, with growing pauses."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while not self._stopped.is_set():
            if self._has_news():
                backoff.reset()
                if self._version:
                    continue
            self._stopped.wait(random.uniform(0, backoff.fail()))  # noqa: S311  (so that not all come at once)

    def _has_news(self) -> bool:
        """Follow until a failure. Returns whether anything was received.

        A list alone does not count if its version is too old right away.
        """
        listed = received = False
        try:
            if not self._version or self._clock() >= self._relist_at:
                self._list()
                listed = True
            for _ in self._watch():
                received = True
        except ApiError as failure:
            listed &= not isinstance(failure, Expired | NotFound)
            self._fail(failure)
        except Exception as problem:  # without this thread the cache would be out of date unnoticed
            listed = received = False
            _LOG.warning("Relisting %s: %r", self._path, problem)
            self._version = ""
            self._fail(ApiServerError(f"{self._path}: {problem!r}"))
        return listed or received

    def _fail(self, failure: ApiError) -> None:
        if self._stopped.is_set():
            return
        if isinstance(failure, Expired | NotFound):
            self._version = ""
        LIST_WATCH_FAILURES.add(1, {**self._about, "cause": failure.metric_label})
        if not isinstance(failure, Expired):
            self._handler.on_failure(failure)

    def _list(self) -> None:
        """Deliver all objects of one version; nothing if stopped."""
        objects: list[Kind] = []
        unreadable: set[str] = set()
        page = self._page("")
        while page.metadata.continue_ and not self._stopped.is_set():
            objects.extend(self._read(page.items, unreadable))
            page = self._page(page.metadata.continue_)
        if self._stopped.is_set():
            return
        objects.extend(self._read(page.items, unreadable))
        LISTS.add(1, self._about)
        self._relist_at = self._clock() + MAX_WATCH_SECONDS * random.uniform(0.5, 1)  # noqa: S311
        self._handler.on_replace(objects, unreadable)
        self._version = page.metadata.resource_version

    def _page(self, continue_from: str) -> _Page:
        query = {"limit": str(PAGE)}
        if continue_from:
            query["continue"] = continue_from
        return _PAGES.decode(self._transport.get(self._path, query))

    def _read(self, items: Iterable[msgspec.Raw], unreadable: set[str]) -> Iterator[Kind]:
        """The readable objects. Adds the uids of the others."""
        for item in items:
            try:
                yield self._objects.decode(item)
            except msgspec.DecodeError as problem:
                with suppress(msgspec.DecodeError):
                    unreadable.add(_VERSIONED.decode(item).metadata.uid)
                self._handler.on_unreadable(bytes(item), str(problem))

    def _watch(self) -> Iterator[None]:
        """Deliver changes until the watch ends. Yields after every event, bookmarks included."""
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
        """Let `stop` break the watch while the block runs."""
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
        """Deliver one event. Raises Expired if the version is too old."""
        known = _VERSIONED.decode(event.object)
        match event.type:
            case "ERROR":
                message = f"watching {self._path}: {known.code} {known.message}"
                raise Expired(message) if known.code == _GONE else ApiServerError(message)
            case "ADDED" | "MODIFIED":
                for item in self._read([event.object], set()):
                    self._handler.on_change(item)
            case "DELETED":
                self._handler.on_remove(_deleted_object(known.metadata))
        if event.type != _BOOKMARK:
            OBJECT_CHANGES.add(1, self._about)
        self._version = known.metadata.resource_version


def _deleted_object(known: _ObjectMeta) -> Object:
    meta = ObjectMeta(known.name, known.namespace, known.uid, known.resource_version)
    return Object(meta)
