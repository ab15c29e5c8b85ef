"""Owners that were read, by uid, and the lists of their kinds.

Kinds of owners are not watched, because a role may permit listing a kind and not watching it. Instead, the
list of each known kind is read again every five minutes, one page in an observation. So a label or annotation
on a Deployment counts a few minutes after it was written.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.reflector import PAGE
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.owners.kinds import OwnerKind
from tenure.kubernetes.owners.owner_object import OwnerObject, read_owner

MAX_CACHED: Final = 50_000
"""Most owners that are known at a time."""
REFRESH_SECONDS: Final = 300.0
"""Seconds from the end of one reading of all lists to the beginning of the next."""


class _ListMeta(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] = []


_PAGES: Final = msgspec.json.Decoder(_Page)


class OwnerLists:
    """Known owners. For one thread."""

    def __init__(self, transport: Transport, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._transport, self._stopwatch = transport, stopwatch
        self.known: OrderedDict[tuple[str, str], OwnerObject | None] = OrderedDict()
        """By namespace and uid. None: there is none. A pod elsewhere that names the uid does not matter."""
        self._collections: dict[str, OwnerKind | None] = {}
        """Kinds that were listed, by path."""
        self._unread: list[str] = []
        """Paths whose next reading has not ended, the current one last."""
        self._continue = ""
        self._next_at = 0.0
        """When the next page is read, by the stopwatch."""

    def key(self, namespace: str, uid: str) -> tuple[str, str] | None:
        """Key of what is known of an owner of this namespace, or of none; None: nothing is known."""
        return next((key for key in ((namespace, uid), ("", uid)) if key in self.known), None)

    def put(self, namespace: str, uid: str, item: OwnerObject | None) -> None:
        """Remember an owner, or that there is none."""
        self.known[namespace, uid] = item
        self.known.move_to_end((namespace, uid))
        while len(self.known) > MAX_CACHED:
            self.known.popitem(last=False)

    def has_listed(self, path: str) -> bool:
        """Whether a kind was listed."""
        return path in self._collections

    def add_kind(self, path: str, kind: OwnerKind | None) -> None:
        """List a kind, now and from time to time. Raises ApiError."""
        self.read_all(path, kind)
        if not self._collections:
            self._next_at = self._stopwatch() + REFRESH_SECONDS
        self._collections[path] = kind

    def read_all(self, path: str, kind: OwnerKind | None) -> bool:
        """List owners. Returns whether all could be read. Raises ApiError."""
        position, is_complete = "", True
        while True:
            page = self._page(path, position)
            for item in (read_owner(content, kind) for content in page.items):
                if item is None:
                    is_complete = False
                else:
                    self.put(item.metadata.namespace, item.metadata.uid, item)
            position = page.metadata.continue_
            if not position:
                return is_complete

    def refresh(self) -> set[str]:
        """Read the next page of known kinds, if it is time. Returns the uids of known owners that changed.

        A failed reading ends, and the next one begins later.
        """
        if not self._collections or self._stopwatch() < self._next_at:
            return set()
        self._unread = self._unread or list(self._collections)
        kind = self._collections[self._unread[-1]]
        try:
            page = self._page(self._unread[-1], self._continue)
        except ApiError:
            self._unread.clear()
            page = _Page()
        self._continue = page.metadata.continue_
        if not self._continue and self._unread:
            self._unread.pop()
        if not self._unread:
            self._next_at = self._stopwatch() + REFRESH_SECONDS
        return {uid for content in page.items if (uid := self._replace(read_owner(content, kind)))}

    def wait(self) -> float | None:
        """Seconds until the next page is read; None: no kind is known."""
        return max(self._next_at - self._stopwatch(), 0.0) if self._collections else None

    def _replace(self, item: OwnerObject | None) -> str:
        """Replace a known owner; return its uid if it changed, else ""."""
        if item is None:
            return ""
        key = item.metadata.namespace, item.metadata.uid
        if key not in self.known or self.known[key] == item:
            return ""
        self.known[key] = item
        return item.metadata.uid

    def _page(self, path: str, position: str) -> _Page:
        query = {"limit": str(PAGE)}
        if position:
            query["continue"] = position
        return _PAGES.decode(self._transport.get(path, query))
