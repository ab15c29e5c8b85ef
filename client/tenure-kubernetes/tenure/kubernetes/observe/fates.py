"""What becomes of evicted pod groups, and holds, as users and the adapter write them in annotations.

An unreadable value of a fate counts as `requeue`, which destroys nothing, and one of a hold holds.
"""

from collections.abc import Mapping
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.times import read_time
from tenure.v1 import snapshot_pb2 as pb

_FATES: Final[Mapping[str, pb.Fate]] = {
    "requeue": pb.FATE_REQUEUE,
    "hold": pb.FATE_HOLD,
    "delete": pb.FATE_DELETE,
    "suspend": pb.FATE_SUSPEND,
}
_HOLDS: Final[Mapping[str, pb.HoldReason]] = {
    "user": pb.HOLD_REASON_USER,
    "admin": pb.HOLD_REASON_ADMIN,
    "dependency": pb.HOLD_REASON_DEPENDENCY,
    "eviction-limit": pb.HOLD_REASON_EVICTION_LIMIT,
    "evicted": pb.HOLD_REASON_EVICTED,
    "time-limit": pb.HOLD_REASON_TIME_LIMIT,
}
"""Values of the stored annotation."""
_TRUE: Final = ("1", "t", "true", "y", "yes")
_FALSE: Final = ("", "0", "f", "false", "n", "no")


def read_fate(annotations: Mapping[str, str], warnings: list[str]) -> pb.Fate:
    """The annotation of a pod group or a queue; FATE_UNSPECIFIED: there is none."""
    text = annotations.get(names.ON_EVICT)
    if text is None:
        return pb.FATE_UNSPECIFIED
    if (fate := _FATES.get(text.strip().lower())) is None:
        known = ", ".join(_FATES)
        problem = f"{text[:32]!r} is none of {known}: it counts as requeue"
        warnings.append(f"annotation {names.ON_EVICT}: {problem}")
    return fate or pb.FATE_REQUEUE


def read_holds(row: pb.PodGroup, annotations: Mapping[str, str], now: Timestamp, warnings: list[str]) -> None:
    """Set fate, hold and release of a pod group from what users write.

    A hold by the user precedes a stored one. A release in the future is ignored: no one can know today what
    will be released then.
    """
    row.on_evict = read_fate(annotations, warnings)
    row.suspendable = annotations.get(names.SUSPENDABLE, "").strip().lower() in _TRUE
    if annotations.get(names.HOLD, "").strip().lower() not in _FALSE:
        row.held_by = pb.HOLD_REASON_USER
    text = annotations.get(names.RELEASED)
    released = read_time(text) if text else None
    if text and (released is None or released.ToNanoseconds() > now.ToNanoseconds()):
        problem = "is not a time" if released is None else "is in the future"
        warnings.append(f"annotation {names.RELEASED}: {text[:64]!r} {problem}: it is ignored")
    elif released is not None:
        row.release_time.CopyFrom(released)


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
