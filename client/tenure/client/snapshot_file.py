"""Snapshots in files: JSON, YAML, text or binary protobuf, by file name extension.

JSON and YAML use proto field names (`reclaim_min_runtime`) when written, and also accept the camel case of
protobuf's JSON mapping when read. Times are RFC 3339 texts. Durations are written in seconds ("600s") and
read as in the configuration ("10m"); enum values are also read without their prefix ("RUNNING").
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

import yaml
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError
from tenure.client.document_values import with_proto_values
from tenure.client.documents import DocumentSyntaxError, find_errors, parse_json, parse_yaml
from tenure.v1.snapshot_pb2 import DESCRIPTOR, ClusterSnapshot

MAX_ERRORS: Final = 20
"""Maximum number of reported errors."""

_SNAPSHOT: Final = DESCRIPTOR.message_types_by_name["ClusterSnapshot"]
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Format(StrEnum):
    """Format of a snapshot."""

    JSON = "json"
    YAML = "yaml"
    TEXT = "text"
    BINARY = "binary"


class ContentError(ValueError):
    """Content is not a valid snapshot. `faults` are sentences, each with its line or path."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(self.errors))


def decode(content: bytes, form: Format) -> ClusterSnapshot:
    """Parse a snapshot. Raises ContentError."""
    if form is Format.BINARY:
        return _from_binary(content)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ContentError([f"not a UTF-8 text: byte {error.start} is not valid UTF-8"]) from None
    if form is Format.TEXT:
        return _from_text(text)
    return _from_document(text, parse_json if form is Format.JSON else parse_yaml)


def encode(snapshot: ClusterSnapshot, form: Format) -> bytes:
    """Serialize a snapshot; equal snapshots have equal bytes."""
    match form:
        case Format.BINARY:
            return snapshot.SerializeToString(deterministic=True)
        case Format.TEXT:
            return text_format.MessageToString(snapshot, as_utf8=True).encode()
        case Format.JSON:
            return json_format.MessageToJson(snapshot, preserving_proto_field_name=True).encode() + b"\n"
        case Format.YAML:
            document = json_format.MessageToDict(snapshot, preserving_proto_field_name=True)
            return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True).encode()


def _from_binary(content: bytes) -> ClusterSnapshot:
    try:
        return ClusterSnapshot.FromString(content)
    except DecodeError:
        raise ContentError([f"is not a binary {_SNAPSHOT.full_name}"]) from None


def _from_text(text: str) -> ClusterSnapshot:
    try:
        return text_format.Parse(text, ClusterSnapshot())
    except text_format.ParseError as error:
        place = f"line {error.GetLine()}, column {error.GetColumn()}: "
        raise ContentError([place + str(error).partition(" : ")[2]]) from None


def _from_document(text: str, parse: Callable[[str], object]) -> ClusterSnapshot:
    try:
        document = parse(text)
    except DocumentSyntaxError as fault:
        raise ContentError([str(fault)]) from None
    try:
        if not isinstance(document, dict):
            raise json_format.ParseError("must be a mapping from fields to values")
        document = with_proto_values(document, _SNAPSHOT)
        return json_format.ParseDict(document, ClusterSnapshot())
    except json_format.ParseError as error:
        faults = islice(find_errors(document, _SNAPSHOT), MAX_ERRORS)
        raise ContentError(list(faults) or [str(error)]) from None


_LONGEST_PART: Final = 250
"""Characters at the beginning and at the end of a long error."""
STANDARD_STREAM: Final = "-"
"""Name of standard input when reading, and of standard output when writing."""

ENDINGS: Final[Mapping[str, Format]] = {
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".txtpb": Format.TEXT,
    ".textproto": Format.TEXT,
    ".binpb": Format.BINARY,
    ".pb": Format.BINARY,
}
"""Formats by file name extension."""


class SnapshotFileError(ValueError):
    """A file cannot be read or written as a snapshot. The message has the file and every error."""

    def __init__(self, file: str, errors: Iterable[str]) -> None:
        super().__init__("\n".join(f"{file}: {_shortened(fault)}" for fault in errors))


def _shortened(fault: str) -> str:
    """An error without the middle of a very long value that it quotes."""
    if len(fault) <= 2 * _LONGEST_PART:
        return fault
    return f"{fault[:_LONGEST_PART]}...{fault[-_LONGEST_PART:]}"


def read_snapshot(file: str, form: Format | None = None) -> ClusterSnapshot:
    """Read a snapshot from a file, or from standard input for "-", which requires a format.

    Raises SnapshotFileError with line and column of a syntax error, or the paths of unknown and invalid
    fields.
    """
    form = form or format_of(file)
    try:
        content = sys.stdin.buffer.read() if file == STANDARD_STREAM else Path(file).read_bytes()
        return decode(content, form)
    except OSError as error:
        raise SnapshotFileError(file, [f"cannot be read: {error.strerror}"]) from None
    except ContentError as error:
        raise SnapshotFileError(file, error.errors) from None


def write_snapshot(snapshot: ClusterSnapshot, file: str, form: Format | None = None) -> None:
    """Write a snapshot to a file, or to standard output for "-", which requires a format.

    Raises SnapshotFileError if the file cannot be written.
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
    """Format by file name extension. Raises SnapshotFileError for an unknown one."""
    form = ENDINGS.get(Path(file).suffix.lower())
    if form is None:
        hint = f"set the format, or use a name that ends in {', '.join(ENDINGS)}"
        raise SnapshotFileError(file, [f"cannot infer the format from the file name; {hint}"])
    return form
