"""Bounds of queues beside quota and limit, from annotations: of classes, lending, users.

    tenure.scheduler/class-limits    GPUs by class of nodes: h100=4, a100=16
    tenure.scheduler/class-quotas    the same for non-preemptible pods
    tenure.scheduler/lending-limit   by resource, in the units of the queue: gpu=2, cpu=16000, memory=64000
    tenure.scheduler/user-limits     of the queue of each user, by resource as above
    tenure.scheduler/user-quotas     the same
    tenure.scheduler/user-max-running a number

An unreadable part is left out, with a warning: the other parts count.
"""

from collections.abc import Iterator, Mapping, Set
from math import isfinite
from typing import Final

from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.annotations.fields import read_fields
from tenure.terms.annotations import ValueKind, annotation
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_ANNOTATION

_UNITS: Final = {
    "cpu": ("cpu_milli", 1),
    "memory": ("memory_bytes", 1_000_000),
    "gpu": ("gpu_milli", 1_000),
}
"""Field and unit of each resource, as in the spec of a queue."""
UNLIMITED: Final = -1
_GPU: Final = 1_000
_MOST: Final = 2**50
_MAX_NAME: Final = 253
_MAX_RUNNING_OF_USERS: Final = annotation("user-max-running")._replace(
    kind=ValueKind.COUNT, field="max_running"
)
"""Of the queue of each user, not of the queue that has the annotation."""


def warn_of_misplaced(
    annotations: Mapping[str, str], others: Set[str], owner: str, warnings: list[str]
) -> None:
    """Warn of annotations that only `owner` can have: here they have no effect."""
    for key in sorted(annotations.keys() & others):
        warnings.append(f"annotation {key}: it has an effect on {owner} only: set it there")


def set_bounds(row: pb.Queue, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Set what the annotations of a queue say."""
    warn_of_misplaced(annotations, names.OF_POD_GROUPS, "pod groups", warnings)
    limits: dict[str, pb.ClassLimit] = {}
    for key, field in ((names.CLASS_LIMITS, "limit_gpu_milli"), (names.CLASS_QUOTAS, "quota_gpu_milli")):
        for name, number in _parts(key, annotations, warnings):
            limit = limits.setdefault(name, pb.ClassLimit(node_class=name))
            setattr(limit, field, round(number * _GPU))
    row.class_limits.extend([limits[name] for name in sorted(limits)])
    for resource, amount in _amounts(names.LENDING_LIMIT, annotations, warnings):
        getattr(row, resource).lending_limit = amount


def bounds_of_users(team: pb.Queue, annotations: Mapping[str, str], warnings: list[str]) -> pb.Queue:
    """What the queue of each user has that is below the queue of a team, without names (semantics R19.10).

    All users have the same weight. Without an annotation there is no limit, and no quota of resources of
    which the team has one: users compete for it.
    """
    row = pb.Queue(creation_time=team.creation_time)
    for resource, _ in _UNITS.values():
        is_bounded = getattr(team, resource).quota != UNLIMITED
        getattr(row, resource).CopyFrom(
            pb.QueueResource(quota=0 if is_bounded else UNLIMITED, limit=UNLIMITED, over_quota_weight=1)
        )
    for key, field in ((names.USER_LIMITS, "limit"), (names.USER_QUOTAS, "quota")):
        for resource, amount in _amounts(key, annotations, warnings):
            setattr(getattr(row, resource), field, amount)
    read_fields(row, (_MAX_RUNNING_OF_USERS,), annotations, warnings)
    return row


def _amounts(key: str, annotations: Mapping[str, str], warnings: list[str]) -> Iterator[tuple[str, int]]:
    """Fields and amounts of resources."""
    for name, number in _parts(key, annotations, warnings):
        if name in _UNITS:
            resource, unit = _UNITS[name]
            yield resource, round(number * unit)
        else:
            known = ", ".join(_UNITS)
            warnings.append(f"annotation {key}: {name[:64]!r} is none of {known}: it is ignored")


def _parts(key: str, annotations: Mapping[str, str], warnings: list[str]) -> Iterator[tuple[str, float]]:
    """Names and numbers of a list such as `h100=4, a100=16`."""
    for part in annotations.get(key, "")[:MAX_ANNOTATION].split(","):
        name, _, text = (each.strip() for each in part.partition("="))
        if not name and not text:
            continue
        number = _number(text)
        if not name or len(name) > _MAX_NAME or number is None:
            warnings.append(f"annotation {key}: {part.strip()[:64]!r} is not NAME=NUMBER: it is ignored")
        else:
            yield name, number


def _number(text: str) -> float | None:
    """A number from 0 to `_MOST`; None: it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return min(number, float(_MOST)) if isfinite(number) and number >= 0 else None
