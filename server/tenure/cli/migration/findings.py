"""Findings about manifests."""

from dataclasses import dataclass
from enum import StrEnum

from tenure.cli.migration.edits import Path


class Status(StrEnum):
    """Result for an object."""

    CHANGED = "changed"
    """It had no value; one is written."""
    EXPLICIT = "explicit"
    """It has an explicit value."""
    ATTENTION = "attention"
    """It needs attention and is not changed."""
    UNCHANGED = "left-alone"
    """It sets no priority class, or its kind is excluded."""


class NeedsAttention(ValueError):
    """An object needs attention. The message has the problem and the fix."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Finding:
    """One object of a file. Lines and documents count from one; fields that do not apply are empty."""

    status: Status
    file: str
    document: int
    line: int
    kind: str
    name: str
    field: str = ""
    """Path of its preemptibility."""
    value: str = ""
    """Current value."""
    priority_classes: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: document {self.document}"
        return f"{place}, {self.kind} {self.name or '(no name)'}: {self.message}"


def dotted(path: Path) -> str:
    """A path of keys as text: `metadata.labels[kai.scheduler/preemptibility]`."""
    first, *others = path
    return first + "".join(f"[{key}]" if "/" in key else f".{key}" for key in others)
