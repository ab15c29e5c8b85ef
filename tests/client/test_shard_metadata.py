"""Calls name their shard in metadata, by which load balancers choose a server (docs/operate/scale.md)."""

import grpc
import pytest
from google.protobuf.message import Message
from tenure.client import Client, StateSession
from tenure.client.connection_options import shard
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest
from tenure.v1.cycles_pb2 import ListCyclesRequest, ListStatesRequest
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.report_pb2 import ReportResultsRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import ApplyDeltaRequest, GetStateRequest, StateDelta, StateReference

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

SNAPSHOT = ClusterSnapshot(cluster_id="lab", node_pool="a")
STATE = StateReference(cluster_id="lab", node_pool="a", epoch="e", version=3)
DELTA = StateDelta(base=STATE, version=4)


@pytest.mark.parametrize(
    "message",
    [
        SNAPSHOT,
        STATE,
        DELTA,
        DecideRequest(snapshot=SNAPSHOT),
        DecideRequest(state=STATE),
        DecideRequest(delta=DELTA),
        ApplyDeltaRequest(delta=DELTA),
        SimulateRequest(state=STATE),
        SimulateRequest(snapshot=SNAPSHOT),
        ExplainRequest(state=STATE),
        GetStateRequest(cluster_id="lab", node_pool="a"),
        ListCyclesRequest(cluster_id="lab", node_pool="a"),
        ReportResultsRequest(cluster_id="lab", node_pool="a"),
    ],
    ids=lambda message: f"{type(message).__name__}-{len(message.SerializeToString())}",
)
def test_every_request_names_its_shard(message: Message) -> None:
    assert shard(message) == (("tenure-shard", "lab/a"),)


@pytest.mark.parametrize("message", [GetCapabilitiesRequest(), ListStatesRequest(), DecideRequest()])
def test_requests_without_a_shard_go_to_any_server(message: Message) -> None:
    assert shard(message) == ()


@pytest.mark.parametrize(
    ("cluster_id", "node_pool", "value"),
    [
        ("lab", "", "lab/"),
        ("a/b", "c", "a%2Fb/c"),
        ("a", "b/c", "a/b%2Fc"),
        ("Köln\r\nx: y", "", "K%C3%B6ln%0D%0Ax%3A%20y/"),
        ("x" * 100_000, "y" * 100_000, f"{'x' * 512}/{'y' * 512}"),
    ],
    ids=["no pool", "slash in ID", "slash in pool", "no header of its own", "long"],
)
def test_any_id_is_valid_metadata(cluster_id: str, node_pool: str, value: str) -> None:
    assert shard(StateReference(cluster_id=cluster_id, node_pool=node_pool)) == (("tenure-shard", value),)


class _Recorder(grpc.ServerInterceptor):  # type: ignore[misc]
    """Records the shard of each call that a server receives."""

    def __init__(self) -> None:
        self.shards: dict[str, str] = {}

    def intercept_service(self, continuation, call):  # type: ignore[no-untyped-def]
        named = [value for key, value in call.invocation_metadata if key == "tenure-shard"]
        self.shards[call.method.rpartition("/")[2]] = ",".join(named)
        return continuation(call)


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Shards by method, of all calls to servers that start in this test."""
    recorder, make = _Recorder(), grpc.server

    def server(*arguments, interceptors=(), **options):  # type: ignore[no-untyped-def]
        return make(*arguments, interceptors=(recorder, *interceptors), **options)

    monkeypatch.setattr(grpc, "server", server)
    return recorder.shards


def test_servers_receive_the_shard_with_every_kind_of_call(shards: dict[str, str]) -> None:
    snapshot = small_snapshot()
    snapshot.cluster_id, snapshot.node_pool = "Köln", "a/b"
    with run_server() as (_, address), Client(address) as client, StateSession(client) as session:
        client.decide(snapshot)
        session.push(snapshot)
        snapshot.version += 1
        session.update(snapshot)
        session.decide()
        client.get_state("Köln", "a/b")
        client.list_states()
    named = {method: value for method, value in shards.items() if value}
    assert named == dict.fromkeys(("Decide", "PutSnapshot", "SyncState", "GetState"), "K%C3%B6ln/a%2Fb")
    assert {"Check", "ListStates"} <= shards.keys() - named.keys()
