"""Rows of a state replaced and taken away by their keys."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from tenure.server.codec.columns import check_structure
from tenure.server.codec.violations import FieldViolation, Findings, shown
from tenure.server.state.columns import joined, without
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateKeys

KEY_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "nodes": ("name",),
    "queues": ("name",),
    "pod_groups": ("uid",),
    "pods": ("uid",),
    "shapes": ("id",),
    "topologies": ("name",),
    "device_claims": ("id",),
    "eviction_memory": ("victim", "preemptor"),
    "in_flight_groups": ("id",),
}
"""Every list of a snapshot with the fields that make the key of a row. Columns of pods are apart."""

COLUMNS: Final = "pod_columns"
KEYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    name: attrgetter(*fields) for name, fields in KEY_FIELDS.items()
}


@dataclass(frozen=True)
class Overlay:
    """A state with upserts, which are the last rows of every list."""

    snapshot: ClusterSnapshot
    upserts: ClusterSnapshot

    def located(self, violation: FieldViolation) -> FieldViolation:
        """A violation of the snapshot as its sender finds it: in `upserts`, or by key in the state."""
        name, opening, rest = violation.field.partition("[")
        index, _, inner = rest.partition("]")
        if not opening or not index.isdecimal():
            return violation
        rows, upserts = _rows(self.snapshot, name), _rows(self.upserts, name)
        key, at = _shown_key(name, rows[int(index)]), int(index) - len(rows) + len(upserts)
        if at < 0:
            return FieldViolation(f"{name}[{key}]{inner}", violation.description)
        return FieldViolation(f"upserts.{name}[{at}]{inner}", f"{violation.description} (in {key})")


def check_upserts(upserts: ClusterSnapshot) -> list[FieldViolation]:
    """What is wrong with upserts by themselves: a key that occurs twice, columns that do not fit together."""
    sent = {field.name for field, _ in upserts.ListFields()}
    findings = {name: Findings(f"upserts.{name}") for name in (*KEY_FIELDS, COLUMNS) if name in sent}
    for name in findings:
        if name not in ("pods", COLUMNS):
            key, rows = KEYS[name], getattr(upserts, name)
            _note_repeats(((name, i, key(row)) for i, row in enumerate(rows)), findings)
    pods = (("pods", i, pod.uid) for i, pod in enumerate(upserts.pods))
    columns = ((COLUMNS, i, uid) for i, uid in enumerate(upserts.pod_columns.uid))
    _note_repeats((*pods, *columns), findings)
    if COLUMNS in findings:
        check_structure(upserts.pod_columns, findings[COLUMNS])
    return [violation for found in findings.values() for violation in found.in_order()]


def overlay(state: ClusterSnapshot, upserts: ClusterSnapshot, removes: StateKeys) -> Overlay:
    """A new snapshot: rows of a sound state without those that are removed, and upserts that were checked.

    An upsert takes the place of the row with its key; a row that is removed and upserted is there. Nothing
    is shared with the state, so that the memory of what is replaced is freed. The header is the state's.
    """
    result = ClusterSnapshot(cluster_id=state.cluster_id, node_pool=state.node_pool, version=state.version)
    result.now.CopyFrom(state.now)
    gone_pods = {*removes.pods, *(pod.uid for pod in upserts.pods), *upserts.pod_columns.uid}
    for name, key in KEYS.items():
        fresh = getattr(upserts, name)
        gone = gone_pods if name == "pods" else {*_removed(removes, name), *map(key, fresh)}
        kept = getattr(state, name)
        rows = getattr(result, name)
        rows.extend([row for row in kept if key(row) not in gone] if gone else kept)
        rows.extend(fresh)
    stays = without(state.pod_columns, gone_pods)
    result.pod_columns.CopyFrom(joined((stays, upserts.pod_columns)))
    return Overlay(result, upserts)


def _removed(removes: StateKeys, name: str) -> Iterable[Any]:
    keys = getattr(removes, name)
    return map(KEYS[name], keys) if name == "eviction_memory" else keys


def _note_repeats(keys: Iterable[tuple[str, int, Any]], findings: Mapping[str, Findings]) -> None:
    """Note keys that occur twice, given with their list and position. Empty ones are for the codec."""
    first: dict[Any, tuple[str, int]] = {}
    for name, i, key in keys:
        place = (name, i)
        if key and first.setdefault(key, place) is not place:
            field, (used_in, at) = "uid" if name == COLUMNS else KEY_FIELDS[name][0], first[key]
            findings[name].add(i, field, f"{_text(key)} is already used by upserts.{used_in}[{at}]")


def _rows(snapshot: ClusterSnapshot, name: str) -> Any:
    return snapshot.pod_columns.uid if name == COLUMNS else getattr(snapshot, name)


def _shown_key(name: str, row: Any) -> str:
    return _text(row if name == COLUMNS else KEYS[name](row))


def _text(key: str | tuple[str, ...]) -> str:
    return shown(key) if isinstance(key, str) else " for ".join(map(shown, key))
