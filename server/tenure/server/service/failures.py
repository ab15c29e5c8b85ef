"""From what a method raises to a gRPC status that says what the caller should do."""

import logging
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from tenure.server import errors
from tenure.server.codec.violations import InvalidSnapshot
from tenure.server.host import ChildLost, NotReady
from tenure.server.prescan import LimitExceeded
from tenure.server.service.admission import Draining, TooManyCalls, TooManyStreams
from tenure.server.service.pacing import IdleStream
from tenure.server.service.turns import NoTurn
from tenure.server.state import Fault, PieceTooLarge, TooMuchUploading
from tenure.server.telemetry.calls import count_failure

_LOG: Final = logging.getLogger(__name__)


def status_of(error: Exception, request_name: str) -> grpc.Status:
    """The status of a call that ended with an exception; one nobody foresaw is logged as a defect."""
    status = _foreseen(error, request_name)
    count_failure(error, is_defect=status is None)
    if status is not None:
        return status
    _LOG.error("A defect: a call ended with an exception. Nothing was decided.", exc_info=error)
    defect = "a defect in the server: nothing was decided; report it"
    return errors.plain(grpc.StatusCode.INTERNAL, defect)


def _foreseen(error: Exception, request_name: str) -> grpc.Status | None:
    match error:
        case InvalidSnapshot():
            return errors.invalid_snapshot(error)
        case DecodeError():
            return errors.plain(grpc.StatusCode.INVALID_ARGUMENT, f"the message is not a {request_name}")
        case Fault():
            return errors.fault(error)
        case LimitExceeded():
            return errors.limit_exceeded(error)
        case PieceTooLarge():
            return errors.plain(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        case TooManyCalls():
            return errors.too_much("too many calls are waiting")
        case TooManyStreams():
            return errors.too_much("too many streams are open")
        case TooMuchUploading():
            return errors.too_much("too many snapshots are on their way")
        case Draining():
            return errors.plain(grpc.StatusCode.UNAVAILABLE, "the server is draining: retry")
        case IdleStream():
            idle = "nothing came for too long: open another stream"
            return errors.plain(grpc.StatusCode.DEADLINE_EXCEEDED, idle)
        case grpc.RpcError():
            return errors.plain(grpc.StatusCode.CANCELLED, "the caller is gone")
        case ChildLost():
            return errors.plain(grpc.StatusCode.INTERNAL, f"{error}: nothing was decided; retry")
        case NotReady():
            return errors.plain(grpc.StatusCode.UNAVAILABLE, str(error))
        case NoTurn():
            too_late = "other cycles took all the time: retry later"
            return errors.plain(grpc.StatusCode.DEADLINE_EXCEEDED, too_late)
    return None
