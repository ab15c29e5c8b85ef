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
from tenure.client.kubernetes.failures import (
    ApiFailure,
    Conflict,
    LedgerUnreadable,
    NotFound,
)
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.ledger.ledger import Ledger
from tenure.client.kubernetes.ledger.notes import Note
from tenure.client.kubernetes.objects.meta import ObjectMeta
from tenure.client.kubernetes.transport import Transport, while_leading
from tenure.v1.decision_pb2 import DecisionGroup
from tenure.v1.outcome_pb2 import DuePatch, StepReport
from tenure.v1.snapshot_pb2 import EvictionMemory

MOST_BYTES: Final = 1_000_000
"""Of the packed ledger; a ConfigMap holds 2^20."""
ROOM_BYTES: Final = 700_000
"""Up to which groups are added: the rest is for what becomes of their steps."""
_MOST_UNPACKED: Final = 64 * 2**20
_KEY: Final = "ledger"
_SUFFIX: Final = "-ledger"
_Kind = TypeVar("_Kind", bound=Message)
_LOG: Final = logging.getLogger(__name__)


class LedgerFull(Exception):
    """The ledger is too large to be stored. Nothing was written."""


class _Entry(msgspec.Struct, omit_defaults=True):
    group: bytes
    steps: list[bytes] = []
    tries: dict[str, int] = {}
    stored: list[bytes] = []
    is_cancelled: bool = False
    is_done: bool = False
    is_told: bool = False


class _Note(msgspec.Struct, omit_defaults=True):
    annotations: dict[str, str] = {}
    has_object: bool = True
    seen_seconds: float = 0.0


class _Document(msgspec.Struct, omit_defaults=True):
    """Messages of the contract as bytes."""

    entries: list[_Entry] = []
    memory: list[bytes] = []
    notes: dict[str, _Note] = {}


class _ConfigMap(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    binary_data: dict[str, bytes] = {}
    api_version: str = "v1"
    kind: str = "ConfigMap"


_MAPS: Final = msgspec.json.Decoder(_ConfigMap)
_DOCUMENTS: Final = msgspec.msgpack.Decoder(_Document)


class Store:
    """One ConfigMap, read once by whoever begins to lead and written by it alone."""

    def __init__(self, transport: Transport, namespace: str, lease: str, may_act: Callable[[], bool]) -> None:
        self._transport = transport
        self._may_act = may_act
        self._meta = ObjectMeta(name=f"{lease}{_SUFFIX}", namespace=namespace)
        self._collection = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps"
        self._version = ""
        """Resource version of the last copy; empty: there is none."""

    def load(self) -> Ledger:
        """The ledger as it was stored last; an empty one when there is none.

        Raises ApiFailure and LedgerUnreadable.
        """
        try:
            stored = self._read()
        except NotFound:
            self._version = ""
            return Ledger()
        self._version = stored.metadata.resource_version
        packed = stored.binary_data.get(_KEY, b"")
        try:
            return _unpacked(packed) if packed else Ledger()
        except (zlib.error, msgspec.DecodeError, DecodeError, ValueError):
            raise LedgerUnreadable(
                f"ConfigMap {self._meta.namespace}/{self._meta.name} is damaged: delete it, and groups of "
                "decisions that are under way are forgotten"
            ) from None

    def save(self, ledger: Ledger) -> None:
        """Store it. Raises ApiFailure, LedgerFull, LeaseLost; Conflict means that somebody else did since."""
        packed = _packed(ledger)
        if len(packed) > MOST_BYTES:
            raise LedgerFull
        try:
            self._write(packed)
        except ApiFailure as failure:
            if self._has_failed(packed, failure):
                raise
        ledger.is_changed = False

    def has_room(self, ledger: Ledger) -> bool:
        """Whether it can be stored now, and with what becomes of the steps in it."""
        return len(_packed(ledger)) <= ROOM_BYTES

    def _has_failed(self, packed: bytes, failure: ApiFailure) -> bool:
        """Whether a write that failed was not done, either. A conflict with nobody is tried once more."""
        try:
            stored = self._read()
        except NotFound:
            stored = _ConfigMap()
        except ApiFailure:
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
        with while_leading(self._may_act):
            return self._transport.post(self._collection, _ConfigMap(self._meta, {_KEY: packed}))

    def _replace(self, packed: bytes) -> bytes:
        meta = msgspec.structs.replace(self._meta, resource_version=self._version)
        with while_leading(self._may_act):
            return self._transport.put(
                f"{self._collection}/{self._meta.name}", _ConfigMap(meta, {_KEY: packed})
            )


def _packed(ledger: Ledger) -> bytes:
    document = _Document(
        [_entry(entry) for entry in ledger.entries.values()],
        [row.SerializeToString() for row in ledger.memory.values()],
        {
            uid: _Note(note.annotations, note.has_object, note.seen_seconds)
            for uid, note in ledger.notes.items()
        },
    )
    return zlib.compress(msgspec.msgpack.encode(document))


def _entry(entry: Entry) -> _Entry:
    return _Entry(
        entry.group.SerializeToString(),
        [step.SerializeToString() for step in entry.steps.values()],
        entry.tries,
        [due.SerializeToString() for due in entry.stored],
        entry.is_cancelled,
        entry.is_done,
        entry.is_told,
    )


def _unpacked(packed: bytes) -> Ledger:
    unpacker = zlib.decompressobj()
    document = _DOCUMENTS.decode(unpacker.decompress(packed, _MOST_UNPACKED))
    ledger = Ledger()
    ledger.add(map(_resumed, document.entries))
    rows = [_message(EvictionMemory, row) for row in document.memory]
    ledger.memory = {(row.victim, row.preemptor): row for row in rows}
    ledger.notes = {
        uid: Note(note.annotations, note.has_object, note.seen_seconds)
        for uid, note in document.notes.items()
    }
    ledger.is_changed = False
    return ledger


def _resumed(entry: _Entry) -> Entry:
    """An entry of which any step may have been taken."""
    steps = [_message(StepReport, step) for step in entry.steps]
    return Entry(
        _message(DecisionGroup, entry.group),
        {step.decision_id: step for step in steps},
        dict(entry.tries),
        [_message(DuePatch, due) for due in entry.stored],
        is_fresh=False,
        is_cancelled=entry.is_cancelled,
        is_done=entry.is_done,
        is_told=entry.is_told,
    )


def _message(kind: type[_Kind], content: Any) -> _Kind:
    message = kind()
    message.ParseFromString(content)
    return message
