"""States made again of rows: from a root along the way to what is asked for."""

import sqlite3
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError
from tenure.server.records.packing import unpack, unpack_change
from tenure.server.records.states import Form
from tenure.server.state.overlay import overlay
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

_WAY: Final = """
WITH RECURSIVE way (digest, parent, form, body, length) AS (
    SELECT digest, parent, form, body, 0 FROM states WHERE digest = :wanted
    UNION ALL
    SELECT states.digest, states.parent, states.form, states.body, length + 1
    FROM states JOIN way ON states.digest = way.parent
    WHERE way.digest IS NOT :known
)
SELECT digest, form, body FROM way ORDER BY length DESC
"""


class _Made(NamedTuple):
    digest: bytes
    content: bytes
    """As it was packed; empty when it is made by a delta."""
    snapshot: ClusterSnapshot


class States:
    """Makes states again. The last one is kept, for the next is most often made of it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._last: _Made | None = None

    def snapshot(self, wanted: bytes) -> ClusterSnapshot:
        """The snapshot of a digest, not to be changed. Raises ValueError, or sqlite3.Error."""
        made = self._last
        known = made.digest if made else None
        for digest, form, body in self._database.execute(_WAY, {"wanted": wanted, "known": known}):
            if made is None or digest != made.digest:
                made = _made(digest, Form(form), body, made)
        if made is None or made.digest != wanted:
            raise ValueError("it is not in the file")
        self._last = made
        return made.snapshot


def _made(digest: bytes, form: Form, body: bytes, before: _Made | None) -> _Made:
    try:
        if form is Form.FULL:
            content = unpack(body)
            return _Made(digest, content, ClusterSnapshot.FromString(content))
        if before is None:
            raise ValueError("what it is made of is not in the file")
        if form is Form.CHANGE:
            content = unpack_change(body, before.content)
            return _Made(digest, content, ClusterSnapshot.FromString(content))
        return _Made(digest, b"", _after(before.snapshot, StateDelta.FromString(unpack(body))))
    except DecodeError as error:
        raise ValueError(f"is damaged: {error}") from None


def _after(snapshot: ClusterSnapshot, delta: StateDelta) -> ClusterSnapshot:
    """As the server makes it."""
    after = overlay(snapshot, delta.upserts, delta.removes).snapshot
    after.version = delta.version
    after.now.CopyFrom(delta.now)
    return after
