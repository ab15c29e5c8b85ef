"""What is wrong with a snapshot: every violating field by its path.

Sentences for people that quote names of the caller's: nothing in them moves a cursor or breaks a line.
"""

from collections.abc import Iterable
from typing import NamedTuple


def escape_control_characters(sentence: str) -> str:
    """The sentence with everything escaped that cannot be printed, such as newlines and escape sequences."""
    if sentence.isprintable():
        return sentence
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in sentence)


class FieldViolation(NamedTuple):
    """One violating field: its path in the snapshot ("queues[12].parent") and what to mend."""

    field: str
    description: str

    def __str__(self) -> str:
        return f"{self.field}: {self.description}"


class SnapshotValidationError(ValueError):
    """The question is malformed; nothing was decided. `violations` are all there are, in message order."""

    def __init__(self, violations: Iterable[FieldViolation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(map(str, self.violations)))


class ViolationCollector:
    """Collects what is wrong with one list of the snapshot, element by element."""

    def __init__(self, list_name: str) -> None:
        self._list = list_name
        self._found: list[tuple[int, FieldViolation]] = []

    def add(self, index: int, field: str, problem: str) -> None:
        """Note that a field of the element at `index` violates the contract."""
        self._found.append((index, FieldViolation(f"{self._list}[{index}].{field}", problem)))

    def add_to_list(self, field: str, problem: str) -> None:
        """Note that a field of the list as a whole violates the contract; it comes before its elements."""
        self._found.append((-1, FieldViolation(f"{self._list}.{field}", problem)))

    def __bool__(self) -> bool:
        """Whether anything is wrong."""
        return bool(self._found)

    def violations(self) -> list[FieldViolation]:
        """All of them by element; within an element as they were added."""
        return [violation for _, violation in sorted(self._found, key=lambda found: found[0])]


def quote_name(text: str) -> str:
    """A name of the caller's in quotes, for a message: escaped, and cut when it is very long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
