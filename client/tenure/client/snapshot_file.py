"""Snapshots in files: JSON, YAML, text or binary protobuf, by the ending of the file's name.

JSON and YAML use the field names of the contract (`reclaim_min_runtime`) when written, and accept the camel
case of protobuf's JSON mapping as well when read. Times are RFC 3339 texts, durations seconds ("600s").
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tenure.client.formats import ContentError, Format, decode, encode
from tenure.v1.snapshot_pb2 import ClusterSnapshot

STANDARD_STREAM: Final = "-"
"""The name that stands for standard input when reading, and for standard output when writing."""

ENDINGS: Final[Mapping[str, Format]] = {
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".txtpb": Format.TEXT,
    ".textproto": Format.TEXT,
    ".binpb": Format.BINARY,
    ".pb": Format.BINARY,
}
"""Formats by the ending of a file's name."""


class SnapshotFileError(ValueError):
    """A file cannot be read or written as a snapshot. Names the file and every fault found."""

    def __init__(self, file: str, faults: Iterable[str]) -> None:
        super().__init__("\n".join(f"{file}: {fault}" for fault in faults))


def read_snapshot(file: str, form: Format | None = None) -> ClusterSnapshot:
    """The snapshot in a file, or in standard input for "-", which needs a format.

    Raises SnapshotFileError with line and column of a syntax error, or the paths of the fields that are
    unknown or have a wrong value.
    """
    form = form or format_of(file)
    try:
        content = sys.stdin.buffer.read() if file == STANDARD_STREAM else Path(file).read_bytes()
        return decode(content, form)
    except OSError as error:
        raise SnapshotFileError(file, [f"cannot be read: {error.strerror}"]) from None
    except ContentError as error:
        raise SnapshotFileError(file, error.faults) from None


def write_snapshot(snapshot: ClusterSnapshot, file: str, form: Format | None = None) -> None:
    """Write a snapshot to a file, or to standard output for "-", which needs a format.

    Raises SnapshotFileError when the file cannot be written.
    """
    content = encode(snapshot, form or format_of(file))
    if file == STANDARD_STREAM:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(file).write_bytes(content)
    except OSError as error:
        raise SnapshotFileError(file, [f"cannot be written: {error.strerror}"]) from None


def format_of(file: str) -> Format:
    """The format that the ending of a file's name stands for. Raises SnapshotFileError for any other."""
    form = ENDINGS.get(Path(file).suffix.lower())
    if form is None:
        hint = f"say the format, or use a name that ends in {', '.join(ENDINGS)}"
        raise SnapshotFileError(file, [f"the name does not tell the format: {hint}"])
    return form
