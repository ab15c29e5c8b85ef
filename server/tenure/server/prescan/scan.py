"""Goes through the bytes of a request: counts rows and entries, and measures texts.

A message of 16 MB may be eight million empty rows, and parsed be fifty times as large. So it is gone through
field by field first, by the plan of its message, which builds nothing and ends at the first limit exceeded.

Honest rows are many and small. Inside a row no larger than the longest name no text can be too long, and
entries are counted only when there may be too many of them altogether.
"""

import sys
from collections.abc import Mapping
from typing import Final, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot
from tenure.server.prescan.exceeded import LimitExceeded
from tenure.server.prescan.plan import ELEMENTS, Field, Kind, is_unmeasured, plan_of
from tenure.server.prescan.wire import BYTES, malformed, packed_length, skipped, varint
from tenure.server.settings import ServerLimits

_NUMBERS: Final = Kind.NUMBERS
_SHORT: Final = 8
_SHORT_LENGTHS: Final = bytes(range(_SHORT))


def check_request(request: bytes, kind: type[Message], limits: ServerLimits) -> None:
    """Look through the bytes of a message of the contract.

    Raises LimitExceeded for too many rows, InvalidSnapshot for every text that is too long (paths are those
    within the snapshot, if it is part of one), and DecodeError for what the parser would not accept either.
    """
    scan = _Scan(request, limits)
    try:
        scan.message(0, len(request), cast(Descriptor, kind.DESCRIPTOR), "")
    except IndexError:
        raise malformed() from None
    if scan.violations:
        raise InvalidSnapshot(scan.violations)


class _Scan:
    def __init__(self, data: bytes, limits: ServerLimits) -> None:
        self.violations: list[FieldViolation] = []
        self._data = data
        self._most: Mapping[str, int] = limits.max_rows.model_dump()
        self._left = _Left(self._most)
        self._longest = {Kind.NAME: limits.max_name_length, Kind.TEXT: limits.max_text_length}
        self._small = -1 if self._may_have_too_many_elements() else min(self._longest.values())

    def _may_have_too_many_elements(self) -> bool:
        """Whether more entries fit in than are accepted.

        Every entry has its length before it: there are no more short ones than bytes of such a value, and
        each longer one takes that many bytes and its tag and length.
        """
        short = sum(map(self._data.count, _SHORT_LENGTHS))
        return short + len(self._data) // (_SHORT + 2) > self._most[ELEMENTS]

    def message(self, at: int, end: int, message: Descriptor, path: str) -> None:
        """The fields from one position to another. Millions of them: what is often done is done in place."""
        data, plan, left, small = self._data, plan_of(message), self._left, self._small
        indices: dict[int, int] = {}
        while at < end:
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = varint(data, at - 1)
            if tag & 7 != BYTES:
                at = skipped(data, at, tag & 7)
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
            field = plan.get(tag)
            if field is None:
                continue
            if field.kind is _NUMBERS:
                self._take(field, self._numbers(field, start, at))
                continue
            left[field.counter] -= 1
            if left[field.counter] < 0:
                self._take(field, 0)
            indices[tag] = indices.get(tag, -1) + 1
            if length > small or field.leads_on:
                where = f"{path}{field.name}[{indices[tag]}]" if field.is_list else f"{path}{field.name}"
                self._look_into(field, start, at, message, where)

    def _take(self, field: Field, count: int) -> None:
        self._left[field.counter] -= count
        if self._left[field.counter] < 0:
            where = field.counter if field.limit != ELEMENTS else f"the request with {field.name}"
            raise LimitExceeded(where, field.limit, self._most[field.limit])

    def _numbers(self, field: Field, start: int, stop: int) -> int:
        return (stop - start) // field.width if field.width else packed_length(self._data, start, stop)

    def _look_into(self, field: Field, start: int, stop: int, message: Descriptor, where: str) -> None:
        if field.inner is not None:
            self.message(start, stop, field.inner, "" if field.starts_paths else f"{where}.")
        elif stop - start > self._longest[field.kind] and not is_unmeasured(message):
            self._measure(field.kind, start, stop, where)

    def _measure(self, kind: Kind, start: int, stop: int, where: str) -> None:
        """Lengths are in characters, of which there are no more than bytes."""
        length, most = len(self._data[start:stop].decode("utf-8", "replace")), self._longest[kind]
        if length > most:
            limit = "max_name_length" if kind is Kind.NAME else "max_text_length"
            problem = f"has {length} characters, more than {most}, the limit {limit}"
            self.violations.append(FieldViolation(where, problem))


class _Left(dict[str, int]):
    """How many more of everything are accepted, by counter."""

    def __init__(self, most: Mapping[str, int]) -> None:
        super().__init__(most)
        self._pods = most["pods"]

    def __missing__(self, counter: str) -> int:
        return self._pods if counter else sys.maxsize
