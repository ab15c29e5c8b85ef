"""Options in the comment of a job: `--comment="tenure: expected-runtime=2h, preemptibility=non-preemptible"`.

They have the names and the meaning of the annotations on Kubernetes. Those that the server reads itself
become annotations of the pod group; the others become fields. Other text in the comment is left alone.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import parse_duration
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_TIME_SECONDS

_BEGIN: Final = re.compile(r"(?:^|\s)tenure:", re.IGNORECASE)
_OPTION: Final = re.compile(r"\s*([A-Za-z-]+)=([^\s,;]+)\s*(?:[,;]|$|(?=\s))")
_MAX_COST: Final = 2**30
_ELSEWHERE: Final = {
    "time-limit": "use --time",
    "on-time-limit": "Slurm ends jobs at their --time; set on_time_limit of a queue in queuesFile",
    "not-before": "use --begin",
    "depends-on": "use --dependency",
    **dict.fromkeys(
        ("class-limits", "class-quotas", "lending-limit", "max-running"),
        "it is of queues: administrators set it in queuesFile",
    ),
}
"""What Slurm itself states, or queues, and so no option does (semantics R19)."""
_FATES: Final = {"requeue": pb.FATE_REQUEUE, "hold": pb.FATE_HOLD, "delete": pb.FATE_DELETE}
ANNOTATIONS: Final = {
    name: f"kai.scheduler/{name}"
    for name in ("preemptibility", "expected-runtime", "requeue-delay", "min-runtime")
}
"""Options that the server reads from annotations of the pod group."""


def read_options(comment: str) -> tuple[dict[str, str], list[str]]:
    """Options in a comment by name, and what is wrong with it. An unknown option is left out."""
    begin = _BEGIN.search(comment)
    if begin is None:
        return {}, []
    found: dict[str, str] = {}
    position = begin.end()
    while option := _OPTION.match(comment, position):
        found[option[1].lower()] = option[2]
        position = option.end()
    problems = [] if found else ['no option after "tenure:"; write NAME=VALUE']
    for name in sorted(found.keys() - ANNOTATIONS.keys() - _FIELDS.keys()):
        fix = _ELSEWHERE.get(name, f"options are {', '.join((*ANNOTATIONS, *_FIELDS))}")
        problems.append(f"unknown option {name!r}; {fix}")
        del found[name]
    return found, problems


def set_options(row: pb.PodGroup, options: Mapping[str, str]) -> list[str]:
    """Set what options say. Returns what is wrong; an invalid value changes nothing, but `hold` holds."""
    problems: list[str] = []
    for name, value in options.items():
        if name in ANNOTATIONS:
            row.annotations[ANNOTATIONS[name]] = value
            continue
        try:
            _FIELDS[name](row, value)
        except ValueError as error:
            problems.append(f"option {name}={value}: {error}")
    return problems


def _duration(field: str) -> Callable[[pb.PodGroup, str], None]:
    def set_field(row: pb.PodGroup, value: str) -> None:
        getattr(row, field).FromNanoseconds(parse_duration(value))

    return set_field


def _time(field: str) -> Callable[[pb.PodGroup, str], None]:
    def set_field(row: pb.PodGroup, value: str) -> None:
        time = Timestamp()
        time.FromJsonString(value)
        if abs(time.seconds) > MAX_TIME_SECONDS:
            raise ValueError("must be between the years 1677 and 2262")
        getattr(row, field).CopyFrom(time)

    return set_field


def _hold(row: pb.PodGroup, value: str) -> None:
    if value.lower() == "false":
        return
    row.held_by = pb.HOLD_REASON_USER
    if value.lower() != "true":
        raise ValueError("must be true or false; the job is held")


def _fate(row: pb.PodGroup, value: str) -> None:
    if value.lower() not in _FATES:
        raise ValueError(f"must be one of {', '.join(_FATES)}")
    row.on_evict = _FATES[value.lower()]


def _cost(row: pb.PodGroup, value: str) -> None:
    if not value.isdecimal() or int(value) > _MAX_COST:
        raise ValueError(f"must be a number from 0 to {_MAX_COST}")
    row.eviction_cost = int(value)


def _checkpoint(row: pb.PodGroup, value: str) -> None:
    if value.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    row.checkpoint_on_notice = value.lower() == "true"


_FIELDS: Final[Mapping[str, Callable[[pb.PodGroup, str], None]]] = {
    "checkpoint-interval": _duration("checkpoint_interval"),
    "checkpoint-on-notice": _checkpoint,
    "eviction-cost": _cost,
    "hold": _hold,
    "last-checkpoint-time": _time("last_checkpoint_time"),
    "notice": _duration("notice"),
    "on-evict": _fate,
    "released": _time("release_time"),
    "restart-cost": _duration("restart_cost"),
}
"""Options that are fields of the pod group."""
