"""The client: one connection to a server, with deadlines, retries and actionable errors."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1.health_pb2_grpc import HealthStub
from tenure.client.connection_options import OPTIONS, ConnectionOptions, Entries, File, shard
from tenure.client.delta_stream import DeltaStream, OnSetAside
from tenure.client.errors import error_of
from tenure.client.readiness import wait_until_ready
from tenure.v1 import cycles_pb2 as cycles_pb
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest, GetCapabilitiesResponse
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse
from tenure.v1.pod_group_status_pb2 import PodGroupStatus, UnusableGpus
from tenure.v1.report_pb2 import ReportResultsRequest, ReportResultsResponse
from tenure.v1.simulate_pb2 import SimulateRequest, SimulateResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import (
    FAULTS_REFUSE,
    FAULTS_SET_ASIDE,
    ApplyDeltaRequest,
    ApplyDeltaResponse,
    GetStateRequest,
    GetStateResponse,
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
"""Time after a response during which the next call skips the readiness check."""
_GONE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""Statuses of a call to a server that responded recently and is gone."""

_DECIDE: Final = "/tenure.v1.DecisionService/Decide"  # with a serialized request


class Client:
    """A connection to the Tenure server at an address such as `127.0.0.1:50051`.

    Calls are encrypted with `tls_ca`, the CA of the server certificate, or with a client certificate
    (`tls_cert` and `tls_key`); all are PEM files. A `token`, or the content of `token_file`, which is read
    for every call, is sent with calls; over plaintext only to this machine, unless `allow_plaintext` is set.
    Raises InvalidCredentials if one of them cannot be used. `require` names features of the contract, or
    fields such as `PodGroup.grant`: a server that lacks one rejects every call with UnsupportedFeature.

    Use it in a `with` statement, or call `close`. Threads may share a client. `timeout` is in seconds and
    applies to a whole call: waiting for the server, retries and the cycle.

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
        require: Sequence[str] = (),
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._connection = ConnectionOptions(
            tls_ca, tls_cert, tls_key, token, token_file, allow_plaintext, require
        )
        self._channel = self._connection.channel(address, OPTIONS)
        self._service = DecisionServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._decide = self._channel.unary_unary(_DECIDE, bytes, DecideResponse.FromString)
        self._health = HealthStub(self._channel)
        self._last_response_at = -math.inf  # by the monotonic clock

    def decide(
        self,
        snapshot: ClusterSnapshot,
        actions: Iterable[str] = (),
        timeout: float | None = None,
        include_pod_group_statuses: bool = False,
    ) -> DecideResponse:
        """Decide on a snapshot, with the given actions or those of the server.

        Raises an error of `tenure.client.errors`; no decision was made then.
        """
        request = encode_decide_request(snapshot, actions, include_pod_group_statuses)
        answer: DecideResponse = self._call(self._decide, request, timeout, snapshot)
        return answer

    def decide_state(
        self,
        state: StateReference,
        actions: Iterable[str] = (),
        now: Timestamp | None = None,
        timeout: float | None = None,
        estimate_starts: bool = False,
        include_pod_group_statuses: bool = False,
    ) -> DecideResponse:
        """Decide on a pushed state, at its time or a later one; see `StateSession`. With `estimate_starts`,
        tell when pod groups start (semantics R17.24). Raises as `decide` does.
        """
        request = DecideRequest(
            state=state,
            actions=actions,
            now=now,
            estimate_starts=estimate_starts,
            include_pod_group_statuses=include_pod_group_statuses,
        )
        answer: DecideResponse = self._call(self._service.Decide, request, timeout)
        return answer

    def apply_and_decide(
        self,
        delta: StateDelta,
        actions: Iterable[str] = (),
        now: Timestamp | None = None,
        timeout: float | None = None,
    ) -> tuple[StateReference, DecideResponse]:
        """Apply a delta to a pushed state, and decide on the result; return its reference and the response.

        One call instead of two. Raises an error of `tenure.client.errors`; the delta may be applied then, and
        can be sent again.
        """
        request = DecideRequest(delta=delta, actions=actions, now=now)
        answer: DecideResponse = self._call(self._service.Decide, request, timeout)
        after = StateReference()
        after.CopyFrom(delta.base)
        after.version = delta.version
        return after, answer

    def put_snapshot(
        self,
        epoch: str,
        snapshot: ClusterSnapshot,
        timeout: float | None = None,
        on_set_aside: OnSetAside | None = None,
    ) -> StateReference:
        """Push a full snapshot in chunks; it replaces the server's state of the cluster ID and node pool.

        `epoch` is any text that was not used before. With `on_set_aside`, the server sets invalid rows aside
        instead of refusing the snapshot, and it is called with these rows. Raises an error of
        `tenure.client.errors`.
        """
        faults = FAULTS_REFUSE if on_set_aside is None else FAULTS_SET_ASIDE
        answer: PutSnapshotResponse = self._call_stream(
            self._service.PutSnapshot, chunk_snapshot(epoch, snapshot, faults), timeout, snapshot
        )
        if on_set_aside is not None:
            on_set_aside(answer.set_aside)
        return answer.state

    def apply_delta(
        self, delta: StateDelta, timeout: float | None = None, on_set_aside: OnSetAside | None = None
    ) -> StateReference:
        """Change a pushed state. A delta with an unknown result can be sent again.

        `on_set_aside` is as in `put_snapshot`, with all rows of the state that are set aside. Raises an error
        of `tenure.client.errors`; the server has the previous state then.
        """
        faults = FAULTS_REFUSE if on_set_aside is None else FAULTS_SET_ASIDE
        request = ApplyDeltaRequest(delta=delta, faults=faults)
        answer: ApplyDeltaResponse = self._call(self._service.ApplyDelta, request, timeout)
        if on_set_aside is not None:
            on_set_aside(answer.set_aside)
        return answer.state

    def open_delta_stream(self, on_set_aside: OnSetAside | None = None) -> DeltaStream:
        """Open a stream of deltas, which the caller closes. Connects on the first delta.

        Changes states like `apply_delta`, but retries nothing: after Unavailable, another delta opens a call.
        """
        return DeltaStream(self._begin_deltas, self._wait_until_ready, self._address, on_set_aside)

    def get_state(
        self, cluster_id: str, node_pool: str = "", timeout: float | None = None
    ) -> tuple[StateReference, ClusterSnapshot]:
        """State of a cluster ID and node pool on the server, and its reference.

        Raises an error of `tenure.client.errors`; StateMismatch if there is no such state.
        """
        reference, snapshot = StateReference(), ClusterSnapshot()
        request = GetStateRequest(cluster_id=cluster_id, node_pool=node_pool)
        for response in self._read_state(request, timeout):
            reference.MergeFrom(response.state)
            snapshot.MergeFrom(to_pods(response.chunk))
        return reference, snapshot

    def get_state_with_statuses(
        self, cluster_id: str, node_pool: str = "", timeout: float | None = None
    ) -> tuple[StateReference, ClusterSnapshot, list[PodGroupStatus]]:
        """State as by `get_state`, and the status of each of its pod groups at its time, by uid."""
        return self.get_state_to_show(cluster_id, node_pool, timeout)[:3]

    def get_state_to_show(
        self, cluster_id: str, node_pool: str = "", timeout: float | None = None
    ) -> tuple[StateReference, ClusterSnapshot, list[PodGroupStatus], UnusableGpus]:
        """State as by `get_state_with_statuses`, and the free GPUs that its workloads cannot use."""
        reference, snapshot, statuses = StateReference(), ClusterSnapshot(), list[PodGroupStatus]()
        unusable = UnusableGpus()
        request = GetStateRequest(cluster_id=cluster_id, node_pool=node_pool, include_pod_group_statuses=True)
        for response in self._read_state(request, timeout):
            reference.MergeFrom(response.state)
            snapshot.MergeFrom(to_pods(response.chunk))
            statuses.extend(response.pod_group_statuses)
            unusable.MergeFrom(response.unusable_gpus)
        return reference, snapshot, statuses, unusable

    def _read_state(self, request: GetStateRequest, timeout: float | None) -> Iterator[GetStateResponse]:
        with self._metadata():
            yield from self._call_stream(self._service.GetState, request, timeout, request)

    def list_states(self, timeout: float | None = None) -> list[StateReference]:
        """Newest versions of the states that the caller may read.

        Raises an error of `tenure.client.errors`.
        """
        return list(self._call(self._service.ListStates, cycles_pb.ListStatesRequest(), timeout).states)

    def list_cycles(
        self, request: cycles_pb.ListCyclesRequest, timeout: float | None = None
    ) -> cycles_pb.ListCyclesResponse:
        """List recent cycles of a cluster. Raises an error of `tenure.client.errors`."""
        answer: cycles_pb.ListCyclesResponse = self._call(self._service.ListCycles, request, timeout)
        return answer

    def report_results(
        self, request: ReportResultsRequest, timeout: float | None = None
    ) -> ReportResultsResponse:
        """Report results of decisions; returns the state of each group. Can be repeated.

        Raises an error of `tenure.client.errors`; nothing was counted then.
        """
        answer: ReportResultsResponse = self._call(self._service.ReportResults, request, timeout)
        return answer

    def simulate(self, request: SimulateRequest, timeout: float | None = None) -> SimulateResponse:
        """Simulate cycles on a modified state, without side effects.

        Raises an error of `tenure.client.errors`.
        """
        answer: SimulateResponse = self._call(self._service.Simulate, request, timeout)
        return answer

    def explain(self, request: ExplainRequest, timeout: float | None = None) -> ExplainResponse:
        """Explain a state to people. Raises an error of `tenure.client.errors`."""
        answer: ExplainResponse = self._call(self._service.Explain, request, timeout)
        return answer

    def get_capabilities(self, timeout: float | None = None) -> GetCapabilitiesResponse:
        """Version, profile and limits of the server. Raises an error of `tenure.client.errors`."""
        answer: GetCapabilitiesResponse = self._call(
            self._service.GetCapabilities, GetCapabilitiesRequest(), timeout
        )
        return answer

    def _call(
        self, method: Callable[..., Any], request: Message | bytes, timeout: float | None, named: Any = None
    ) -> Any:
        """Call a method and return its response. `named` has the cluster ID, if not the request.

        A server that responded recently is called without a readiness check; if it is gone, the call is
        repeated with one.
        """
        deadline, entries = self._deadline(timeout), shard(request if named is None else named)
        with self._metadata():
            if time.monotonic() - self._last_response_at < FRESH_SECONDS:
                try:
                    return self._call_once(method, request, deadline, entries)
                except grpc.RpcError as failure:
                    if failure.code() not in _GONE:
                        raise
                    self._last_response_at = -math.inf
            self._wait_until_ready(deadline)
            return self._call_once(method, request, deadline, entries)

    def _call_once(self, method: Callable[..., Any], request: Any, deadline: float, entries: Entries) -> Any:
        answer = method(request, timeout=_remaining(deadline), metadata=self._connection.metadata(entries))
        self._last_response_at = time.monotonic()
        return answer

    def _call_stream(
        self, method: Callable[..., Any], request: object, timeout: float | None, named: Message
    ) -> Any:
        """Call a streaming method, which cannot be repeated."""
        deadline = self._deadline(timeout)
        self._wait_until_ready(deadline)
        with self._metadata():
            metadata = self._connection.metadata(shard(named))
            return method(request, timeout=_remaining(deadline), metadata=metadata)

    def _begin_deltas(self, requests: Iterator[SyncStateRequest], base: StateReference) -> Any:
        return self._service.SyncState(requests, metadata=self._connection.metadata(shard(base)))

    def _deadline(self, timeout: float | None) -> float:
        return time.monotonic() + (self._timeout if timeout is None else timeout)

    def _wait_until_ready(self, deadline: float) -> None:
        metadata = self._connection.metadata()
        wait_until_ready(self._health, self._address, self._connection.has_tls, deadline, metadata)

    @contextmanager
    def _metadata(self) -> Iterator[None]:
        """Convert gRPC failures to errors of this package."""
        try:
            yield
        except grpc.RpcError as failure:
            raise error_of(failure, self._address) from None

    def close(self) -> None:
        """Close the connection. The client cannot be used afterwards."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _remaining(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
