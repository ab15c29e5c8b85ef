"""A question with a snapshot, in bytes: in a message the snapshot would be a copy, which takes longer."""

from collections.abc import Iterable
from typing import Final

from tenure.v1.decision_service_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

_SIZED: Final = 2
"""The wire type of messages: their length goes before them."""
_SNAPSHOT: Final = DecideRequest.DESCRIPTOR.fields_by_name["snapshot"].number << 3 | _SIZED


def question(snapshot: ClusterSnapshot, actions: Iterable[str]) -> bytes:
    """What a DecideRequest with this snapshot and these actions is on the wire."""
    content = snapshot.SerializeToString()
    rest = DecideRequest(actions=actions).SerializeToString()
    return b"".join((_varint(_SNAPSHOT), _varint(len(content)), content, rest))


def _varint(value: int) -> bytes:
    """Seven bits in each byte, the lowest first; all but the last have the eighth bit set."""
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
