"""What the ledger adds to the picture of a cluster: rows of groups in flight, of memory, and of notes."""

from typing import Protocol

from tenure.kubernetes.journal import Journal, Pair
from tenure.kubernetes.pending_annotations import with_annotations
from tenure.v1.snapshot_pb2 import ClusterSnapshot, EvictionRecord, InFlightGroup, PodGroup
from tenure.v1.state_pb2 import StateDelta


class PodGroupRowSource(Protocol):
    """The rows of pod groups; see observe.picture."""

    def pod_group(self, uid: str) -> PodGroup | None:
        """The row of a pod group."""


class JournalRows:
    """Adds rows to snapshots and deltas; remembers what was sent last, for deltas to tell what is gone."""

    def __init__(self, journal: Journal, builder: PodGroupRowSource) -> None:
        self._journal, self._builder = journal, builder
        self._groups: dict[str, InFlightGroup] = {}
        self._eviction_history: dict[Pair, EvictionRecord] = {}

    def complete(self, snapshot: ClusterSnapshot) -> None:
        """Add everything to a snapshot that is sent in place of all before."""
        self._groups, self._eviction_history = self._in_flight(), dict(self._journal.eviction_history)
        self._journal.changed_pod_groups.clear()
        for row in snapshot.pod_groups:
            self._with_annotations(row)
        snapshot.in_flight_groups.extend(self._groups.values())
        snapshot.eviction_history.extend(self._eviction_history.values())

    def extend(self, delta: StateDelta) -> None:
        """Add what changed since the last snapshot or delta."""
        self._extend_pod_groups(delta)
        groups, memory = self._in_flight(), dict(self._journal.eviction_history)
        changed = (row for id, row in groups.items() if self._groups.get(id) != row)
        delta.upserts.in_flight_groups.extend(changed)
        delta.removals.in_flight_groups.extend(sorted(self._groups.keys() - groups.keys()))
        delta.upserts.eviction_history.extend(
            row for pair, row in memory.items() if self._eviction_history.get(pair) != row
        )
        for victim, preemptor in sorted(self._eviction_history.keys() - memory.keys()):
            delta.removals.eviction_history.add(victim=victim, preemptor=preemptor)
        self._groups, self._eviction_history = groups, memory

    def _extend_pod_groups(self, delta: StateDelta) -> None:
        known = set(delta.removals.pod_groups)
        for row in delta.upserts.pod_groups:
            known.add(row.uid)
            self._with_annotations(row)
        for uid in sorted(self._journal.changed_pod_groups - known):
            if (known_row := self._builder.pod_group(uid)) is not None:
                delta.upserts.pod_groups.append(known_row)
                self._with_annotations(delta.upserts.pod_groups[-1])
        self._journal.changed_pod_groups.clear()

    def _with_annotations(self, row: PodGroup) -> None:
        note = self._journal.pending_annotations.get(row.uid)
        if note is not None:
            row.CopyFrom(with_annotations(row, note.annotations))

    def _in_flight(self) -> dict[str, InFlightGroup]:
        rows = {id: entry.row() for id, entry in sorted(self._journal.entries.items())}
        return {id: row for id, row in rows.items() if row is not None}
