"""States as rows: store each once, by its digest and as a difference from a similar one; rebuild it."""

import sqlite3
from collections import OrderedDict
from enum import IntEnum
from hashlib import sha256
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError
from tenure.server.records.entries import CycleEntry
from tenure.server.records.file import (
    MAX_COMMON,
    LimitedQueries,
    compress,
    compress_patch,
    decompress,
    decompress_patch,
)
from tenure.server.shard import Shard
from tenure.server.state import Lineage
from tenure.server.state.lineage import MAX_DELTAS
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.deltas import overlay

MAX_CACHED_BYTES: Final = 64 * 2**20
"""Maximum size of the snapshots that others are compared with, all shards together."""
_MOST_BASES: Final = 1_000
"""Maximum number of full snapshots remembered as written; beyond it the oldest is forgotten."""
_MOST_VERSIONS: Final = 64
"""Maximum number of versions of one lineage remembered as written."""


class StateFormat(IntEnum):
    """Content of the compressed body of a state."""

    FULL = 0
    """The snapshot."""
    PATCH = 1
    """Difference from the bytes of its parent."""
    DELTA = 2
    """StateDelta from its parent."""


class StateRowKey(NamedTuple):
    """Key of the row of a state."""

    digest: bytes
    root: bytes


class MissingBase(LookupError):
    """The base of a state is no longer stored; the state can be written with its snapshot."""


class _Latest(NamedTuple):
    key: StateRowKey
    content: bytes
    changes: int


class StateRows:
    """Writes states within the caller's transaction. After a rollback, its memory is not valid."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._latest: OrderedDict[Shard, _Latest] = OrderedDict()
        """Last snapshot contained in a request, by shard."""
        self._versions: dict[int, dict[int, StateRowKey]] = {}
        """Rows of a lineage, by its base and the number of deltas since."""

    def save(self, cycle: CycleEntry) -> StateRowKey:
        """The row of the state of a cycle, written if it is new. Raises MissingBase."""
        if cycle.lineage is not None:
            return self._save_version(cycle.lineage, cycle.snapshot)
        assert cycle.snapshot is not None, "a snapshot that came with a request is recorded with it"
        return self._save_snapshot(cycle.shard, cycle.snapshot)

    def _save_snapshot(self, shard: Shard, snapshot: ClusterSnapshot) -> StateRowKey:
        content = snapshot.SerializeToString(deterministic=True)
        digest = sha256(content).digest()
        before = self._latest.pop(shard, None)
        if (found := self._find(digest)) is not None:
            key, changes = found, before.changes if before and before.key == found else MAX_DELTAS
        elif before is not None and self._is_like(before, content):
            key, changes = StateRowKey(digest, before.key.root), before.changes + 1
            self._insert(key, before.key, StateFormat.PATCH, compress_patch(content, before.content))
        else:
            key, changes = StateRowKey(digest, digest), 0
            self._insert(key, None, StateFormat.FULL, compress(content))
        self._keep(shard, _Latest(key, content, changes))
        return key

    def _is_like(self, before: _Latest, content: bytes) -> bool:
        return (
            before.changes < MAX_DELTAS
            and len(before.content) + len(content) <= MAX_COMMON
            and self._find(before.key.digest) is not None
        )

    def _keep(self, shard: Shard, latest: _Latest) -> None:
        self._latest[shard] = latest
        while sum(len(each.content) for each in self._latest.values()) > MAX_CACHED_BYTES:
            self._latest.popitem(last=False)

    def _save_version(self, lineage: Lineage, snapshot: ClusterSnapshot | None) -> StateRowKey:
        """Store it relative to the nearest row of its lineage, or in full if there is none."""
        wanted = len(lineage.deltas)
        known = self._versions.get(lineage.base, {})
        nearest = max((number for number in known if number <= wanted), default=None)
        if nearest is None or self._find(known[nearest].digest) is None:
            if snapshot is None:
                raise MissingBase
            known = self._begin(lineage, self._save_full(snapshot))
            nearest = wanted
        for number in range(nearest, wanted):
            known[number + 1] = self._save_delta(known[number], lineage.deltas[number])
        key = known[wanted]
        while len(known) > _MOST_VERSIONS:
            del known[min(known)]
        return key

    def _begin(self, lineage: Lineage, key: StateRowKey) -> dict[int, StateRowKey]:
        if len(self._versions) >= _MOST_BASES:
            del self._versions[next(iter(self._versions))]
        known = self._versions[lineage.base] = {len(lineage.deltas): key}
        return known

    def _save_full(self, snapshot: ClusterSnapshot) -> StateRowKey:
        content = snapshot.SerializeToString(deterministic=True)
        digest = sha256(content).digest()
        found = self._find(digest)
        if found is not None:
            return found
        key = StateRowKey(digest, digest)
        self._insert(key, None, StateFormat.FULL, compress(content))
        return key

    def _save_delta(self, parent: StateRowKey, delta: bytes) -> StateRowKey:
        digest = sha256(parent.digest + delta).digest()
        found = self._find(digest)
        if found is not None:
            return found
        key = StateRowKey(digest, parent.root)
        self._insert(key, parent, StateFormat.DELTA, compress(delta))
        return key

    def _find(self, digest: bytes) -> StateRowKey | None:
        row = self._database.execute("SELECT root FROM states WHERE digest = ?", [digest]).fetchone()
        return None if row is None else StateRowKey(digest, row[0])

    def _insert(self, key: StateRowKey, parent: StateRowKey | None, form: StateFormat, body: bytes) -> None:
        row = [key.digest, key.root, parent.digest if parent else None, form, body]
        self._database.execute("INSERT INTO states VALUES (?, ?, ?, ?, ?)", row)


_PARENT: Final = "SELECT parent FROM states WHERE digest = ?"
_CONTENT: Final = "SELECT form, body FROM states WHERE digest = ?"


class _RebuiltState(NamedTuple):
    digest: bytes
    content: bytes
    """Serialized snapshot; empty if a delta produced it."""
    snapshot: ClusterSnapshot


class StateRebuilder:
    """Rebuilds states. Caches the last one, which is usually the parent of the next."""

    def __init__(self, queries: LimitedQueries) -> None:
        self._queries = queries
        self._last: _RebuiltState | None = None

    def snapshot(self, wanted: bytes) -> ClusterSnapshot:
        """Snapshot of a digest; must not be changed. Raises ValueError or sqlite3.Error."""
        made = self._last
        for digest in self._way(wanted, made.digest if made else None):
            if made is None or digest != made.digest:
                ((form, body),) = self._queries.rows(_CONTENT, (digest,))
                made = _made(digest, StateFormat(form), body, made)
        if made is None or made.digest != wanted:
            raise ValueError("it is missing")
        self._last = made
        return made.snapshot

    def _way(self, wanted: bytes, known: bytes | None) -> list[bytes]:
        """Digests of the rows that a state is made of, first one first; they begin with the known one."""
        way: dict[bytes, None] = {}
        while rows := self._queries.rows(_PARENT, (wanted,)):
            if wanted in way:
                raise ValueError("the rows that it is made of form a circle")
            way[wanted] = None
            ((parent,),) = rows
            if wanted == known or parent is None:
                break
            wanted = parent
        return list(reversed(way))


def _made(digest: bytes, form: StateFormat, body: bytes, before: _RebuiltState | None) -> _RebuiltState:
    try:
        if form is StateFormat.FULL:
            content = decompress(body)
            return _RebuiltState(digest, content, ClusterSnapshot.FromString(content))
        if before is None:
            raise ValueError("a row that it is based on is missing")
        if form is StateFormat.PATCH:
            content = decompress_patch(body, before.content)
            return _RebuiltState(digest, content, ClusterSnapshot.FromString(content))
        return _RebuiltState(digest, b"", _after(before.snapshot, StateDelta.FromString(decompress(body))))
    except DecodeError as error:
        raise ValueError(f"is corrupt: {error}") from None


def _after(snapshot: ClusterSnapshot, delta: StateDelta) -> ClusterSnapshot:
    """Apply a delta as the server does."""
    after = overlay(snapshot, delta.upserts, delta.removals).snapshot
    after.version = delta.version
    after.now.CopyFrom(delta.now)
    return after
