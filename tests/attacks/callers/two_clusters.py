"""A server with the states of two clusters and a caller for each, and calls of every method about one."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from tenure.client import Client
from tenure.server.security.access_control import AccessControl
from tenure.server.service import SERVICE
from tenure.server.settings import Security
from tenure.v1 import decision_service_pb2 as service_pb
from tenure.v1 import state_pb2 as pb
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest
from tenure.v1.cycles_pb2 import ListCyclesRequest, ListStatesRequest
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.explain_pb2 import ExplainRequest, WhyPending
from tenure.v1.report_pb2 import ReportResultsRequest
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

A: Final = "cluster-a"
B: Final = "cluster-b"
VERBS: Final = ("push", "decide", "report", "simulate", "explain", "read")
RPCS: Final[dict[str, MethodDescriptor]] = dict(
    service_pb.DESCRIPTOR.services_by_name["DecisionService"].methods_by_name
)
TOKENS: Final = {name: f"token-of-{name}-0123456789" for name in ("a", "b", "other")}
"""Tokens by the name of their caller. No rule names `other`."""


def rule(
    *identities: str, clusters: Iterable[str], verbs: Iterable[str] = VERBS, **more: Any
) -> dict[str, Any]:
    """One rule of a policy."""
    return {"identities": list(identities), "clusters": list(clusters), "verbs": list(verbs), **more}


BOTH: Final = (rule("token:a", clusters=[A]), rule("token:b", clusters=[B]))
"""Rules that permit everything on the own cluster."""


def write_policy(folder: Path, *rules: Mapping[str, Any]) -> Path:
    """Write a policy file."""
    file = folder / "policy.yaml"
    file.write_text(json.dumps({"rules": list(rules)}))
    return file


def write_tokens(folder: Path, *names: str) -> Path:
    """Write a token file with the tokens of these callers."""
    file = folder / "tokens"
    file.write_text("".join(f"{name} {TOKENS[name]}\n" for name in names))
    return file


def security(folder: Path, rules: Iterable[Mapping[str, Any]] = BOTH, **keys: Any) -> AccessControl:
    """Access control with the tokens, these rules, and further keys of the configuration."""
    files = {"tokenFile": write_tokens(folder, *TOKENS), "policyFile": write_policy(folder, *rules)}
    return AccessControl.of(Security.model_validate({**files, **keys}))


@contextmanager
def run_two_clusters(
    folder: Path, rules: Iterable[Mapping[str, Any]] = BOTH, **options: Any
) -> Iterator[str]:
    """Run a server on which both callers have pushed the state of their cluster; yield its address."""
    with run_server(guard=security(folder, rules), **options) as (_, address):
        for name, cluster in (("a", A), ("b", B)):
            with Client(address, token=TOKENS[name]) as client:
                client.put_snapshot("e", snapshot_of(cluster))
        yield address


def snapshot_of(cluster: str) -> ClusterSnapshot:
    """The small snapshot, of this cluster."""
    snapshot = small_snapshot()
    snapshot.cluster_id = cluster
    return snapshot


def reference(cluster: str, version: int = 7) -> pb.StateReference:
    """Reference to the pushed state of a cluster."""
    return pb.StateReference(cluster_id=cluster, epoch="e", version=version)


def delta(cluster: str, version: int = 7) -> pb.StateDelta:
    """A delta that changes a version of the pushed state of a cluster."""
    found = pb.StateDelta(base=reference(cluster, version), version=version + 1, now=small_snapshot().now)
    found.upserts.nodes.append(small_snapshot().nodes[0])
    return found


def smuggling(cluster: str, own: str) -> pb.StateDelta:
    """A delta of the own cluster whose rows name another one."""
    found = delta(own)
    found.upserts.cluster_id = cluster
    return found


def with_invalid_row(rows: ClusterSnapshot) -> ClusterSnapshot:
    """The rows with one more, which has a text that is too long."""
    rows.pods.add(uid="bad", name="x" * 254, pod_group="waits", shape="gpu", status=1)
    return rows


def invalid_delta(cluster: str) -> pb.StateDelta:
    """A delta with a row that has a text that is too long."""
    found = delta(cluster)
    with_invalid_row(found.upserts)
    return found


REQUESTS: Final[dict[str, dict[str, Callable[[str, str], list[Message]]]]] = {
    "Decide": {
        "snapshot": lambda of, own: [DecideRequest(snapshot=snapshot_of(of))],
        "state": lambda of, own: [DecideRequest(state=reference(of))],
        "delta": lambda of, own: [DecideRequest(delta=delta(of))],
        "beside the rows of a delta": lambda of, own: [DecideRequest(delta=smuggling(of, own))],
        "state beside a snapshot": lambda of, own: [
            DecideRequest(snapshot=snapshot_of(own), state=reference(of))
        ],
        "snapshot with a row that is set aside": lambda of, own: [
            DecideRequest(snapshot=with_invalid_row(snapshot_of(of)), faults=pb.FAULTS_SET_ASIDE)
        ],
    },
    "PutSnapshot": {
        "first chunk": lambda of, own: [
            pb.PutSnapshotRequest(epoch="x", chunk=snapshot_of(of), last_chunk=True)
        ],
        "beside the rows of a second chunk": lambda of, own: [
            pb.PutSnapshotRequest(epoch="x", chunk=snapshot_of(own)),
            pb.PutSnapshotRequest(chunk=ClusterSnapshot(cluster_id=of), last_chunk=True),
        ],
        "chunk with a row that is set aside": lambda of, own: [
            pb.PutSnapshotRequest(
                epoch="x",
                chunk=with_invalid_row(snapshot_of(of)),
                last_chunk=True,
                faults=pb.FAULTS_SET_ASIDE,
            )
        ],
    },
    "ApplyDelta": {
        "base": lambda of, own: [pb.ApplyDeltaRequest(delta=delta(of))],
        "beside the rows": lambda of, own: [pb.ApplyDeltaRequest(delta=smuggling(of, own))],
        "row that is set aside": lambda of, own: [
            pb.ApplyDeltaRequest(delta=invalid_delta(of), faults=pb.FAULTS_SET_ASIDE)
        ],
    },
    "SyncState": {
        "first message": lambda of, own: [pb.SyncStateRequest(nonce="1", delta=delta(of))],
        "second message": lambda of, own: [
            pb.SyncStateRequest(nonce="1", delta=delta(own)),
            pb.SyncStateRequest(nonce="2", delta=delta(of, 8)),
        ],
        "rows": lambda of, own: [pb.SyncStateRequest(nonce="1", delta=smuggling(of, own))],
        "row that is set aside": lambda of, own: [
            pb.SyncStateRequest(nonce="1", delta=invalid_delta(of), faults=pb.FAULTS_SET_ASIDE)
        ],
    },
    "GetState": {"cluster": lambda of, own: [pb.GetStateRequest(cluster_id=of)]},
    "ReportResults": {
        "cluster": lambda of, own: [ReportResultsRequest(cluster_id=of, now=small_snapshot().now)]
    },
    "Simulate": {
        "snapshot": lambda of, own: [SimulateRequest(snapshot=snapshot_of(of))],
        "state": lambda of, own: [SimulateRequest(state=reference(of))],
        "beside the rows": lambda of, own: [
            SimulateRequest(snapshot=snapshot_of(own), upserts=ClusterSnapshot(cluster_id=of))
        ],
    },
    "Explain": {
        "snapshot": lambda of, own: [
            ExplainRequest(snapshot=snapshot_of(of), why_pending=WhyPending(pod_group="waits"))
        ],
        "state": lambda of, own: [
            ExplainRequest(state=reference(of), why_pending=WhyPending(pod_group="waits"))
        ],
    },
    "ListCycles": {"cluster": lambda of, own: [ListCyclesRequest(cluster_id=of)]},
    "ListStates": {"": lambda of, own: [ListStatesRequest()]},
    "GetCapabilities": {"": lambda of, own: [GetCapabilitiesRequest()]},
}
"""Requests of every method, by the place that names a cluster, given that cluster and the own one."""
SERVER_METHODS: Final = frozenset({"GetCapabilities", "ListStates"})
"""Methods whose requests name no cluster."""
PLACES: Final = [(method, place) for method, places in REQUESTS.items() for place in places]


class CallEnd(NamedTuple):
    """How a call ended, and the responses before."""

    code: str
    details: str
    responses: list[bytes]


def serialize(message: Message) -> bytes:
    """Bytes of a request of any type."""
    return message.SerializeToString()


def call(address: str, method: str, requests: Iterable[Message], token: str) -> CallEnd:
    """Call a method with a token."""
    with grpc.insecure_channel(address) as channel:
        return call_on(channel, method, requests, token)


def call_on(channel: grpc.Channel, method: str, requests: Iterable[Message], token: str) -> CallEnd:
    """Call a method on a connection."""
    invoke = channel.stream_stream(f"/{SERVICE}/{method}", serialize)
    responses: list[bytes] = []
    try:
        for response in invoke(iter(requests), timeout=30, metadata=(("authorization", f"Bearer {token}"),)):
            responses.append(response)
    except grpc.RpcError as failure:
        return CallEnd(failure.code().name, failure.details() or "", responses)
    return CallEnd("OK", "", responses)
