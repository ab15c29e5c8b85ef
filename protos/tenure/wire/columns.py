"""Pods as columns: two thirds of the size of the same pods as messages, and faster to read."""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, pairwise
from typing import Any, Final, NamedTuple

from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodColumns
from tenure.wire.schema import text_columns
from tenure.wire.violations import ViolationCollector

_SECOND: Final = 10**9
TEXT_COLUMNS: Final = text_columns()
"""Columns of indices into `string_table`."""
COLUMNS: Final = ("name", "status", "creation_time_delta_ns", *TEXT_COLUMNS)
"""All columns except `uid`: as long as `uid`, or empty."""
_POD_FIELDS: Final = frozenset(("uid", "name", "status", "creation_time", *TEXT_COLUMNS))
"""Fields of pods that have a column."""


class PodTable(NamedTuple):
    """Columns of one length with their texts. Absent columns have the default of the field in Pod."""

    uid: Sequence[str]
    name: Sequence[str]
    pod_group: Sequence[str]
    sub_group: Sequence[str]
    shape: Sequence[str]
    status: Sequence[int]
    node: Sequence[str]
    creation: Sequence[int]
    """Nanoseconds since the Unix epoch."""
    nominated_node: Sequence[str]


def check_structure(columns: PodColumns, findings: ViolationCollector) -> bool:
    """Whether every column is as long as `uid` or empty, and every index has a text. Adds violations."""
    rows, texts = len(columns.uid), len(columns.string_table)
    is_sound = True
    for field in COLUMNS:
        count = len(getattr(columns, field))
        if count not in (0, rows):
            findings.add_to_list(field, f"has {count} values, and uid has {rows}")
            is_sound = False
    for field in TEXT_COLUMNS:
        column = getattr(columns, field)
        if column and max(column) >= texts:
            is_sound = False
            for i, index in enumerate(column):
                if index >= texts:
                    findings.add(i, field, f"index {index} is beyond the {texts} texts")
    return is_sound


def read_table(columns: PodColumns) -> PodTable:
    """Read columns. Raises IndexError if an index has no text."""
    rows, texts = len(columns.uid), list(columns.string_table)
    named = {
        field: [texts[index] for index in column] if (column := getattr(columns, field)) else [""] * rows
        for field in TEXT_COLUMNS
    }
    return PodTable(
        uid=list(columns.uid),
        name=list(columns.name) or [""] * rows,
        status=list(columns.status) or [0] * rows,
        creation=list(accumulate(columns.creation_time_delta_ns)) or [0] * rows,
        **named,
    )


def write_tables(tables: Iterable[PodTable]) -> PodColumns:
    """Concatenate tables as columns. Columns with defaults only are left out."""
    columns, texts = PodColumns(), dict[str, int]()
    for field, parts in zip(PodTable._fields, zip(*tables, strict=True), strict=False):
        values: list[Any] = list(chain.from_iterable(parts))
        if field != "uid" and not any(values):
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


def join_columns(chunks: Sequence[PodColumns]) -> PodColumns:
    """Concatenate valid columns. Unused texts are dropped."""
    filled = [piece for piece in chunks if piece.uid]
    return filled[0] if len(filled) == 1 else write_tables([read_table(piece) for piece in filled])


def remove_rows(columns: PodColumns, gone: Container[str]) -> PodColumns:
    """Remove the rows with these UIDs from valid columns."""
    stays = [uid not in gone for uid in columns.uid]
    if all(stays):
        return columns
    return write_tables([PodTable._make(list(compress(column, stays)) for column in read_table(columns))])


def to_columns(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Copy of a snapshot with pods in `pod_columns` if all their fields have a column, else in `pods`.

    Decisions on both are the same.
    """
    pods = [*from_columns(snapshot.pod_columns), *snapshot.pods]
    result = ClusterSnapshot()
    result.CopyFrom(snapshot)
    del result.pods[:]
    result.ClearField("pod_columns")
    result.pods.extend([pod for pod in pods if not _fits(pod)])
    if fitting := [pod for pod in pods if _fits(pod)]:
        result.pod_columns.CopyFrom(write_tables([_table_of(fitting)]))
    return result


def to_pods(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Copy of a snapshot with every pod in `pods`. Columns must be valid."""
    result = ClusterSnapshot()
    result.CopyFrom(snapshot)
    result.ClearField("pod_columns")
    result.pods.extend(from_columns(snapshot.pod_columns))
    return result


def from_columns(columns: PodColumns) -> Iterator[Pod]:
    """Rows as pods; a time of 0 is unset. Raises IndexError if columns are invalid."""
    table = read_table(columns)
    for i, uid in enumerate(table.uid):
        pod = Pod(uid=uid, name=table.name[i], status=table.status[i])  # type: ignore[arg-type]  # an enum
        pod.pod_group, pod.sub_group, pod.shape = table.pod_group[i], table.sub_group[i], table.shape[i]
        pod.node, pod.nominated_node = table.node[i], table.nominated_node[i]
        if created := table.creation[i]:
            pod.creation_time.seconds, pod.creation_time.nanos = divmod(created, _SECOND)
        yield pod


def _fits(pod: Pod) -> bool:
    """Whether columns can represent a pod. An invalid time stays in a message: the server reports it."""
    if not 0 <= pod.creation_time.nanos < _SECOND:
        return False
    return all(field.name in _POD_FIELDS for field, _ in pod.ListFields())


def _table_of(pods: Sequence[Pod]) -> PodTable:
    return PodTable(
        uid=[pod.uid for pod in pods],
        name=[pod.name for pod in pods],
        pod_group=[pod.pod_group for pod in pods],
        sub_group=[pod.sub_group for pod in pods],
        shape=[pod.shape for pod in pods],
        status=[pod.status for pod in pods],
        node=[pod.node for pod in pods],
        creation=[pod.creation_time.seconds * _SECOND + pod.creation_time.nanos for pod in pods],
        nominated_node=[pod.nominated_node for pod in pods],
    )
