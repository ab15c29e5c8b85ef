"""Triggers every error of every method over a real connection."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, Final

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from tenure.server.security.access_control import AccessControl
from tenure.server.security.policy import PolicyFile
from tenure.server.security.tokens import Tokens
from tenure.server.service import SERVICE
from tenure.server.service.service import METHODS
from tenure.v1 import decision_service_pb2 as service_pb

from tests.attacks.hostile_requests import field
from tests.server.servers import run_server

RPCS: Final[dict[str, MethodDescriptor]] = dict(
    service_pb.DESCRIPTOR.services_by_name["DecisionService"].methods_by_name
)
Call = Callable[..., Any]


def call_code(channel: grpc.Channel, name: str, request: bytes = b"", **options: Any) -> str:
    """Return the status code of a call with one message."""
    rpc = RPCS[name]
    sends, gets = (
        "stream" if is_stream else "unary" for is_stream in (rpc.client_streaming, rpc.server_streaming)
    )
    call = getattr(channel, f"{sends}_{gets}")(f"/{SERVICE}/{name}")
    given = iter([request]) if rpc.client_streaming else request
    try:
        answer = call(given, **{"timeout": 20, **options})
        if rpc.server_streaming:
            list(answer)
    except grpc.RpcError as failure:
        return str(failure.code().name)
    return "OK"


@contextmanager
def channel(**server: Any) -> Iterator[grpc.Channel]:
    options = [("grpc.max_send_message_length", -1)]
    with run_server(**server) as (_, address), grpc.insecure_channel(address, options) as connection:
        yield connection


def without_a_token(name: str, folder: Path) -> str:
    tokens = folder / "tokens"
    tokens.write_text("0123456789abcdef\n")
    with channel(guard=AccessControl(tokens=Tokens(tokens))) as connection:
        return call_code(connection, name)


def without_permission(name: str, folder: Path) -> str:
    """Return the status code of a caller that no rule names, for a request without content."""
    (folder / "policy.yaml").write_text("rules: []")
    (folder / "tokens").write_text("0123456789abcdef\n")
    tokens, policy = Tokens(folder / "tokens"), PolicyFile(folder / "policy.yaml")
    metadata = (("authorization", "Bearer 0123456789abcdef"),)
    with channel(guard=AccessControl(tokens=tokens, policy=policy)) as connection:
        return call_code(connection, name, metadata=metadata)


def compressed(name: str) -> str:
    with channel() as connection:
        return call_code(connection, name, field(9, b"x" * 9_000), compression=grpc.Compression.Gzip)


def too_large(name: str) -> str:
    with channel(max_message_mib=1) as connection:
        return call_code(connection, name, field(9, b"x" * 2**21))


def beyond_its_time(name: str) -> str:
    halt = Event()
    with channel() as connection:
        call = connection.stream_stream(f"/{SERVICE}/{name}")(iter(halt.wait, True), timeout=0.1)
        code = call.code()
        halt.set()
        return str(code.name)


def after_shutdown(name: str) -> str:
    with run_server() as (server, address), grpc.insecure_channel(address) as connection:
        server.drain()
        return call_code(connection, name)


def with_internal_error(name: str, patched: pytest.MonkeyPatch) -> str:
    def fall_over(*_: object) -> Any:
        raise KeyError("somewhere inside")

    patched.setitem(METHODS, name, replace(METHODS[name], respond=fall_over))
    with channel() as connection:
        return call_code(connection, name)


def after_cancellation(name: str) -> str:
    """Return the status code after the caller cancels, before its message is sent."""
    halt = Event()
    with channel() as connection:
        call = connection.stream_stream(f"/{SERVICE}/{name}")(iter(halt.wait, True), timeout=20)
        call.cancel()
        halt.set()
        return str(call.code().name)


def invalid_requests(name: str) -> set[str]:
    """Return the status codes for a message that cannot be parsed and for one with an unknown reference."""
    with channel() as connection:
        return {
            call_code(connection, name, request) for request in (b"\x0a\xff", *_with_unknown_state(name))
        } - {"OK"}


def _with_unknown_state(name: str) -> Iterator[bytes]:
    """Return a request with an unknown state, if the method has such requests."""
    request = RPCS[name].input_type._concrete_class()
    for path in ("state", "delta.base"):
        inner = request
        for part in path.split("."):
            if part not in inner.DESCRIPTOR.fields_by_name:
                break
            inner = getattr(inner, part)
        else:
            inner.cluster_id = "nowhere"
            yield request.SerializeToString()
    if name == "GetState":
        request.cluster_id = "nowhere"
        yield request.SerializeToString()
