"""Messages written as bytes are those that setting their fields gives."""

from enum import IntEnum

import pytest
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.writing import message, moment, number, tag, text, whole
from tenure.solver.model.decision import Atomicity, InFlightResult, OutcomeKind
from tenure.v1 import decision_pb2 as pb


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63)])
def test_numbers_of_every_size_arrive(value: int) -> None:
    written = tag(pb.Preconditions, "snapshot_version") + number(value)
    assert pb.Preconditions.FromString(written).snapshot_version == value


@pytest.mark.parametrize("value", ["", "pod", "é" * 100, "x" * 20_000])
def test_texts_of_every_length_arrive(value: str) -> None:
    assert pb.Hold.FromString(tag(pb.Hold, "pod_group") + text(value)).pod_group == value


@pytest.mark.parametrize("nanoseconds", [0, 1, 1_700_000_000 * 10**9 + 5, -1, -(10**18)])
def test_moments_before_and_after_1970_arrive(nanoseconds: int) -> None:
    reason = pb.Reason.FromString(tag(pb.Reason, "until") + moment(nanoseconds))
    assert reason.HasField("until")
    assert reason.until.ToNanoseconds() == nanoseconds


def test_defaults_that_are_written_are_not_sent() -> None:
    fields = [tag(pb.Evict, "pod"), text(""), tag(pb.Evict, "moves"), number(False)]
    decision = pb.Decision.FromString(tag(pb.Decision, "evict") + message(fields))
    assert decision == pb.Decision(evict=pb.Evict())
    assert decision.evict.SerializeToString() == b""


def test_messages_that_were_filled_in_go_with_written_ones() -> None:
    written = tag(pb.Reason, "until") + whole(Timestamp(seconds=5))
    assert pb.Reason.FromString(written) == pb.Reason(until={"seconds": 5})


@pytest.mark.parametrize("field", ["pod", "node", "gpu_groups", "numa_placement"])
def test_bindings_and_holds_say_where_in_the_same_fields(field: str) -> None:
    assert tag(pb.Bind, field) == tag(pb.Hold, field)


@pytest.mark.parametrize(
    ("ours", "contract", "prefix"),
    [
        (OutcomeKind, pb.OutcomeKind, "OUTCOME_KIND_"),
        (Atomicity, pb.Atomicity, "ATOMICITY_"),
        (InFlightResult, pb.InFlightResult, "IN_FLIGHT_RESULT_"),
    ],
)
def test_numbers_of_the_model_are_those_of_the_contract(
    ours: type[IntEnum], contract: EnumTypeWrapper, prefix: str
) -> None:
    assert {f"{prefix}{each.name}": each.value for each in ours} == dict(contract.items()[1:])
