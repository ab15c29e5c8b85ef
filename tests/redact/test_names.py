"""What becomes of names: none is forgotten, none is left, and what is no name stays."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.client.formats import Format, encode
from tenure.server.codec.resources import resource_names
from tenure.server.redact import redact
from tenure.server.redact.fields import NAMES, NO_NAMES
from tenure.v1 import snapshot_pb2 as pb

from tests.fuzz import corpus
from tests.properties.draw import SeededDraw
from tests.redact.restored import restored
from tests.redact.tricky import tricky_snapshot
from tests.server.given import small_snapshot

SECRET = "Acme"


def texts_of(message: Descriptor, seen: set[str]) -> Iterator[str]:
    """Every field with texts that a message can hold, by its name within the package."""
    if message.full_name in seen or not message.full_name.startswith("tenure.v1."):
        return
    seen.add(message.full_name)
    for field in message.fields:
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            yield field.full_name.removeprefix("tenure.v1.")
        elif field.message_type is not None:
            yield from texts_of(field.message_type, seen)


def test_every_text_of_a_snapshot_is_a_name_or_is_known_not_to_be_one() -> None:
    """Whoever adds a field decides what a redacted snapshot shows of it."""
    assert set(texts_of(pb.ClusterSnapshot.DESCRIPTOR, set())) == {*NAMES, *NO_NAMES}
    assert NAMES.keys().isdisjoint(NO_NAMES)


def spoilt(message: Any) -> Message:
    """The message with something secret at the end of every text that Tenure does not read."""
    if isinstance(message, pb.PodGroup):
        message.annotations["team"] = SECRET
    for field, value in message.ListFields():
        key = field.full_name.removeprefix("tenure.v1.")
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _spoil_map(value, is_read="annotations" in key)
        elif field.message_type is not None:
            for inner in value if field.is_repeated else (value,):
                spoilt(inner)
        elif field.type == FieldDescriptor.TYPE_STRING and key not in NO_NAMES | {"InFlightGroup.action": ""}:
            new = [text + SECRET if text else "" for text in ([value] if isinstance(value, str) else value)]
            _put(message, field.name, new, field.is_repeated)
    if isinstance(message, pb.PodColumns):
        for name in ("texts", "uid", "name"):
            _put(message, name, [text + SECRET if text else "" for text in getattr(message, name)], True)
    return message


def _put(message: Message, name: str, texts: list[str], is_list: bool) -> None:
    if is_list:
        del getattr(message, name)[:]
        getattr(message, name).extend(texts)
    else:
        setattr(message, name, texts[0])


def _spoil_map(entries: Any, is_read: bool) -> None:
    for key in [] if is_read else list(entries):
        value = entries.pop(key)
        entries[key + SECRET] = value + SECRET if isinstance(value, str) else value


@pytest.mark.parametrize("form", list(Format))
def test_nothing_of_a_name_is_left(form: Format) -> None:
    snapshot = pb.ClusterSnapshot()
    snapshot.CopyFrom(corpus.snapshot())
    spoilt(snapshot)
    assert encode(snapshot, form).count(SECRET.encode()) > 100
    assert SECRET.encode() not in encode(redact(snapshot).snapshot, form)


def test_fields_of_a_later_version_are_left_out() -> None:
    snapshot = small_snapshot()
    content = snapshot.SerializeToString() + b"\xfa\x3f\x04" + SECRET.encode()
    assert SECRET.encode() in pb.ClusterSnapshot.FromString(content).SerializeToString()
    redacted = redact(pb.ClusterSnapshot.FromString(content)).snapshot
    assert SECRET.encode() not in redacted.SerializeToString()


def test_resources_keep_their_order() -> None:
    for seed in range(100):
        snapshot = tricky_snapshot(SeededDraw(seed))
        redacted = redact(snapshot)
        new = list(resource_names(redacted.snapshot))
        assert restored(new, redacted.names) == list(resource_names(snapshot))


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
        (GROUP + 'opt_outs: "reclaim" }', "- reclaim"),
        (GROUP + 'annotations { key: "kai.scheduler/requeue-delay" value: "1h" } }', "requeue-delay: 1h"),
        (GROUP + 'annotations { key: "kai.scheduler/requeue-delay" value: "ask" } }', "delay: annotation-1"),
    ],
)
def test_what_stays_and_what_does_not(row: str, becomes: str) -> None:
    snapshot = small_snapshot()
    text_format.Merge(row, snapshot)
    assert becomes in encode(redact(snapshot).snapshot, Format.YAML).decode()


def test_one_text_that_names_several_things_gets_several_names() -> None:
    snapshot = small_snapshot()
    snapshot.queues[1].name = snapshot.nodes[0].name = snapshot.pod_groups[0].queue = "same"
    for pod in snapshot.pods[:2]:
        pod.node = "same"
    redacted = redact(snapshot)
    assert redacted.snapshot.pods[0].node == redacted.snapshot.nodes[0].name == "node-2"
    assert redacted.snapshot.pod_groups[0].queue == redacted.snapshot.queues[1].name == "queue-2"
    assert (redacted.names["node"]["node-2"], redacted.names["queue"]["queue-2"]) == ("same", "same")


def test_names_are_counted_with_zeros_so_that_their_order_is_that_of_texts() -> None:
    snapshot = small_snapshot()
    snapshot.nodes.extend(pb.Node(name=f"x{number}") for number in range(10))
    names = [node.name for node in redact(snapshot).snapshot.nodes]
    assert names == sorted(names)
    assert names[-1] == "node-12"
