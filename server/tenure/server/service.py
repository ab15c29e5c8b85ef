"""The gRPC service: one cycle at a time, and errors the caller can act on."""

import logging
import threading
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from tenure.server import cycle_metrics, errors
from tenure.server.codec.violations import InvalidSnapshot
from tenure.server.cycle_log import CycleLog
from tenure.server.engine import Engine
from tenure.server.telemetry import call_span
from tenure.v1 import decision_service_pb2 as pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["DecisionService"].full_name
"""tenure.v1.DecisionService"""

_REQUEST_NAME: Final = pb.DecideRequest.DESCRIPTOR.full_name
_LOG: Final = logging.getLogger(__name__)


class DecisionService:
    """Answers Decide with an engine. Calls wait for each other, at most `max_waiting_calls` of them."""

    def __init__(self, engine: Engine, max_waiting_calls: int) -> None:
        self._engine = engine
        self._max_calls = 1 + max_waiting_calls
        self._calls = 0
        self._is_draining = False
        self._changed = threading.Condition()
        self._cycle = threading.Lock()
        self._cycle_log = CycleLog()

    def handler(self) -> "grpc.GenericRpcHandler[bytes, pb.DecideResponse]":
        """What a gRPC server needs to route calls here. Requests are parsed here, to refuse them properly."""
        decide = grpc.unary_unary_rpc_method_handler(
            self.decide, response_serializer=pb.DecideResponse.SerializeToString
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Decide": decide})

    def decide(self, request: bytes, context: grpc.ServicerContext) -> pb.DecideResponse:
        """One cycle on the snapshot of the request."""
        with call_span(SERVICE, "Decide", context):
            self._enter(context)
            try:
                return self._in_turn(request, context)
            finally:
                self._leave()

    def drain(self, timeout: float) -> bool:
        """Refuse calls from now on and wait for those in flight; whether all ended in `timeout` seconds."""
        with self._changed:
            self._is_draining = True
            return self._changed.wait_for(lambda: self._calls == 0, timeout)

    def _enter(self, context: grpc.ServicerContext) -> None:
        with self._changed:
            if not self._is_draining and self._calls < self._max_calls:
                self._calls += 1
                return
        if self._is_draining:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the server is draining: retry")
        context.abort_with_status(errors.too_many_calls())

    def _leave(self) -> None:
        with self._changed:
            self._calls -= 1
            self._changed.notify_all()

    def _in_turn(self, request: bytes, context: grpc.ServicerContext) -> pb.DecideResponse:
        remaining = min(context.time_remaining(), threading.TIMEOUT_MAX)
        if not self._cycle.acquire(timeout=remaining):
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "other cycles took all the time: retry later")
        try:
            return self._answer(request, context)
        finally:
            self._cycle.release()

    def _answer(self, request: bytes, context: grpc.ServicerContext) -> pb.DecideResponse:
        try:
            question = pb.DecideRequest.FromString(request)
            answer = self._engine.decide(question)
            self._record(question, answer)
            return answer
        except InvalidSnapshot as invalid:
            context.abort_with_status(errors.invalid_snapshot(invalid))
        except DecodeError:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the message is not a {_REQUEST_NAME}")
        except Exception:
            _LOG.exception("A defect: a cycle ended with an exception. Nothing was decided.")
            context.abort(grpc.StatusCode.INTERNAL, "a defect in the server: nothing was decided; report it")

    def _record(self, question: pb.DecideRequest, answer: pb.DecideResponse) -> None:
        """For operators: nothing of it changes an answer."""
        cycle_metrics.count(answer)
        self._cycle_log.write(question.snapshot, answer)
