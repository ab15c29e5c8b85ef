"""The state that a caller of the service keeps: rows by key, and what changed since the last delta."""

from collections.abc import Mapping
from typing import Any, Final

from tenure.simulator.cluster import CLUSTER_ID
from tenure.v1.decide_pb2 import StatePatch
from tenure.v1.snapshot_pb2 import ClusterSnapshot, EvictionRecord
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.carried import CARRIED, read_patch
from tenure.wire.deltas import KEYS, add_removals
from tenure.wire.timestamps import timestamp

LISTS: Final = ("nodes", "pod_groups", "pods", *CARRIED)
"""Lists that change in a run."""
EPOCH: Final = "run"
"""Epoch of the state, for a server."""


class StateRows:
    """Rows of the state. A row is replaced or changed in place, then `changed` is called for it."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._fixed = ClusterSnapshot()
        self._fixed.CopyFrom(cluster)
        self._rows: dict[str, dict[Any, Any]] = {name: {} for name in LISTS}
        self._changed: dict[str, dict[Any, None]] = {name: {} for name in LISTS}
        self._pairs: dict[str, set[tuple[str, str]]] = {}
        """Keys of eviction records by pod group."""
        self.version = 0
        for node in cluster.nodes:
            self._rows["nodes"][node.name] = node
        self._fixed.ClearField("nodes")

    def get(self, name: str) -> Mapping[Any, Any]:
        """Rows of a list, by key."""
        return self._rows[name]

    def put(self, name: str, row: Any) -> None:
        """Add or replace a row."""
        key = KEYS[name](row)
        self._rows[name][key] = row
        self._changed[name][key] = None

    def changed(self, name: str, key: Any) -> None:
        """Note that a row was changed in place."""
        self._changed[name][key] = None

    def remove(self, name: str, key: Any) -> None:
        """Remove a row, if it is there."""
        if self._rows[name].pop(key, None) is not None:
            self._changed[name][key] = None

    def apply(self, patch: StatePatch) -> None:
        """Store a change of what belongs to no pod group."""
        change = read_patch(patch)
        if change is not None and change.row is not None:
            self.put(change.kind.name, change.row)
        elif change is not None:
            self.remove(change.kind.name, change.key)

    def put_record(self, record: EvictionRecord) -> None:
        """Add or replace an eviction record, unless one of its pod groups has ended."""
        pair = (record.victim, record.preemptor)
        if all(uid in self._rows["pod_groups"] for uid in pair):
            self.put("eviction_history", record)
            for uid in pair:
                self._pairs.setdefault(uid, set()).add(pair)

    def drop_records(self, pod_group: str) -> None:
        """Drop the eviction records of a pod group that has ended."""
        for pair in sorted(self._pairs.pop(pod_group, ())):
            self.remove("eviction_history", pair)

    def take_delta(self, now: int) -> StateDelta:
        """What changed since the last delta, at a time in nanoseconds."""
        delta = StateDelta(version=self.version + 1, now=timestamp(now))
        delta.base.cluster_id, delta.base.epoch, delta.base.version = CLUSTER_ID, EPOCH, self.version
        self.version += 1
        for name, keys in self._changed.items():
            if not keys:
                continue
            rows = self._rows[name]
            getattr(delta.upserts, name).extend([rows[key] for key in keys if key in rows])
            add_removals(delta.removals, name, [key for key in keys if key not in rows])
            keys.clear()
        return delta

    def snapshot(self, now: int) -> ClusterSnapshot:
        """All rows, at the version of the last delta."""
        whole = ClusterSnapshot()
        whole.CopyFrom(self._fixed)
        whole.version = self.version
        whole.now.CopyFrom(timestamp(now))
        for name, rows in self._rows.items():
            getattr(whole, name).extend(rows.values())
        return whole
