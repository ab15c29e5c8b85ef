"""Read a records file: records in order, and the states they are based on."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from google.protobuf.message import DecodeError
from tenure.server.records.file import LimitedQueries, RecordsError, decompress, open_to_read
from tenure.server.records.states import StateRebuilder
from tenure.server.shard import Shard
from tenure.solver.plugin_api.profile import Profile, profile_of
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

_COLUMNS: Final = (
    "id, recorded_at, cluster_id, node_pool, epoch, version, now, actions, request_digest, state, "
    "profile_digest, content, engine_version, trace_id, stopped_early, caller, answer"
)


class Record(NamedTuple):
    """One Decide response. Times in nanoseconds since the Unix epoch."""

    id: int
    recorded_at: int
    cluster_id: str
    node_pool: str
    epoch: str
    """Epoch of the pushed state; empty: the request contained the snapshot."""
    version: int
    now: int
    actions: tuple[str, ...]
    """Actions named in the request."""
    request_digest: str
    state: bytes
    profile_digest: str
    profile_text: str
    engine_version: str
    trace_id: str
    stopped_early: bool
    caller: str
    """Identity of the caller; empty if callers were not authenticated."""
    response: DecideResponse

    @property
    def profile(self) -> Profile:
        """Profile of the cycle. Raises ValueError if this version cannot parse it."""
        return profile_of(self.profile_text)


_ACTIONS, _REQUEST, _RESPONSE = map(Record._fields.index, ("actions", "request_digest", "response"))


class RecordsFile:
    """A records file, which may be written at the same time. A context manager."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises RecordsError if it is not a records file, or of another version."""
        self._path = path
        self._database = open_to_read(path)
        self._queries = LimitedQueries(self._database)
        self._states = StateRebuilder(self._queries)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def content(self) -> bytes:
        """The file as it is now, with what its write-ahead log has. Raises RecordsError."""
        try:
            return self._database.serialize()
        except sqlite3.Error as error:
            raise RecordsError(f"{self._path}: cannot be read: {error}") from None

    def ids(self, newest: int | None = None) -> list[int]:
        """IDs of all records, or of the `newest` ones, oldest first."""
        limit = -1 if newest is None else newest
        rows = self._rows("SELECT id FROM records ORDER BY id DESC LIMIT ?", limit)
        return [number for (number,) in reversed(rows)]

    def shards(self) -> list[Shard]:
        """Clusters and node pools with records, sorted."""
        rows = self._rows("SELECT DISTINCT cluster_id, node_pool FROM records ORDER BY cluster_id, node_pool")
        return [Shard(*row) for row in rows]

    def record(self, number: int) -> Record | None:
        """Record by ID; None if it does not exist or was dropped. Raises RecordsError."""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM records JOIN profiles ON digest = profile_digest WHERE id = ?",  # noqa: S608
            number,
        )
        try:
            return _record(rows[0]) if rows else None
        except (ValueError, DecodeError) as error:
            raise RecordsError(f"{self._path}: record {number} cannot be read: {error}") from None

    def records(self, newest: int | None = None) -> Iterator[Record]:
        """All records, or the `newest` ones, oldest first. Raises RecordsError."""
        for number in self.ids(newest):
            if (record := self.record(number)) is not None:
                yield record

    def snapshot(self, record: Record) -> ClusterSnapshot:
        """Snapshot of a record, with the time of its cycle. Raises RecordsError."""
        snapshot = ClusterSnapshot()
        try:
            snapshot.CopyFrom(self._states.snapshot(record.state))
        except (ValueError, sqlite3.Error) as error:
            message = f"the state of record {record.id} cannot be read: {error}"
            raise RecordsError(f"{self._path}: {message}") from None
        snapshot.now.CopyFrom(record.response.header.now)
        return snapshot

    def results(self, record: Record) -> dict[str, str]:
        """Last reported results of the decisions of a record, by decision ID. Raises RecordsError."""
        rows = self._rows(
            "SELECT decision_id, result FROM outcomes WHERE cluster_id = ? AND node_pool = ? AND "
            "group_id IN (SELECT value FROM json_each(?)) ORDER BY reported_at",
            *Shard(record.cluster_id, record.node_pool),
            json.dumps([group.id for group in record.response.groups]),
        )
        return dict(rows)

    def _rows(self, statement: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        try:
            return self._queries.rows(statement, values)
        except (ValueError, sqlite3.Error) as error:
            raise RecordsError(f"{self._path}: cannot be read: {error}") from None


def _record(row: tuple) -> Record:  # type: ignore[type-arg]
    found = Record._make(row)
    return found._replace(
        actions=tuple(json.loads(row[_ACTIONS])),
        request_digest=row[_REQUEST].hex(),
        stopped_early=bool(found.stopped_early),
        response=DecideResponse.FromString(decompress(row[_RESPONSE])),
    )
