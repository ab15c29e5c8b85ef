"""From gRPC statuses to the errors of this package."""

from typing import TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, PreconditionFailure, QuotaFailure, RetryInfo
from grpc_status import rpc_status
from tenure.client.errors import (
    DeadlineExceeded,
    FieldViolation,
    InvalidSnapshot,
    ServerDefect,
    StaleState,
    TenureError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

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
            return StaleState(code.removeprefix("STATE_FAULT_CODE_"), said)
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
                return TooLarge(said)
            return TooLarge(f"{said}: send less, or raise maxMessageMib in the server's configuration")
    return ServerDefect(f"the server at {address} failed with {code.name}: {said}")


def _invalid_snapshot(failure: grpc.Call, said: str) -> InvalidSnapshot:
    details = _detail(failure, BadRequest) or BadRequest()
    violations = (FieldViolation(v.field, v.description) for v in details.field_violations)
    return InvalidSnapshot(said, violations)


def _detail(failure: grpc.Call, kind: type[_Detail]) -> _Detail | None:
    """The first detail of a kind in the rich status of a failure, if any."""
    status = rpc_status.from_call(failure)
    for packed in status.details if status is not None else ():
        found = kind()
        if packed.Unpack(found):
            return found
    return None
