"""Every field of a snapshot is declared once, with its kind."""

from collections import Counter
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodColumns
from tenure.wire.schema import ROWS, Field, FieldType, Row, row_keys, text_columns


def _messages(message: Descriptor, seen: set[str]) -> Iterator[Descriptor]:
    """A message of the contract and all nested messages. Maps are fields of their message."""
    if message.full_name in seen or not message.full_name.startswith("tenure.v1."):
        return
    seen.add(message.full_name)
    if not message.GetOptions().map_entry:
        yield message
    for field in message.fields:
        if field.message_type is not None:
            yield from _messages(field.message_type, seen)


SNAPSHOT = {message.full_name: message for message in _messages(ClusterSnapshot.DESCRIPTOR, set())}


def _holds(field: FieldDescriptor) -> FieldType:
    inner = field.message_type
    if inner is None:
        return FieldType.TEXT if field.type == FieldDescriptor.TYPE_STRING else FieldType.VALUE
    if inner.GetOptions().map_entry:
        return FieldType.MAP
    return FieldType.MESSAGE if inner.full_name in SNAPSHOT else FieldType.VALUE


def test_every_message_of_a_snapshot_has_one_row() -> None:
    assert Counter(row.descriptor.full_name for row in ROWS) == Counter([*SNAPSHOT])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.descriptor.name)
def test_every_field_is_declared_once_as_what_it_holds(row: Row) -> None:
    declared = Counter((field.name, field.holds) for field in row.fields)
    assert declared == Counter((field.name, _holds(field)) for field in row.descriptor.fields)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.descriptor.name)
def test_every_text_names_something_or_says_why_not(row: Row) -> None:
    def is_complete(field: Field) -> bool:
        is_text = field.holds is FieldType.TEXT
        return (field.kind is None) == bool(field.reason) if is_text else bool(field.key_kind or field.reason)

    texts = [field for field in row.fields if field.holds in (FieldType.TEXT, FieldType.MAP)]
    assert [field.name for field in texts if not is_complete(field)] == []


def test_every_list_has_a_key_of_texts() -> None:
    assert all(row_keys().values())
    for row in ROWS:
        assert set(row.key) <= {field.name for field in row.fields if field.holds is FieldType.TEXT}


def test_columns_of_indices_are_fields_of_pods() -> None:
    indices = [f.name for f in PodColumns.DESCRIPTOR.fields if f.type == FieldDescriptor.TYPE_UINT32]
    assert list(text_columns()) == [name for name in Pod.DESCRIPTOR.fields_by_name if name in indices]
    assert len(text_columns()) == len(indices)
