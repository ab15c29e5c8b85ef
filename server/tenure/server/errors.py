"""gRPC errors: status, details, and what the caller can do."""

from collections.abc import Sequence
from typing import Final

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, PreconditionFailure, QuotaFailure, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from tenure.server.state import StateError
from tenure.v1 import state_pb2 as state_pb
from tenure.wire.limits import LimitExceeded
from tenure.wire.violations import FieldViolation, SnapshotValidationError

MAX_VIOLATIONS: Final = 50
"""Maximum number of violations in one error; the message has the total."""
MAX_DETAIL_BYTES: Final = 5_000
"""Maximum size of all violations in bytes: many clients reject trailers above 8 KiB."""

RETRY_AFTER_SECONDS: Final = 1
"""Retry delay returned when too many calls are queued."""


def invalid_snapshot(invalid: SnapshotValidationError) -> grpc.Status:
    """INVALID_ARGUMENT with a google.rpc.BadRequest that names the invalid fields."""
    details = _bad_request(invalid.violations)
    total, named = len(invalid.violations), len(details.field_violations)
    rest = "" if named == total else f"; the details name the first {named}"
    message = f"{total} field(s) of the request are invalid{rest}"
    return _status(grpc.StatusCode.INVALID_ARGUMENT, message, details)


def state_error_status(found: StateError) -> grpc.Status:
    """Status of a call that ends with a state error.

    FAILED_PRECONDITION with a google.rpc.PreconditionFailure whose type is the name of the code. Invalid rows
    are INVALID_ARGUMENT, and exceeded limits RESOURCE_EXHAUSTED, as for other calls.
    """
    match found.code:
        case state_pb.STATE_ERROR_CODE_INVALID:
            details = _bad_request(found.violations)
            return _status(grpc.StatusCode.INVALID_ARGUMENT, str(found), details)
        case state_pb.STATE_ERROR_CODE_TOO_LARGE:
            return _status(grpc.StatusCode.RESOURCE_EXHAUSTED, str(found))
    failure = PreconditionFailure()
    failure.violations.add(type=state_pb.StateErrorCode.Name(found.code), description=str(found))
    return _status(grpc.StatusCode.FAILED_PRECONDITION, str(found), failure)


def resource_exhausted(what: str) -> grpc.Status:
    """RESOURCE_EXHAUSTED with a google.rpc.RetryInfo, which distinguishes it from an exceeded limit."""
    details = RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_SECONDS))
    return _status(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{what}; retry later", details)


def limit_exceeded(exceeded: LimitExceeded) -> grpc.Status:
    """RESOURCE_EXHAUSTED with a google.rpc.QuotaFailure that names the field and the limit."""
    details = QuotaFailure()
    details.violations.add(subject=exceeded.field, description=str(exceeded))
    return _status(grpc.StatusCode.RESOURCE_EXHAUSTED, str(exceeded), details)


def plain_status(code: grpc.StatusCode, message: str) -> grpc.Status:
    """A status without details."""
    return _status(code, message)


def _bad_request(violations: Sequence[FieldViolation]) -> BadRequest:
    details = BadRequest()
    for field, description in violations[:MAX_VIOLATIONS]:
        details.field_violations.add(field=field, description=description)
        if details.ByteSize() > MAX_DETAIL_BYTES:
            del details.field_violations[-1]
            break
    return details


def _status(code: grpc.StatusCode, message: str, *details: Message) -> grpc.Status:
    status = Status(code=code.value[0], message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return rpc_status.to_status(status)
