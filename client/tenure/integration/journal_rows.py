"""Rows that the journal adds to a snapshot: in-flight groups, stored state, pending patches."""

from collections.abc import Mapping
from typing import Any

from tenure.integration.journal import Journal
from tenure.integration.ports import ClusterSource
from tenure.v1.snapshot_pb2 import ClusterSnapshot, InFlightGroup, PodGroup
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.carried import IN_FLIGHT_GROUPS, add_changes, add_rows


class JournalRows:
    """Adds rows to snapshots and deltas. Stores the rows sent last, so that deltas contain removals."""

    def __init__(self, journal: Journal, source: ClusterSource) -> None:
        self._journal, self._source = journal, source
        self._sent: Mapping[str, Mapping[Any, Any]] = {}
        """By list and key."""

    def complete(self, snapshot: ClusterSnapshot) -> None:
        """Add all rows to a full snapshot."""
        self._journal.changed_pod_groups.clear()
        for row in snapshot.pod_groups:
            self._patch(row)
        self._sent = self._carried()
        add_rows(snapshot, self._sent)

    def extend(self, delta: StateDelta) -> None:
        """Add the changes since the last snapshot or delta."""
        self._extend_pod_groups(delta)
        rows = self._carried()
        add_changes(delta, self._sent, rows)
        self._sent = rows

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
        """Add what the object does not show yet. All pod groups have a grant, if only an empty one."""
        row.grant.SetInParent()
        pending = self._journal.pending_patches.get(row.uid)
        if pending is not None:
            row.CopyFrom(pending.applied_to(row))

    def _carried(self) -> Mapping[str, Mapping[Any, Any]]:
        return {**self._journal.carried.copy(), IN_FLIGHT_GROUPS: self._in_flight()}

    def _in_flight(self) -> dict[str, InFlightGroup]:
        rows = {id: entry.row() for id, entry in sorted(self._journal.entries.items())}
        return {id: row for id, row in rows.items() if row is not None}
