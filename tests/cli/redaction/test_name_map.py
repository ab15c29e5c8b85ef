"""Redaction of names: every name is replaced, and all other text is unchanged."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.cli.redaction import redact
from tenure.cli.redaction.name_fields import NAMES, NO_NAMES
from tenure.client.snapshot_file import Format, encode
from tenure.codec.shapes import resource_names
from tenure.v1 import snapshot_pb2 as pb

from tests.cli.redaction.adversarial_names import adversarial_snapshot
from tests.cli.redaction.name_restoration import restore_names
from tests.fuzz import corpus
from tests.properties.generators.draw import SeededDraw
from tests.small_snapshot import small_snapshot

SECRET = "Acme"


def texts_of(message: Descriptor, seen: set[str]) -> Iterator[str]:
    """Return every string field that a message can contain, by its name within the package."""
    if message.full_name in seen or not message.full_name.startswith("tenure.v1."):
        return
    seen.add(message.full_name)
    for field in message.fields:
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            yield field.full_name.removeprefix("tenure.v1.")
        elif field.message_type is not None:
            yield from texts_of(field.message_type, seen)


def test_every_text_field_is_listed_as_name_or_not_name() -> None:
    """A new field must be listed, so that its visibility in a redacted snapshot is a deliberate choice."""
    assert set(texts_of(pb.ClusterSnapshot.DESCRIPTOR, set())) == {*NAMES, *NO_NAMES}
    assert NAMES.keys().isdisjoint(NO_NAMES)


def with_secrets(message: Any) -> Message:
    """Append a secret to every string that Tenure does not interpret."""
    if isinstance(message, pb.PodGroup):
        message.annotations["team"] = SECRET
    for field, value in message.ListFields():
        key = field.full_name.removeprefix("tenure.v1.")
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            entry = field.message_type.full_name.removeprefix("tenure.v1.")
            _add_secrets(value, is_read="annotations" in key or f"{entry}.key" in NO_NAMES)
        elif field.message_type is not None:
            for inner in value if field.is_repeated else (value,):
                with_secrets(inner)
        elif field.type == FieldDescriptor.TYPE_STRING and key not in NO_NAMES | {"InFlightGroup.action": ""}:
            new = [text + SECRET if text else "" for text in ([value] if isinstance(value, str) else value)]
            _put(message, field.name, new, field.is_repeated)
    if isinstance(message, pb.PodColumns):
        for name in ("string_table", "uid", "name"):
            _put(message, name, [text + SECRET if text else "" for text in getattr(message, name)], True)
    return message


def _put(message: Message, name: str, texts: list[str], is_list: bool) -> None:
    if is_list:
        del getattr(message, name)[:]
        getattr(message, name).extend(texts)
    else:
        setattr(message, name, texts[0])


def _add_secrets(entries: Any, is_read: bool) -> None:
    for key in [] if is_read else list(entries):
        value = entries.pop(key)
        entries[key + SECRET] = value + SECRET if isinstance(value, str) else value


@pytest.mark.parametrize("form", list(Format))
def test_no_part_of_a_name_remains(form: Format) -> None:
    snapshot = pb.ClusterSnapshot()
    snapshot.CopyFrom(corpus.snapshot())
    with_secrets(snapshot)
    assert encode(snapshot, form).count(SECRET.encode()) > 100
    assert SECRET.encode() not in encode(redact(snapshot).snapshot, form)


def test_unknown_fields_are_dropped() -> None:
    snapshot = small_snapshot()
    content = snapshot.SerializeToString() + b"\xfa\x3f\x04" + SECRET.encode()
    assert SECRET.encode() in pb.ClusterSnapshot.FromString(content).SerializeToString()
    redacted = redact(pb.ClusterSnapshot.FromString(content)).snapshot
    assert SECRET.encode() not in redacted.SerializeToString()


def test_order_of_resources_is_preserved() -> None:
    for seed in range(100):
        snapshot = adversarial_snapshot(SeededDraw(seed))
        redacted = redact(snapshot)
        new = list(resource_names(redacted.snapshot))
        assert restore_names(new, redacted.names) == list(resource_names(snapshot))


NODE = 'nodes { name: "zz" '
SHAPE = 'shapes { id: "zz" '
GROUP = 'pod_groups { uid: "zz" queue: "left" creation_time { seconds: 1600000000 } '


@pytest.mark.parametrize(
    ("row", "becomes"),
    [
        (NODE + 'labels { key: "kubernetes.io/arch" value: "arm64" } }', "kubernetes.io/arch: arm64"),
        (NODE + 'labels { key: "kubernetes.io/hostname" value: "x" } }', "kubernetes.io/hostname: value-"),
        (NODE + 'labels { key: "node-role.kubernetes.io/mig-enabled" value: "true" } }', "enabled: 'true'"),
        (NODE + 'labels { key: "node-role.kubernetes.io/mig-enabled" value: "x" } }', "enabled: value-"),
        (NODE + 'labels { key: "speed" value: "12" } }', "label-2: value-"),
        (
            NODE + 'labels { key: "speed" value: "12" } }' + SHAPE + "node_affinity { requirements "
            '{ key: "speed" operator: SELECTOR_OPERATOR_GREATER_THAN values: "9" } } }',
            "label-2: '12'",
        ),
        (NODE + 'unready_conditions: "DiskPressure" }', "DiskPressure"),
        (NODE + 'unready_conditions: ["NotReady", "Bad"] }', "- A-condition-1"),
        (NODE + 'devices { key: "shop.com/GPU" value: 1 } }', "device-class-1-gpu: '1'"),
        (
            NODE + 'allocatable { extended { key: "nvidia.com/mig-1g.5gb" value: 1 } } }',
            "nvidia.com/mig-1g.5gb:",
        ),
        (NODE + 'allocatable { extended { key: "nvidia.com/mig-2g.x" value: 1 } } }', "mig-2g.resource-1:"),
        (
            NODE + 'taints { key: "node.kubernetes.io/unreachable" effect: 1 } }',
            "node.kubernetes.io/unreachable",
        ),
        (NODE + 'taints { key: "team" value: "red" effect: 1 } }', "value: taint-value-1"),
        (SHAPE + 'requests { extended { key: "hugepages-2Mi" value: 1 } } }', "hugepages-2Mi: '1'"),
        (GROUP + 'sub_groups { name: "Default" } }', "name: default"),
        (GROUP + 'sub_groups { name: "abc" } sub_groups { name: "Default" } }', "name: part-1"),
        (GROUP + 'opt_out_actions: "reclaim" }', "- reclaim"),
        (GROUP + 'annotations { key: "kai.scheduler/requeue-delay" value: "1h" } }', "requeue-delay: 1h"),
        (GROUP + 'annotations { key: "kai.scheduler/requeue-delay" value: "ask" } }', "delay: annotation-1"),
    ],
)
def test_only_names_are_replaced(row: str, becomes: str) -> None:
    snapshot = small_snapshot()
    text_format.Merge(row, snapshot)
    assert becomes in encode(redact(snapshot).snapshot, Format.YAML).decode()


def test_text_shared_by_several_kinds_gets_a_name_per_kind() -> None:
    snapshot = small_snapshot()
    snapshot.queues[1].name = snapshot.nodes[0].name = snapshot.pod_groups[0].queue = "same"
    for pod in snapshot.pods[:2]:
        pod.node = "same"
    redacted = redact(snapshot)
    assert redacted.snapshot.pods[0].node == redacted.snapshot.nodes[0].name == "node-2"
    assert redacted.snapshot.pod_groups[0].queue == redacted.snapshot.queues[1].name == "queue-2"
    assert (redacted.names["node"]["node-2"], redacted.names["queue"]["queue-2"]) == ("same", "same")


def test_replacement_names_are_zero_padded_and_sort_as_text() -> None:
    snapshot = small_snapshot()
    snapshot.nodes.extend(pb.Node(name=f"x{number}") for number in range(10))
    names = [node.name for node in redact(snapshot).snapshot.nodes]
    assert names == sorted(names)
    assert names[-1] == "node-12"
