"""Messages written as bytes equal those built by setting their fields."""

from enum import IntEnum

import pytest
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.solver.model.decision import Atomicity, InFlightGroupState, OutcomeKind
from tenure.v1 import decision_pb2 as pb
from tenure.wire.writer import message, moment, number, serialize_message, tag, text


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63)])
def test_numbers_of_every_size_are_written(value: int) -> None:
    written = tag(pb.Preconditions, "snapshot_version") + number(value)
    assert pb.Preconditions.FromString(written).snapshot_version == value


@pytest.mark.parametrize("value", ["", "pod", "é" * 100, "x" * 20_000])
def test_texts_of_every_length_are_written(value: str) -> None:
    assert pb.Reserve.FromString(tag(pb.Reserve, "pod_group") + text(value)).pod_group == value


@pytest.mark.parametrize("nanoseconds", [0, 1, 1_700_000_000 * 10**9 + 5, -1, -(10**18)])
def test_timestamps_before_and_after_1970_are_written(nanoseconds: int) -> None:
    reason = pb.Reason.FromString(tag(pb.Reason, "until") + moment(nanoseconds))
    assert reason.HasField("until")
    assert reason.until.ToNanoseconds() == nanoseconds


def test_defaults_that_are_written_are_not_sent() -> None:
    fields = [tag(pb.Evict, "pod"), text(""), tag(pb.Evict, "relocating"), number(False)]
    decision = pb.Decision.FromString(tag(pb.Decision, "evict") + message(fields))
    assert decision == pb.Decision(evict=pb.Evict())
    assert decision.evict.SerializeToString() == b""


def test_message_objects_can_be_embedded_in_written_messages() -> None:
    written = tag(pb.Reason, "until") + serialize_message(Timestamp(seconds=5))
    assert pb.Reason.FromString(written) == pb.Reason(until={"seconds": 5})


@pytest.mark.parametrize("field", ["pod", "node", "gpu_groups", "numa_placement"])
def test_bindings_and_reservations_share_their_placement_fields(field: str) -> None:
    assert tag(pb.Bind, field) == tag(pb.Reserve, field)


@pytest.mark.parametrize(
    ("ours", "contract", "prefix"),
    [
        (OutcomeKind, pb.OutcomeKind, "OUTCOME_KIND_"),
        (Atomicity, pb.Atomicity, "ATOMICITY_"),
        (InFlightGroupState, pb.InFlightGroupState, "IN_FLIGHT_GROUP_STATE_"),
    ],
)
def test_numbers_of_the_model_are_those_of_the_contract(
    ours: type[IntEnum], contract: EnumTypeWrapper, prefix: str
) -> None:
    assert {f"{prefix}{each.name}": each.value for each in ours} == dict(contract.items()[1:])
