"""Rows of a state replaced and taken away by their keys.

Columns of pods put together and rows taken out, without a message for each pod.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from operator import attrgetter
from typing import Any, Final

from tenure.codec.pod_columns import TEXT_COLUMNS, PodTable, check_structure, read_table
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodColumns
from tenure.v1.state_pb2 import StateKeys
from tenure.wire.violations import FieldViolation, ViolationCollector, quote_name


def join_columns(chunks: Sequence[PodColumns]) -> PodColumns:
    """All rows of sound columns, one after the other; texts that no row uses any more are dropped."""
    filled = [piece for piece in chunks if piece.uid]
    return filled[0] if len(filled) == 1 else _write([read_table(piece) for piece in filled])


def remove_rows(columns: PodColumns, gone: Container[str]) -> PodColumns:
    """The rows of sound columns whose uid is not among those that are gone."""
    stays = [uid not in gone for uid in columns.uid]
    if all(stays):
        return columns
    return _write([PodTable._make(list(compress(column, stays)) for column in read_table(columns))])


def _write(tables: Iterable[PodTable]) -> PodColumns:
    """Tables as columns. Columns that hold nothing but the default are left out."""
    columns, texts = PodColumns(), dict[str, int]()
    for field, parts in zip(PodTable._fields, zip(*tables, strict=True), strict=False):
        values: list[Any] = list(chain.from_iterable(parts))
        if not any(values):
            continue
        if field == "creation":
            columns.creation_time_delta_ns.extend(_differences(values))
        elif field in TEXT_COLUMNS:
            getattr(columns, field).extend([texts.setdefault(text, len(texts)) for text in values])
        else:
            getattr(columns, field).extend(values)
    columns.string_table.extend(texts)
    return columns


def _differences(times: Iterable[int]) -> list[int]:
    return [after - before for before, after in pairwise(chain((0,), times))]


KEY_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
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

    def locate(self, violation: FieldViolation) -> FieldViolation:
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
    findings = {
        name: ViolationCollector(f"upserts.{name}") for name in (*KEY_FIELDS, COLUMNS) if name in sent
    }
    for name in findings:
        if name not in ("pods", COLUMNS):
            key, rows = KEYS[name], getattr(upserts, name)
            _note_repeats(((name, i, key(row)) for i, row in enumerate(rows)), findings)
    pods = (("pods", i, pod.uid) for i, pod in enumerate(upserts.pods))
    columns = ((COLUMNS, i, uid) for i, uid in enumerate(upserts.pod_columns.uid))
    _note_repeats((*pods, *columns), findings)
    if COLUMNS in findings:
        check_structure(upserts.pod_columns, findings[COLUMNS])
    return [violation for found in findings.values() for violation in found.violations()]


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
    stays = remove_rows(state.pod_columns, gone_pods)
    result.pod_columns.CopyFrom(join_columns((stays, upserts.pod_columns)))
    return Overlay(result, upserts)


def _removed(removes: StateKeys, name: str) -> Iterable[Any]:
    keys = getattr(removes, name)
    return map(KEYS[name], keys) if name == "eviction_history" else keys


def _note_repeats(keys: Iterable[tuple[str, int, Any]], findings: Mapping[str, ViolationCollector]) -> None:
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
    return quote_name(key) if isinstance(key, str) else " for ".join(map(quote_name, key))
