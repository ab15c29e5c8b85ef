"""Errors of calls, and their conversion from gRPC statuses.

    TenureError
     ├── InvalidSnapshot     the request is invalid; `violations` names every field to fix
     ├── Unavailable         the server is unreachable, draining or busy; retry
     ├── InvalidCredentials  certificates or tokens cannot be used; no call was made
     ├── TlsHandshakeFailed  client and server do not trust each other's certificates
     ├── Unauthenticated     the token is missing or invalid
     ├── PermissionDenied    the caller may not do this on this cluster
     ├── StateMismatch       the server does not have the referenced state, or its clock is ahead
     ├── DeadlineExceeded    the server did not respond in time
     ├── UnsupportedFeature  the server lacks a method, or a feature that the caller requires
     ├── MessageTooLarge     a message exceeds a limit of the server or the client
     └── InternalError       everything else; report it

No decision was made when one of them is raised, and retries are safe.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, PreconditionFailure, QuotaFailure, RetryInfo
from grpc_status import rpc_status


class FieldViolation(NamedTuple):
    """One invalid field: its path in the snapshot ("queues[12].parent") and the fix."""

    field: str
    description: str

    def __str__(self) -> str:
        return f"{self.field}: {self.description}"


class TenureError(Exception):
    """A call without a response. The message has the fix."""


class InvalidSnapshot(TenureError):
    """The server rejected the request. `violations` are in message order."""

    def __init__(self, summary: str, violations: Iterable[FieldViolation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n  ".join((summary, *map(str, self.violations))))


class Unavailable(TenureError):
    """The server at the address is unreachable, draining, or has too many queued calls."""


class InvalidCredentials(TenureError):
    """A certificate, key or token cannot be used. Names the file; contains no secret."""


class TlsHandshakeFailed(TenureError):
    """The TLS handshake failed: a certificate is not trusted by the other side."""


class Unauthenticated(TenureError):
    """The server requires a valid token."""


class PermissionDenied(TenureError):
    """The policy of the server does not permit the call. Names the identity, the verb and the cluster."""


class StateMismatch(TenureError):
    """The server's state is not the referenced one. `code` is the kind: "UNKNOWN_STATE", ...

    `resync_required` is true if a new full snapshot fixes it.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)

    @property
    def resync_required(self) -> bool:
        """Whether a new full snapshot is required; a clock regression must be fixed by the caller."""
        return self.code in ("UNKNOWN_STATE", "VERSION_GAP")


class DeadlineExceeded(TenureError):
    """The server did not finish in time."""


class UnsupportedFeature(TenureError):
    """The server lacks the method, or a feature or field that the caller requires."""


class MessageTooLarge(TenureError):
    """A request exceeds the server's limit, or a response exceeds the client's."""


class InternalError(TenureError):
    """The server failed, not because of the caller."""


_Detail = TypeVar("_Detail", bound=Message)


def error_of(failure: grpc.RpcError, address: str) -> TenureError:
    """Convert a failed call to the server at an address."""
    assert isinstance(failure, grpc.Call), "the error of a call is the call itself"
    code, details = failure.code(), failure.details() or ""
    match code:
        case grpc.StatusCode.INVALID_ARGUMENT:
            return _invalid_snapshot(failure, details)
        case grpc.StatusCode.FAILED_PRECONDITION if failed := _detail(failure, PreconditionFailure):
            code = failed.violations[0].type if failed.violations else ""
            return StateMismatch(code.removeprefix("STATE_ERROR_CODE_"), details)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceeded(f"the server at {address} did not respond in time; set a longer timeout")
        case grpc.StatusCode.CANCELLED:
            return Unavailable(f"connection to {address} closed by the server; retry")
        case grpc.StatusCode.UNAVAILABLE:
            return Unavailable(f"cannot reach the server at {address}: {details}")
        case grpc.StatusCode.UNAUTHENTICATED:
            return Unauthenticated(f"the server at {address} rejected the credentials: {details}")
        case grpc.StatusCode.PERMISSION_DENIED:
            return PermissionDenied(f"the server at {address} does not permit the call: {details}")
        case grpc.StatusCode.UNIMPLEMENTED:
            return UnsupportedFeature(f"the server at {address} lacks a method or feature: {details}")
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            if _detail(failure, RetryInfo) is not None:
                return Unavailable(f"the server at {address} is busy: {details}")
            if _detail(failure, QuotaFailure) is not None:
                return MessageTooLarge(details)
            return MessageTooLarge(
                f"{details}; send less, or raise maxMessageMib in the server configuration"
            )
    return InternalError(f"the server at {address} failed with {code.name}: {details}")


def _invalid_snapshot(failure: grpc.Call, message: str) -> InvalidSnapshot:
    details = _detail(failure, BadRequest) or BadRequest()
    violations = (FieldViolation(v.field, v.description) for v in details.field_violations)
    return InvalidSnapshot(message, violations)


def _detail(failure: grpc.Call, kind: type[_Detail]) -> _Detail | None:
    """First detail of a type in the rich status of a failure, if any."""
    status = rpc_status.from_call(failure)
    for packed in status.details if status is not None else ():
        found = kind()
        if packed.Unpack(found):
            return found
    return None
