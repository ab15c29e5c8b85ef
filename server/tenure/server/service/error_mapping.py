"""Map exceptions of methods to gRPC statuses."""

import logging
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from tenure.server import errors
from tenure.server.culprit import culprit_of
from tenure.server.memory import MemoryExhausted, RequestTooLarge
from tenure.server.security.callers import NotAuthenticated, PermissionDenied
from tenure.server.service.admission import TooManyCalls, TooManyStreams
from tenure.server.service.cycle_queue import CycleQueueTimeout
from tenure.server.service.stream_timeouts import StreamIdleTimeout
from tenure.server.shard import CallEnded, Draining
from tenure.server.solver_host import SolverError, SolverProcessLost, SolverUnavailable
from tenure.server.state import ChunkTooLarge, StateError
from tenure.server.telemetry.call_metrics import count_failure
from tenure.wire.limits import LimitExceeded
from tenure.wire.violations import SnapshotValidationError

_LOG: Final = logging.getLogger(__name__)


def status_of(error: Exception, request_name: str) -> grpc.Status:
    """Status for an exception; an unexpected one is logged as a defect."""
    status = _foreseen(error, request_name)
    count_failure(error, is_defect=status is None)
    if status is not None:
        return status
    if who := _culprit(error):
        _LOG.error("%s failed, not Tenure: a call ended with its exception.", who, exc_info=error)
        failed = f"{who} failed; no decision was made; please report it to its authors"
        return errors.plain_status(grpc.StatusCode.INTERNAL, failed)
    _LOG.error("A defect: a call ended with an exception. Nothing was decided.", exc_info=error)
    defect = "internal error; no decision was made; please report it"
    return errors.plain_status(grpc.StatusCode.INTERNAL, defect)


def _culprit(error: Exception) -> str:
    """The plugin or action that raised, here or in a solver process; empty: none."""
    return error.culprit if isinstance(error, SolverError) else culprit_of(error)


def _foreseen(error: Exception, request_name: str) -> grpc.Status | None:
    match error:
        case SnapshotValidationError():
            return errors.invalid_snapshot(error)
        case DecodeError():
            return errors.plain_status(
                grpc.StatusCode.INVALID_ARGUMENT, f"the message is not a {request_name}"
            )
        case StateError():
            return errors.state_error_status(error)
        case LimitExceeded():
            return errors.limit_exceeded(error)
        case ChunkTooLarge():
            return errors.plain_status(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        case NotAuthenticated():
            return errors.plain_status(grpc.StatusCode.UNAUTHENTICATED, str(error))
        case PermissionDenied():
            return errors.plain_status(grpc.StatusCode.PERMISSION_DENIED, str(error))
        case TooManyCalls():
            return errors.resource_exhausted("too many queued calls")
        case TooManyStreams():
            return errors.resource_exhausted("too many open streams")
        case RequestTooLarge():
            return errors.plain_status(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        case MemoryExhausted():
            return errors.resource_exhausted("not enough memory for the request")
        case Draining():
            return errors.plain_status(grpc.StatusCode.UNAVAILABLE, "the server is draining; retry")
        case StreamIdleTimeout():
            idle = "stream idle timeout; open a new stream"
            return errors.plain_status(grpc.StatusCode.DEADLINE_EXCEEDED, idle)
        case grpc.RpcError():
            return errors.plain_status(grpc.StatusCode.CANCELLED, "the call was cancelled")
        case SolverProcessLost():
            return errors.plain_status(grpc.StatusCode.INTERNAL, f"{error}; no decision was made; retry")
        case SolverUnavailable():
            return errors.plain_status(grpc.StatusCode.UNAVAILABLE, str(error))
        case CycleQueueTimeout():
            too_late = "deadline exceeded while queued; retry with a longer deadline"
            return errors.plain_status(grpc.StatusCode.DEADLINE_EXCEEDED, too_late)
        case CallEnded():
            too_late = "deadline exceeded before the response was ready; retry with a longer deadline"
            return errors.plain_status(grpc.StatusCode.DEADLINE_EXCEEDED, too_late)
    return None
