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
from tenure.solver.model.requeue import NO_TERMS, ParsedValue, RequeueSettings
from tenure.solver.model.workload_parts import Preemptibility
from tenure.terms.durations import LongDurationError, parse_signed_duration
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_ANNOTATION
from tenure.wire.violations import ViolationCollector, quote_name

PREEMPTIBILITY: Final = "kai.scheduler/preemptibility"
EXPECTED_RUNTIME: Final = "kai.scheduler/expected-runtime"
REQUEUE_DELAY: Final = "kai.scheduler/requeue-delay"
REQUEUE_NOT_BEFORE: Final = "kai.scheduler/requeue-not-before"
MIN_RUNTIME: Final = "kai.scheduler/min-runtime"
KEYS: Final = (PREEMPTIBILITY, EXPECTED_RUNTIME, REQUEUE_DELAY, REQUEUE_NOT_BEFORE, MIN_RUNTIME)
"""Annotations that are read."""

_MODES: Final = {
    "": Preemptibility.UNSPECIFIED,
    "preemptible": Preemptibility.PREEMPTIBLE,
    "non-preemptible": Preemptibility.NON_PREEMPTIBLE,
    "nonpreemptible": Preemptibility.NON_PREEMPTIBLE,
    "semi-preemptible": Preemptibility.SEMI_PREEMPTIBLE,
    "semipreemptible": Preemptibility.SEMI_PREEMPTIBLE,
}
"""All valid spellings. A similar value such as "-preemptible" is unknown, and protects."""


def preemptibility(text: str) -> Preemptibility | None:
    """Mode of a text, in any case and with or without the hyphen; None if it is unknown."""
    return _MODES.get(text.strip().lower())


def is_readable(key: str, text: str) -> bool:
    """Whether the value of an annotation has the form of its key: a mode, a duration or a time."""
    if key == PREEMPTIBILITY:
        return preemptibility(text) is not None
    if key == REQUEUE_NOT_BEFORE:
        return not _moment(text.strip()).problem
    try:
        parse_signed_duration(text.strip())
    except LongDurationError:
        return True
    except ValueError:
        return False
    return True


def requeue_terms(i: int, message: pb.PodGroup, findings: ViolationCollector) -> RequeueSettings:
    """Runtimes and requeue settings of a pod group: each the field, else the annotation."""
    notes = message.annotations
    if not (notes or _has_terms(message)):
        return NO_TERMS
    expected, delay, minimum = ParsedValue(), ParsedValue(), ParsedValue()
    if message.HasField("expected_runtime"):
        expected = _typed(i, message.expected_runtime, findings, "expected_runtime")
    elif EXPECTED_RUNTIME in notes:
        expected = _text(notes, EXPECTED_RUNTIME)
    if expected.value is not None and expected.value <= 0:
        expected = ParsedValue(problem="its expected runtime is not above zero")
    if message.HasField("requeue_delay"):
        delay = _typed(i, message.requeue_delay, findings, "requeue_delay")
    elif REQUEUE_DELAY in notes:
        delay = _text(notes, REQUEUE_DELAY)
    if delay.value is not None and delay.value < 0:
        delay = ParsedValue(problem="its requeue delay is negative")
    if message.HasField("min_runtime"):
        minimum = _typed(i, message.min_runtime, findings, "min_runtime")
    elif MIN_RUNTIME in notes:
        minimum = _text(notes, MIN_RUNTIME)
    if minimum.value is not None and minimum.value < 0:
        minimum = ParsedValue(problem="its minimum runtime is negative")
    return RequeueSettings(expected, delay, _not_before(i, message, findings), minimum)


def _has_terms(message: pb.PodGroup) -> bool:
    is_set = message.HasField
    fields = ("expected_runtime", "requeue_delay", "requeue_not_before", "min_runtime")
    return any(is_set(field) for field in fields)


def _typed(i: int, span: Duration, findings: ViolationCollector, field: str) -> ParsedValue:
    return ParsedValue(duration(span, findings, i, field, negative=True))


def _text(notes: Mapping[str, str], key: str) -> ParsedValue:
    try:
        return ParsedValue(parse_signed_duration(notes[key].strip()))
    except ValueError as error:
        return ParsedValue(problem=f"annotation {key}: {error}")


def _not_before(i: int, message: pb.PodGroup, findings: ViolationCollector) -> ParsedValue:
    if message.HasField("requeue_not_before"):
        return ParsedValue(time(message.requeue_not_before, findings, i, "requeue_not_before"))
    text = message.annotations.get(REQUEUE_NOT_BEFORE)
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
        return ParsedValue(problem=f"annotation {REQUEUE_NOT_BEFORE}: {problem}")
    return ParsedValue(moment.ToNanoseconds())


def _short(text: str) -> str:
    """Return the value. Raises ValueError if it is longer than any valid value."""
    if len(text) > MAX_ANNOTATION:
        raise ValueError(text)
    return text
