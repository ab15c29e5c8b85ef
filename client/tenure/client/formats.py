"""The four ways to write a snapshot down, as bytes: JSON, YAML, text and binary protobuf."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import islice
from typing import Final

import yaml
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError
from tenure.client.documents import SyntaxFault, parse_json, parse_yaml
from tenure.client.faults import find_faults
from tenure.v1.snapshot_pb2 import DESCRIPTOR, ClusterSnapshot

MAX_FAULTS: Final = 20
"""Most faults of one content that are named."""

_SNAPSHOT: Final = DESCRIPTOR.message_types_by_name["ClusterSnapshot"]
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Format(StrEnum):
    """How a snapshot is written down."""

    JSON = "json"
    YAML = "yaml"
    TEXT = "text"
    BINARY = "binary"


class ContentError(ValueError):
    """A content is no snapshot. `faults` are sentences, each with its line or its path."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


def decode(content: bytes, form: Format) -> ClusterSnapshot:
    """The snapshot in a content. Raises ContentError."""
    if form is Format.BINARY:
        return _from_binary(content)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ContentError([f"is not UTF-8 text: byte {error.start} is no part of a character"]) from None
    if form is Format.TEXT:
        return _from_text(text)
    return _from_document(text, parse_json if form is Format.JSON else parse_yaml)


def encode(snapshot: ClusterSnapshot, form: Format) -> bytes:
    """The content that stands for a snapshot; equal snapshots give equal bytes."""
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
    except SyntaxFault as fault:
        raise ContentError([str(fault)]) from None
    try:
        if not isinstance(document, dict):
            raise json_format.ParseError("must be a mapping from fields to values")
        return json_format.ParseDict(document, ClusterSnapshot())
    except json_format.ParseError as error:
        faults = islice(find_faults(document, _SNAPSHOT), MAX_FAULTS)
        raise ContentError(list(faults) or [str(error)]) from None
