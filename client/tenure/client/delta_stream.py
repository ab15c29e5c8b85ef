"""Deltas on a stream: each is sent, then its response awaited."""

import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from time import monotonic
from typing import Any, NamedTuple

import grpc
from tenure.client.errors import (
    DeadlineExceeded,
    FieldViolation,
    InvalidSnapshot,
    MessageTooLarge,
    StateMismatch,
    TenureError,
    Unauthenticated,
    Unavailable,
    error_of,
)
from tenure.v1 import state_pb2 as pb

OnSetAside = Callable[[pb.SetAsideRows], None]
"""Called with the rows that the server set aside; empty if there are none."""


class _Call(NamedTuple):
    """A SyncState call: its requests, and the queue of its responses."""

    requests: "SimpleQueue[pb.SyncStateRequest | None]"
    responses: Iterator[pb.SyncStateResponse]
    cancel: Callable[[], object]
    reader: ThreadPoolExecutor

    def end(self) -> None:
        self.requests.put(None)
        self.cancel()
        self.reader.shutdown(wait=False)


class DeltaStream:
    """Sends deltas on a SyncState call, and opens a new call when one has ended.

    Used by one thread at a time. Occupies one of the server's streams from the first delta until `close`.
    """

    def __init__(
        self,
        begin: Callable[[Iterator[pb.SyncStateRequest], pb.StateReference], Any],
        reach: Callable[[float], None],
        address: str,
        on_set_aside: OnSetAside | None = None,
    ) -> None:
        """`begin` opens a SyncState call for a state; `reach` waits for the server until a deadline.

        With `on_set_aside`, invalid rows are set aside, and it is called with all that are.
        """
        self._begin = begin
        self._wait_until_ready = reach
        self._address = address
        self._on_set_aside = on_set_aside
        self._call: _Call | None = None
        self._has_response = False
        """Whether the server has accepted the credentials of the call."""
        self._sent = 0

    def send(self, delta: pb.StateDelta, timeout: float) -> pb.StateReference:
        """State after a delta. `timeout` is in seconds, including the wait for the server.

        Raises an error of `tenure.client.errors`. After InvalidSnapshot, StateMismatch and MessageTooLarge
        the server has the previous state; after others its state is unknown, and the delta can be sent again.
        """
        deadline = monotonic() + timeout
        self._sent += 1
        call = self._call or self._open(delta.base, deadline)
        faults = pb.FAULTS_REFUSE if self._on_set_aside is None else pb.FAULTS_SET_ASIDE
        call.requests.put(pb.SyncStateRequest(nonce=str(self._sent), delta=delta, faults=faults))
        answer = self._receive(call, deadline - monotonic())
        if answer.HasField("error"):
            if answer.error.resync_required:
                self.close()
            raise _error(answer.error)
        if self._on_set_aside is not None:
            self._on_set_aside(answer.set_aside)
        return answer.state

    def close(self) -> None:
        """End the call, if any. The next delta opens another."""
        if self._call is not None:
            self._call.end()
            self._call = None
            self._has_response = False

    def _open(self, base: pb.StateReference, deadline: float) -> _Call:
        self._wait_until_ready(deadline)
        requests: SimpleQueue[pb.SyncStateRequest | None] = SimpleQueue()
        answers = self._begin(iter(requests.get, None), base)
        self._call = _Call(requests, answers, answers.cancel, ThreadPoolExecutor(1, "deltas"))
        weakref.finalize(self, self._call.end)
        return self._call

    def _receive(self, call: _Call, seconds: float) -> pb.SyncStateResponse:
        """Response to the last delta; the call is over if there is none."""
        answer: pb.SyncStateResponse | None = None
        try:
            answer = call.reader.submit(next, call.responses, None).result(max(seconds, 0.001))
        except TimeoutError:
            raise DeadlineExceeded(f"the server at {self._address} did not respond in time") from None
        except grpc.RpcError as failure:
            raise self._error_of(failure, self._has_response) from None
        finally:
            if answer is None:
                self.close()
        if answer is not None:
            self._has_response = True
            return answer
        raise Unavailable(f"the server at {self._address} closed the delta stream")

    def _error_of(self, failure: grpc.RpcError, was_accepted: bool) -> TenureError:
        """Error of a call that ended; Unavailable if another call may succeed.

        The call has no deadline, so DEADLINE_EXCEEDED is the server's idle timeout. Credentials that the
        server had accepted have expired or were replaced, and the next call sends the present ones.
        """
        error = error_of(failure, self._address)
        is_over = isinstance(error, DeadlineExceeded) or (isinstance(error, Unauthenticated) and was_accepted)
        return Unavailable(str(error)) if is_over else error


def _error(error: pb.StateError) -> InvalidSnapshot | StateMismatch | MessageTooLarge:
    """Convert a state error to an exception."""
    match error.code:
        case pb.STATE_ERROR_CODE_INVALID:
            violations = (FieldViolation(field.field, field.description) for field in error.violations)
            return InvalidSnapshot(error.message, violations)
        case pb.STATE_ERROR_CODE_TOO_LARGE:
            return MessageTooLarge(error.message)
    return StateMismatch(pb.StateErrorCode.Name(error.code).removeprefix("STATE_ERROR_CODE_"), error.message)
