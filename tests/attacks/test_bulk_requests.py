"""Large and compressed input: status, cost in memory and time, and health of the server afterwards.

Each test is a row of a matrix of hostile input. The name of the test begins with the name of the row.
"""

import grpc
import pytest
from tenure.client import Client, MessageTooLarge
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest

from tests.attacks.hostile_requests import (
    MIB,
    compressible_request,
    empty_rows,
    field,
    number_of,
    reset_peak,
    resident_bytes,
    send_request,
    snapshot_of,
)
from tests.server.servers import run_server, run_server_process
from tests.small_snapshot import small_snapshot

pytestmark = pytest.mark.long

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
EXTRA = 64 * MIB


@pytest.mark.parametrize(
    ("name", "request_bytes"),
    [
        ("nodes", snapshot_of(empty_rows("nodes", 16 * MIB))),
        ("pods", snapshot_of(empty_rows("pods", 16 * MIB))),
        ("elements", snapshot_of(field(number_of("nodes"), empty_rows("taints", 16 * MIB, pb.Node)))),
        ("elements", empty_rows("actions", 16 * MIB, DecideRequest)),
        ("pods", snapshot_of(field(number_of("pod_columns"), field(4, b"\x01" * (16 * MIB))))),
        ("pods", snapshot_of(field(number_of("pod_columns"), empty_rows("uid", 16 * MIB, pb.PodColumns)))),
    ],
    ids=["nodes", "pods", "taints", "actions", "numbers", "texts"],
)
def test_h7_sixteen_megabytes_of_empty_rows_use_little_memory(name: str, request_bytes: bytes) -> None:
    with run_server_process() as (process, address):
        with Client(address) as client:
            client.decide(small_snapshot())
        before = resident_bytes(process.pid)
        reset_peak(process.pid)
        ended = send_request(address, request_bytes)
        extra = resident_bytes(process.pid, "VmHWM") - before
        assert ended.code is EXHAUSTED
        assert f"the limit {name}: send fewer, or raise server.maxRows.{name}" in ended.details
        assert extra < EXTRA, f"{extra / MIB:.0f} MiB"
        with Client(address) as client:
            assert client.decide(small_snapshot()).outcomes


def test_h7_client_error_names_the_exceeded_limit() -> None:
    snapshot = small_snapshot()
    snapshot.nodes.extend(pb.Node() for _ in range(20_001))
    with (
        run_server() as (_, address),
        Client(address) as client,
        pytest.raises(
            MessageTooLarge, match=r"^nodes has more than 20,000 rows, the limit nodes: send fewer, or"
        ),
    ):
        client.decide(snapshot)


def test_h8_compression_bomb_is_rejected_without_decompression() -> None:
    with run_server_process() as (process, address):
        send_request(address, b"")
        before = resident_bytes(process.pid)
        reset_peak(process.pid)
        ended = send_request(address, compressible_request(256 * MIB), grpc.Compression.Gzip)
        assert ended.code is grpc.StatusCode.UNIMPLEMENTED
        assert resident_bytes(process.pid, "VmHWM") - before < EXTRA
        with Client(address) as client:
            assert client.decide(small_snapshot()).outcomes


def test_h8_valid_compressed_request_is_rejected_with_the_reason() -> None:
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with run_server() as (_, address):
        code, details = send_request(address, request, grpc.Compression.Gzip)
        assert code is grpc.StatusCode.UNIMPLEMENTED
        assert "gzip" in details
        assert "disabled" in details
