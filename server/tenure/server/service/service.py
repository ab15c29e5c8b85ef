"""The service: its methods by name, and what they share."""

from typing import Any, Final

import grpc
from tenure.server.engine import Engine
from tenure.server.records import Recorder
from tenure.server.service.admission import Admission
from tenure.server.service.apply_delta import apply_delta
from tenure.server.service.decide import decide
from tenure.server.service.explain import explain
from tenure.server.service.get_capabilities import get_capabilities
from tenure.server.service.get_state import get_state
from tenure.server.service.methods import Dialogue, Download, Method, Name, Unary, Upload
from tenure.server.service.put_snapshot import put_snapshot
from tenure.server.service.report_outcome import report_outcome
from tenure.server.service.shared import Shared
from tenure.server.service.simulate import simulate
from tenure.server.service.sync_state import sync_state
from tenure.server.service.turns import Turns
from tenure.server.settings import ServerLimits
from tenure.server.state import Bounds, StateStore, Uploads
from tenure.server.sweeper import Sweeper
from tenure.server.telemetry.cycles import Cycles
from tenure.server.telemetry.load import Load
from tenure.solver.model.duration import SECOND
from tenure.v1 import capabilities_pb2 as capabilities_pb
from tenure.v1 import decision_service_pb2 as pb
from tenure.v1 import explain_pb2 as explain_pb
from tenure.v1 import outcome_pb2 as outcome_pb
from tenure.v1 import simulate_pb2 as simulate_pb
from tenure.v1 import state_pb2 as state_pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["DecisionService"].full_name
"""tenure.v1.DecisionService"""

_MIB: Final = 2**20

METHODS: Final[dict[str, Method]] = {
    "Decide": Unary(pb.DecideRequest, decide),
    "PutSnapshot": Upload(state_pb.PutSnapshotRequest, put_snapshot),
    "ApplyDelta": Unary(state_pb.ApplyDeltaRequest, apply_delta),
    "SyncState": Dialogue(state_pb.SyncStateRequest, sync_state),
    "GetState": Download(state_pb.GetStateRequest, get_state),
    "ReportOutcome": Unary(outcome_pb.ReportOutcomeRequest, report_outcome),
    "Simulate": Unary(simulate_pb.SimulateRequest, simulate),
    "Explain": Unary(explain_pb.ExplainRequest, explain),
    "GetCapabilities": Unary(capabilities_pb.GetCapabilitiesRequest, get_capabilities),
}
"""Every method that is answered."""


class DecisionService:
    """Answers calls with an engine. Give `handler` to a gRPC server, start it, and drain it once."""

    def __init__(self, engine: Engine, limits: ServerLimits, recorder: Recorder, cycles: Cycles) -> None:
        turns = Turns(limits.max_cycles, limits.max_waiting_calls)
        bounds = Bounds(
            states=limits.max_states,
            bytes=limits.max_state_mib * _MIB,
            idle_seconds=limits.state_idle_timeout / SECOND,
            rows=limits.max_rows,
            staleness=limits.max_staleness,
        )
        self._shared = Shared(
            engine,
            limits,
            turns,
            StateStore(bounds),
            Uploads(bounds.bytes, limits.max_part_mib, bounds.rows),
            cycles,
            recorder=recorder,
        )
        self._sweeper = Sweeper(self._shared.states.drop_idle)
        self._admission = Admission(limits.max_cycles + limits.max_waiting_calls, limits.max_streams)

    def handler(self) -> "grpc.GenericRpcHandler[Any, Any]":
        """What a gRPC server needs to route calls here. Requests are parsed here, to refuse them properly."""
        handlers = {
            name: method.handler(Name(SERVICE, name), self._admission, self._shared)
            for name, method in METHODS.items()
        }
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    def start(self) -> None:
        """Free, from now on, what is kept for nobody. To be called once, when the gRPC server starts."""
        self._sweeper.start()

    def drain(self, timeout: float) -> bool:
        """Refuse calls from now on and wait for those in flight; whether all ended in `timeout` seconds."""
        self._sweeper.stop()
        return self._admission.drain(timeout)

    def load(self) -> Load:
        """How busy the service is now."""
        shared = self._shared
        return Load(*self._admission.inside(), *shared.turns.load(), *shared.states.size())

    def cut_short(self) -> None:
        """Let cycles in flight end as soon as they can, with what they decided until then."""
        self._shared.turns.cut_short()
