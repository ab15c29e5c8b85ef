"""The order of lists has no meaning: the response to a shuffled snapshot is identical, byte for byte."""

from pathlib import Path
from random import Random

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tenure.client.snapshot_file import read_snapshot
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

SAMPLE = Path(__file__).parents[2] / "server" / "tenure" / "cli" / "samples" / "two-departments.yaml"
ORDERED = {"tenure.v1.Topology.levels", "tenure.v1.Pod.gpu_groups", "tenure.v1.Node.numa_zones"}
"""Lists with a meaningful order: levels from widest to narrowest, devices, zones."""


def shuffle(message: Message, random: Random) -> None:
    """Shuffle every list of a message and of its submessages."""
    for field, value in message.ListFields():
        if not field.is_repeated or (field.message_type and field.message_type.GetOptions().map_entry):
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for element in value:
                shuffle(element, random)
        if field.full_name not in ORDERED:
            mixed = list(value)
            random.shuffle(mixed)
            message.ClearField(field.name)
            getattr(message, field.name).extend(mixed)


def decide(snapshot: ClusterSnapshot) -> bytes:
    return Engine(default_profile()).decide(DecideRequest(snapshot=snapshot)).content


@pytest.mark.parametrize("seed", range(8))
def test_order_of_lists_does_not_change_the_response(seed: int) -> None:
    snapshot = read_snapshot(str(SAMPLE))
    expected = decide(snapshot)
    shuffle(snapshot, Random(seed))
    assert decide(snapshot) == expected
