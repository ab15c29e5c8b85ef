"""The stored form of the journal.

A header in JSON, an empty byte, and messages of the contract with their lengths, all compressed. The header
has what no message contains, and the number of messages of each kind, in the order of the messages. A reader
skips messages of a kind that it does not know.
"""

import json
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final, TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message
from google.protobuf.proto import parse_length_prefixed, serialize_length_prefixed
from pydantic.alias_generators import to_camel
from tenure.integration.journal import Journal, PendingPatches
from tenure.integration.journal_entry import EntryState, JournalEntry
from tenure.integration.ports import JournalStore, JournalUnreadable
from tenure.v1.decision_pb2 import Patch
from tenure.v1.report_pb2 import GroupReport, PatchToStore
from tenure.wire.carried import STORED, CarriedKind

FORMAT: Final = 1
"""Number of the stored form. A header without a number has form 1."""
_MAX_UNPACKED_BYTES: Final = 64 * 2**20
_END_OF_HEADER: Final = b"\0"
_NOT_CARRIED: Final = ("format", "entries", "pendingPatches")
_CARRIED: Final = {to_camel(kind.name): kind for kind in STORED}
"""Kinds of carried rows, by their name in the header."""
_Kind = TypeVar("_Kind", bound=Message)


def pack_journal(journal: Journal) -> bytes:
    """The stored form of a journal. The same journal has the same bytes."""
    entries, pending = journal.entries.values(), journal.pending_patches
    header = {
        "format": FORMAT,
        "entries": [
            {"state": entry.state.value, "attempts": entry.attempts, "patches": len(entry.stored_patches)}
            for entry in entries
        ],
        **{key: len(journal.carried[kind.name]) for key, kind in _CARRIED.items()},
        "pendingPatches": {
            uid: {"lastSeen": one.last_seen_seconds, "patches": len(one.patches)}
            for uid, one in pending.items()
        },
    }
    content = BytesIO()
    content.write(json.dumps(header, separators=(",", ":")).encode() + _END_OF_HEADER)
    for message in _messages(journal):
        serialize_length_prefixed(message, content)
    return zlib.compress(content.getbuffer())


def load_journal(store: JournalStore) -> Journal:
    """The stored journal. Raises ClusterError and JournalUnreadable."""
    return unpack_journal(store.load(), store.name)


def unpack_journal(content: bytes, name: str) -> Journal:
    """The journal of a stored form; an empty one for b"". Raises JournalUnreadable with the store's name."""
    if not content:
        return Journal()
    try:
        header, messages = _split(content)
        if (form := header.get("format", 1)) > FORMAT:
            text = f"{name} was written by a newer version of Tenure (format {form}, supported: {FORMAT})"
            way_out = "install that version again, or delete it to continue (in-flight groups are lost)"
            raise JournalUnreadable(f"{text}; {way_out}")
        return _unpack(header, messages)
    except (zlib.error, DecodeError, ValueError, KeyError, TypeError, AttributeError):
        text = f"{name} is corrupt; delete it to continue (in-flight groups are lost)"
        raise JournalUnreadable(text) from None


def _messages(journal: Journal) -> Iterator[Message]:
    for entry in journal.entries.values():
        yield entry.report()
        yield from entry.stored_patches
    for kind in STORED:
        yield from journal.carried[kind.name].values()
    for pending in journal.pending_patches.values():
        yield from pending.patches.values()


def _split(content: bytes) -> tuple[dict[str, Any], BytesIO]:
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(content, _MAX_UNPACKED_BYTES)
    if not unpacker.eof:
        raise ValueError("the content is cut off or too long")
    text, _, messages = unpacked.partition(_END_OF_HEADER)
    return json.loads(text), BytesIO(messages)


def _unpack(header: dict[str, Any], stream: BytesIO) -> Journal:
    journal = Journal()
    journal.add([_entry(row, stream) for row in header["entries"]])
    for key, count in header.items():
        if key not in _NOT_CARRIED:
            _read_rows(journal, _CARRIED.get(key), count, stream)
    for uid, row in header["pendingPatches"].items():
        pending = journal.pending_patches[uid] = PendingPatches(last_seen_seconds=row["lastSeen"])
        for _ in range(row["patches"]):
            pending.add(_next(Patch, stream))
    journal.is_changed = False
    return journal


def _read_rows(journal: Journal, kind: CarriedKind | None, count: int, stream: BytesIO) -> None:
    """Add rows of a kind to the journal. None: skip them."""
    for _ in range(count):
        row = _next(Empty if kind is None else kind.message, stream)
        if kind is not None:
            journal.carried[kind.name][kind.key(row)] = row


def _entry(row: dict[str, Any], stream: BytesIO) -> JournalEntry:
    """The entry after a restart: a predecessor may have sent decisions, even of an accepted group."""
    report, state = _next(GroupReport, stream), EntryState(row["state"])
    return JournalEntry(
        report.group,
        {result.decision_id: result for result in report.results},
        dict(row["attempts"]),
        [_next(PatchToStore, stream) for _ in range(row["patches"])],
        EntryState.UNREPORTED if state is EntryState.ACCEPTED else state,
    )


def _next(kind: type[_Kind], stream: BytesIO) -> _Kind:
    message = parse_length_prefixed(kind, stream)
    if message is None:
        raise ValueError("a message is missing")
    return message
