"""The table of annotations: each row is read where the table says, and its key stands nowhere else."""

import ast
from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf.message import Message
from tenure.codec.annotations import SENT, is_readable
from tenure.kubernetes.observe.annotations.fields import SETTERS
from tenure.terms.annotations import ANNOTATIONS, Annotation, ValueKind, Writer, written_by
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.generate import ROOT

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, pod_group

PRODUCT: Final = ("protos", "server", "client")
TABLE: Final = ROOT / "protos/tenure/terms/annotations.py"
TEXTS: Final = {
    ValueKind.DURATION: "1h",
    ValueKind.PROTECTING_DURATION: "1h",
    ValueKind.TIME: "2026-01-02T03:04:05Z",
    ValueKind.COUNT: "7",
    ValueKind.FLAG: "true",
    ValueKind.CHOICE: "hold",
}
"""A valid text of each kind."""
FORMS: Final = {
    "preemptibility": "Preemptible",
    "safe-to-consolidate": "false",
    "hold": "true",
    "depends-on": "other",
    "not-before": "2200-01-01T00:00:00Z",
    "released": "2026-01-02T03:04:05Z",
    "priority-class-name": "train",
    "queue": "leaf",
    "class-limits": "h100=4",
    "class-quotas": "h100=4",
    "lending-limit": "gpu=2",
    "preemption-delay": "1h",
    "staleness-grace-period": "-1s",
}
"""A valid text of each annotation with a form of its own."""
BY_USERS: Final = tuple(each for each in written_by(Writer.USER) if each.on_pod_group)
ON_QUEUES: Final = tuple(each for each in ANNOTATIONS if each.on_queue and each.field)


def text_of(each: Annotation) -> str:
    return FORMS.get(each.name) or TEXTS[each.kind]


def fields_of(row: Message) -> dict[str, Any]:
    return {field.name: value for field, value in row.ListFields()}


def pod_group_row(*annotations: tuple[str, str]) -> pb.PodGroup:
    world = CachedCluster()
    world.put("priority_classes", {"metadata": {"name": "train"}, "value": 70})
    world.put("kai_pod_groups", pod_group("g", annotations=dict(annotations), queue=""))
    (row,) = world.builder().snapshot(NOW).pod_groups
    return row


def queue_row(collection: str, *annotations: tuple[str, str]) -> pb.Queue:
    world = CachedCluster()
    world.put(collection, {"metadata": {"name": "q", "annotations": dict(annotations)}, "spec": {}})
    (row,) = world.builder().snapshot(NOW).queues
    return row


def changed(before: Message, after: Message) -> set[str]:
    """Fields in which two rows differ."""
    old, new = fields_of(before), fields_of(after)
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


@pytest.mark.parametrize("each", BY_USERS, ids=lambda each: each.name)
def test_annotation_of_a_pod_group_sets_its_field(each: Annotation) -> None:
    found = changed(pod_group_row(), pod_group_row((each.key, text_of(each))))
    assert ("annotations" if each.is_sent else each.field) in found
    assert found <= {"annotations", each.field, "eligible_time"}


@pytest.mark.parametrize("each", BY_USERS, ids=lambda each: each.name)
def test_every_spelling_of_an_annotation_is_read(each: Annotation) -> None:
    empty = pod_group_row()
    for key in each.keys:
        text = "false" if key == "volcano.sh/preemptable" else text_of(each)
        assert changed(empty, pod_group_row((key, text)))


@pytest.mark.parametrize("collection", ["kai_queues", "volcano_queues"])
@pytest.mark.parametrize("each", ON_QUEUES, ids=lambda each: each.name)
def test_annotation_of_a_queue_sets_its_field(each: Annotation, collection: str) -> None:
    found = changed(queue_row(collection), queue_row(collection, (each.key, text_of(each))))
    assert found == {"gpu_milli" if each.name == "lending-limit" else each.field}


@pytest.mark.parametrize("each", SENT.values(), ids=lambda each: each.name)
def test_annotation_that_is_sent_is_read_by_the_server(each: Annotation) -> None:
    assert is_readable(each.key, text_of(each))
    assert not is_readable(each.key, "odd")


def test_every_row_has_a_field_of_its_message() -> None:
    messages = (pb.PodGroup, pb.Queue, pb.QueueResource)
    known = {name for message in messages for name in message.DESCRIPTOR.fields_by_name}
    assert {each.field for each in ANNOTATIONS if each.field} <= known
    assert all(each.on_pod_group or each.on_queue or each.on_other for each in ANNOTATIONS)
    assert {*SETTERS, ValueKind.OTHER} == {*ValueKind}


def spelled(path: Path, keys: frozenset[str]) -> list[str]:
    """Keys that a module spells as a whole text; sentences that name a key are not meant."""
    texts = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return [f"{path.relative_to(ROOT)}: {each.value}" for each in texts if each.value in keys]


@pytest.mark.interpreted
def test_no_other_module_spells_a_key() -> None:
    keys = frozenset(key for each in ANNOTATIONS for key in each.keys if "/" in key)
    modules = (path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py"))
    others = (path for path in modules if path != TABLE and not path.name.endswith("_pb2.py"))
    assert [each for path in others for each in spelled(path, keys)] == []
