"""The service: its methods by name, and their shared context."""

import logging
from typing import Any, Final

import grpc
from tenure.codec.engine import Engine
from tenure.server.audit import NO_AUDIT, AuditLog
from tenure.server.memory import MemoryPlan, RequestMemory, is_nearly_full
from tenure.server.records import Recorder
from tenure.server.security.access_control import OPEN, AccessControl
from tenure.server.security.policy import Verb
from tenure.server.service.admission import Admission
from tenure.server.service.cycle_queue import CycleQueue
from tenure.server.service.decide import get_capabilities
from tenure.server.service.guarded_call import MethodName
from tenure.server.service.methods import (
    BidiStreamingMethod,
    ClientStreamingMethod,
    Method,
    ServerStreamingMethod,
    UnaryMethod,
)
from tenure.server.service.queries import decide_and_estimate, explain, simulate
from tenure.server.service.report_results import report_results
from tenure.server.service.service_context import ServiceContext
from tenure.server.service.states import (
    apply_delta,
    get_state,
    list_cycles,
    list_states,
    put_snapshot,
    sync_state,
)
from tenure.server.settings import ServerLimits
from tenure.server.state import StateStore, StoreLimits, UploadMemory
from tenure.server.sweeper import Sweeper
from tenure.server.telemetry.cycle_metrics import Cycles
from tenure.server.telemetry.load_gauges import Load
from tenure.server.telemetry.unusable_gauges import ShownCluster
from tenure.terms.durations import SECOND
from tenure.v1 import capabilities_pb2 as capabilities_pb
from tenure.v1 import cycles_pb2 as cycles_pb
from tenure.v1 import decide_pb2 as pb
from tenure.v1 import decision_service_pb2 as service_pb
from tenure.v1 import explain_pb2 as explain_pb
from tenure.v1 import report_pb2 as outcome_pb
from tenure.v1 import simulate_pb2 as simulate_pb
from tenure.v1 import state_pb2 as state_pb

SERVICE: Final = service_pb.DESCRIPTOR.services_by_name["DecisionService"].full_name
"""Full name of the service: tenure.v1.DecisionService."""

_LOOK_SECONDS: Final = 0.05
"""Interval at which memory is looked at. A message arrives with up to 100 MiB in that time."""
_LOG: Final = logging.getLogger(__name__)

METHODS: Final[dict[str, Method]] = {
    "Decide": UnaryMethod(pb.DecideRequest, Verb.DECIDE, decide_and_estimate),
    "PutSnapshot": ClientStreamingMethod(state_pb.PutSnapshotRequest, Verb.PUSH, put_snapshot),
    "ApplyDelta": UnaryMethod(state_pb.ApplyDeltaRequest, Verb.PUSH, apply_delta),
    "SyncState": BidiStreamingMethod(state_pb.SyncStateRequest, Verb.PUSH, sync_state),
    "GetState": ServerStreamingMethod(state_pb.GetStateRequest, Verb.READ, get_state),
    "ListStates": UnaryMethod(cycles_pb.ListStatesRequest, Verb.DESCRIBE, list_states),
    "ListCycles": UnaryMethod(cycles_pb.ListCyclesRequest, Verb.READ, list_cycles),
    "ReportResults": UnaryMethod(outcome_pb.ReportResultsRequest, Verb.REPORT, report_results),
    "Simulate": UnaryMethod(simulate_pb.SimulateRequest, Verb.SIMULATE, simulate),
    "Explain": UnaryMethod(explain_pb.ExplainRequest, Verb.EXPLAIN, explain),
    "GetCapabilities": UnaryMethod(capabilities_pb.GetCapabilitiesRequest, Verb.DESCRIBE, get_capabilities),
}
"""Implemented methods, by name, with the verb that a policy must permit."""


class DecisionService:
    """gRPC service over an engine. Pass `handler` to a gRPC server, start it, and drain it once."""

    def __init__(
        self,
        engine: Engine,
        limits: ServerLimits,
        recorder: Recorder,
        cycles: Cycles,
        plan: MemoryPlan,
        access: AccessControl = OPEN,
        audit: AuditLog = NO_AUDIT,
    ) -> None:
        cycle_queue = CycleQueue(limits.max_concurrent_cycles, limits.max_queued_calls)
        bounds = StoreLimits(
            max_states=limits.max_states,
            max_bytes=plan.states,
            idle_seconds=limits.state_idle_timeout / SECOND,
            max_rows=limits.max_rows,
            max_staleness_seconds=limits.max_staleness,
        )
        memory = RequestMemory(plan.requests)
        self._shared = ServiceContext(
            engine,
            limits,
            cycle_queue,
            StateStore(bounds),
            UploadMemory(memory, plan.states, limits.max_chunk_mib, bounds.max_rows),
            memory,
            cycles,
            recorder=recorder,
            access=access,
            audit=audit,
        )
        self._memory_limit = plan.limit
        self._cancelled_streams = 0
        """Since the last log line about them."""
        self._sweepers = (Sweeper(self._shared.states.drop_idle), Sweeper(self._relieve_memory))
        self._admission = Admission(
            limits.max_concurrent_cycles + limits.max_queued_calls, limits.max_streams, cycle_queue.push_out
        )

    def handler(self) -> "grpc.GenericRpcHandler[Any, Any]":
        """Handler for a gRPC server. Requests are parsed here, so that invalid ones receive proper errors."""
        handlers = {
            name: method.handler(MethodName(SERVICE, name), self._admission, self._shared)
            for name, method in METHODS.items()
        }
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    def start(self) -> None:
        """Start watching states and memory. Called once, when the gRPC server starts."""
        for sweeper in self._sweepers:
            sweeper.start()

    def drain(self, timeout: float) -> bool:
        """Reject new calls, wait for those in flight, and return whether all ended within `timeout`."""
        for sweeper in self._sweepers:
            sweeper.stop()
        return self._admission.drain(timeout)

    def load(self) -> Load:
        """Current load of the service."""
        shared = self._shared
        return Load(*self._admission.load(), *shared.cycle_queue.load(), *shared.states.size())

    def clusters(self) -> list[ShownCluster]:
        """Clusters of pushed states that are in memory."""
        return [ShownCluster(*each) for each in self._shared.states.clusters_in_memory()]

    def _relieve_memory(self) -> float:
        """Before the process is in danger, cancel streams: messages are not counted until they are complete.

        Returns seconds until the next look.
        """
        cancelled = self._admission.cancel_latest_streams() if is_nearly_full(self._memory_limit) else 0
        self._cancelled_streams += cancelled
        if self._cancelled_streams and not cancelled:
            what = "Cancelled %d streams: memory was nearly full. Raise server.maxMemoryMib."
            _LOG.warning(what, self._cancelled_streams)
            self._cancelled_streams = 0
        return _LOOK_SECONDS

    def cut_short(self) -> None:
        """Stop running cycles as soon as possible, with the decisions made so far."""
        self._shared.cycle_queue.cut_short()
