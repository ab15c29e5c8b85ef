"""What was found out about one object."""

from dataclasses import dataclass
from enum import StrEnum

from tenure.cli.migration.edits import Path


class Status(StrEnum):
    """What becomes of an object."""

    CHANGED = "changed"
    """It said nothing until now; the value is written."""
    EXPLICIT = "explicit"
    """It says it already."""
    ATTENTION = "attention"
    """Somebody has to decide; it is not changed."""
    UNCHANGED = "left-alone"
    """It names no priority class, or is of a kind that is left alone."""


class NeedsAttention(ValueError):
    """Somebody has to decide about an object. Says what is the matter, and what to do."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Finding:
    """One object of one file. Lines and documents count from one; what does not apply is empty."""

    status: Status
    file: str
    document: int
    line: int
    kind: str
    name: str
    field: str = ""
    """Where its preemptibility stands, or is to stand."""
    value: str = ""
    """What stands there now."""
    priority_classes: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: document {self.document}"
        return f"{place}, {self.kind} {self.name or '(no name)'}: {self.message}"


def dotted(path: Path) -> str:
    """A path of keys as people write it: `metadata.labels[kai.scheduler/preemptibility]`."""
    first, *others = path
    return first + "".join(f"[{key}]" if "/" in key else f".{key}" for key in others)
