"""The client: one connection to a server, deadlines, retries and errors that say what to do."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client.connection_options import ConnectionOptions, File
from tenure.client.delta_stream import DeltaStream
from tenure.client.errors import error_of
from tenure.client.readiness import wait_until_ready
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest, GetCapabilitiesResponse
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.report_pb2 import ReportResultsRequest, ReportResultsResponse
from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import (
    ApplyDeltaRequest,
    ApplyDeltaResponse,
    GetStateRequest,
    PutSnapshotResponse,
    StateDelta,
    StateReference,
    SyncStateRequest,
)
from tenure.wire.chunking import chunk_snapshot
from tenure.wire.columns import to_pods
from tenure.wire.writer import encode_decide_request

DEFAULT_TIMEOUT_SECONDS: Final = 60.0
FRESH_SECONDS: Final = 5.0
"""So long after an answer nobody looks whether the server is there before the next call."""
_GONE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""What a call ends with when the server that answered a moment ago is gone."""

_DECIDE: Final = "/tenure.v1.DecisionService/Decide"
"""Of which the request is given in bytes."""

_RETRIES: Final = {
    "methodConfig": [
        {
            "name": [{"service": "tenure.v1.DecisionService"}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 3,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
            },
        }
    ]
}
"""Deciding changes nothing, so a call may be repeated whenever the server could not take it. A server that
ends may hang up on a call that it has not begun, which is CANCELLED then.

Within the deadline, and over some three seconds: long enough for a server to be replaced.
"""


_OPTIONS: Final = (
    ("grpc.service_config", json.dumps(_RETRIES)),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),  # by default a second, and up to two minutes
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


class Client:
    """A connection to the Tenure server at an address such as `127.0.0.1:50051`.

    With `tls_ca`, the CA of the server's certificate, or with a certificate of one's own (`tls_cert` and
    `tls_key`) calls are encrypted; all are files in PEM. A `token`, or the one in `token_file`, which is read
    for every call, is shown to the server; over clear text only on this machine, unless
    `allow_plaintext` permits it. Raises InvalidCredentials when something of it cannot be used.

    Use it in a `with` statement, or call `close`. Threads may share one client. `timeout` is in seconds and
    bounds a call as a whole: waiting for the server to be there, retries and the decision.

        with Client("127.0.0.1:50051") as client:
            response = client.decide(snapshot)
    """

    def __init__(
        self,
        address: str,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        tls_ca: File | None = None,
        tls_cert: File | None = None,
        tls_key: File | None = None,
        token: str | None = None,
        token_file: File | None = None,
        allow_plaintext: bool = False,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._connection = ConnectionOptions(tls_ca, tls_cert, tls_key, token, token_file, allow_plaintext)
        self._channel = self._connection.channel(address, _OPTIONS)
        self._service = DecisionServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._decide = self._channel.unary_unary(_DECIDE, bytes, DecideResponse.FromString)
        self._health = HealthStub(self._channel)
        self._last_response_at = -math.inf
        """When the server answered last, by the monotonic clock."""

    def decide(
        self, snapshot: ClusterSnapshot, actions: Iterable[str] = (), timeout: float | None = None
    ) -> DecideResponse:
        """The decision on a snapshot, with the server's actions unless others are named.

        Raises an error of `tenure.client.errors`; nothing was decided then.
        """
        answer: DecideResponse = self._call(self._decide, encode_decide_request(snapshot, actions), timeout)
        return answer

    def decide_state(
        self,
        state: StateReference,
        actions: Iterable[str] = (),
        now: Timestamp | None = None,
        timeout: float | None = None,
    ) -> DecideResponse:
        """The decision on a state that was pushed, at its time or at a later one; see `StateSession`.

        Raises an error of `tenure.client.errors`; nothing was decided then.
        """
        request = DecideRequest(state=state, actions=actions, now=now)
        answer: DecideResponse = self._call(self._service.Decide, request, timeout)
        return answer

    def apply_and_decide(
        self,
        delta: StateDelta,
        actions: Iterable[str] = (),
        now: Timestamp | None = None,
        timeout: float | None = None,
    ) -> tuple[StateReference, DecideResponse]:
        """Apply a delta to a state that was pushed, and decide on the state after it: what to refer to, and
        the decision. One call instead of two.

        Raises an error of `tenure.client.errors`; the delta may be applied or not then, and be sent again.
        """
        request = DecideRequest(delta=delta, actions=actions, now=now)
        answer: DecideResponse = self._call(self._service.Decide, request, timeout)
        after = StateReference()
        after.CopyFrom(delta.base)
        after.version = delta.version
        return after, answer

    def put_snapshot(
        self, epoch: str, snapshot: ClusterSnapshot, timeout: float | None = None
    ) -> StateReference:
        """Push a full snapshot, in pieces; the server keeps it in place of what it had of the cluster.

        `epoch` is any text that was not used before. Raises an error of `tenure.client.errors`.
        """
        answer: PutSnapshotResponse = self._call_stream(
            self._service.PutSnapshot, chunk_snapshot(epoch, snapshot), timeout
        )
        return answer.state

    def apply_delta(self, delta: StateDelta, timeout: float | None = None) -> StateReference:
        """Change a state that was pushed. The same delta may be sent again when it is not known what became
        of it. Raises an error of `tenure.client.errors`; the server has the state from before then.
        """
        answer: ApplyDeltaResponse = self._call(
            self._service.ApplyDelta, ApplyDeltaRequest(delta=delta), timeout
        )
        return answer.state

    def open_delta_stream(self) -> DeltaStream:
        """A stream for one delta after the other, which the caller closes. Nobody is asked before the first.

        Changes states as `apply_delta` does, without a call for each.
        """
        return DeltaStream(self._begin_deltas, self._wait_until_ready, self._address)

    def get_state(
        self, cluster_id: str, node_pool: str = "", timeout: float | None = None
    ) -> tuple[StateReference, ClusterSnapshot]:
        """The state that the server keeps of a cluster and node pool, and what to refer to it by.

        Raises an error of `tenure.client.errors`; StateMismatch when nothing is kept of them.
        """
        request = GetStateRequest(cluster_id=cluster_id, node_pool=node_pool)
        reference, snapshot = StateReference(), ClusterSnapshot()
        with self._metadata():
            for response in self._call_stream(self._service.GetState, request, timeout):
                reference.MergeFrom(response.state)
                snapshot.MergeFrom(to_pods(response.chunk))
        return reference, snapshot

    def report_results(
        self, request: ReportResultsRequest, timeout: float | None = None
    ) -> ReportResultsResponse:
        """What to do with decision groups, after what became of their steps. May be asked again.

        Raises an error of `tenure.client.errors`; nothing was counted then.
        """
        answer: ReportResultsResponse = self._call(self._service.ReportResults, request, timeout)
        return answer

    def simulate(self, request: SimulateRequest, timeout: float | None = None) -> SimulateResponse:
        """What would be decided on a state that is not the real one; the answer promises nothing.

        Raises an error of `tenure.client.errors`.
        """
        answer: SimulateResponse = self._call(self._service.Simulate, request, timeout)
        return answer

    def explain(self, request: ExplainRequest, timeout: float | None = None) -> ExplainResponse:
        """The answer to a person's question about a state. Raises an error of `tenure.client.errors`."""
        answer: ExplainResponse = self._call(self._service.Explain, request, timeout)
        return answer

    def get_capabilities(self, timeout: float | None = None) -> GetCapabilitiesResponse:
        """What the server does, knows and accepts. Raises an error of `tenure.client.errors`."""
        answer: GetCapabilitiesResponse = self._call(
            self._service.GetCapabilities, GetCapabilitiesRequest(), timeout
        )
        return answer

    def _call(self, method: Callable[..., Any], request: Message | bytes, timeout: float | None) -> Any:
        """The message that a method answers to a request.

        Who answered a moment ago is asked at once; if nobody is there any more, as any other is.
        """
        deadline = self._deadline(timeout)
        with self._metadata():
            if time.monotonic() - self._last_response_at < FRESH_SECONDS:
                try:
                    return self._call_once(method, request, deadline)
                except grpc.RpcError as failure:
                    if failure.code() not in _GONE:
                        raise
                    self._last_response_at = -math.inf
            self._wait_until_ready(deadline)
            return self._call_once(method, request, deadline)

    def _call_once(self, method: Callable[..., Any], request: Message | bytes, deadline: float) -> Any:
        answer = method(request, timeout=_remaining(deadline), metadata=self._connection.metadata())
        self._last_response_at = time.monotonic()
        return answer

    def _call_stream(self, method: Callable[..., Any], request: object, timeout: float | None) -> Any:
        """The same when either side sends several messages: it cannot be asked twice."""
        deadline = self._deadline(timeout)
        self._wait_until_ready(deadline)
        with self._metadata():
            return method(request, timeout=_remaining(deadline), metadata=self._connection.metadata())

    def _begin_deltas(self, requests: Iterator[SyncStateRequest]) -> Any:
        return self._service.SyncState(requests, metadata=self._connection.metadata())

    def _deadline(self, timeout: float | None) -> float:
        return time.monotonic() + (self._timeout if timeout is None else timeout)

    def _wait_until_ready(self, deadline: float) -> None:
        metadata = self._connection.metadata()
        wait_until_ready(self._health, self._address, self._connection.has_tls, deadline, metadata)

    @contextmanager
    def _metadata(self) -> Iterator[None]:
        """What goes wrong in gRPC, as an error of this package."""
        try:
            yield
        except grpc.RpcError as failure:
            raise error_of(failure, self._address) from None

    def close(self) -> None:
        """Hang up. The client cannot be used afterwards."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _remaining(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
