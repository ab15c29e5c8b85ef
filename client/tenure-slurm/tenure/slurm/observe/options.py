"""Options in the comment of a job: `--comment="tenure: expected-runtime=2h, preemptibility=non-preemptible"`.

They have the names and the meaning of the annotations on Kubernetes. Those that the server reads itself
become annotations of the pod group; the others become fields. Other text in the comment is left alone.

The gate, job_submit.lua, reads `hold` by the same grammar: whatever changes here changes there.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.annotations import ANNOTATIONS, ValueKind
from tenure.terms.durations import parse_duration
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT, MAX_TIME_SECONDS

_BEGIN: Final = re.compile(r"(?:^|\s)tenure:", re.IGNORECASE | re.ASCII)
_OPTION: Final = re.compile(r"\s*([A-Za-z-]+)=([^\s,;]+)\s*(?:[,;]|$|(?=\s))", re.ASCII)
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
_IMPOSSIBLE: Final = frozenset(("suspend",))
"""Values that the adapter cannot carry out."""
Setter = Callable[[pb.PodGroup, str], None]
"""Sets a field to the value of an option. Raises ValueError if it is invalid."""
_OPTIONS: Final = {each.name: each for each in ANNOTATIONS if each.is_job_option}
SENT: Final = {name: each.key for name, each in _OPTIONS.items() if each.is_sent}
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
    for name in sorted(found.keys() - SENT.keys() - _FIELDS.keys()):
        fix = _ELSEWHERE.get(name, f"options are {', '.join((*SENT, *_FIELDS))}")
        problems.append(f"unknown option {name!r}; {fix}")
        del found[name]
    return found, problems


def set_options(row: pb.PodGroup, options: Mapping[str, str]) -> list[str]:
    """Set what options say. Returns what is wrong; an invalid value changes nothing, but `hold` holds."""
    problems: list[str] = []
    for name, value in options.items():
        if name in SENT:
            row.annotations[SENT[name]] = value
            continue
        try:
            _FIELDS[name](row, value)
        except ValueError as error:
            problems.append(f"option {name}={value}: {error}")
    return problems


def read_fate(comment: str) -> pb.Fate:
    """What a comment says that becomes of its job when it is evicted; 0: nothing valid."""
    row, (options, _) = pb.PodGroup(), read_options(comment)
    set_options(row, options)
    return row.on_evict


def is_held(comment: str) -> bool:
    """Whether the owner of a job with this comment holds it."""
    row, (options, _) = pb.PodGroup(), read_options(comment)
    set_options(row, options)
    return row.held_by == pb.HOLD_REASON_USER


def _duration(field: str) -> Setter:
    def set_field(row: pb.PodGroup, value: str) -> None:
        getattr(row, field).FromNanoseconds(parse_duration(value))

    return set_field


def _time(field: str) -> Setter:
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


def _choice(field: str) -> Setter:
    enum = pb.PodGroup.DESCRIPTOR.fields_by_name[field].enum_type
    assert enum is not None
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    words = {each.name.removeprefix(prefix).lower(): each.number for each in enum.values if each.number}
    known = {word: number for word, number in words.items() if word not in _IMPOSSIBLE}

    def set_field(row: pb.PodGroup, value: str) -> None:
        if value.lower() not in known:
            raise ValueError(f"must be one of {', '.join(known)}")
        setattr(row, field, known[value.lower()])

    return set_field


def _count(field: str) -> Setter:
    def set_field(row: pb.PodGroup, value: str) -> None:
        if not value.isdecimal() or int(value) > MAX_COUNT:
            raise ValueError(f"must be a number from 0 to {MAX_COUNT}")
        setattr(row, field, int(value))

    return set_field


def _flag(field: str) -> Setter:
    def set_field(row: pb.PodGroup, value: str) -> None:
        if value.lower() not in ("true", "false"):
            raise ValueError("must be true or false")
        setattr(row, field, value.lower() == "true")

    return set_field


_KINDS: Final[Mapping[ValueKind, Callable[[str], Setter]]] = {
    ValueKind.DURATION: _duration,
    ValueKind.PROTECTING_DURATION: _duration,
    ValueKind.TIME: _time,
    ValueKind.COUNT: _count,
    ValueKind.FLAG: _flag,
    ValueKind.CHOICE: _choice,
}
_FORMS: Final[Mapping[str, Setter]] = {"hold": _hold, "released": _time("release_time")}
"""Options with a form of their own."""
_FIELDS: Final = {
    name: _FORMS.get(name) or _KINDS[each.kind](each.field)
    for name, each in sorted(_OPTIONS.items())
    if name not in SENT
}
"""Options that are fields of the pod group."""
