"""Rows that the journal adds to a snapshot: in-flight groups, stored state, pending patches."""

from tenure.integration.journal import Journal, Pair
from tenure.integration.ports import ClusterSource
from tenure.v1.snapshot_pb2 import (
    ClusterSnapshot,
    EvictionRateState,
    EvictionRecord,
    InFlightGroup,
    PodGroup,
    QueueUsage,
    Reservation,
)
from tenure.v1.state_pb2 import StateDelta


class JournalRows:
    """Adds rows to snapshots and deltas. Stores the rows sent last, so that deltas contain removals."""

    def __init__(self, journal: Journal, source: ClusterSource) -> None:
        self._journal, self._source = journal, source
        self._groups: dict[str, InFlightGroup] = {}
        self._eviction_history: dict[Pair, EvictionRecord] = {}
        self._usage: dict[str, QueueUsage] = {}
        self._reservations: dict[str, Reservation] = {}
        self._eviction_rates: dict[str, EvictionRateState] = {}

    def complete(self, snapshot: ClusterSnapshot) -> None:
        """Add all rows to a full snapshot."""
        self._groups, self._eviction_history = self._in_flight(), dict(self._journal.eviction_history)
        self._journal.changed_pod_groups.clear()
        for row in snapshot.pod_groups:
            self._patch(row)
        snapshot.in_flight_groups.extend(self._groups.values())
        snapshot.eviction_history.extend(self._eviction_history.values())
        self._usage = dict(self._journal.queue_usage)
        snapshot.queue_usage.extend(self._usage.values())
        self._reservations = dict(self._journal.reservations)
        snapshot.reservations.extend(self._reservations.values())
        self._eviction_rates = dict(self._journal.eviction_rates)
        snapshot.eviction_rates.extend(self._eviction_rates.values())

    def extend(self, delta: StateDelta) -> None:
        """Add the changes since the last snapshot or delta."""
        self._extend_pod_groups(delta)
        groups, history = self._in_flight(), dict(self._journal.eviction_history)
        changed = (row for id, row in groups.items() if self._groups.get(id) != row)
        delta.upserts.in_flight_groups.extend(changed)
        delta.removals.in_flight_groups.extend(sorted(self._groups.keys() - groups.keys()))
        delta.upserts.eviction_history.extend(
            row for pair, row in history.items() if self._eviction_history.get(pair) != row
        )
        for victim, preemptor in sorted(self._eviction_history.keys() - history.keys()):
            delta.removals.eviction_history.add(victim=victim, preemptor=preemptor)
        usage = dict(self._journal.queue_usage)
        delta.upserts.queue_usage.extend(row for name, row in usage.items() if self._usage.get(name) != row)
        delta.removals.queue_usage.extend(sorted(self._usage.keys() - usage.keys()))
        self._groups, self._eviction_history, self._usage = groups, history, usage
        reserved = dict(self._journal.reservations)
        delta.upserts.reservations.extend(
            row for uid, row in reserved.items() if self._reservations.get(uid) != row
        )
        delta.removals.reservations.extend(sorted(self._reservations.keys() - reserved.keys()))
        self._reservations = reserved
        rates = dict(self._journal.eviction_rates)
        delta.upserts.eviction_rates.extend(
            row for name, row in rates.items() if self._eviction_rates.get(name) != row
        )
        delta.removals.eviction_rates.extend(sorted(self._eviction_rates.keys() - rates.keys()))
        self._eviction_rates = rates

    def _extend_pod_groups(self, delta: StateDelta) -> None:
        known = set(delta.removals.pod_groups)
        for row in delta.upserts.pod_groups:
            known.add(row.uid)
            self._patch(row)
        for uid in sorted(self._journal.changed_pod_groups - known):
            if (known_row := self._source.pod_group(uid)) is not None:
                delta.upserts.pod_groups.append(known_row)
                self._patch(delta.upserts.pod_groups[-1])
        self._journal.changed_pod_groups.clear()

    def _patch(self, row: PodGroup) -> None:
        pending = self._journal.pending_patches.get(row.uid)
        if pending is not None:
            row.CopyFrom(pending.applied_to(row))

    def _in_flight(self) -> dict[str, InFlightGroup]:
        rows = {id: entry.row() for id, entry in sorted(self._journal.entries.items())}
        return {id: row for id, row in rows.items() if row is not None}
