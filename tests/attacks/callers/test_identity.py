"""Identities: what the token of one cluster can do on another cluster of the same server. Nothing."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client import Client, PermissionDenied, Unauthenticated
from tenure.server.security.access_control import AccessControl
from tenure.server.security.policy import Verb
from tenure.server.service import SERVICE
from tenure.server.service.named_clusters import cluster_paths
from tenure.server.service.service import METHODS
from tenure.server.settings import Security
from tenure.v1 import state_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.simulate_pb2 import SimulateResponse

from tests.attacks.callers.two_clusters import (
    PLACES,
    REQUESTS,
    RPCS,
    SERVER_METHODS,
    TOKENS,
    VERBS,
    A,
    B,
    call,
    call_on,
    delta,
    reference,
    rule,
    run_two_clusters,
    security,
    serialize,
    snapshot_of,
)
from tests.server.security.certificate_authority import CertificateAuthority
from tests.server.servers import run_server

DENIED = "PERMISSION_DENIED"
ABOUT_CLUSTERS = [(method, place) for method, place in PLACES if method not in SERVER_METHODS]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_two_clusters(tmp_path_factory.mktemp("identity")) as address:
        yield address


def state_of(address: str, cluster: str, name: str) -> tuple[pb.StateReference, Message]:
    with Client(address, token=TOKENS[name]) as client:
        return client.get_state(cluster)


def test_requests_of_every_method_are_attacked() -> None:
    assert REQUESTS.keys() == RPCS.keys()


def test_every_method_has_a_verb() -> None:
    assert METHODS.keys() == RPCS.keys()
    assert all(isinstance(method.verb, Verb) for method in METHODS.values())
    assert {method.verb.value for method in METHODS.values()} == {*VERBS, "describe"}


@pytest.mark.parametrize("method", sorted(RPCS))
def test_every_request_names_its_clusters_where_they_are_judged(method: str) -> None:
    paths = cluster_paths(RPCS[method].input_type)
    assert bool(paths.clusters) == (method not in SERVER_METHODS)


def test_request_with_any_number_of_clusters_is_a_defect() -> None:
    with pytest.raises(TypeError, match=r"SimulateResponse\.cycles names any number of clusters"):
        cluster_paths(SimulateResponse.DESCRIPTOR)


@pytest.mark.parametrize(("method", "place"), ABOUT_CLUSTERS)
def test_foreign_cluster_is_denied_wherever_it_is_named(address: str, method: str, place: str) -> None:
    before = state_of(address, B, "b")
    ended = call(address, method, REQUESTS[method][place](B, A), TOKENS["a"])
    assert ended.code == DENIED, ended.details
    verb = "decide" if method == "Decide" else METHODS[method].verb.value
    assert ended.details == (
        f"'token:a' may not {verb} on cluster '{B}': see rules[0].clusters of the server's policy file"
    )
    assert state_of(address, B, "b") == before


@pytest.mark.parametrize(("method", "place"), ABOUT_CLUSTERS)
def test_error_does_not_depend_on_whether_the_cluster_exists(address: str, method: str, place: str) -> None:
    existing = call(address, method, REQUESTS[method][place](B, A), TOKENS["a"])
    missing = call(address, method, REQUESTS[method][place]("cluster-x", A), TOKENS["a"])
    assert missing.code == existing.code == DENIED
    assert missing.details == existing.details.replace(B, "cluster-x")


@pytest.mark.parametrize("method", sorted(RPCS))
def test_own_cluster_is_permitted(tmp_path: Path, method: str) -> None:
    for place, requests in REQUESTS[method].items():
        with run_two_clusters(tmp_path) as address:
            ended = call(address, method, requests(A, A), TOKENS["a"])
            assert ended.code == ("INVALID_ARGUMENT" if "beside" in place else "OK"), ended.details


@pytest.mark.parametrize("method", sorted(RPCS))
def test_caller_that_no_rule_names_is_denied(address: str, method: str) -> None:
    for requests in REQUESTS[method].values():
        ended = call(address, method, requests(A, A), TOKENS["other"])
        assert ended.code == DENIED
        assert ended.details.startswith(f"'token:other' may not {METHODS[method].verb.value}")
        assert ended.details.endswith(": see rules of the server's policy file")


@pytest.mark.parametrize("method", sorted(RPCS.keys() - SERVER_METHODS))
def test_every_other_verb_is_not_enough(tmp_path: Path, method: str) -> None:
    needed = METHODS[method].verb.value
    others = [verb for verb in VERBS if verb != needed]
    rules = [rule("token:a", clusters=[A], verbs=others), rule("token:b", clusters=["*"])]
    where = "" if RPCS[method].client_streaming or RPCS[method].server_streaming else f" on cluster '{A}'"
    with run_server(guard=security(tmp_path, rules)) as (_, address):
        for requests in REQUESTS[method].values():
            ended = call(address, method, requests(A, A), TOKENS["a"])
            problem = f"'token:a' may not {needed}{where}: see rules[0].verbs of the server's policy file"
            assert ended == (DENIED, problem, [])


@pytest.mark.parametrize("method", ["PutSnapshot", "SyncState"])
def test_caller_without_permission_takes_no_stream_from_others(tmp_path: Path, method: str) -> None:
    rules = [rule("token:a", clusters=["*"], verbs=["read"]), rule("token:b", clusters=[B])]
    silent = threading.Event()
    with (
        run_server(guard=security(tmp_path, rules), max_streams=1) as (_, address),
        grpc.insecure_channel(address) as channel,
    ):
        for name in ("a", "other"):
            metadata = (("authorization", f"Bearer {TOKENS[name]}"),)
            invoke = channel.stream_stream(f"/{SERVICE}/{method}", serialize)
            stream = invoke(iter(silent.wait, True), metadata=metadata)
            assert stream.code() is grpc.StatusCode.PERMISSION_DENIED
        silent.set()
        push = pb.PutSnapshotRequest(epoch="e", chunk=snapshot_of(B), last_chunk=True)
        assert call_on(channel, "PutSnapshot", [push], TOKENS["b"]).code == "OK"


def test_decision_with_a_delta_requires_push_as_well(tmp_path: Path) -> None:
    rules = [rule("token:a", clusters=[A], verbs=["decide"]), rule("token:b", clusters=[A, B])]
    with run_server(guard=security(tmp_path, rules)) as (_, address):
        with Client(address, token=TOKENS["b"]) as owner:
            owner.put_snapshot("e", snapshot_of(A))
        with Client(address, token=TOKENS["a"]) as client:
            assert client.decide_state(reference(A)).outcomes
            with pytest.raises(PermissionDenied, match=f"'token:a' may not push on cluster '{A}'"):
                client.apply_and_decide(delta(A))
        assert state_of(address, A, "b")[0].version == 7


def test_messages_before_a_foreign_one_are_applied_and_the_stream_ends(tmp_path: Path) -> None:
    with run_two_clusters(tmp_path) as address:
        third = pb.SyncStateRequest(nonce="3", delta=delta(A, 8))
        requests = [*REQUESTS["SyncState"]["second message"](B, A), third]
        ended = call(address, "SyncState", requests, TOKENS["a"])
        assert ended.code == DENIED
        (applied,) = map(pb.SyncStateResponse.FromString, ended.responses)
        assert (applied.nonce, applied.state.version) == ("1", 8)
        assert state_of(address, A, "a")[0].version == 8
        assert state_of(address, B, "b")[0].version == 7


def test_message_of_a_stream_does_not_inherit_the_cluster_of_an_earlier_one(tmp_path: Path) -> None:
    with run_two_clusters(tmp_path) as address:
        own, unnamed = (pb.SyncStateRequest(nonce="n", delta=delta(of)) for of in (A, ""))
        ended = call(address, "SyncState", [own, unnamed], TOKENS["a"])
        assert ended.code == DENIED
        assert "on cluster ''" in ended.details


@pytest.mark.parametrize(
    "patterns",
    [
        pytest.param(["cluster-?x"], id="another character"),
        pytest.param(["cluster-"], id="prefix"),
        pytest.param(["luster-a"], id="suffix"),
        pytest.param(["Cluster-a"], id="case"),
        pytest.param(["cluster-[a-z]"], id="brackets are text"),
        pytest.param(["cluster-a\n*"], id="newline"),
        pytest.param([".*", "cluster.a"], id="not a regular expression"),
    ],
)
def test_pattern_matches_whole_names_only(tmp_path: Path, patterns: list[str]) -> None:
    rules = [rule("token:a", clusters=patterns)]
    with run_server(guard=security(tmp_path, rules)) as (_, address):
        ended = call(address, "Decide", [DecideRequest(snapshot=snapshot_of(A))], TOKENS["a"])
    assert ended.code == DENIED


@pytest.mark.parametrize(
    "cluster", ["cluster-a\n", "\ncluster-a", "cluster-a\x00", "cluster-\uff41", "CLUSTER-A"]
)
def test_name_that_resembles_the_own_cluster_is_another_cluster(address: str, cluster: str) -> None:
    ended = call(address, "Decide", [DecideRequest(snapshot=snapshot_of(cluster))], TOKENS["a"])
    assert ended.code == DENIED
    assert ended.details.isprintable()


def test_node_pool_outside_the_rule_is_denied(tmp_path: Path) -> None:
    rules = [rule("token:a", clusters=[A], nodePools=["gpu-*"])]
    with run_server(guard=security(tmp_path, rules)) as (_, address):
        snapshot = snapshot_of(A)
        for pool, code in (("gpu-1", "OK"), ("cpu", DENIED), ("", DENIED)):
            snapshot.node_pool = pool
            assert call(address, "Decide", [DecideRequest(snapshot=snapshot)], TOKENS["a"]).code == code


def test_row_without_a_node_pool_is_of_the_pool_of_the_request(tmp_path: Path) -> None:
    rules = [rule("token:a", clusters=[A], nodePools=["gpu"])]
    request = DecideRequest(delta=delta(A))
    request.delta.base.node_pool = "gpu"
    request.delta.upserts.cluster_id = A
    with run_server(guard=security(tmp_path, rules)) as (_, address):
        assert call(address, "Decide", [request], TOKENS["a"]).code == "FAILED_PRECONDITION"


@pytest.mark.parametrize("name", ["certificate:x", "jwt:eu/system:serviceaccount:ns:adapter", "token:b", "*"])
def test_name_of_a_token_cannot_imitate_another_identity(tmp_path: Path, name: str) -> None:
    file = tmp_path / "own-tokens"
    file.write_text(f"{name} {TOKENS['a']}\n")
    rules = [rule("certificate:x", "jwt:eu/system:serviceaccount:ns:adapter", "token:b", clusters=["*"])]
    with run_server(guard=security(tmp_path, rules, tokenFile=file)) as (_, address):
        ended = call(address, "GetState", [pb.GetStateRequest(cluster_id=A)], TOKENS["a"])
    assert ended.code == DENIED
    assert ended.details.startswith(f"'token:{name}' may not read")


def test_empty_policy_denies_everything(tmp_path: Path) -> None:
    with run_server(guard=security(tmp_path, [])) as (_, address):
        for method, place in PLACES:
            assert call(address, method, REQUESTS[method][place](A, A), TOKENS["a"]).code == DENIED


def test_without_a_policy_every_token_may_do_everything(tmp_path: Path) -> None:
    guard = AccessControl.of(Security.model_validate({"tokenFile": security_tokens(tmp_path)}))
    with run_server(guard=guard) as (_, address), Client(address, token=TOKENS["other"]) as client:
        client.put_snapshot("e", snapshot_of(B))
        assert client.get_state(B)[0].version == 7


def security_tokens(folder: Path) -> Path:
    security(folder)
    return folder / "tokens"


class TlsFiles:
    """A server with a client CA and a policy, and clients with certificates."""

    def __init__(self, folder: Path, *rules: dict[str, object], **keys: object) -> None:
        self.authority = CertificateAuthority(folder)
        files = {"tlsCert": "tls_cert", "tlsKey": "tls_key"}
        own = self.authority.server()
        self.guard = security(
            folder,
            rules,
            **{key: own[name] for key, name in files.items()},
            tlsClientCa=self.authority.file,
            **keys,
        )

    def decide(self, address: str, cluster: str, **access: object) -> bool:
        with Client(address, tls_ca=self.authority.file, timeout=20, **access) as client:
            return bool(client.decide(snapshot_of(cluster)).outcomes)


def test_client_certificate_is_an_identity(tmp_path: Path) -> None:
    files = TlsFiles(tmp_path, rule("certificate:a.example.com", clusters=[A]))
    pair = files.authority.client("a.example.com")
    with run_server(guard=files.guard) as (_, address):
        assert files.decide(address, A, **pair)
        with pytest.raises(PermissionDenied, match=r"'certificate:a\.example\.com' may not decide"):
            files.decide(address, B, **pair)


def test_common_name_of_a_certificate_with_other_names_is_ignored(tmp_path: Path) -> None:
    files = TlsFiles(tmp_path, rule("certificate:a.example.com", clusters=[A]))
    pair = files.authority.client("b.example.com", common_name="a.example.com")
    with run_server(guard=files.guard) as (_, address), pytest.raises(PermissionDenied):
        files.decide(address, A, **pair)


def test_token_beside_a_certificate_is_the_identity(tmp_path: Path) -> None:
    files = TlsFiles(tmp_path, rule("certificate:a.example.com", clusters=[A]), rule("token:b", clusters=[B]))
    pair = files.authority.client("a.example.com")
    with run_server(guard=files.guard) as (_, address):
        assert files.decide(address, B, token=TOKENS["b"], **pair)
        with pytest.raises(PermissionDenied, match="'token:b' may not"):
            files.decide(address, A, token=TOKENS["b"], **pair)


@pytest.mark.long
def test_open_connection_ends_to_identify_its_caller_when_the_certificate_expires(tmp_path: Path) -> None:
    """TLS checks the end of a certificate only when a connection begins."""
    files = TlsFiles(tmp_path, rule("certificate:a.example.com", clusters=[A]))
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=6)
    pair = files.authority.client("a.example.com", not_after=end)
    with (
        run_server(guard=files.guard) as (_, address),
        Client(address, tls_ca=files.authority.file, timeout=60, **pair) as client,
    ):
        assert client.decide(snapshot_of(A)).outcomes
        while datetime.now(UTC) < end:
            time.sleep(0.2)
        with pytest.raises(Unauthenticated, match="the client certificate has expired"):
            client.decide(snapshot_of(A))


def test_policy_without_authentication_does_not_start(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("rules: []")
    with pytest.raises(ValueError, match=r"server\.policyFile requires callers that can be told apart"):
        AccessControl.of(Security.model_validate({"policyFile": policy}))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "must be a mapping with the key rules"),
        ("[]", "must be a mapping with the key rules"),
        ("{}", "policy.yaml: rules: is required"),
        ("rules: [{}]", r"rules\[0\].identities: is required"),
        ("rule: []", "unknown key; did you mean rules?"),
        (
            "rules: [{identities: [a], clusters: [x], verbs: [read]}]",
            r"rules\[0\].identities\[0\]: must be token:NAME, certificate:NAME or jwt:ISSUER/SUBJECT",
        ),
        ("rules: [{identities: ['jwt:x'], clusters: [x], verbs: [read]}]", "must be jwt:ISSUER/SUBJECT"),
        ("rules: [{identities: ['token:a'], clusters: [], verbs: [read]}]", r"rules\[0\].clusters"),
        ("rules: [{identities: ['token:a'], clusters: [''], verbs: [read]}]", r"rules\[0\].clusters\[0\]"),
        ("rules: [{identities: ['token:a'], clusters: [x], verbs: [all]}]", r"rules\[0\].verbs\[0\]"),
        (
            "rules: [{identities: ['token:a'], clusters: [x], verbs: [describe]}]",
            "every rule permits describe",
        ),
        ("rules: [{identities: ['token:a'], cluster: [x], verbs: [read]}]", "did you mean clusters?"),
        ("rules: [", "line 1, column"),
    ],
)
def test_invalid_policy_does_not_start_and_names_the_key(tmp_path: Path, content: str, problem: str) -> None:
    security(tmp_path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(content)
    keys = {"tokenFile": tmp_path / "tokens", "policyFile": policy}
    with pytest.raises(ValueError, match=problem.replace("?", r"\?")):
        AccessControl.of(Security.model_validate(keys))


def test_health_needs_no_identity_and_reveals_no_cluster(address: str) -> None:
    with grpc.insecure_channel(address) as channel:
        assert HealthStub(channel).Check(HealthCheckRequest(), timeout=5).status == 1
        with pytest.raises(grpc.RpcError):
            HealthStub(channel).Check(HealthCheckRequest(service=A), timeout=5)
