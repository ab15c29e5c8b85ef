"""What users write about when pod groups may start, and the stored reason of a hold.

An unreadable hold, or time before which a pod group may not start, holds it.
"""

from collections.abc import Mapping
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.times import read_time
from tenure.kubernetes.observe.annotations.fields import FALSE, unreadable
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_ANNOTATION, MAX_DEPENDENCIES

_HOLDS: Final[Mapping[str, pb.HoldReason]] = {
    "user": pb.HOLD_REASON_USER,
    "admin": pb.HOLD_REASON_ADMIN,
    "dependency": pb.HOLD_REASON_DEPENDENCY,
    "eviction-limit": pb.HOLD_REASON_EVICTION_LIMIT,
    "evicted": pb.HOLD_REASON_EVICTED,
    "time-limit": pb.HOLD_REASON_TIME_LIMIT,
}
"""Values of the stored annotation."""
_BY_USERS: Final = {"admin": pb.HOLD_REASON_ADMIN, "dependency": pb.HOLD_REASON_DEPENDENCY}
"""Values of the annotation for holds; all others, except for "false", are by the user."""


def read_holds(row: pb.PodGroup, annotations: Mapping[str, str], now: Timestamp, warnings: list[str]) -> None:
    """Set hold and release of a pod group from what users write.

    A hold by the user precedes a stored one. A release in the future is ignored: no one can know today what
    will be released then.
    """
    hold = annotations.get(names.HOLD, "").strip().lower()
    if hold not in ("", *FALSE):
        row.held_by = _BY_USERS.get(hold, pb.HOLD_REASON_USER)
    _read_not_before(row, annotations.get(names.NOT_BEFORE, ""), now, warnings)
    text = annotations.get(names.RELEASED)
    released = read_time(text) if text else None
    if text and (released is None or released.ToNanoseconds() > now.ToNanoseconds()):
        problem = "is not a time" if released is None else "is in the future"
        warnings.append(f"annotation {names.RELEASED}: {text[:64]!r} {problem}: it is ignored")
    elif released is not None:
        row.release_time.CopyFrom(released)
        row.eligible_time.CopyFrom(released)


def read_dependencies(annotations: Mapping[str, str]) -> list[str]:
    """Names of the pod groups that one that is held waits for, in its namespace."""
    parts = annotations.get(names.DEPENDS_ON, "")[:MAX_ANNOTATION].split(",")
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))[:MAX_DEPENDENCIES]


def _read_not_before(row: pb.PodGroup, text: str, now: Timestamp, warnings: list[str]) -> None:
    """Set the time before which it may not start, unless that is over; unreadable holds it."""
    if not text:
        return
    if (moment := read_time(text.strip())) is None:
        problem = "a time: it is held until the annotation is corrected or removed"
        warnings.append(unreadable(names.NOT_BEFORE, text, problem))
        row.held_by = row.held_by or pb.HOLD_REASON_USER
    elif moment.ToNanoseconds() > now.ToNanoseconds():
        row.not_before_time.CopyFrom(moment)
    else:
        row.eligible_time.CopyFrom(moment)


def read_stored_hold(row: pb.PodGroup, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Set what holds a pod group, from the stored annotation."""
    text = annotations.get(names.HELD_BY)
    if not text or row.held_by:
        return
    if (reason := _HOLDS.get(text)) is None:
        warnings.append(f"annotation {names.HELD_BY}: {text[:32]!r} is unknown: it counts as evicted")
    row.held_by = reason or pb.HOLD_REASON_EVICTED


def write_hold(reason: pb.HoldReason) -> str:
    """Value of the stored annotation; "": it is not held."""
    return next((text for text, number in _HOLDS.items() if number == reason), "")
