"""Check audit files: that every line is followed by one with its digest, and that no number is missing."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tenure.server.audit.chain_file import AuditError
from tenure.server.audit.entry import GENESIS, digest_of

MAX_LINE_BYTES: Final = 2**16
MAX_PROBLEMS: Final = 20
"""Maximum number of problems that are described; all are counted."""


class Problem(NamedTuple):
    """A line that does not follow the line before."""

    file: str
    line: int
    """Number of the line in the file, from 1."""
    description: str


class Verification(NamedTuple):
    """Result of a check."""

    lines: int
    first_sequence: int | None
    """Number of the first line in the log; greater than 1 if earlier files were not given."""
    last_sequence: int | None
    last_digest: str
    """Digest of the last line: kept elsewhere, it shows whether lines at the end were removed."""
    lost: int
    """Entries that the server could not write, as its lines say."""
    problem_count: int
    problems: tuple[Problem, ...]
    """The first of them."""


def verify(files: Iterable[Path]) -> Verification:
    """Check files of one log, in order. Raises AuditError if one cannot be read."""
    chain = _Chain()
    for file in files:
        try:
            with file.open("rb") as content:
                for number, line in enumerate(_lines(content), start=1):
                    chain.add(str(file), number, line)
        except OSError as error:
            raise AuditError(f"{file}: cannot be read: {error.strerror}") from None
    return chain.result()


def _lines(content: Any) -> Iterator[bytes]:
    """Lines with their newlines; a longer one than any of a server is cut."""
    while line := content.readline(MAX_LINE_BYTES):
        yield line


class _Chain:
    """Lines that were read so far."""

    def __init__(self) -> None:
        self._lines = self._lost = self._problem_count = 0
        self._first: int | None = None
        self._last: int | None = None
        self._digest = GENESIS
        self._problems: list[Problem] = []

    def add(self, file: str, number: int, line: bytes) -> None:
        """Check the next line."""
        self._lines += 1
        for description in self._check(line):
            self._problem_count += 1
            if len(self._problems) < MAX_PROBLEMS:
                self._problems.append(Problem(file, number, description))
        self._digest = digest_of(line.removesuffix(b"\n"))

    def result(self) -> Verification:
        """Result of all lines."""
        return Verification(
            self._lines,
            self._first,
            self._last,
            self._digest,
            self._lost,
            self._problem_count,
            tuple(self._problems),
        )

    def _check(self, line: bytes) -> Iterator[str]:
        if not line.endswith(b"\n"):
            yield "is incomplete: the server was killed, or the file was cut"
        fields = _fields(line)
        if fields is None:
            yield "is not an audit line"
            self._last = None if self._last is None else self._last + 1
            return
        sequence, previous = fields["sequence"], fields["previous"]
        is_first, expected = self._first is None, None if self._last is None else self._last + 1
        if is_first:
            self._first = sequence
        if previous != self._digest and not (is_first and sequence > 1):
            yield "does not have the digest of the line before: that line was changed, removed or inserted"
        if expected is not None and sequence != expected:
            yield f"has the number {sequence} instead of {expected}"
        self._last = sequence
        self._lost += fields.get("lost", 0)


def _fields(line: bytes) -> dict[str, Any] | None:
    """Fields of a line; None if it is not an audit line."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    numbers = (found.get("sequence"), found.get("lost", 0))
    is_line = all(type(number) is int for number in numbers) and isinstance(found.get("previous"), str)
    return found if is_line else None
