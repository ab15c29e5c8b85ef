"""Deltas between two versions of a snapshot: compute, merge, check and apply them.

Rows are replaced and removed by key. Columns of pods change without a message for each pod.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NamedTuple

from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns
from tenure.v1.state_pb2 import StateDelta, StateKeys
from tenure.wire.columns import check_structure, join_columns, remove_rows, to_pods
from tenure.wire.schema import row_keys
from tenure.wire.violations import FieldViolation, ViolationCollector, quote_name

KEY_FIELDS: Final = row_keys()
"""Fields of the row key, by list of a snapshot. Columns of pods are treated separately."""
KEYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    name: attrgetter(*fields) for name, fields in KEY_FIELDS.items()
}
"""Key of a row, by list."""
COLUMNS: Final = "pod_columns"
_ALL_ROWS: Final = 1 << 60
"""Greater than the length of any list."""


def compute_delta(old: ClusterSnapshot, new: ClusterSnapshot) -> StateDelta:
    """Delta from a snapshot to a later one of the same cluster and node pool.

    The base has no epoch, since the sender of the state chooses it. Raises ValueError if the snapshots are
    not of the same cluster and node pool.
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
        add_removals(delta.removals, name, rows)
    return delta


class RowChanges(NamedTuple):
    """Changes in these lists."""

    gone: Mapping[str, Collection[Any]]
    """Keys of removed and replaced rows."""
    fresh: Mapping[str, Iterable[Any]]
    """Rows that are appended."""
    columns: PodColumns
    """Rows that are appended to `pod_columns`."""


class MergedDelta:
    """Merges several deltas into one."""

    def __init__(self) -> None:
        self._fresh: dict[str, dict[Any, Any]] = {name: {} for name in KEYS}
        """Rows by list and key, in the order of arrival."""
        self._gone: dict[str, dict[Any, None]] = {name: {} for name in KEYS}

    def add(self, upserts: ClusterSnapshot, removals: StateKeys) -> None:
        """Add a delta after all others. It has no `pod_columns`."""
        for name, key in KEYS.items():
            rows, gone = self._fresh[name], self._gone[name]
            for removed in removed_keys(removals, name):
                rows.pop(removed, None)
                gone[removed] = None
            for row in getattr(upserts, name):
                its_key = key(row)
                rows.pop(its_key, None)
                rows[its_key] = row
                gone[its_key] = None

    def changes(self) -> RowChanges:
        """Changes in the state that the first delta applies to."""
        fresh = {name: rows.values() for name, rows in self._fresh.items()}
        return RowChanges(self._gone, fresh, PodColumns())


def change_rows(
    result: ClusterSnapshot, base: ClusterSnapshot, changes: RowChanges, chunk_size: int = _ALL_ROWS
) -> Iterator[None]:
    """Fill the lists of a new snapshot: rows of a valid base that are not removed, then new rows.

    Yields after every `chunk_size` rows of a list; columns are one chunk. Nothing is shared with the base, so
    that the memory of replaced rows is freed.
    """
    for name, key in KEYS.items():
        kept, rows, gone = getattr(base, name), getattr(result, name), changes.gone.get(name, ())
        for start in range(0, len(kept), chunk_size):
            chunk = kept if len(kept) <= chunk_size else kept[start : start + chunk_size]
            rows.extend([row for row in chunk if key(row) not in gone] if gone else chunk)
            yield
        rows.extend(changes.fresh.get(name, ()))
        yield
    stays = remove_rows(base.pod_columns, changes.gone.get("pods", ()))
    result.pod_columns.CopyFrom(join_columns((stays, changes.columns)))
    yield


def apply_deltas(snapshot: ClusterSnapshot, *deltas: StateDelta) -> ClusterSnapshot:
    """The snapshot after one or more deltas, with every pod in `pods`. Bases of the deltas are ignored."""
    merged, last = MergedDelta(), deltas[-1]
    for delta in deltas:
        merged.add(to_pods(delta.upserts), delta.removals)
    result = ClusterSnapshot(
        cluster_id=snapshot.cluster_id, node_pool=snapshot.node_pool, version=last.version
    )
    if last.HasField("now"):
        result.now.CopyFrom(last.now)
    for _ in change_rows(result, to_pods(snapshot), merged.changes()):
        pass
    result.ClearField(COLUMNS)
    return result


@dataclass(frozen=True)
class Overlay:
    """A state with upserts, which are the last rows of each list."""

    snapshot: ClusterSnapshot
    upserts: ClusterSnapshot

    def locate(self, violation: FieldViolation) -> FieldViolation:
        """Path of a violation for the sender: in `upserts`, or by key in the state."""
        name, bracket, rest = violation.field.partition("[")
        index, _, inner = rest.partition("]")
        if not bracket or not index.isdecimal():
            return violation
        rows, upserts = _rows(self.snapshot, name), _rows(self.upserts, name)
        key, at = _shown_key(name, rows[int(index)]), int(index) - len(rows) + len(upserts)
        if at < 0:
            return FieldViolation(f"{name}[{key}]{inner}", violation.description)
        return FieldViolation(f"upserts.{name}[{at}]{inner}", f"{violation.description} (in {key})")


def overlay(state: ClusterSnapshot, upserts: ClusterSnapshot, removals: StateKeys) -> Overlay:
    """New snapshot: rows of a valid state that are not removed, and checked upserts.

    An upsert replaces the row with its key. A row that is both removed and upserted exists. The header is
    that of the state.
    """
    result = ClusterSnapshot(cluster_id=state.cluster_id, node_pool=state.node_pool, version=state.version)
    result.now.CopyFrom(state.now)
    fresh = {name: getattr(upserts, name) for name in KEYS}
    gone = {name: {*removed_keys(removals, name), *map(key, fresh[name])} for name, key in KEYS.items()}
    gone["pods"].update(upserts.pod_columns.uid)
    for _ in change_rows(result, state, RowChanges(gone, fresh, upserts.pod_columns)):
        pass
    return Overlay(result, upserts)


def check_changes(upserts: ClusterSnapshot, removals: StateKeys) -> list[FieldViolation]:
    """Violations of changed rows alone: fields without effect, duplicate keys, invalid columns."""
    return [*_without_effect(upserts, removals), *_check_upserts(upserts)]


HEADER: Final[Mapping[str, str]] = {
    "cluster_id": "the state that they change has it",
    "node_pool": "the state that they change has it",
    "version": "the delta has one of its own",
    "now": "the request has one of its own",
}
"""Fields of a snapshot that are not rows, and why changes of rows do not have them."""


def _without_effect(upserts: ClusterSnapshot, removals: StateKeys) -> Iterator[FieldViolation]:
    """Fields that a sender believes to change something, and that change nothing."""
    for field, _ in upserts.ListFields():
        if field.name in HEADER:
            why = HEADER[field.name]
            yield FieldViolation(f"upserts.{field.name}", f"has no effect on rows: leave it out, {why}")
    for name, keys in KEY_FIELDS.items():
        if len(keys) == 1:
            continue
        known = frozenset(keys)
        for i, key in enumerate(getattr(removals, name)):
            for field, _ in key.ListFields():
                if field.name not in known:
                    fix = f"has no effect on a removal: name {' and '.join(keys)} alone"
                    yield FieldViolation(f"removals.{name}[{i}].{field.name}", fix)


def _check_upserts(upserts: ClusterSnapshot) -> list[FieldViolation]:
    """Duplicate keys, invalid columns."""
    sent = {field.name for field, _ in upserts.ListFields()}
    findings = {
        name: ViolationCollector(f"upserts.{name}") for name in (*KEY_FIELDS, COLUMNS) if name in sent
    }
    for name in findings:
        if name not in ("pods", COLUMNS):
            key, rows = KEYS[name], getattr(upserts, name)
            _note_repeats([(name, i, key(row)) for i, row in enumerate(rows)], findings)
    pods = [("pods", i, pod.uid) for i, pod in enumerate(upserts.pods)]
    columns = [(COLUMNS, i, uid) for i, uid in enumerate(upserts.pod_columns.uid)]
    _note_repeats((*pods, *columns), findings)
    if COLUMNS in findings:
        check_structure(upserts.pod_columns, findings[COLUMNS])
    return [violation for found in findings.values() for violation in found.violations()]


def removed_keys(removals: StateKeys, name: str) -> Iterable[Any]:
    """Keys of the removed rows of a list."""
    keys = getattr(removals, name)
    return map(KEYS[name], keys) if len(KEY_FIELDS[name]) > 1 else keys


def add_removals(removals: StateKeys, name: str, keys: Iterable[Any]) -> None:
    """Add keys of removed rows of a list. A key of several fields is a message with these fields."""
    fields, removed = KEY_FIELDS[name], getattr(removals, name)
    if len(fields) > 1:
        for key in keys:
            removed.add(**dict(zip(fields, key, strict=True)))
    else:
        removed.extend(keys)


def _note_repeats(keys: Iterable[tuple[str, int, Any]], findings: Mapping[str, ViolationCollector]) -> None:
    """Add violations for duplicate keys, given with list and position. The codec reports empty keys."""
    first: dict[Any, tuple[str, int]] = {}
    for name, i, key in keys:
        place = (name, i)
        if key and first.setdefault(key, place) != place:
            field, (used_in, at) = "uid" if name == COLUMNS else KEY_FIELDS[name][0], first[key]
            findings[name].add(i, field, f"{_text(key)} is already used by upserts.{used_in}[{at}]")


def _rows(snapshot: ClusterSnapshot, name: str) -> Any:
    return snapshot.pod_columns.uid if name == COLUMNS else getattr(snapshot, name)


def _shown_key(name: str, row: Any) -> str:
    return _text(row if name == COLUMNS else KEYS[name](row))


def _text(key: str | tuple[str, ...]) -> str:
    return quote_name(key) if isinstance(key, str) else " for ".join(map(quote_name, key))
