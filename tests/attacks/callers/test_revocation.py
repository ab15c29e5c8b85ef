"""Revocation: a stream ends when the token is taken away, the policy changes, or the credentials expire."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from tenure.client import Client
from tenure.server.grpc_server import FILES
from tenure.server.security import credentials_watch
from tenure.server.service import SERVICE, stream_timeouts
from tenure.v1 import state_pb2 as pb
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest

from tests.attacks.callers.two_clusters import (
    BOTH,
    REQUESTS,
    TOKENS,
    A,
    B,
    call,
    delta,
    rule,
    run_two_clusters,
    security,
    serialize,
    snapshot_of,
    write_policy,
    write_tokens,
)
from tests.server.security.certificate_authority import CertificateAuthority
from tests.server.servers import run_server

pytestmark = pytest.mark.long

SECONDS = 20.0
"""Time for a stream to end on a busy machine."""


def test_streams_are_checked_often_enough_to_end_within_five_seconds() -> None:
    blocked = 2 * credentials_watch.INTERVAL_SECONDS
    assert stream_timeouts.LOOK_SECONDS + blocked < 5


class OpenStream:
    """A stream with one message, which has been processed, and none to come."""

    def __init__(self, channel: grpc.Channel, method: str, first: Message, token: str) -> None:
        self._more = threading.Event()
        invoke = channel.stream_stream(f"/{SERVICE}/{method}", serialize)
        self.call: Any = invoke(self._messages(first), metadata=(("authorization", f"Bearer {token}"),))

    def _messages(self, first: Message) -> Iterator[Message]:
        yield first
        self._more.wait(60)

    def code_within(self, seconds: float) -> str:
        """Return the status with which the stream ends; "OPEN" if it does not."""
        ended = threading.Event()
        if not self.call.add_callback(ended.set):
            ended.set()
        ended.wait(seconds)
        code = self.call.code().name if ended.is_set() else "OPEN"
        self._more.set()
        return str(code)


@contextmanager
def open_stream(address: str, method: str, name: str = "a", cluster: str = A) -> Iterator[OpenStream]:
    """Open a stream about a cluster whose first message has been processed."""
    first = {
        "SyncState": pb.SyncStateRequest(nonce="1", delta=delta(cluster)),
        "PutSnapshot": pb.PutSnapshotRequest(epoch="x", chunk=snapshot_of(cluster)),
    }[method]
    with grpc.insecure_channel(address) as channel:
        stream = OpenStream(channel, method, first, TOKENS[name])
        if method == "SyncState":
            next(stream.call)
        else:
            time.sleep(0.5)
        yield stream


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "token removed": (lambda folder: write_tokens(folder, "b"), "UNAUTHENTICATED"),
    "all tokens removed": (write_tokens, "UNAUTHENTICATED"),
    "token of another name": (
        lambda folder: (folder / "tokens").write_text(f"b2 {TOKENS['a']}\n"),
        "UNAUTHENTICATED",
    ),
    "rule removed": (lambda folder: write_policy(folder, BOTH[1]), "PERMISSION_DENIED"),
    "cluster removed": (
        lambda folder: write_policy(folder, rule("token:a", clusters=[B])),
        "PERMISSION_DENIED",
    ),
    "verb removed": (
        lambda folder: write_policy(folder, rule("token:a", clusters=[A], verbs=["read"])),
        "PERMISSION_DENIED",
    ),
}


@pytest.mark.parametrize("method", ["SyncState", "PutSnapshot"])
@pytest.mark.parametrize("change", sorted(CHANGES))
def test_stream_ends_after_the_change(tmp_path: Path, method: str, change: str) -> None:
    make, code = CHANGES[change]
    with run_two_clusters(tmp_path) as address, open_stream(address, method) as stream:
        make(tmp_path)
        assert stream.code_within(SECONDS) == code


@pytest.mark.parametrize("token", ["", TOKENS["a"]])
@pytest.mark.parametrize("is_withdrawn", [True, False])
def test_open_connection_ends_to_identify_its_caller_when_its_client_ca_is_withdrawn(
    tmp_path: Path, token: str, is_withdrawn: bool
) -> None:
    """TLS checks the certificate of a client only when a connection begins."""
    old, new = CertificateAuthority(tmp_path, "old"), CertificateAuthority(tmp_path, "new")
    trusted, own, pair = tmp_path / "trusted.pem", old.server(), old.client("a.example.com")
    trusted.write_bytes(old.file.read_bytes())
    files = {"tlsCert": own["tls_cert"], "tlsKey": own["tls_key"], "tlsClientCa": trusted}
    guard = security(tmp_path, [rule("certificate:a.example.com", "token:a", clusters=[A])], **files)
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    credentials = grpc.ssl_channel_credentials(
        *(file.read_bytes() for file in (old.file, pair["tls_key"], pair["tls_cert"]))
    )
    with run_server(guard=guard) as (_, address), grpc.secure_channel(address, credentials) as channel:
        invoke = channel.stream_stream(f"/{SERVICE}/PutSnapshot", serialize)
        more = threading.Event()

        def messages() -> Iterator[Message]:
            yield pb.PutSnapshotRequest(epoch="x", chunk=snapshot_of(A))
            more.wait(60)

        call: Any = invoke(messages(), metadata=metadata)
        ended = threading.Event()
        assert call.add_callback(ended.set)
        time.sleep(0.5)
        trusted.write_bytes(
            b"".join(each.file.read_bytes() for each in (new, *([] if is_withdrawn else [old])))
        )
        assert ended.wait(SECONDS if is_withdrawn else 3) is is_withdrawn
        more.set()
        assert (call.code() is grpc.StatusCode.UNAUTHENTICATED) is is_withdrawn
        with ExitStack() as refused:
            if is_withdrawn:
                refused.enter_context(pytest.raises(grpc.RpcError, match="client certificate was withdrawn"))
            decide = channel.unary_unary(f"/{SERVICE}/GetCapabilities", serialize)
            decide(GetCapabilitiesRequest(), metadata=metadata, timeout=20)


@pytest.mark.parametrize("method", ["SyncState", "PutSnapshot"])
def test_streams_of_other_callers_continue(tmp_path: Path, method: str) -> None:
    with run_two_clusters(tmp_path) as address, open_stream(address, method, "b", B) as stream:
        write_tokens(tmp_path, "b")
        write_policy(tmp_path, BOTH[1])
        assert stream.code_within(2.5) == "OPEN"


def test_stream_whose_caller_does_not_receive_is_cancelled(tmp_path: Path) -> None:
    snapshot = snapshot_of(A)
    for number in range(3_000):
        row = snapshot.nodes.add()
        row.CopyFrom(snapshot.nodes[0])
        row.name = f"node-{number}"
        row.labels["filler"] = f"{number}" * 400
    options = [("grpc.http2.bdp_probe", 0), ("grpc.max_receive_message_length", -1)]
    with run_server(guard=security(tmp_path)) as (_, address):
        with Client(address, token=TOKENS["a"]) as client:
            client.put_snapshot("e", snapshot)
        with grpc.insecure_channel(address, options) as channel:
            invoke = channel.unary_stream(f"/{SERVICE}/GetState", serialize)
            metadata = (("authorization", f"Bearer {TOKENS['a']}"),)
            responses = invoke(pb.GetStateRequest(cluster_id=A), metadata=metadata)
            next(responses)
            write_tokens(tmp_path, "b")
            time.sleep(5)
            with pytest.raises(grpc.RpcError) as ended:
                list(responses)
    assert ended.value.code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAUTHENTICATED)


def test_reflection_ends_with_the_token(tmp_path: Path) -> None:
    with run_two_clusters(tmp_path) as address, grpc.insecure_channel(address) as channel:
        more = threading.Event()

        def requests() -> Iterator[ServerReflectionRequest]:
            yield ServerReflectionRequest(list_services="")
            more.wait(20)

        metadata = (("authorization", f"Bearer {TOKENS['a']}"),)
        responses = ServerReflectionStub(channel).ServerReflectionInfo(requests(), metadata=metadata)
        assert next(responses).list_services_response.service
        write_tokens(tmp_path, "b")
        began = time.monotonic()
        with pytest.raises(grpc.RpcError):
            next(responses)
        assert time.monotonic() - began < SECONDS
        more.set()


def test_new_calls_are_rejected_at_once(tmp_path: Path) -> None:
    with run_two_clusters(tmp_path) as address:
        requests = REQUESTS["GetState"]["cluster"](A, A)
        assert call(address, "GetState", requests, TOKENS["a"]).code == "OK"
        write_policy(tmp_path, BOTH[1])
        assert call(address, "GetState", requests, TOKENS["a"]).code == "PERMISSION_DENIED"
        write_tokens(tmp_path, "b")
        assert call(address, "GetState", requests, TOKENS["a"]).code == "UNAUTHENTICATED"


def file_health(channel: grpc.Channel) -> int:
    return int(HealthStub(channel).Check(HealthCheckRequest(service=FILES), timeout=5).status)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "invalid": lambda file: file.write_text("{"),
    "a directory": lambda file: (file.unlink(), file.mkdir()),
    "writable by others": lambda file: file.chmod(0o666),
}


@pytest.fixture
def quick_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked at more often than in production."""
    monkeypatch.setattr(credentials_watch, "INTERVAL_SECONDS", 0.1)


@pytest.mark.usefixtures("quick_watch")
@pytest.mark.parametrize("name", ["tokens", "policy.yaml"])
@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_unusable_file_is_a_fault_and_the_previous_content_stays(
    tmp_path: Path, name: str, damage: str
) -> None:
    serving, failing = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
    content = {"tokens": "tokens", "policy.yaml": "policy"}[name]
    guard = security(tmp_path)
    with run_server(guard=guard) as (server, address), grpc.insecure_channel(address) as channel:
        wait_until(lambda: file_health(channel) == serving)
        DAMAGES[damage](tmp_path / name)
        wait_until(lambda: file_health(channel) == failing)
        assert [what for what, fault in server.faults().items() if fault] == [content]
        assert str(tmp_path / name) in server.faults()[content]
        assert HealthStub(channel).Check(HealthCheckRequest(), timeout=5).status == serving
        request = REQUESTS["Decide"]["snapshot"](A, A)
        for _ in range(20):
            assert call(address, "Decide", request, TOKENS["a"]).code == "OK"
        if (tmp_path / name).is_dir():
            (tmp_path / name).rmdir()
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o600)
        write_tokens(tmp_path, "a", "b")
        write_policy(tmp_path, *BOTH)
        wait_until(lambda: file_health(channel) == serving)
        assert not any(server.faults().values())


@pytest.mark.usefixtures("quick_watch")
def test_unusable_file_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with run_server(guard=security(tmp_path)) as (_, address), grpc.insecure_channel(address) as channel:
        (tmp_path / "tokens").unlink()
        wait_until(lambda: file_health(channel) == HealthCheckResponse.NOT_SERVING)
        time.sleep(5 * credentials_watch.INTERVAL_SECONDS)
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert errors[0].getMessage().startswith("Cannot load new tokens; keeping the previous ones: ")
