"""A new kind of rows that callers carry takes six files: three protos, the schema, its codec and its class.

docs/internals/state.md shows the same edits.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import Message
from tenure.v1 import decide_pb2, snapshot_pb2, state_pb2
from tenure.wire.carried import STORED, CarriedKind

from tests.small_snapshot import child_environment

_ROOT: Final = Path(__file__).parents[2]
_NUMBER: Final = 900
_TEXT, _INTEGER = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_INT64
_MESSAGE: Final = FieldDescriptorProto.TYPE_MESSAGE
_ONE, _MANY = FieldDescriptorProto.LABEL_OPTIONAL, FieldDescriptorProto.LABEL_REPEATED

MAX_FILES: Final = 6
"""Product files of a kind, without what is generated."""
ALIKE: Final = (
    *("protos/tenure/wire/carried.py", "protos/tenure/wire/deltas.py", "protos/tenure/wire/row_limits.py"),
    *("client/tenure/integration/*.py", "server/tenure/codec/*code.py", "server/tenure/server/state/*.py"),
    *("server/tenure/server/settings/*.py", "server/tenure/simulator/*.py", "server/tenure/solver/*.py"),
    *("server/tenure/solver/model/cluster.py", "server/tenure/solver/testing/*.py"),
)
"""Modules that treat all kinds alike."""

SCHEMA_ROW: Final = """
    Row(
        pb.QueueNote,
        (name("queue", _K.QUEUE), *values("cycles")),
        key=("queue",),
        max_rows=5,
        carried=Carried(set_by="set_queue_note", deleted_by="delete_queue_note"),
    ),
"""
MODEL: Final = """
from operator import attrgetter
from typing import Final, NamedTuple
from tenure.solver.model.carried import RowKind


class QueueNote(NamedTuple):
    queue: str
    cycles: int


QUEUE_NOTES: Final[RowKind[QueueNote]] = RowKind("queue_notes", attrgetter("queue"))
"""
CODEC_ROW: Final = """
    RowCodec(
        QUEUE_NOTES,
        lambda rows, known, found: tuple(
            sorted(QueueNote(row.queue, amount(row.cycles, found, i, "cycles")) for i, row in enumerate(rows))
        ),
        lambda cluster, rows: [pb.QueueNote(queue=row.queue, cycles=row.cycles) for row in rows],
    ),
"""
CODEC_IMPORTS: Final = """
from tenure.codec.checks import amount
from tenure.solver.model.queue_note import QUEUE_NOTES, QueueNote
from tenure.v1 import snapshot_pb2 as pb
"""

CARRY: Final = """
import json, sys
from dataclasses import replace
from pathlib import Path
made = Path(sys.argv[1])
import tenure.v1, tenure.wire, tenure.solver.model
for package in (tenure.v1, tenure.wire, tenure.solver.model):
    package.__path__.insert(0, str(made / package.__name__.rpartition(".")[2]))
import tenure.codec.carried
tenure.codec.carried.__path__.insert(0, str(made / "carried"))

from tenure.codec.decode import decode, decode_snapshot
from tenure.codec.encode import encode_response
from tenure.codec.engine import build_header
from tenure.codec.incremental_decode import decode_change
from tenure.integration.fake_scheduler import FakeScheduler
from tenure.integration.journal import Journal
from tenure.integration.journal_format import pack_journal, unpack_journal
from tenure.integration.journal_rows import JournalRows
from tenure.server.settings.server import MaxRows
from tenure.simulator.state_rows import StateRows
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.carried import CarriedChange
from tenure.solver.model.queue_note import QUEUE_NOTES, QueueNote
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideResponse, StatePatch
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.deltas import apply_deltas
from tests.small_snapshot import small_snapshot

found = {}

def notes(snapshot):
    return {row.queue: row.cycles for row in snapshot.queue_notes}

journal = Journal()
first = [{"queue": "left", "cycles": 1}, {"queue": "right", "cycles": 4}]
patches = [StatePatch(set_queue_note=row) for row in first]
journal.store_state(DecideResponse(state_patches=patches), is_accepted=False)
journal = unpack_journal(pack_journal(journal), "test")
rows = JournalRows(journal, FakeScheduler(ClusterSnapshot()))
snapshot = small_snapshot()
rows.complete(snapshot)
found["snapshot"] = notes(snapshot)

before = decode(snapshot)
found["cluster"] = {note.queue: note.cycles for note in before.cluster.carried.rows(QUEUE_NOTES)}
changes = CarriedChange(QUEUE_NOTES, (QueueNote("left", 2),), ("right",))
result = replace(answer(before.cluster, default_profile()), carried=(changes,))
response = encode_response(before.cluster, result, build_header(snapshot, "")).parse()
found["patches"] = [patch.WhichOneof("change") for patch in response.state_patches]

journal.store_state(response, is_accepted=False)
rows.extend(delta := StateDelta(version=8, now=snapshot.now))
found["upserts"], found["removals"] = notes(delta.upserts), list(delta.removals.queue_notes)
after = decode_change(before, snapshot, delta.upserts, delta.removals, before.cluster.now)
whole = decode_snapshot(apply_deltas(snapshot, delta))
found["equal"] = after.cluster.carried == whole.carried == before.cluster.carried.after([changes])

simulated = StateRows(small_snapshot())
for patch in (*patches, *response.state_patches):
    simulated.apply(patch)
found["simulated"] = notes(simulated.snapshot(5))
found["limit"] = MaxRows().of("queue_notes")
print(json.dumps(found))
"""
"""Script that carries rows of the new kind through all parts, with the edited modules."""


@pytest.mark.interpreted
def test_new_kind_is_carried_from_a_response_to_the_next_cycle(tmp_path: Path) -> None:
    edited = (
        _edit_protos(tmp_path / "v1"),
        _edit(tmp_path / "wire", "protos/tenure/wire/schema.py", "ROWS: Final = (\n", SCHEMA_ROW),
        _edit(
            *(tmp_path / "carried", "server/tenure/codec/carried/kinds.py", "CODECS: Final = (\n", CODEC_ROW),
            CODEC_IMPORTS,
        ),
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "queue_note.py").write_text(MODEL)
    assert sum(edited) + 1 == MAX_FILES
    command = [sys.executable, "-c", CARRY, str(tmp_path)]
    run = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert json.loads(run.stdout) == {
        "snapshot": {"left": 1, "right": 4},
        "cluster": {"left": 1, "right": 4},
        "patches": ["set_queue_note", "delete_queue_note"],
        "upserts": {"left": 2},
        "removals": ["right"],
        "equal": True,
        "simulated": {"left": 2},
        "limit": 5,
    }


@pytest.mark.parametrize("kind", [kind for kind in STORED if kind.rules.set_by], ids=lambda kind: kind.name)
def test_modules_that_treat_all_kinds_alike_name_none(kind: CarriedKind) -> None:
    word = re.compile(rf"\b{kind.message.__name__}\b")
    files = [file for pattern in ALIKE for file in _ROOT.glob(pattern)]
    assert [str(file.relative_to(_ROOT)) for file in files if word.search(file.read_text())] == []


@pytest.mark.parametrize("message", [snapshot_pb2.QueueUsage, snapshot_pb2.EvictionRateState])
def test_few_product_files_name_the_rows_of_a_kind(message: type[Message]) -> None:
    """Reservations, in-flight groups and eviction records have features of their own."""
    word, folders = re.compile(rf"\b{message.__name__}\b"), ("protos", "server", "client")
    files = [file for name in folders for ext in ("py", "proto") for file in (_ROOT / name).rglob(f"*.{ext}")]
    named = [file for file in files if not file.stem.endswith("_pb2") and word.search(file.read_text())]
    assert len(named) <= MAX_FILES, named


def _edit(folder: Path, path: str, table: str, row: str, imports: str = "") -> int:
    """Write a module with a row more at the beginning of a table."""
    source = _ROOT / path
    before, found, after = source.read_text().partition(table)
    assert found
    folder.mkdir()
    before = before.replace("\nfrom collections.abc", f"{imports}\nfrom collections.abc", 1)
    if path.endswith("schema.py"):
        after = after.replace(
            '"eviction_rates", "queue_usage"', '"queue_notes", "eviction_rates", "queue_usage"'
        )
    (folder / source.name).write_text(f"{before}{found}{row}{after}")
    return 1


def _edit_protos(folder: Path) -> int:
    """Write the message classes of the contract with another list, as protoc does."""
    folder.mkdir()
    snapshot, state, decide = (_copy(each.DESCRIPTOR) for each in (snapshot_pb2, state_pb2, decide_pb2))
    note = snapshot.message_type.add(name="QueueNote")
    note.field.add(name="queue", number=1, type=_TEXT, label=_ONE)
    note.field.add(name="cycles", number=2, type=_INTEGER, label=_ONE)
    of_note = {"type": _MESSAGE, "type_name": ".tenure.v1.QueueNote"}
    _message(snapshot, "ClusterSnapshot").field.add(
        name="queue_notes", number=_NUMBER, label=_MANY, **of_note
    )
    _message(state, "StateKeys").field.add(name="queue_notes", number=_NUMBER, type=_TEXT, label=_MANY)
    patch = _message(decide, "StatePatch")
    patch.field.add(name="set_queue_note", number=_NUMBER, label=_ONE, oneof_index=0, **of_note)
    patch.field.add(name="delete_queue_note", number=_NUMBER + 1, type=_TEXT, label=_ONE, oneof_index=0)
    for file in (snapshot, state, decide):
        name = Path(file.name).stem
        (folder / f"{name}_pb2.py").write_text(
            "from google.protobuf import descriptor_pool\n"
            "from google.protobuf.internal import builder\n"
            + "".join(f"import {_module(each)}\n" for each in file.dependency)
            + f"DESCRIPTOR = descriptor_pool.Default().AddSerializedFile({file.SerializeToString()!r})\n"
            "builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())\n"
            f"builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'tenure.v1.{name}_pb2', globals())\n"
        )
    return 3


def _copy(file) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    file.CopyToProto(copy)
    return copy


def _message(file: FileDescriptorProto, name: str) -> DescriptorProto:
    (found,) = (each for each in file.message_type if each.name == name)
    return found


def _module(path: str) -> str:
    return f"{path.removesuffix('.proto').replace('/', '.')}_pb2"
