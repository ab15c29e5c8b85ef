"""Tokens over a real connection: accepted and rejected callers, exempt calls, and reloading of files."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from tenure.client import Client, InvalidCredentials, Unauthenticated
from tenure.server.security.access_control import AccessControl
from tenure.server.security.tokens import TokenFileError, Tokens, digest_of
from tenure.server.settings import Security
from tenure.v1.decide_pb2 import DecideRequest

from tests.server.security.certificate_authority import OTHER_TOKEN, TOKEN, CertificateAuthority, token_file
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

DECIDE = "/tenure.v1.DecisionService/Decide"


@contextmanager
def serve_with_tokens(file: Path, **files: Path) -> Iterator[str]:
    guard = AccessControl.of(Security.model_construct(token_file=file, **files))
    with run_server(guard=guard) as (_, address):
        yield address


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with serve_with_tokens(
        token_file(tmp_path, "# who may call", "", f"adapter {TOKEN} # the adapter")
    ) as address:
        yield address


def call_capabilities(address: str, **access: object) -> bool:
    with Client(address, timeout=20, **access) as client:
        return bool(client.decide(small_snapshot()).outcomes)


def call_error(address: str, *metadata: tuple[str, str]) -> str:
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(DECIDE)(request, timeout=10, metadata=metadata)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    return str(caught.value.details())


def test_valid_token_gets_a_response(address: str, tmp_path: Path) -> None:
    assert call_capabilities(address, token=TOKEN)
    own = tmp_path / "own"
    own.write_text(f"{TOKEN}\n")
    assert call_capabilities(address, token_file=own)


def test_scheme_is_case_insensitive(address: str) -> None:
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with grpc.insecure_channel(address) as channel:
        metadata = (("authorization", f"bearer  {TOKEN}"),)
        assert channel.unary_unary(DECIDE)(request, timeout=10, metadata=metadata)


def test_call_without_token_is_rejected_with_the_required_metadata(address: str) -> None:
    assert call_error(address).startswith("missing token; send the metadata `authorization: Bearer ")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN])
def test_other_authorization_header_counts_as_no_token(address: str, header: str) -> None:
    assert call_error(address, ("authorization", header)).startswith("missing token")


@pytest.mark.parametrize("token", [OTHER_TOKEN, TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "adapter"])
def test_unknown_token_is_rejected(address: str, token: str, caplog: pytest.LogCaptureFixture) -> None:
    assert call_error(address, ("authorization", f"Bearer {token}")).startswith("unknown token")
    assert token not in caplog.text


def test_client_reports_rejected_credentials(address: str) -> None:
    for access in ({}, {"token": OTHER_TOKEN}):
        with pytest.raises(Unauthenticated, match="rejected the credentials: "):
            call_capabilities(address, **access)


def test_health_needs_no_token(address: str) -> None:
    with grpc.insecure_channel(address) as channel:
        for name in ("", "tenure.v1.DecisionService"):
            answer = HealthStub(channel).Check(HealthCheckRequest(service=name), timeout=5)
            assert answer.status == HealthCheckResponse.SERVING


def test_reflection_needs_the_token(address: str) -> None:
    requests = [ServerReflectionRequest(list_services="")]
    with grpc.insecure_channel(address) as channel:
        ask = ServerReflectionStub(channel).ServerReflectionInfo
        with pytest.raises(grpc.RpcError) as caught:
            list(ask(iter(requests), timeout=5))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        (answer,) = ask(iter(requests), timeout=5, metadata=(("authorization", f"Bearer {TOKEN}"),))
        assert answer.list_services_response.service


@pytest.mark.parametrize("method", ["GetCapabilities", "PutSnapshot", "SyncState", "NoSuchMethod"])
def test_every_method_requires_a_token(address: str, method: str) -> None:
    with grpc.insecure_channel(address) as channel, pytest.raises(grpc.RpcError) as caught:
        list(channel.stream_stream(f"/tenure.v1.DecisionService/{method}")(iter([b""]), timeout=5))
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_token_change_takes_effect_without_restart(tmp_path: Path) -> None:
    file = token_file(tmp_path, TOKEN)
    with serve_with_tokens(file) as address, Client(address, token=TOKEN) as connected:
        assert connected.decide(small_snapshot()).outcomes
        token_file(tmp_path, OTHER_TOKEN)
        assert call_capabilities(address, token=OTHER_TOKEN)
        with pytest.raises(Unauthenticated):
            connected.decide(small_snapshot())


def test_client_rereads_its_token(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text(TOKEN)
    with serve_with_tokens(token_file(tmp_path, TOKEN)) as address, Client(address, token_file=own) as client:
        assert client.decide(small_snapshot()).outcomes
        token_file(tmp_path, OTHER_TOKEN)
        own.write_text(OTHER_TOKEN)
        assert client.decide(small_snapshot()).outcomes
        own.unlink()
        with pytest.raises(InvalidCredentials, match="own: cannot be read: No such file"):
            client.decide(small_snapshot())


def test_invalid_new_file_retains_the_old_tokens_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(file := token_file(tmp_path, f"adapter {TOKEN}"))
    file.write_text("too short")
    assert tokens.name_of(digest_of(TOKEN)) == "adapter"
    assert tokens.name_of(digest_of(OTHER_TOKEN)) is None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith("Cannot load new tokens; keeping the previous ones: ")
    assert "line 1: the token is shorter than 16 characters" in record.getMessage()


def test_empty_file_revokes_all_tokens(tmp_path: Path) -> None:
    tokens = Tokens(file := token_file(tmp_path, TOKEN))
    file.write_text("# all are revoked\n")
    assert tokens.name_of(digest_of(TOKEN)) is None


def test_file_that_is_being_written_revokes_nothing(tmp_path: Path) -> None:
    """What writes a file empties it first."""
    tokens = Tokens(file := token_file(tmp_path, TOKEN))
    content = file.read_text()
    file.write_text("")
    writer = threading.Timer(0.02, file.write_text, [content])
    writer.start()
    assert tokens.name_of(digest_of(TOKEN))
    writer.join()


def test_tokens_are_not_stored_in_memory(tmp_path: Path) -> None:
    tokens = Tokens(token_file(tmp_path, f"adapter {TOKEN}", OTHER_TOKEN))
    assert tokens.name_of(digest_of(TOKEN)) == "adapter"
    assert tokens.name_of(digest_of(OTHER_TOKEN)) == "(unnamed)"
    assert TOKEN not in repr(vars(tokens))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "tokens: cannot be read: No such file"),
        (b"", "tokens: contains no token"),
        (b"# nothing\n\n", "tokens: contains no token"),
        (b"\n# x\na b c\n", "tokens, line 3: must be a token, or a name followed by a token"),
        (
            b"a 0123456789abcdef\nb 0123456789abcdef\n",
            "tokens, line 2: the token has another name in an earlier line",
        ),
        (b"secret\n", "tokens, line 1: the token is shorter than 16 characters"),
        ("tökentökentökentöken".encode(), "tokens: tokens and names must be ASCII"),
    ],
)
def test_server_rejects_an_unusable_token_file(tmp_path: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / "tokens").write_bytes(content)
    with pytest.raises(TokenFileError, match=says) as caught:
        Tokens(tmp_path / "tokens")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("access", "says"),
    [
        ({"token": ""}, "the token is empty"),
        ({"token": "two words of secret"}, "must be one word of printable ASCII characters"),
        ({"token": "secret\nsecret"}, "must be one word of printable ASCII characters"),
        ({"token": TOKEN, "token_file": "x"}, "token and token_file are both set"),
        ({"token_file": "/no/such/file"}, "/no/such/file: cannot be read: No such file"),
    ],
)
def test_client_rejects_an_unusable_token(access: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidCredentials, match=says) as caught:
        Client("127.0.0.1:1", **access)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["10.0.0.1:1", "scheduler:50051", "[2001:db8::1]:1", "dns:///localhost:1"]
)
def test_token_is_not_sent_to_another_machine_in_plaintext(address: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidCredentials, match="must not be sent in plaintext"):
        Client(address, token=TOKEN)
    Client(address, token=TOKEN, allow_plaintext=True).close()
    Client(address, token=TOKEN, tls_ca=CertificateAuthority(tmp_path).file).close()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/run/tenure.sock"])
def test_token_can_be_sent_over_loopback_in_plaintext(address: str) -> None:
    Client(address, token=TOKEN).close()


def test_token_is_checked_over_tls(tmp_path: Path) -> None:
    ours = CertificateAuthority(tmp_path)
    with serve_with_tokens(token_file(tmp_path, TOKEN), **ours.server()) as address:
        assert call_capabilities(address, tls_ca=ours.file, token=TOKEN)
        with pytest.raises(Unauthenticated):
            call_capabilities(address, tls_ca=ours.file)


def test_calls_are_rejected_before_their_message_arrives(address: str) -> None:
    def never() -> Iterator[bytes]:
        time.sleep(30)
        yield b""

    with grpc.insecure_channel(address) as channel:
        call = channel.stream_unary(DECIDE)
        with pytest.raises(grpc.RpcError) as caught:
            call(never(), timeout=10)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
