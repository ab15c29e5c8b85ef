"""Scan the bytes of a request before it is parsed: count rows and entries, and measure texts.

A message of 16 MB can have eight million empty rows and occupy fifty times as much memory when parsed. The
scan builds nothing, follows the plan of the message (`field_plan`) and stops at the first exceeded limit.

Ordinary rows are many and small. Within a row that is at most as large as the longest name, no text can be
too long, and entries are counted only if there can be too many of them in total.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from tenure.terms.cancellation import no_check
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import KEY_FIELDS
from tenure.wire.encoding import SIZED, count_others, malformed, packed_length, skip, varint
from tenure.wire.field_plan import ELEMENTS, Field, FieldKind, is_unmeasured, plan_of
from tenure.wire.limits import LimitExceeded, RequestLimits, RowLimits
from tenure.wire.violations import FieldViolation, SnapshotValidationError


def check_rows(snapshot: ClusterSnapshot, most: RowLimits) -> None:
    """Check the number of rows. Raises LimitExceeded for the first list with too many rows."""
    for name in KEY_FIELDS:
        limit = most.of(name)
        if len(getattr(snapshot, name)) > limit:
            raise LimitExceeded(name, name, limit)
    if len(snapshot.pod_columns.uid) > most.of("pods"):
        raise LimitExceeded("pod_columns.uid", "pods", most.of("pods"))


_LIMITS: Final = (*KEY_FIELDS, ELEMENTS)
"""Names of all limits on rows."""
_NUMBERS: Final = FieldKind.NUMBERS
_UNLIMITED: Final = 1 << 60
"""Greater than any count of a request."""
_SHORT: Final = 8
_SHORT_LENGTHS: Final = bytes(range(_SHORT))
_LOOK_BYTES: Final = 2**17
"""Bytes that are scanned between two checks whether the caller still waits."""


def check_request(
    request: bytes, kind: type[Message], limits: RequestLimits, check: Callable[[], None] = no_check
) -> "RowCounts":
    """Scan the bytes of a message of the contract; return the numbers of its rows.

    Raises LimitExceeded for too many rows, LongTexts with every text that is too long (paths
    are within the snapshot, if the text is part of one), and DecodeError for bytes that the parser would
    reject too. `check` raises when the call has ended.
    """
    scan = _Scan(request, limits, check)
    try:
        scan.message(0, len(request), cast(Descriptor, kind.DESCRIPTOR), "")
    except IndexError:
        raise malformed() from None
    if scan.violations:
        raise LongTexts(scan.violations, scan.rows())
    return scan.rows()


class RowCounts(NamedTuple):
    """Numbers of rows by kind, which differ in the memory that they take."""

    pods: int
    pod_groups: int
    others: int


class LongTexts(SnapshotValidationError):
    """Texts of a request are too long. `rows` has the numbers of its rows."""

    def __init__(self, violations: Iterable[FieldViolation], rows: RowCounts) -> None:
        self.rows = rows
        super().__init__(violations)


class _Scan:
    def __init__(self, data: bytes, limits: RequestLimits, check: Callable[[], None]) -> None:
        self.violations: list[FieldViolation] = []
        self._check = check
        self._look_at = _LOOK_BYTES
        self._data = data
        self._most: Mapping[str, int] = {name: limits.max_rows.of(name) for name in _LIMITS}
        self._allowances: dict[str, _Allowance] = {}
        self._unknown = _FieldCount(None, self._allowance(""))
        self._longest = {FieldKind.NAME: limits.max_name_length, FieldKind.TEXT: limits.max_text_length}
        self._small = -1 if self._may_have_too_many_elements() else min(self._longest.values())

    def _may_have_too_many_elements(self) -> bool:
        """Whether the bytes can contain more entries than the limit.

        Every entry is preceded by its length: there are no more short entries than bytes with such a value,
        and each longer entry occupies that many bytes besides its tag and length.
        """
        size = len(self._data)
        short = size - count_others(self._data, 0, size, _SHORT_LENGTHS)
        return short + size // (_SHORT + 2) > self._most[ELEMENTS]

    def rows(self) -> RowCounts:
        """Rows of all lists; pods in columns have as many rows as their longest column."""
        pods = pod_groups = others = columns = 0
        for counter, allowance in self._allowances.items():
            if counter == "pods":
                pods = allowance.taken()
            elif counter == "pod_groups":
                pod_groups = allowance.taken()
            elif counter in KEY_FIELDS:
                others += allowance.taken()
            elif counter and counter != ELEMENTS:
                columns = max(columns, allowance.taken())
        return RowCounts(pods + columns, pod_groups, others)

    def message(self, at: int, end: int, message: Descriptor, path: str) -> None:
        """Scan the fields between two positions. There can be millions: frequent operations are inlined."""
        data, plan, small = self._data, plan_of(message), self._small
        seen: dict[int, _FieldCount] = {}
        run, run_tag = self._unknown, 0  # rows of a list follow each other
        look_at = self._look_at
        while at < end:
            if at >= look_at:
                look_at = self._look(at)
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = varint(data, at - 1)
            if tag & 7 != SIZED:
                at = skip(data, at, tag & 7)
                if tag in plan:
                    self._take(plan[tag], 1)
                continue
            length = data[at]
            at += 1
            if length >= 0x80:
                length, at = varint(data, at - 1)
            start, at = at, at + length
            if at > end:
                raise malformed()
            if tag != run_tag:
                run, run_tag = self._met(seen, tag, plan.get(tag)), tag
            field = run.field
            if field is None:
                continue
            if field.kind is _NUMBERS:
                self._take(field, self._numbers(field, start, at))
                continue
            run.times += 1
            run.allowance.remaining -= 1
            if run.allowance.remaining < 0:
                self._take(field, 0)
            if length > small or field.leads_on:
                where = f"{path}{field.name}[{run.times - 1}]" if field.is_list else f"{path}{field.name}"
                self._scan_nested(field, start, at, message, where)

    def _look(self, at: int) -> int:
        """Check whether the caller still waits; the position of the next check."""
        if at >= self._look_at:  # else a message within this one was just checked
            self._check()
            self._look_at = at + _LOOK_BYTES
        return self._look_at

    def _met(self, seen: "dict[int, _FieldCount]", tag: int, field: Field | None) -> "_FieldCount":
        """Scanned fields of a message with this tag. There can be millions of unknown tags."""
        if field is None:
            return self._unknown
        found = seen.get(tag)
        if found is None:
            found = seen[tag] = _FieldCount(field, self._allowance(field.counter))
        return found

    def _allowance(self, counter: str) -> "_Allowance":
        """Remaining entries of a counter; None if they are not counted."""
        allowance = self._allowances.get(counter)
        if allowance is None:
            most = self._most.get(counter, self._most["pods"]) if counter else _UNLIMITED
            allowance = self._allowances[counter] = _Allowance(most)
        return allowance

    def _take(self, field: Field, count: int) -> None:
        allowance = self._allowance(field.counter)
        allowance.remaining -= count
        if allowance.remaining < 0:
            where = field.counter if field.limit != ELEMENTS else f"the request with {field.name}"
            raise LimitExceeded(where, field.limit, self._most[field.limit])

    def _numbers(self, field: Field, start: int, stop: int) -> int:
        return (stop - start) // field.width if field.width else packed_length(self._data, start, stop)

    def _scan_nested(self, field: Field, start: int, stop: int, message: Descriptor, where: str) -> None:
        if field.inner is not None:
            self.message(start, stop, field.inner, "" if field.starts_paths else f"{where}.")
        elif stop - start > self._longest[field.kind] and not is_unmeasured(message):
            self._measure(field.kind, start, stop, where)

    def _measure(self, kind: FieldKind, start: int, stop: int, where: str) -> None:
        """Lengths are in characters; a text has at most as many characters as bytes."""
        length, most = len(self._data[start:stop].decode("utf-8", "replace")), self._longest[kind]
        if length > most:
            limit = "max_name_length" if kind is FieldKind.NAME else "max_text_length"
            problem = f"has {length} characters, more than {most}, the limit {limit}"
            self.violations.append(FieldViolation(where, problem))


class _Allowance:
    """Remaining number of entries of a counter."""

    __slots__ = ("_most", "remaining")

    def __init__(self, remaining: int) -> None:
        self._most = remaining
        self.remaining = remaining

    def taken(self) -> int:
        """Number of entries so far."""
        return self._most - self.remaining


class _FieldCount:
    """Fields of one message with the same tag that were scanned so far."""

    __slots__ = ("allowance", "field", "times")

    def __init__(self, field: Field | None, allowance: _Allowance) -> None:
        self.field = field
        self.allowance = allowance
        self.times = 0
