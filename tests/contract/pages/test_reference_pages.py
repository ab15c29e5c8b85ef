"""The generated reference pages are up to date, and the proto parser rejects unsupported lines."""

from pathlib import Path

import pytest
from tenure.v1 import decision_service_pb2, snapshot_pb2

from tests.contract.pages.reference_pages import FOLDER, PAGES
from tests.contract.proto_comments import all_declarations, parse


@pytest.mark.parametrize("name", PAGES)
def test_page_is_what_its_source_gives(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "python -m tests reference-pages --update"


def test_all_methods_and_fields_are_found() -> None:
    found = {each.name: [member.name for member in each.members] for each in all_declarations()}
    service = decision_service_pb2.DESCRIPTOR.services_by_name["DecisionService"]
    assert found["DecisionService"] == [method.name for method in service.methods]
    for name, message in snapshot_pb2.DESCRIPTOR.message_types_by_name.items():
        assert sorted(found[name]) == sorted(field.name for field in message.fields)
    for name, enum in snapshot_pb2.DESCRIPTOR.enum_types_by_name.items():
        assert found[name] == [value.name for value in enum.values]


def test_unknown_line_is_an_error(tmp_path: Path) -> None:
    proto = tmp_path / "x.proto"
    proto.write_text("message A {\n  // Group.\n  group B = 1 {\n}\n")
    with pytest.raises(ValueError, match=r"x\.proto:3"):
        parse(proto)
