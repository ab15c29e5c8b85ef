"""Helpers that build hostile requests, send them to a server process and check how the calls end."""

import time
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from google.protobuf.internal.encoder import _VarintBytes as varint
from tenure.client import Client, InvalidSnapshot
from tenure.v1 import snapshot_pb2 as pb

from tests.small_snapshot import small_snapshot

DECIDE = "/tenure.v1.DecisionService/Decide"
MIB = 2**20


class CallResult(NamedTuple):
    """Status, details and duration of a call."""

    code: grpc.StatusCode
    details: str


def send_request(
    address: str, request: bytes, compression: grpc.Compression | None = None, method: str = DECIDE
) -> CallResult:
    """Send bytes as the only message of a call."""
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(address, options, compression) as channel:
        try:
            channel.unary_unary(method)(request, timeout=60)
        except grpc.RpcError as failure:
            return CallResult(failure.code(), failure.details() or "")
    return CallResult(grpc.StatusCode.OK, "")


def field(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def snapshot_of(content: bytes) -> bytes:
    """Encode a `DecideRequest` with the bytes of a snapshot."""
    return field(1, content)


def number_of(name: str, message: type = pb.ClusterSnapshot) -> int:
    """Return the number of a field."""
    return int(message.DESCRIPTOR.fields_by_name[name].number)


def empty_rows(name: str, size: int, message: type = pb.ClusterSnapshot) -> bytes:
    """Encode a repeated field with as many empty rows as fit in this size."""
    row = field(number_of(name, message), b"")
    return row * (size // len(row))


def resident_bytes(pid: int, what: str = "VmRSS") -> int:
    """Memory of a process in bytes. `VmHWM` is its peak."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(what)


def reset_peak(pid: int) -> None:
    """Reset the memory peak of a process."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def compressible_request(size: int) -> bytes:
    """Encode a request of this size that compresses to a thousandth."""
    return snapshot_of(field(1, b"x" * size))


def rejected_fields(client: Client, snapshot: pb.ClusterSnapshot) -> tuple[str, ...]:
    """Return the violations of a rejected request, after checking that the server still responds."""
    began = time.monotonic()
    with pytest.raises(InvalidSnapshot) as caught:
        client.decide(snapshot)
    assert time.monotonic() - began < 5
    assert client.decide(small_snapshot()).outcomes
    return tuple(map(str, caught.value.violations))
