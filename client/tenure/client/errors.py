"""From gRPC statuses to the errors of this package.

What can go wrong with a call.

    TenureError
     ├── InvalidSnapshot     the question is malformed; `violations` names every field to mend
     ├── Unavailable         nobody answers, or the server is busy; try again
     ├── InvalidCredentials  certificates or tokens that were given cannot be used; nobody was asked
     ├── TlsHandshakeFailed  client and server do not trust each other's certificates
     ├── Unauthenticated     the server does not know the token, or wants one
     ├── StateMismatch       the server has not the state that is referred to, or its clock is ahead
     ├── DeadlineExceeded    the server is there, but did not answer in time
     ├── MessageTooLarge     a message is larger than the server or the client accepts
     └── InternalError       everything else: report it

Nothing was decided when one of them is raised, and asking again is harmless.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, PreconditionFailure, QuotaFailure, RetryInfo
from grpc_status import rpc_status


class FieldViolation(NamedTuple):
    """One violating field: its path in the snapshot ("queues[12].parent") and what to mend."""

    field: str
    description: str

    def __str__(self) -> str:
        return f"{self.field}: {self.description}"


class TenureError(Exception):
    """A call that gave no answer. The message says what to do."""


class InvalidSnapshot(TenureError):
    """The server refuses the question. `violations` are in the order of the message."""

    def __init__(self, summary: str, violations: Iterable[FieldViolation]) -> None:
        self.violations = tuple(violations)
        super().__init__("\n  ".join((summary, *map(str, self.violations))))


class Unavailable(TenureError):
    """No server answers at the address, it is draining, or too many calls are waiting for it."""


class InvalidCredentials(TenureError):
    """A certificate, a key or a token that was given cannot be used. Names the file; shows no secret."""


class TlsHandshakeFailed(TenureError):
    """The TLS handshake failed: certificates do not fit what the other side trusts."""


class Unauthenticated(TenureError):
    """The server wants a token that it knows."""


class StateMismatch(TenureError):
    """The state that is referred to is not what the server has. `code` says how: "UNKNOWN_STATE", ...

    `resync_required` tells whether a new full snapshot helps.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)

    @property
    def resync_required(self) -> bool:
        """Whether only a new full snapshot helps; a clock that went back is for the caller to mend."""
        return self.code in ("UNKNOWN_STATE", "VERSION_GAP")


class DeadlineExceeded(TenureError):
    """The server did not finish in time."""


class MessageTooLarge(TenureError):
    """The snapshot is larger than the server accepts, or the answer larger than the client does."""


class InternalError(TenureError):
    """The server failed in a way that is not the caller's doing."""


_Detail = TypeVar("_Detail", bound=Message)


def error_of(failure: grpc.RpcError, address: str) -> TenureError:
    """What a failed call to the server at an address means to the caller."""
    assert isinstance(failure, grpc.Call), "the error of a call is the call itself"
    code, said = failure.code(), failure.details() or ""
    match code:
        case grpc.StatusCode.INVALID_ARGUMENT:
            return _invalid_snapshot(failure, said)
        case grpc.StatusCode.FAILED_PRECONDITION if failed := _detail(failure, PreconditionFailure):
            code = failed.violations[0].type if failed.violations else ""
            return StateMismatch(code.removeprefix("STATE_ERROR_CODE_"), said)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceeded(f"the server at {address} did not answer in time: allow more time")
        case grpc.StatusCode.CANCELLED:
            return Unavailable(f"the server at {address} hung up: ask again")
        case grpc.StatusCode.UNAVAILABLE:
            return Unavailable(f"the server at {address} cannot be reached: {said}")
        case grpc.StatusCode.UNAUTHENTICATED:
            return Unauthenticated(f"the server at {address} does not let us in: {said}")
        case grpc.StatusCode.RESOURCE_EXHAUSTED:
            if _detail(failure, RetryInfo) is not None:
                return Unavailable(f"the server at {address} is busy: {said}")
            if _detail(failure, QuotaFailure) is not None:
                return MessageTooLarge(said)
            return MessageTooLarge(f"{said}: send less, or raise maxMessageMib in the server's configuration")
    return InternalError(f"the server at {address} failed with {code.name}: {said}")


def _invalid_snapshot(failure: grpc.Call, message: str) -> InvalidSnapshot:
    details = _detail(failure, BadRequest) or BadRequest()
    violations = (FieldViolation(v.field, v.description) for v in details.field_violations)
    return InvalidSnapshot(message, violations)


def _detail(failure: grpc.Call, kind: type[_Detail]) -> _Detail | None:
    """The first detail of a kind in the rich status of a failure, if any."""
    status = rpc_status.from_call(failure)
    for packed in status.details if status is not None else ():
        found = kind()
        if packed.Unpack(found):
            return found
    return None
