"""The Go code in client/go is generated from these protos."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from tests.contract import protos
from tests.tools.tool import ROOT

PROTOS = sorted(protos.PROTOS.rglob("*.proto"))
IMPORT_PATH = "tenure.scheduler/go/tenure/v1"


def go_descriptor(name: str) -> bytes:
    """The serialized descriptor in the Go code of a proto."""
    text = (ROOT / "client/go/tenure/v1" / f"{name}.pb.go").read_text()
    found = re.search(r"_rawDesc = \"\" \+\n((?:\t\"(?:[^\"\\]|\\.)*\"(?: \+)?\n)+)", text)
    assert found
    pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', found[1])
    return b"".join(map(go_bytes, pieces))


def comparable(serialized: bytes) -> FileDescriptorProto:
    """A descriptor without the names in JSON, which the Python code does not contain."""
    file = FileDescriptorProto.FromString(serialized)
    messages: list[DescriptorProto] = list(file.message_type)
    for message in messages:
        messages += message.nested_type
        for field in message.field:
            field.ClearField("json_name")
    return file


def go_bytes(literal: str) -> bytes:
    """The bytes of a Go string literal without its quotes."""
    simple = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}
    parts = []
    for plain, escape in re.findall(r"([^\\]+)|\\(x..|u....|U........|.)", literal):
        if plain:
            parts.append(plain.encode())
        elif escape[0] == "x":
            parts.append(bytes([int(escape[1:], 16)]))
        elif escape[0] in "uU":
            parts.append(chr(int(escape[1:], 16)).encode())
        else:
            parts.append(simple.get(escape, escape.encode()))
    return b"".join(parts)


@pytest.mark.parametrize("proto", PROTOS, ids=lambda proto: proto.name)
def test_go_code_is_that_of_the_proto(proto: Path) -> None:
    python = import_module(f"tenure.v1.{proto.stem}_pb2").DESCRIPTOR.serialized_pb
    same = comparable(go_descriptor(proto.stem)) == comparable(python)
    assert same, "python -m tests build go-client generates it"


@pytest.mark.parametrize("proto", PROTOS, ids=lambda proto: proto.name)
def test_proto_names_the_import_path_of_its_go_code(proto: Path) -> None:
    options = import_module(f"tenure.v1.{proto.stem}_pb2").DESCRIPTOR.GetOptions()
    assert options.go_package == f"{IMPORT_PATH};tenurev1"
    assert f'option go_package = "{options.go_package}";' in proto.read_text().splitlines()
    module = (ROOT / "client/go/go.mod").read_text().splitlines()[0].removeprefix("module ")
    assert IMPORT_PATH.startswith(module)
