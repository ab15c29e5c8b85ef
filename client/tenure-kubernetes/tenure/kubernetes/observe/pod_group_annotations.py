"""What annotations of a pod group keep between cycles, and what its pods tell where they do not."""

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.pods import uses_resources
from tenure.kubernetes.observe.times import read_duration, read_time, timestamp
from tenure.v1 import snapshot_pb2 as pb

_TIMES: Final = {
    names.LAST_START: "last_start_time",
    names.LAST_EVICTION: "last_eviction_time",
    names.STALE_SINCE: "stale_since",
}
_MOST_EVICTIONS: Final = 2**30


def read_annotations(row: pb.PodGroup, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Fill in what annotations say. A value that cannot be read counts as absent (semantics R1.60)."""
    for key, field in _TIMES.items():
        moment = _time(key, annotations, warnings)
        if moment is not None:
            getattr(row, field).CopyFrom(moment)
    row.eviction_count = _count(annotations, warnings)
    waited = annotations.get(names.TOTAL_EVICTION_WAIT)
    if waited is not None:
        span = read_duration(waited)
        if span is None or span.ToNanoseconds() < 0:
            warnings.append(f"annotation {names.TOTAL_EVICTION_WAIT}: {waited!r} is not a duration")
        else:
            row.total_eviction_wait.CopyFrom(span)
    for key in names.READ_BY_SERVER:
        if key in annotations:
            row.annotations[key] = annotations[key]


def infer_start_time(row: pb.PodGroup, pods: Iterable[Pod]) -> None:
    """Where no annotation tells when it started: since its minimum of pods ran, so that guards hold."""
    if row.HasField("last_start_time"):
        return
    starts = sorted(pod.status.start_time for pod in pods if pod.status.start_time and uses_resources(pod))
    if starts:
        needed = row.min_member if row.HasField("min_member") else len(starts)
        row.last_start_time.CopyFrom(timestamp(starts[max(min(needed, len(starts)), 1) - 1]))


def _time(key: str, annotations: Mapping[str, str], warnings: list[str]) -> Timestamp | None:
    text = annotations.get(key)
    if not text:
        return None
    moment = read_time(text)
    if moment is None:
        warnings.append(f"annotation {key}: {text[:64]!r} is not a time")
    return moment


def _count(annotations: Mapping[str, str], warnings: list[str]) -> int:
    text = annotations.get(names.EVICTION_COUNT, "0")
    if text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_EVICTIONS)):
        return min(int(text), _MOST_EVICTIONS)
    warnings.append(f"annotation {names.EVICTION_COUNT}: {text[:32]!r} is not a number")
    return 0
