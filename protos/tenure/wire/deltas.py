"""Deltas between two versions of a snapshot: made of them, and carried out on them."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateKeys
from tenure.wire.columns import to_pods

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "nodes": ("name",),
    "queues": ("name",),
    "pod_groups": ("uid",),
    "pods": ("uid",),
    "shapes": ("id",),
    "topologies": ("name",),
    "resource_claims": ("id",),
    "eviction_history": ("victim", "preemptor"),
    "in_flight_groups": ("id",),
}
KEYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    name: attrgetter(*fields) for name, fields in _FIELDS.items()
}
"""Every list of a snapshot with what makes the key of a row. Columns of pods are apart."""


def compute_delta(old: ClusterSnapshot, new: ClusterSnapshot) -> StateDelta:
    """What changed from one snapshot to a later one of the same cluster and node pool.

    The base has no epoch: that belongs to whoever pushed the state. Raises ValueError when the two are not of
    one cluster and node pool.
    """
    if (old.cluster_id, old.node_pool) != (new.cluster_id, new.node_pool):
        raise ValueError("the snapshots are not of the same cluster and node pool")
    delta = StateDelta(version=new.version, now=new.now if new.HasField("now") else None)
    delta.base.cluster_id, delta.base.node_pool, delta.base.version = (
        old.cluster_id,
        old.node_pool,
        old.version,
    )
    before, after = to_pods(old), to_pods(new)
    for name, key in KEYS.items():
        rows = {key(row): row for row in getattr(before, name)}
        changed = [row for row in getattr(after, name) if rows.pop(key(row), None) != row]
        getattr(delta.upserts, name).extend(changed)
        _remove(delta.removals, name, rows)
    return delta


def apply_deltas(snapshot: ClusterSnapshot, *deltas: StateDelta) -> ClusterSnapshot:
    """The snapshot after deltas, one or more; epochs and versions of their bases are of no account."""
    before, last = to_pods(snapshot), deltas[-1]
    changes = [(to_pods(delta.upserts), delta.removals) for delta in deltas]
    result = ClusterSnapshot(
        cluster_id=snapshot.cluster_id, node_pool=snapshot.node_pool, version=last.version
    )
    if last.HasField("now"):
        result.now.CopyFrom(last.now)
    for name, key in KEYS.items():
        rows = {key(row): row for row in getattr(before, name)}
        for upserts, removes in changes:
            fresh = {key(row): row for row in getattr(upserts, name)}
            for gone in (*fresh, *_removed(removes, name)):
                rows.pop(gone, None)
            rows.update(fresh)
        getattr(result, name).extend(rows.values())
    return result


def _remove(removes: StateKeys, name: str, rows: Mapping[Any, Any]) -> None:
    if name == "eviction_history":
        for victim, preemptor in rows:
            removes.eviction_history.add(victim=victim, preemptor=preemptor)
    else:
        getattr(removes, name).extend(rows)


def _removed(removes: StateKeys, name: str) -> list[Any]:
    keys = getattr(removes, name)
    return [KEYS[name](key) for key in keys] if name == "eviction_history" else list(keys)
