"""States as rows: each once, by the digest of its content, and shortly when it is much like another one."""

import sqlite3
from collections import OrderedDict
from enum import IntEnum
from hashlib import sha256
from typing import Final, NamedTuple

from tenure.server.records.entries import Cycle
from tenure.server.records.packing import MAX_COMMON, pack, pack_change
from tenure.server.shard import Shard
from tenure.server.state import Lineage
from tenure.server.state.lineage import MAX_DELTAS
from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_KEPT_BYTES: Final = 64 * 2**20
"""Of the snapshots that the next ones are compared with, all shards together."""
_MOST_BASES: Final = 1_000
"""Full snapshots that are known to be written, before all of them are forgotten."""


class Form(IntEnum):
    """What the body of a state holds, packed."""

    FULL = 0
    """The snapshot."""
    CHANGE = 1
    """How its bytes differ from those of its parent."""
    DELTA = 2
    """The StateDelta that makes it of its parent."""


class Key(NamedTuple):
    """A row of a state."""

    digest: bytes
    root: bytes


class BaseMissing(LookupError):
    """What a state is made of is not there any more; with its snapshot it can be written."""


class _Latest(NamedTuple):
    key: Key
    content: bytes
    changes: int


class StateRows:
    """Writes states within transactions of others. Its memory counts for nothing after one is rolled back."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._latest: OrderedDict[Shard, _Latest] = OrderedDict()
        """The last snapshot that came with a request, by shard."""
        self._versions: dict[int, dict[int, Key]] = {}
        """Rows of a lineage, by its base and the number of deltas since."""

    def save(self, cycle: Cycle) -> Key:
        """The row of the state of a cycle, written if it is new. Raises BaseMissing."""
        if cycle.lineage is not None:
            return self._save_version(cycle.lineage, cycle.snapshot)
        assert cycle.snapshot is not None, "a snapshot that came with a request is recorded with it"
        return self._save_snapshot(cycle.shard, cycle.snapshot)

    def _save_snapshot(self, shard: Shard, snapshot: ClusterSnapshot) -> Key:
        content = snapshot.SerializeToString(deterministic=True)
        digest = sha256(content).digest()
        before = self._latest.pop(shard, None)
        if (found := self._find(digest)) is not None:
            key, changes = found, before.changes if before and before.key == found else MAX_DELTAS
        elif before is not None and self._is_like(before, content):
            key, changes = Key(digest, before.key.root), before.changes + 1
            self._insert(key, before.key, Form.CHANGE, pack_change(content, before.content))
        else:
            key, changes = Key(digest, digest), 0
            self._insert(key, None, Form.FULL, pack(content))
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
        while sum(len(each.content) for each in self._latest.values()) > MAX_KEPT_BYTES:
            self._latest.popitem(last=False)

    def _save_version(self, lineage: Lineage, snapshot: ClusterSnapshot | None) -> Key:
        """By the nearest row of its lineage, or in full when there is none."""
        wanted = len(lineage.deltas)
        known = self._versions.get(lineage.base, {})
        nearest = max((number for number in known if number <= wanted), default=None)
        if nearest is None or self._find(known[nearest].digest) is None:
            if snapshot is None:
                raise BaseMissing
            known = self._begin(lineage, self._save_full(snapshot))
            nearest = wanted
        for number in range(nearest, wanted):
            known[number + 1] = self._save_delta(known[number], lineage.deltas[number])
        return known[wanted]

    def _begin(self, lineage: Lineage, key: Key) -> dict[int, Key]:
        if len(self._versions) >= _MOST_BASES:
            self._versions.clear()
        known = self._versions[lineage.base] = {len(lineage.deltas): key}
        return known

    def _save_full(self, snapshot: ClusterSnapshot) -> Key:
        content = snapshot.SerializeToString(deterministic=True)
        digest = sha256(content).digest()
        found = self._find(digest)
        if found is not None:
            return found
        key = Key(digest, digest)
        self._insert(key, None, Form.FULL, pack(content))
        return key

    def _save_delta(self, parent: Key, delta: bytes) -> Key:
        digest = sha256(parent.digest + delta).digest()
        found = self._find(digest)
        if found is not None:
            return found
        key = Key(digest, parent.root)
        self._insert(key, parent, Form.DELTA, pack(delta))
        return key

    def _find(self, digest: bytes) -> Key | None:
        row = self._database.execute("SELECT root FROM states WHERE digest = ?", [digest]).fetchone()
        return None if row is None else Key(digest, row[0])

    def _insert(self, key: Key, parent: Key | None, form: Form, body: bytes) -> None:
        row = [key.digest, key.root, parent.digest if parent else None, form, body]
        self._database.execute("INSERT INTO states VALUES (?, ?, ?, ?, ?)", row)
