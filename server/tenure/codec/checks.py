"""Check values: each function adds violations and returns a usable value. Check sums of amounts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.solver.model.resources import UNLIMITED, Vector
from tenure.solver.model.workload_parts import TaskShape
from tenure.terms.durations import SECOND
from tenure.wire.limits import MAX_AMOUNT, MAX_DURATION_SECONDS, MAX_TIME_SECONDS, MAX_TOTAL, MAX_WEIGHT
from tenure.wire.timestamps import nanoseconds
from tenure.wire.violations import FieldViolation, ViolationCollector, quote_name

MISSING: Final = "is required"
E = TypeVar("E")


def index_names(names: list[str], findings: ViolationCollector, field: str = "name") -> dict[str, int]:
    """Position of each name. Adds violations for empty and duplicate names."""
    positions = {name: i for i, name in enumerate(names)}
    if len(positions) == len(names) and "" not in positions:
        return positions
    positions = {}
    for i, name in enumerate(names):
        if not name:
            findings.add(i, field, MISSING)
        elif positions.setdefault(name, i) != i:
            findings.add(i, field, f"{quote_name(name)} is already used by element {positions[name]}")
    return positions


def excessive_names(field: str, named: int, most: int, things: str) -> FieldViolation | None:
    """Violation of a list in a request that names more things than there are; None: it does not.

    Each name is work, so that such a list is not looked through.
    """
    if named <= most:
        return None
    return FieldViolation(
        field, f"has {named:,} names, but there are {most:,} {things}: name each of them once"
    )


def name_ranks(positions: Mapping[str, int]) -> dict[str, int]:
    """Rank of each name in sorted order, which is its index in the model."""
    return {name: rank for rank, name in enumerate(sorted(positions))}


def amount(
    value: int, findings: ViolationCollector, index: int, field: str, largest: int = MAX_AMOUNT
) -> int:
    """Check that an amount is not negative and not above a maximum."""
    if value < 0:
        findings.add(index, field, f"{value} is negative")
    elif value > largest:
        findings.add(index, field, f"{value} is more than the largest amount, {largest}")
    return value


def quota(value: int, findings: ViolationCollector, index: int, field: str) -> int:
    """Check an amount up to the maximum sum of all nodes, or -1 for unlimited."""
    if value < UNLIMITED:
        findings.add(index, field, f"{value} is negative; -1 is unlimited")
        return value
    return value if value == UNLIMITED else amount(value, findings, index, field, MAX_TOTAL)


def weight(value: float, findings: ViolationCollector, index: int, field: str) -> float:
    """Check a non-negative finite number, or -1, which the reference uses for default departments (R4.19)."""
    if math.isnan(value):
        findings.add(index, field, "is not a number")
    elif value != -1.0 and not 0.0 <= value <= MAX_WEIGHT:
        findings.add(index, field, f"{value:g} is not between 0 and {MAX_WEIGHT:g}")
    return value


def check_enum(
    value: int, known: frozenset[int], findings: ViolationCollector, index: int, field: str
) -> bool:
    """Check an enum value. Returns whether it is known."""
    if value in known:
        return True
    problem = "is required" if value == 0 else f"{value} is not a value of this version of the contract"
    findings.add(index, field, problem)
    return False


def choice(value: int, known: Mapping[int, E], findings: ViolationCollector, index: int, field: str) -> E:
    """Check an enum value that may be unset; return its member, that of 0 if it is unknown."""
    if value in known:
        return known[value]
    check_enum(value, frozenset(known), findings, index, field)
    return known[0]


def time(moment: Timestamp, findings: ViolationCollector, index: int, field: str) -> int:
    """Check a timestamp; return nanoseconds since the Unix epoch."""
    return check_wire_time(moment.seconds, moment.nanos, findings, index, field)


def check_wire_time(seconds: int, nanos: int, findings: ViolationCollector, index: int, field: str) -> int:
    """Check a timestamp that was read from bytes; return nanoseconds since the Unix epoch."""
    if problem := _time_problem(seconds, nanos):
        findings.add(index, field, problem)
    return nanoseconds(seconds) + nanos


def time_problem(moment: Timestamp) -> str:
    """Problem of a timestamp; empty if it is valid."""
    return _time_problem(moment.seconds, moment.nanos)


def _time_problem(seconds: int, nanos: int) -> str:
    if not 0 <= nanos < SECOND:
        return f"{nanos} nanoseconds are not a part of a second"
    if not -MAX_TIME_SECONDS <= seconds <= MAX_TIME_SECONDS:
        return "is not between the years 1677 and 2262"
    return ""


def duration(
    span: Duration, findings: ViolationCollector, index: int, field: str, *, negative: bool = False
) -> int:
    """Check a duration; return nanoseconds. `negative`: whether negative values are valid."""
    value = span.seconds * SECOND + span.nanos
    if abs(span.nanos) >= SECOND or span.seconds * span.nanos < 0:
        findings.add(index, field, "seconds and nanos do not belong together")
    elif value < 0 and not negative:
        findings.add(index, field, "is negative")
    elif abs(span.seconds) > MAX_DURATION_SECONDS:
        findings.add(index, field, "is longer than a hundred years")
    return value


def total_requests(shapes: Iterable[TaskShape], pods: Mapping[int, int]) -> list[tuple[int, Vector]]:
    """Requests with the number of their pods; `pods` has the number by shape."""
    return [(pods[shape.index], shape.request) for shape in shapes if shape.index in pods]


def excessive_totals(
    names: tuple[str, ...], field: str, amounts: Sequence[tuple[int, Vector]]
) -> Iterator[FieldViolation]:
    """Resources whose sum exceeds the 64 bits of a response, although each amount is within its limit."""
    for slot, name in enumerate(names):
        if sum([n * vector[slot] for n, vector in amounts]) > MAX_TOTAL:
            yield FieldViolation(field, f"amounts of {name} add up to more than {MAX_TOTAL}")
