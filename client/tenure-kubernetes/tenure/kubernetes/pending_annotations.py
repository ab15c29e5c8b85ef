"""What the server said to remember of a pod group, until its object shows it.

A note is the annotations that are to be: by name, with their texts; an empty text says that there is
nothing to remember any more. Pod groups without an object keep theirs here for as long as they exist.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.pod_group_annotations import read_annotations
from tenure.kubernetes.observe.times import write_duration, write_time
from tenure.v1.decision_pb2 import Patch
from tenure.v1.snapshot_pb2 import PodGroup

ANNOTATIONS: Final = (
    names.LAST_START,
    names.LAST_EVICTION,
    names.STALE_SINCE,
    names.REQUEUE_NOT_BEFORE,
    names.EVICTION_COUNT,
    names.TOTAL_EVICTION_WAIT,
)
"""Everything that is ever noted."""
_TEXTS: Final[Mapping[str, tuple[str, Callable[[Patch], str]]]] = {
    "last_start_time": (names.LAST_START, lambda patch: write_time(patch.last_start_time)),
    "last_eviction_time": (names.LAST_EVICTION, lambda patch: write_time(patch.last_eviction_time)),
    "stale_since": (names.STALE_SINCE, lambda patch: write_time(patch.stale_since)),
    "clear_stale_since": (names.STALE_SINCE, lambda patch: ""),
    "requeue_not_before": (names.REQUEUE_NOT_BEFORE, lambda patch: write_time(patch.requeue_not_before)),
    "eviction_count": (names.EVICTION_COUNT, lambda patch: str(patch.eviction_count)),
    "total_eviction_wait": (
        names.TOTAL_EVICTION_WAIT,
        lambda patch: write_duration(patch.total_eviction_wait),
    ),
}


@dataclass(slots=True)
class PendingAnnotations:
    """Of one pod group."""

    annotations: dict[str, str] = field(default_factory=dict)
    has_object: bool = True
    """Whether an object can carry it. False: it is kept here."""
    last_seen_seconds: float = 0.0
    """When the pod group was there last or something of it was noted, in seconds since 1970."""


def annotation_of(patch: Patch) -> tuple[str, str] | None:
    """Name and text of what a patch writes to its pod group; None: it writes nothing there."""
    change = patch.WhichOneof("change") or ""
    if change not in _TEXTS:
        return None
    name, text = _TEXTS[change]
    return name, text(patch)


def with_annotations(row: PodGroup, annotations: Mapping[str, str]) -> PodGroup:
    """The row of a pod group as it is with the note."""
    fresh = PodGroup()
    fresh.CopyFrom(row)
    if annotations.get(names.STALE_SINCE) == "":
        fresh.ClearField("stale_since")
    read_annotations(fresh, {names.EVICTION_COUNT: str(row.eviction_count), **annotations}, [])
    return fresh


def is_older(moment: Timestamp, seconds: float) -> bool:
    """Whether a time lies before one in seconds since 1970."""
    return moment.ToNanoseconds() < seconds * 1e9
