"""Read annotations into the fields that the table of annotations names, by the kind of their value.

Annotations of the kind OTHER have readers of their own: `holds`, `queue_bounds`, `wishes`, `pod_group_rows`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from google.protobuf.descriptor import EnumDescriptor
from tenure.kubernetes.objects.times import FOREVER, read_duration, read_time
from tenure.terms.annotations import ANNOTATIONS, Annotation, ValueKind, Writer, written_by
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT

TRUE: Final = frozenset(("1", "t", "true"))
FALSE: Final = frozenset(("0", "f", "false"))
_LONGEST_NUMBER: Final = 18
"""Digits of a number that count: the rest only makes it larger than any limit."""
_Row = pb.PodGroup | pb.Queue


def unreadable(key: str, text: str, kind: str) -> str:
    """Warning about an annotation."""
    return f"annotation {key}: {text[:64]!r} is not {kind}"


def _set_duration(row: _Row, each: Annotation, text: str, warnings: list[str]) -> None:
    if not text:
        return
    span = read_duration(text)
    if span is None or span.ToNanoseconds() < 0:
        effect = f"counts as {each.otherwise}" if each.otherwise else "is ignored"
        warnings.append(unreadable(each.key, text, f"a duration: it {effect}"))
        span = read_duration(each.otherwise) if each.otherwise else None
    if span is not None:
        getattr(row, each.field).CopyFrom(span)


def _set_protecting_duration(row: _Row, each: Annotation, text: str, warnings: list[str]) -> None:
    span = read_duration(text)
    if span is None or span.ToNanoseconds() < 0:
        warnings.append(unreadable(each.key, text, "a duration: the longest permitted one counts"))
        span = FOREVER
    getattr(row, each.field).CopyFrom(span)


def _set_time(row: _Row, each: Annotation, text: str, warnings: list[str]) -> None:
    if not text:
        return
    if (moment := read_time(text)) is None:
        warnings.append(unreadable(each.key, text, "a time: it is ignored"))
    else:
        getattr(row, each.field).CopyFrom(moment)


def _set_count(row: _Row, each: Annotation, text: str, warnings: list[str]) -> None:
    if text.isascii() and text.isdecimal():
        setattr(row, each.field, min(int(text[:_LONGEST_NUMBER]), MAX_COUNT))
    elif text:
        kind = f"a number of {each.unit}" if each.unit else "a number"
        warnings.append(unreadable(each.key, text, f"{kind}: it is ignored"))


def _set_flag(row: _Row, each: Annotation, text: str, warnings: list[str]) -> None:
    word = text.lower()
    if not word:
        return
    setattr(row, each.field, word not in FALSE if each.otherwise == "true" else word in TRUE)
    if word not in TRUE and word not in FALSE:
        problem = f"true or false, and is read as {each.otherwise}"
        warnings.append(unreadable(each.key, text, problem))


def _set_choice(row: _Row, each: Annotation, text: str, warnings: list[str]) -> None:
    enum = row.DESCRIPTOR.fields_by_name[each.field].enum_type
    assert enum is not None
    words = _words(enum)
    if (number := words.get(text.lower())) is None:
        known = ", ".join(words)
        problem = f"{text[:32]!r} is none of {known}: it counts as {each.otherwise}"
        warnings.append(f"annotation {each.key}: {problem}")
        number = words[each.otherwise]
    setattr(row, each.field, number)


@cache
def _words(enum: EnumDescriptor) -> Mapping[str, int]:
    """Values of an enum by their names in lower case, without the prefix and the unspecified one."""
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {each.name.removeprefix(prefix).lower(): each.number for each in enum.values if each.number}


SETTERS: Final[Mapping[ValueKind, Callable[[_Row, Annotation, str, list[str]], None]]] = {
    ValueKind.DURATION: _set_duration,
    ValueKind.PROTECTING_DURATION: _set_protecting_duration,
    ValueKind.TIME: _set_time,
    ValueKind.COUNT: _set_count,
    ValueKind.FLAG: _set_flag,
    ValueKind.CHOICE: _set_choice,
}
"""How a text becomes a field, by the kind of its value."""


def read_fields(
    row: _Row, rows: Iterable[Annotation], annotations: Mapping[str, str], warnings: list[str]
) -> None:
    """Set the fields of a pod group or a queue that these annotations have."""
    for each in rows if annotations else ():
        if (text := annotations.get(each.key)) is not None:
            SETTERS[each.kind](row, each, text.strip(), warnings)


def _readable(rows: Iterable[Annotation]) -> tuple[Annotation, ...]:
    return tuple(each for each in rows if each.kind in SETTERS and not each.is_sent)


_OF_POD_GROUPS: Final = _readable(each for each in written_by(Writer.USER) if each.on_pod_group)
COSTS: Final = tuple(each for each in _OF_POD_GROUPS if each.is_cost)
"""What an eviction costs: also read from the pods of pod groups of Kubernetes itself."""
SETTINGS: Final = tuple(each for each in _OF_POD_GROUPS if not each.is_cost)
"""What else users write on pod groups."""
OF_QUEUES: Final = tuple(each for each in ANNOTATIONS if each.on_queue and each.kind in SETTERS)
"""What queues have, for themselves or for their pod groups: none of it is sent unchanged."""
STORED: Final = _readable(written_by(Writer.ADAPTER))
"""What the adapter stored."""
