"""Errors on the wire: which status, which details, and what the caller should do."""

from collections.abc import Sequence
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot

MAX_VIOLATIONS: Final = 50
"""Most field violations one answer names; the message says how many there are."""
MAX_DETAIL_BYTES: Final = 5_000
"""Largest size of all of them: many clients refuse trailers beyond 8 KiB."""

RETRY_AFTER_SECONDS: Final = 1
"""What a caller is told to wait when too many calls are waiting already."""


def invalid_snapshot(invalid: InvalidSnapshot) -> grpc.Status:
    """INVALID_ARGUMENT with a google.rpc.BadRequest that names the violating fields."""
    details = _bad_request(invalid.violations)
    total, named = len(invalid.violations), len(details.field_violations)
    rest = "" if named == total else f"; the details name the first {named}"
    message = f"{total} field(s) of the request are invalid{rest}"
    return _status(grpc.StatusCode.INVALID_ARGUMENT, message, details)


def too_many_calls() -> grpc.Status:
    """RESOURCE_EXHAUSTED with a google.rpc.RetryInfo, which tells it from a message that is too large."""
    details = RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_SECONDS))
    return _status(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls are waiting: retry later", details)


def _bad_request(violations: Sequence[FieldViolation]) -> BadRequest:
    details = BadRequest()
    for field, description in violations[:MAX_VIOLATIONS]:
        details.field_violations.add(field=field, description=description)
        if details.ByteSize() > MAX_DETAIL_BYTES:
            del details.field_violations[-1]
            break
    return details


def _status(code: grpc.StatusCode, message: str, details: Message) -> grpc.Status:
    packed = Any()
    packed.Pack(details)
    return rpc_status.to_status(Status(code=code.value[0], message=message, details=[packed]))
