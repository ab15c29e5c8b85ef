"""What the ledger adds to the picture of a cluster: rows of groups in flight, of memory, and of notes."""

from typing import Protocol

from tenure.client.kubernetes.ledger.ledger import Ledger, Pair
from tenure.client.kubernetes.ledger.notes import noted
from tenure.v1.snapshot_pb2 import ClusterSnapshot, EvictionMemory, InFlightGroup, PodGroup
from tenure.v1.state_pb2 import StateDelta


class PodGroups(Protocol):
    """The rows of pod groups; see observe.picture."""

    def pod_group(self, uid: str) -> PodGroup | None:
        """The row of a pod group."""


class LedgerRows:
    """Adds rows to snapshots and deltas; remembers what was sent last, for deltas to tell what is gone."""

    def __init__(self, ledger: Ledger, picture: PodGroups) -> None:
        self._ledger, self._picture = ledger, picture
        self._groups: dict[str, InFlightGroup] = {}
        self._memory: dict[Pair, EvictionMemory] = {}

    def complete(self, snapshot: ClusterSnapshot) -> None:
        """Add everything to a snapshot that is sent in place of all before."""
        self._groups, self._memory = self._in_flight(), dict(self._ledger.memory)
        self._ledger.touched.clear()
        for row in snapshot.pod_groups:
            self._note(row)
        snapshot.in_flight_groups.extend(self._groups.values())
        snapshot.eviction_memory.extend(self._memory.values())

    def extend(self, delta: StateDelta) -> None:
        """Add what changed since the last snapshot or delta."""
        self._extend_pod_groups(delta)
        groups, memory = self._in_flight(), dict(self._ledger.memory)
        changed = (row for id, row in groups.items() if self._groups.get(id) != row)
        delta.upserts.in_flight_groups.extend(changed)
        delta.removes.in_flight_groups.extend(sorted(self._groups.keys() - groups.keys()))
        delta.upserts.eviction_memory.extend(
            row for pair, row in memory.items() if self._memory.get(pair) != row
        )
        for victim, preemptor in sorted(self._memory.keys() - memory.keys()):
            delta.removes.eviction_memory.add(victim=victim, preemptor=preemptor)
        self._groups, self._memory = groups, memory

    def _extend_pod_groups(self, delta: StateDelta) -> None:
        known = set(delta.removes.pod_groups)
        for row in delta.upserts.pod_groups:
            known.add(row.uid)
            self._note(row)
        for uid in sorted(self._ledger.touched - known):
            if (known_row := self._picture.pod_group(uid)) is not None:
                delta.upserts.pod_groups.append(known_row)
                self._note(delta.upserts.pod_groups[-1])
        self._ledger.touched.clear()

    def _note(self, row: PodGroup) -> None:
        note = self._ledger.notes.get(row.uid)
        if note is not None:
            row.CopyFrom(noted(row, note.annotations))

    def _in_flight(self) -> dict[str, InFlightGroup]:
        rows = {id: entry.row() for id, entry in sorted(self._ledger.entries.items())}
        return {id: row for id, row in rows.items() if row is not None}
