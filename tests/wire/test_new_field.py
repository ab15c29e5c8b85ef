"""A new scalar field needs a field of the proto, a line of the field table, and its use.

All else is generated. docs/internals/wire.md shows these three edits; `test_every_field` fails without the
third.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from tenure.v1 import snapshot_pb2
from tenure.wire.generate import CLASSES, generate
from tenure.wire.schema import ROWS, FactKind, Row, fact, name
from tenure.wire.schema import NameKind as Kind

from tests.small_snapshot import child_environment

NUMBER: Final = 900
TYPES: Final = {
    "int64": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
}


def extended_row(message: str, field: str, kind: str) -> Row:
    """The row of a message with one additional field, in a copy of the contract."""
    pool = DescriptorPool()
    for each in _files(snapshot_pb2.DESCRIPTOR):
        if each.name == snapshot_pb2.DESCRIPTOR.name:
            (target,) = (found for found in each.message_type if found.name == message)
            target.field.add(
                name=field,
                number=NUMBER,
                type=TYPES[kind],
                label=FieldDescriptorProto.LABEL_OPTIONAL,
            )
        pool.Add(each)
    copy = GetMessageClass(pool.FindMessageTypeByName(f"tenure.v1.{message}"))
    (row,) = (row for row in ROWS if row.descriptor.name == message)
    return row._replace(message=copy)


def _files(file) -> list[FileDescriptorProto]:
    """A file and its imports, imports first."""
    found: dict[str, FileDescriptorProto] = {}

    def visit(each) -> None:
        for other in each.dependencies:
            visit(other)
        if each.name not in found:
            content = FileDescriptorProto()
            each.CopyToProto(content)
            found[each.name] = content

    visit(file)
    return list(found.values())


LINES = {
    "number": (fact("tie_breaker", FactKind.NUMBER), "int64", 7),
    "number that most rows have": (fact("tie_breaker", FactKind.NUMBER).common(), "int64", 7),
    "count": (fact("tie_breaker", FactKind.COUNT), "int64", 7),
    "flag": (fact("tie_breaker", FactKind.FLAG), "bool", True),
    "text": (name("tie_breaker", Kind.LABEL).as_fact(FactKind.TEXT), "string", "seven"),
}

READ: Final = """
import json, sys
from pathlib import Path
import tenure.codec, tenure.solver.model, tenure.v1, tenure.wire
made = Path(sys.argv[1])
tenure.codec.__path__.insert(0, str(made / "codec"))
tenure.solver.model.__path__.insert(0, str(made / "model"))
tenure.wire.__path__.insert(0, str(made / "wire"))
tenure.v1.__path__.insert(0, str(made / "v1"))
from tenure.codec.decode import decode_snapshot
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tests.small_snapshot import small_snapshot
snapshot = small_snapshot()
assert isinstance(snapshot, ClusterSnapshot)
list_name, value = sys.argv[2], json.loads(sys.argv[3])
getattr(snapshot, list_name)[0].tie_breaker = value
cluster = decode_snapshot(snapshot)
rows = cluster.tasks if list_name == "pods" else getattr(cluster, list_name)
print(json.dumps([row.facts.tie_breaker for row in rows]))
"""
"""Script that reads a snapshot with generated modules in place of those of the checkout."""


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "message",
    ["PodGroup", "Queue", *(pytest.param(name, marks=pytest.mark.long) for name in ("Pod", "Node"))],
)
@pytest.mark.parametrize("line", LINES)
def test_new_scalar_reaches_the_facts(message: str, line: str, tmp_path: Path) -> None:
    declared, kind, value = LINES[line]
    if message in ("Node", "Queue") and declared.is_common:
        pytest.skip("nodes and queues are read from messages")
    row = extended_row(message, declared.name, kind)
    row = row._replace(fields=(*row.fields, declared))
    table = {**{each.descriptor.name: each for each in ROWS}, message: row}
    for path, content in generate(table).items():
        target = tmp_path / path.parent.name / path.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(content)
    _write_messages(tmp_path / "v1", row)
    (list_name,) = {facts.list_name for facts in CLASSES if facts.message == message}
    command = [sys.executable, "-c", READ, str(tmp_path), list_name, json.dumps(value)]
    read = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False)
    assert read.stderr == ""
    facts = json.loads(read.stdout)
    assert value in facts
    assert set(map(str, facts)) == {str(value), str(type(value)())}


def _write_messages(folder: Path, row: Row) -> None:
    """Write the message classes of the extended contract, as protoc does."""
    folder.mkdir()
    files = FileDescriptorSet()
    content = FileDescriptorProto()
    row.descriptor.file.CopyToProto(content)
    files.file.append(content)
    (folder / "snapshot_pb2.py").write_text(
        "from google.protobuf import descriptor_pool\n"
        "from google.protobuf.internal import builder\n"
        + "".join(f"import {_module(each)}\n" for each in content.dependency)
        + f"DESCRIPTOR = descriptor_pool.Default().AddSerializedFile({content.SerializeToString()!r})\n"
        "builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())\n"
        "builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'tenure.v1.snapshot_pb2', globals())\n"
    )


def _module(path: str) -> str:
    return f"{path.removesuffix('.proto').replace('/', '.')}_pb2"
