"""Pods and pod groups read from bytes equal those of the protobuf parser."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal.encoder import TagBytes as tag
from google.protobuf.internal.encoder import _VarintBytes as varint
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.rows import PodGroupRow, PodRow, read_rows

NUMBERS: Final = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_ENUM: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
}
READ_OF_PODS: Final = (
    *("uid", "name", "pod_group", "sub_group", "shape", "status", "node", "gpu_groups", "creation_time"),
)
READ_OF_GROUPS: Final = (
    *("uid", "name", "namespace", "queue", "priority", "preemptibility", "min_member"),
    *("creation_time", "last_start_time"),
)
UNKNOWN: Final = [
    tag(100, 0) + varint(2**64 - 1),
    tag(101, 1) + b"12345678",
    tag(102, 2) + varint(300) + b"x" * 300,
    tag(103, 5) + b"1234",
    tag(104, 3)
    + tag(105, 3)
    + tag(1, 2)
    + varint(1)
    + b"y"
    + tag(105, 4)
    + tag(2, 0)
    + b"\x07"
    + tag(104, 4),
    tag(1, 0) + b"\x05",
]
"""Unknown fields of every wire type. The last one has the number of a known field."""


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def values(field: FieldDescriptor) -> st.SearchStrategy[object]:
    """Values of a field that is not a message."""
    return NUMBERS.get(field.cpp_type, texts())


@st.composite
def filled_message(draw: Callable[[Any], Any], kind: type[Message]) -> Message:
    """A message with a random set of its fields and of unknown fields."""
    message = kind()
    _fill(draw, message)
    unknown = b"".join(draw(st.lists(st.sampled_from(UNKNOWN), max_size=2)))
    return kind.FromString(unknown + message.SerializeToString())


def _fill(draw: Callable[[Any], Any], message: Message) -> None:
    for field in message.DESCRIPTOR.fields:
        if not draw(st.booleans()):
            continue
        inner, held = field.message_type, getattr(message, field.name)
        if inner is not None and inner.GetOptions().map_entry:
            entries = st.dictionaries(texts(), values(inner.fields_by_name["value"]), max_size=2)
            held.update(draw(entries))
        elif inner is not None and field.is_repeated:
            _fill(draw, held.add())
        elif inner is not None:
            held.SetInParent()
            _fill(draw, held)
        elif field.is_repeated:
            held.extend(draw(st.lists(values(field), max_size=3)))
        else:
            setattr(message, field.name, draw(values(field)))


def values_of_row(row: PodRow | PodGroupRow, fields: tuple[str, ...]) -> dict[str, object]:
    """Values of a row by the field names of its message."""
    return {name: _value(row, name) for name in fields}


def _value(row: PodRow | PodGroupRow, name: str) -> object:
    if not name.endswith("_time"):
        return getattr(row, name)
    return getattr(row, name) if getattr(row, f"has_{name}") else None


def values_of_message(message: Message, fields: tuple[str, ...]) -> dict[str, object]:
    """Values of the message in the same form."""
    return {name: _value_of_message(message, name) for name in fields}


def _value_of_message(message: Message, name: str) -> object:
    value = getattr(message, name)
    if name.endswith("_time"):
        return (value.seconds, value.nanos) if message.HasField(name) else None
    if name == "min_member":
        return value if message.HasField(name) else None
    return list(value) if name == "gpu_groups" else value


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(filled_message(pb.Pod), max_size=2))
def test_pods_are_read_like_by_the_parser(pods: list[pb.Pod]) -> None:
    read = read_rows(pb.ClusterSnapshot(pods=pods)).pods
    assert [values_of_row(row, READ_OF_PODS) for row in read] == [
        values_of_message(pod, READ_OF_PODS) for pod in pods
    ]
    for row, pod in zip(read, pods, strict=True):
        assert pb.Pod.FromString(row.more) == (pod if has_other_fields(pod, READ_OF_PODS) else pb.Pod())


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(filled_message(pb.PodGroup), max_size=2))
def test_pod_groups_are_read_like_by_the_parser(groups: list[pb.PodGroup]) -> None:
    read = read_rows(pb.ClusterSnapshot(pod_groups=groups)).pod_groups
    assert [values_of_row(row, READ_OF_GROUPS) for row in read] == [
        values_of_message(group, READ_OF_GROUPS) for group in groups
    ]
    for row, group in zip(read, groups, strict=True):
        assert pb.PodGroup.FromString(row.more) == (
            group if has_other_fields(group, READ_OF_GROUPS) else pb.PodGroup()
        )


def has_other_fields(message: Message, fields: tuple[str, ...]) -> bool:
    """Whether the message has fields other than these, including unknown ones."""
    rest = type(message).FromString(message.SerializeToString())
    for name in fields:
        rest.ClearField(name)
    return bool(rest.SerializeToString())


def test_rows_are_in_the_order_of_their_lists() -> None:
    snapshot = pb.ClusterSnapshot(cluster_id="c", pods=[{"uid": "b"}, {"uid": "a"}, {}])
    snapshot.pod_groups.add(uid="z")
    snapshot.pod_groups.add(uid="y")
    pods, pod_groups = read_rows(snapshot)
    assert [pod.uid for pod in pods] == ["b", "a", ""]
    assert [group.uid for group in pod_groups] == ["z", "y"]


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_unknown_fields_of_a_snapshot_are_skipped(unknown: bytes) -> None:
    snapshot = pb.ClusterSnapshot.FromString(
        unknown + pb.ClusterSnapshot(pods=[{"uid": "a"}]).SerializeToString()
    )
    assert [pod.uid for pod in read_rows(snapshot).pods] == ["a"]
