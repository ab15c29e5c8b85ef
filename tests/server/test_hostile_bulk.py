"""Large and packed input: what it costs, how it ends, and that the server is well afterwards.

Each test is a row of a matrix of such input: its name begins with it.
"""

import grpc
import pytest
from tenure.client import Client, TooLarge
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideRequest

from tests.server.given import small_snapshot
from tests.server.hostile import (
    MIB,
    ask,
    bomb,
    empty_rows,
    field,
    forget_peak,
    number_of,
    resident,
    snapshot_of,
)
from tests.server.running import server_here, serving_process

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
def test_h7_sixteen_megabytes_of_nothing_cost_little_memory(name: str, request_bytes: bytes) -> None:
    with serving_process() as (process, address):
        with Client(address) as client:
            client.decide(small_snapshot())
        before = resident(process.pid)
        forget_peak(process.pid)
        ended = ask(address, request_bytes)
        extra = resident(process.pid, "VmHWM") - before
        assert ended.code is EXHAUSTED
        assert f"the limit {name}: send fewer, or raise server.maxRows.{name}" in ended.said
        assert extra < EXTRA, f"{extra / MIB:.0f} MiB"
        with Client(address) as client:
            assert client.decide(small_snapshot()).outcomes


def test_h7_client_tells_which_limit_it_was() -> None:
    snapshot = small_snapshot()
    snapshot.nodes.extend(pb.Node() for _ in range(20_001))
    with (
        server_here() as (_, address),
        Client(address) as client,
        pytest.raises(TooLarge, match=r"^nodes has more than 20,000 rows, the limit nodes: send fewer, or"),
    ):
        client.decide(snapshot)


def test_h8_packed_bomb_is_refused_without_unpacking_it() -> None:
    with serving_process() as (process, address):
        ask(address, b"")
        before = resident(process.pid)
        forget_peak(process.pid)
        ended = ask(address, bomb(256 * MIB), grpc.Compression.Gzip)
        assert ended.code is grpc.StatusCode.UNIMPLEMENTED
        assert resident(process.pid, "VmHWM") - before < EXTRA
        with Client(address) as client:
            assert client.decide(small_snapshot()).outcomes


def test_h8_honest_packing_is_refused_likewise_and_says_so() -> None:
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with server_here() as (_, address):
        code, said = ask(address, request, grpc.Compression.Gzip)
        assert code is grpc.StatusCode.UNIMPLEMENTED
        assert "gzip" in said
        assert "disabled" in said
