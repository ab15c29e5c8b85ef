"""Requests are scanned before parsing, and every limit on rows and texts is enforced with its name."""

import pytest
from google.protobuf.internal.encoder import _VarintBytes as varint
from google.protobuf.message import DecodeError
from tenure.server.settings import ServerLimits
from tenure.server.settings.server import MaxRows
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.state_pb2 import ApplyDeltaRequest, PutSnapshotRequest, StateDelta, StateKeys
from tenure.wire.limits import LimitExceeded
from tenure.wire.scanner import check_request, check_rows
from tenure.wire.violations import SnapshotValidationError

from tests.small_snapshot import small_snapshot

LISTS = [field.name for field in pb.ClusterSnapshot.DESCRIPTOR.fields if field.is_repeated]


def check(message: object, rows: MaxRows | None = None, **limits: int) -> None:
    settings = ServerLimits().model_copy(update={**limits, "max_rows": rows or MaxRows()})
    check_request(message.SerializeToString(), type(message), settings)


def rows_of(name: str, count: int) -> pb.ClusterSnapshot:
    snapshot = pb.ClusterSnapshot()
    for _ in range(count):
        getattr(snapshot, name).add()
    return snapshot


def test_valid_request_passes() -> None:
    check(DecideRequest(snapshot=small_snapshot(), actions=["allocate"]))


def test_every_list_of_a_snapshot_has_a_limit() -> None:
    assert sorted([*LISTS, "elements"]) == sorted(MaxRows.model_fields)


@pytest.mark.parametrize("name", LISTS)
def test_rows_are_counted_by_list(name: str) -> None:
    most = MaxRows().model_copy(update={name: 3})
    check(DecideRequest(snapshot=rows_of(name, 3)), most)
    with pytest.raises(
        LimitExceeded, match=f"^{name} has more than 3 rows, the limit {name}: send fewer"
    ) as caught:
        check(DecideRequest(snapshot=rows_of(name, 4)), most)
    assert (caught.value.field, caught.value.limit, caught.value.maximum) == (name, name, 3)


def test_setting_to_raise_is_named() -> None:
    with pytest.raises(
        LimitExceeded, match=r"or raise server\.maxRows\.podGroups in the server's configuration"
    ):
        check(DecideRequest(snapshot=rows_of("pod_groups", 2)), MaxRows.model_construct(pod_groups=1))


@pytest.mark.parametrize(
    "message",
    [
        PutSnapshotRequest(chunk=rows_of("pods", 4)),
        ApplyDeltaRequest(delta=StateDelta(upserts=rows_of("pods", 4))),
    ],
    ids=["piece", "delta"],
)
def test_snapshots_inside_of_other_messages_are_counted(message: object) -> None:
    with pytest.raises(LimitExceeded, match=r"^pods has more than 3 rows"):
        check(message, MaxRows().model_copy(update={"pods": 3}))


@pytest.mark.parametrize("field", pb.PodColumns.DESCRIPTOR.fields_by_name)
def test_every_column_counts_as_pods(field: str) -> None:
    columns = pb.PodColumns()
    values = getattr(columns, field)
    values.extend(["x"] * 4 if field in ("string_table", "uid", "name") else [300] * 4)
    most = MaxRows().model_copy(update={"pods": 3})
    with pytest.raises(LimitExceeded, match=f"^pod_columns.{field} has more than 3 rows, the limit pods"):
        check(DecideRequest(snapshot=pb.ClusterSnapshot(pod_columns=columns)), most)
    del values[-1]
    check(DecideRequest(snapshot=pb.ClusterSnapshot(pod_columns=columns)), most)


def test_numbers_of_a_column_are_counted_packed_or_not() -> None:
    unpacked = b"\x20\x01" * 4
    request = b"".join((b"\x0a", varint(len(unpacked) + 2), b"\x6a", varint(len(unpacked)), unpacked))
    limits = ServerLimits().model_copy(update={"max_rows": MaxRows().model_copy(update={"pods": 3})})
    assert len(DecideRequest.FromString(request).snapshot.pod_columns.pod_group) == 4
    with pytest.raises(LimitExceeded, match=r"^pod_columns\.pod_group"):
        check_request(request, DecideRequest, limits)


def test_entries_within_rows_are_counted_together() -> None:
    snapshot = rows_of("nodes", 3)
    for node in snapshot.nodes:
        for i in range(4):
            node.labels[f"k{i}"] = "v"
    most = MaxRows().model_copy(update={"elements": 15})
    check(DecideRequest(snapshot=snapshot, actions=["a", "b"]), most)
    with pytest.raises(
        LimitExceeded, match="the request with actions has more than 15 entries, the limit elements"
    ):
        check(DecideRequest(snapshot=snapshot, actions=["a"] * 4), most)


def test_removed_keys_are_counted() -> None:
    delta = StateDelta(removals=StateKeys(pods=["p"] * 4))
    with pytest.raises(LimitExceeded, match="the request with pods has more than 3 entries"):
        check(ApplyDeltaRequest(delta=delta), MaxRows().model_copy(update={"elements": 3}))


NAME = "characters, more than 253, the limit max_name_length"
TEXT = "characters, more than 4096, the limit max_text_length"
TEXTS = {
    "s.cluster_id = 'x' * 254": f"cluster_id: has 254 {NAME}",
    "s.nodes[1].name = 'x' * 254": f"nodes[1].name: has 254 {NAME}",
    "s.pods[3].uid = 'x' * 2**20": f"pods[3].uid: has 1048576 {NAME}",
    "s.pods[2].resource_claims.extend(['c', 'x' * 300])": (f"pods[2].resource_claims[1]: has 300 {NAME}"),
    "s.pod_groups[0].sub_groups.add(name='x' * 300)": (f"pod_groups[0].sub_groups[0].name: has 300 {NAME}"),
    "s.nodes[0].labels['k'] = 'x' * 4097": (f"nodes[0].labels.value: has 4097 {TEXT}"),
    "s.shapes[1].node_selector['x' * 4097] = ''": (f"shapes[1].node_selector.key: has 4097 {TEXT}"),
    "s.pods[0].blocked_reason = 'x' * 4097": (f"pods[0].blocked_reason: has 4097 {TEXT}"),
    "s.pod_columns.uid.extend(['a', 'x' * 254])": (f"pod_columns.uid[1]: has 254 {NAME}"),
}


@pytest.mark.parametrize("how", TEXTS)
def test_text_that_is_too_long_is_named(how: str) -> None:
    snapshot = small_snapshot()
    exec(how, {"s": snapshot})
    with pytest.raises(SnapshotValidationError) as caught:
        check(DecideRequest(snapshot=snapshot))
    assert str(caught.value) == TEXTS[how]


def test_all_texts_that_are_too_long_are_named_in_message_order() -> None:
    snapshot = small_snapshot()
    snapshot.pods[1].uid = snapshot.queues[0].name = snapshot.nodes[1].name = "x" * 254
    with pytest.raises(SnapshotValidationError) as caught:
        check(DecideRequest(snapshot=snapshot))
    assert [field for field, _ in caught.value.violations] == [
        "nodes[1].name",
        "queues[0].name",
        "pods[1].uid",
    ]


def test_lengths_are_in_characters() -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].name = "ä" * 253
    snapshot.nodes[0].labels["k"] = "漢" * 4096
    check(DecideRequest(snapshot=snapshot))
    snapshot.pods[0].name += "ä"
    with pytest.raises(SnapshotValidationError):
        check(DecideRequest(snapshot=snapshot))


def test_longest_texts_can_be_configured() -> None:
    request = DecideRequest(snapshot=small_snapshot())
    check(request, max_name_length=7, max_text_length=7)
    with pytest.raises(SnapshotValidationError, match="has 7 characters, more than 6"):
        check(request, max_name_length=6)


def test_foreign_annotations_can_have_any_length() -> None:
    snapshot = small_snapshot()
    snapshot.pod_groups[0].annotations["kubectl.kubernetes.io/last-applied-configuration"] = "x" * 2**18
    check(DecideRequest(snapshot=snapshot))


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0b\x0c",
        b"\x0f",
        b"\xff" * 20,
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ],
)
def test_bytes_that_are_not_a_message_are_rejected_as_by_the_parser(garbage: bytes) -> None:
    with pytest.raises(DecodeError):
        check_request(garbage, DecideRequest, ServerLimits())


def test_unknown_fields_are_skipped() -> None:
    unknown = b"\xf8\x07\x01" + b"\xfa\x07\x03abc" + b"\xfd\x07abcd" + b"\xf9\x07abcdefgh"
    check_request(unknown, DecideRequest, ServerLimits())
    assert DecideRequest.FromString(unknown) is not None


@pytest.mark.parametrize("name", [*LISTS, "pod_columns"])
def test_rows_of_a_state_are_counted_together(name: str) -> None:
    if name == "pod_columns":
        snapshot = pb.ClusterSnapshot(pod_columns=pb.PodColumns(uid=["a", "b"]))
    else:
        snapshot = rows_of(name, 2)
    limit = "pods" if name == "pod_columns" else name
    check_rows(snapshot, MaxRows().model_copy(update={limit: 2}))
    with pytest.raises(LimitExceeded, match=f"^{name}.* has more than 1 rows, the limit {limit}"):
        check_rows(snapshot, MaxRows().model_copy(update={limit: 1}))
