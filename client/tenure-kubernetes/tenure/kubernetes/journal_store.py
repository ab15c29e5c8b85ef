"""The copy of the ledger that survives the adapter: one ConfigMap for each node pool.

It is written before the first call of a round that changes the cluster, so at any moment it names every
group of which anything may have been sent. Who starts with it supposes that every step may have been taken,
and looks before it takes one. It is replaced by resource version: whoever holds an older copy gets a
conflict, and must not go on with what it knows. If somebody deletes it, it is created anew, with all that is
known.
"""

import logging
import zlib
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
from google.protobuf.message import DecodeError, Message
from tenure.integration.journal_entry import EntryState, JournalEntry
from tenure.kubernetes.api.api_errors import ApiError, Conflict, JournalUnreadable, NotFound
from tenure.kubernetes.api.transport import Transport, require_leadership
from tenure.kubernetes.journal import Journal
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.pending_annotations import PendingAnnotations
from tenure.v1.decision_pb2 import DecisionGroup
from tenure.v1.report_pb2 import DecisionResult, PatchToStore
from tenure.v1.snapshot_pb2 import EvictionRecord

MAX_BYTES: Final = 1_000_000
"""Of the packed ledger; a ConfigMap holds 2^20."""
MAX_NEW_BYTES: Final = 700_000
"""Up to which groups are added: the rest is for what becomes of their steps."""
_MAX_UNPACKED: Final = 64 * 2**20
_KEY: Final = "journal"
_SUFFIX: Final = "-journal"
_Kind = TypeVar("_Kind", bound=Message)
_LOG: Final = logging.getLogger(__name__)


class JournalFull(Exception):
    """The ledger is too large to be stored. Nothing was written."""


class _Entry(msgspec.Struct, omit_defaults=True):
    group: bytes
    state: EntryState
    results: list[bytes] = []
    attempts: dict[str, int] = {}
    stored_patches: list[bytes] = []


class _PendingAnnotations(msgspec.Struct, omit_defaults=True):
    annotations: dict[str, str] = {}
    has_object: bool = True
    last_seen_seconds: float = 0.0


class _Document(msgspec.Struct, omit_defaults=True):
    """Messages of the contract as bytes."""

    entries: list[_Entry] = []
    eviction_history: list[bytes] = []
    pending_annotations: dict[str, _PendingAnnotations] = {}


class _ConfigMap(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    binary_data: dict[str, bytes] = {}
    api_version: str = "v1"
    kind: str = "ConfigMap"


_MAPS: Final = msgspec.json.Decoder(_ConfigMap)
_DOCUMENTS: Final = msgspec.msgpack.Decoder(_Document)


class JournalStore:
    """One ConfigMap, read once by whoever begins to lead and written by it alone."""

    def __init__(self, transport: Transport, namespace: str, lease: str, may_act: Callable[[], bool]) -> None:
        self._transport = transport
        self._is_leader = may_act
        self._meta = ObjectMeta(name=f"{lease}{_SUFFIX}", namespace=namespace)
        self._collection = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps"
        self._version = ""
        """Resource version of the last copy; empty: there is none."""

    def load(self) -> Journal:
        """The ledger as it was stored last; an empty one when there is none.

        Raises ApiError and JournalUnreadable.
        """
        try:
            stored = self._read()
        except NotFound:
            self._version = ""
            return Journal()
        self._version = stored.metadata.resource_version
        packed = stored.binary_data.get(_KEY, b"")
        try:
            return _unpacked(packed) if packed else Journal()
        except (zlib.error, msgspec.DecodeError, DecodeError, ValueError):
            raise JournalUnreadable(
                f"ConfigMap {self._meta.namespace}/{self._meta.name} is damaged: delete it, and groups of "
                "decisions that are under way are forgotten"
            ) from None

    def save(self, journal: Journal) -> None:
        """Store it. Raises ApiError, JournalFull, LeaseLost; Conflict means that somebody else did since."""
        packed = _packed(journal)
        if len(packed) > MAX_BYTES:
            raise JournalFull
        try:
            self._write(packed)
        except ApiError as failure:
            if self._has_failed(packed, failure):
                raise
        journal.is_changed = False

    def fits(self, journal: Journal) -> bool:
        """Whether it can be stored now, and with what becomes of the steps in it."""
        return len(_packed(journal)) <= MAX_NEW_BYTES

    def _has_failed(self, packed: bytes, failure: ApiError) -> bool:
        """Whether a write that failed was not done, either. A conflict with nobody is tried once more."""
        try:
            stored = self._read()
        except NotFound:
            stored = _ConfigMap()
        except ApiError:
            return True
        if stored.binary_data.get(_KEY) == packed:
            self._version = stored.metadata.resource_version
            return False
        if isinstance(failure, Conflict) and stored.metadata.resource_version == self._version:
            self._write(packed)
            return False
        return True

    def _read(self) -> _ConfigMap:
        return _MAPS.decode(self._transport.get(f"{self._collection}/{self._meta.name}"))

    def _write(self, packed: bytes) -> None:
        try:
            answer = self._replace(packed) if self._version else self._create(packed)
        except NotFound:
            if not self._version:
                raise
            _LOG.warning("ConfigMap %s/%s was deleted: created anew", self._meta.namespace, self._meta.name)
            self._version = ""
            answer = self._create(packed)
        self._version = _MAPS.decode(answer).metadata.resource_version

    def _create(self, packed: bytes) -> bytes:
        with require_leadership(self._is_leader):
            return self._transport.post(self._collection, _ConfigMap(self._meta, {_KEY: packed}))

    def _replace(self, packed: bytes) -> bytes:
        meta = msgspec.structs.replace(self._meta, resource_version=self._version)
        with require_leadership(self._is_leader):
            return self._transport.put(
                f"{self._collection}/{self._meta.name}", _ConfigMap(meta, {_KEY: packed})
            )


def _packed(journal: Journal) -> bytes:
    document = _Document(
        [_entry(entry) for entry in journal.entries.values()],
        [row.SerializeToString() for row in journal.eviction_history.values()],
        {
            uid: _PendingAnnotations(note.annotations, note.has_object, note.last_seen_seconds)
            for uid, note in journal.pending_annotations.items()
        },
    )
    return zlib.compress(msgspec.msgpack.encode(document))


def _entry(entry: JournalEntry) -> _Entry:
    return _Entry(
        entry.group.SerializeToString(),
        entry.state,
        [step.SerializeToString() for step in entry.results.values()],
        entry.attempts,
        [due.SerializeToString() for due in entry.stored_patches],
    )


def _unpacked(packed: bytes) -> Journal:
    unpacker = zlib.decompressobj()
    document = _DOCUMENTS.decode(unpacker.decompress(packed, _MAX_UNPACKED))
    ledger = Journal()
    ledger.add(map(_to_entry, document.entries))
    rows = [_message(EvictionRecord, row) for row in document.eviction_history]
    ledger.eviction_history = {(row.victim, row.preemptor): row for row in rows}
    ledger.pending_annotations = {
        uid: PendingAnnotations(note.annotations, note.has_object, note.last_seen_seconds)
        for uid, note in document.pending_annotations.items()
    }
    ledger.is_changed = False
    return ledger


def _to_entry(entry: _Entry) -> JournalEntry:
    """An entry of which any decision may have been sent, even if it was accepted only."""
    was_accepted = entry.state is EntryState.ACCEPTED
    steps = [_message(DecisionResult, step) for step in entry.results]
    return JournalEntry(
        _message(DecisionGroup, entry.group),
        {step.decision_id: step for step in steps},
        dict(entry.attempts),
        [_message(PatchToStore, due) for due in entry.stored_patches],
        EntryState.UNREPORTED if was_accepted else entry.state,
    )


def _message(kind: type[_Kind], content: Any) -> _Kind:
    message = kind()
    message.ParseFromString(content)
    return message
