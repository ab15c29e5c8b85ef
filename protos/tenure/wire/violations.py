"""Field violations of a snapshot.

Messages quote names from requests. Control characters are escaped, so that a name cannot move a cursor or
break a line.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tenure.terms.cancellation import Pace, no_check


def escape_control_characters(sentence: str) -> str:
    """Escape everything that is not printable, such as newlines and escape sequences."""
    if sentence.isprintable():
        return sentence
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in sentence)


def printable_lines(text: str) -> str:
    """Escape everything that is not printable, except for newlines."""
    return "\n".join(map(escape_control_characters, text.split("\n")))


class FieldViolation(NamedTuple):
    """One invalid field: its path in the snapshot ("queues[12].parent") and what to fix."""

    field: str
    description: str

    def __str__(self) -> str:
        return f"{self.field}: {self.description}"


class SnapshotValidationError(ValueError):
    """The request is invalid; nothing was decided. `violations` has all violations, in message order."""

    def __init__(self, violations: Iterable[FieldViolation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n".join(map(str, self.violations)))


class ViolationCollector:
    """Collects violations of one list of a snapshot."""

    def __init__(self, list_name: str, check: Callable[[], None] = no_check) -> None:
        """`check` raises when the call has ended."""
        self._list = list_name
        self._pace = Pace(check)
        self._found: list[tuple[int, FieldViolation]] = []

    def step(self) -> None:
        """To be called for every row and every entry of a row, so that no call outlives its caller."""
        self._pace.step()

    def add(self, index: int, field: str, problem: str) -> None:
        """Add a violation of a field of the element at `index`."""
        self._found.append((index, FieldViolation(f"{self._list}[{index}].{field}", problem)))

    def add_to_list(self, field: str, problem: str) -> None:
        """Add a violation of the list as a whole, which is reported before those of its elements."""
        self._found.append((-1, FieldViolation(f"{self._list}.{field}", problem)))

    def __bool__(self) -> bool:
        """Whether there are any violations."""
        return bool(self._found)

    def violations(self) -> list[FieldViolation]:
        """All violations by element; within an element, in the order of `add`."""
        return [violation for _, violation in sorted(self._found, key=lambda found: found[0])]


def quote_name(text: str) -> str:
    """Quote a name from a request: escaped, and truncated if it is very long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
