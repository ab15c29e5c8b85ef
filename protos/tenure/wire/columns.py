"""Pods as columns: two thirds of the bytes of the same pods as messages, and faster to read."""

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Final

from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodColumns

_SECOND: Final = 10**9
_TEXTS: Final = ("pod_group", "sub_group", "shape", "node", "nominated_node")
"""Fields of pods whose columns are indices into texts."""
_COLUMNS: Final = frozenset(("uid", "name", "status", "creation_time", *_TEXTS))
"""Fields of pods that have a column."""


def to_columns(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The same snapshot with every pod in `pod_columns` whose fields all have a column, the others in `pods`.

    Decisions on both are the same.
    """
    pods = [*from_columns(snapshot.pod_columns), *snapshot.pods]
    result = ClusterSnapshot()
    result.CopyFrom(snapshot)
    del result.pods[:]
    result.ClearField("pod_columns")
    result.pods.extend([pod for pod in pods if not _fits(pod)])
    _write([pod for pod in pods if _fits(pod)], result.pod_columns)
    return result


def to_pods(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The same snapshot with every pod in `pods`. Columns must fit together."""
    result = ClusterSnapshot()
    result.CopyFrom(snapshot)
    result.ClearField("pod_columns")
    result.pods.extend(from_columns(snapshot.pod_columns))
    return result


def from_columns(columns: PodColumns) -> Iterator[Pod]:
    """The rows as pods; a time of zero is unset. Raises IndexError when columns do not fit together."""
    texts = list(columns.string_table)
    times = list(accumulate(columns.creation_time_delta_ns))
    for i, uid in enumerate(columns.uid):
        pod = Pod(uid=uid)
        for field in _TEXTS:
            if column := getattr(columns, field):
                setattr(pod, field, texts[column[i]])
        if columns.name:
            pod.name = columns.name[i]
        if columns.status:
            pod.status = columns.status[i]
        if times and times[i]:
            pod.creation_time.seconds, pod.creation_time.nanos = divmod(times[i], _SECOND)
        yield pod


def _fits(pod: Pod) -> bool:
    """Whether columns can hold all of a pod. A malformed time stays where the server will find it."""
    if not 0 <= pod.creation_time.nanos < _SECOND:
        return False
    return all(field.name in _COLUMNS for field, _ in pod.ListFields())


def _write(pods: list[Pod], columns: PodColumns) -> None:
    """Columns that would hold nothing but the default are left out."""
    texts: dict[str, int] = {}
    columns.uid.extend([pod.uid for pod in pods])
    for field in _TEXTS:
        values = [getattr(pod, field) for pod in pods]
        if any(values):
            getattr(columns, field).extend([texts.setdefault(text, len(texts)) for text in values])
    columns.string_table.extend(texts)
    for field in ("name", "status"):
        values = [getattr(pod, field) for pod in pods]
        if any(values):
            getattr(columns, field).extend(values)
    times = [pod.creation_time.seconds * _SECOND + pod.creation_time.nanos for pod in pods]
    if any(times):
        columns.creation_time_delta_ns.extend(_differences(times))


def _differences(times: Iterable[int]) -> list[int]:
    return [after - before for before, after in pairwise((0, *times))]
