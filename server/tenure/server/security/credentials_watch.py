"""A thread that looks after credentials while no call does: faults of files, and streams that must end."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tenure.server.security.callers import NotAuthenticated, PermissionDenied
from tenure.server.security.json_web_tokens import JwtIssuers
from tenure.server.security.rejections import Rejections
from tenure.server.security.watched_files import WatchedFiles
from tenure.server.sweeper import Sweeper

INTERVAL_SECONDS: Final = 1.0
_LOG: Final = logging.getLogger(__name__)


class OpenStreams:
    """Streams that are open, so that they end when the credentials or the permission of their caller end.

    A stream that waits for a message checks itself, and ends with a status. This is for the others, which
    wait for a caller that does not receive: they are cancelled one interval later.
    """

    def __init__(self) -> None:
        self._streams: dict[object, tuple[Callable[[], None], Callable[[], object]]] = {}
        self._revoked: set[object] = set()
        """Those that were found revoked one interval ago."""
        self._changing = threading.Lock()

    @contextmanager
    def add(self, check: Callable[[], None], cancel: Callable[[], object]) -> Iterator[None]:
        """Check a stream within the block; `check` raises NotAuthenticated or PermissionDenied."""
        ticket = object()
        with self._changing:
            self._streams[ticket] = check, cancel
        try:
            yield
        finally:
            with self._changing:
                del self._streams[ticket]
                self._revoked.discard(ticket)

    def cancel_revoked(self) -> None:
        """Cancel the streams that should have ended since the last call."""
        with self._changing:
            streams = list(self._streams.items())
        for ticket, (check, cancel) in streams:
            try:
                check()
            except (NotAuthenticated, PermissionDenied):
                with self._changing:
                    is_late = ticket in self._revoked
                    if ticket in self._streams:
                        self._revoked.add(ticket)
                if is_late:
                    cancel()


class CredentialsWatch:
    """Watches the files of a server, its issuers and its open streams. Start it once, and stop it."""

    def __init__(
        self,
        files: Sequence[WatchedFiles[Any]],
        issuers: JwtIssuers | None,
        rejections: Rejections,
        streams: OpenStreams,
    ) -> None:
        self._files = files
        self._issuers = issuers
        self._rejections = rejections
        self._streams = streams
        self._report: Callable[[], object] = self.faults
        self._sweeper = Sweeper(self._look)

    def faults(self) -> Mapping[str, str]:
        """Why files cannot be used at present, by what they contain; empty if they can."""
        faults = {each.what: each.fault for each in self._files}
        return faults if self._issuers is None else {**faults, **self._issuers.faults()}

    def start(self, report: Callable[[], object]) -> None:
        """Start to watch; `report` is called after every look."""
        self._report = report
        if self._issuers is not None:
            self._issuers.start()
        self._sweeper.start()

    def stop(self) -> None:
        """Stop watching."""
        self._sweeper.stop()
        if self._issuers is not None:
            self._issuers.stop()
        self._rejections.flush()

    def _look(self) -> float:
        try:
            for files in self._files:
                files.look()
            if self._issuers is not None:
                self._issuers.look()
            self._streams.cancel_revoked()
            self._rejections.flush()
            self._report()
        except Exception:
            _LOG.exception("A defect: credentials were not checked. They are checked again in a second.")
        return INTERVAL_SECONDS
