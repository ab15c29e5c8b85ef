"""Read annotations of pod groups, which apply if the field is unset (semantics R12.1, R8.20).

An invalid value of one workload does not invalidate the snapshot of the cluster. It becomes a problem of the
setting, which the solver interprets so that the pod group does not become easier to evict.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.checks import duration, time
from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.model.requeue import NO_TERMS, ParsedValue, RequeueSettings
from tenure.solver.pod_group_status import preemptibility_source
from tenure.terms.annotations import ANNOTATIONS, Annotation, ValueKind, annotation, key_of
from tenure.terms.durations import LongDurationError, parse_signed_duration
from tenure.terms.preemptibility import (
    Preemptibility,
    PreemptibilityReading,
    effective_preemptibility,
    parse_preemptibility,
    read_preemptibility,
)
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_ANNOTATION
from tenure.wire.violations import ViolationCollector, quote_name

PREEMPTIBILITY: Final = key_of("preemptibility")
_EXPECTED_RUNTIME: Final = annotation("expected-runtime")
_REQUEUE_DELAY: Final = annotation("requeue-delay")
_REQUEUE_NOT_BEFORE: Final = annotation("requeue-not-before")
_MIN_RUNTIME: Final = annotation("min-runtime")
SENT: Final = {each.key: each for each in ANNOTATIONS if each.is_sent}
"""Annotations that are read, by key."""


def is_readable(key: str, text: str) -> bool:
    """Whether the value of an annotation has the form of its key: a mode, a duration or a time."""
    if key == PREEMPTIBILITY:
        return parse_preemptibility(text) is not None
    if key in SENT and SENT[key].kind is ValueKind.TIME:
        return not _moment(text.strip()).problem
    try:
        parse_signed_duration(text.strip())
    except LongDurationError:
        return True
    except ValueError:
        return False
    return True


def read_own_preemptibility(message: pb.PodGroup) -> PreemptibilityReading:
    """Field, else annotation, of a pod group that was accepted."""
    text, is_label = message.annotations.get(PREEMPTIBILITY, ""), message.is_preemptibility_label
    return read_preemptibility(message.preemptibility, text, is_label)


def preemptibility_of(group: pb.PodGroup | PodGroupFacts) -> PreemptibilityReading:
    """Preemptibility in force of a pod group that was accepted, and where it is from (semantics R1.80).

    For programs that have the row of a caller and no cluster; others read `PodGroupStatus`.
    """
    if isinstance(group, PodGroupFacts):
        own = PreemptibilityReading(Preemptibility(group.preemptibility), preemptibility_source(group))
    else:
        own = read_own_preemptibility(group)
    return own._replace(mode=effective_preemptibility(own.mode, group.priority))


def requeue_terms(i: int, message: pb.PodGroup, findings: ViolationCollector) -> RequeueSettings:
    """Runtimes and requeue settings of a pod group: each the field, else the annotation."""
    if not (message.annotations or _has_terms(message)):
        return NO_TERMS
    expected = _span(i, message, _EXPECTED_RUNTIME, findings)
    if expected.value is not None and expected.value <= 0:
        expected = ParsedValue(problem="its expected runtime is not above zero")
    delay = _span(i, message, _REQUEUE_DELAY, findings)
    if delay.value is not None and delay.value < 0:
        delay = ParsedValue(problem="its requeue delay is negative")
    minimum = _span(i, message, _MIN_RUNTIME, findings)
    if minimum.value is not None and minimum.value < 0:
        minimum = ParsedValue(problem="its minimum runtime is negative")
    return RequeueSettings(expected, delay, _not_before(i, message, findings), minimum)


def _has_terms(message: pb.PodGroup) -> bool:
    is_set = message.HasField
    fields = ("expected_runtime", "requeue_delay", "requeue_not_before", "min_runtime")
    return any(is_set(field) for field in fields)


def _span(i: int, message: pb.PodGroup, row: Annotation, findings: ViolationCollector) -> ParsedValue:
    """A duration: the field, else the annotation; it may be negative."""
    if message.HasField(row.field):
        span: Duration = getattr(message, row.field)
        return ParsedValue(duration(span, findings, i, row.field, negative=True))
    return _text(message.annotations, row.key) if row.key in message.annotations else ParsedValue()


def _text(notes: Mapping[str, str], key: str) -> ParsedValue:
    try:
        return ParsedValue(parse_signed_duration(notes[key].strip()))
    except ValueError as error:
        return ParsedValue(problem=f"annotation {key}: {error}")


def _not_before(i: int, message: pb.PodGroup, findings: ViolationCollector) -> ParsedValue:
    if message.HasField("requeue_not_before"):
        return ParsedValue(time(message.requeue_not_before, findings, i, "requeue_not_before"))
    text = message.annotations.get(_REQUEUE_NOT_BEFORE.key)
    return ParsedValue() if text is None else _moment(text.strip())


def _moment(text: str) -> ParsedValue:
    """Parse an RFC 3339 time."""
    moment = Timestamp()
    try:
        if "T" not in _short(text).upper():
            raise ValueError(text)
        moment.FromJsonString(text)
        datetime.fromisoformat(text)
    except ValueError:
        problem = f"{quote_name(text)} is not a time: write it like 2025-01-15T10:30:00Z"
        return ParsedValue(problem=f"annotation {_REQUEUE_NOT_BEFORE.key}: {problem}")
    return ParsedValue(moment.ToNanoseconds())


def _short(text: str) -> str:
    """Return the value. Raises ValueError if it is longer than any valid value."""
    if len(text) > MAX_ANNOTATION:
        raise ValueError(text)
    return text
