"""An engine whose cycles run in solver processes."""

import logging
import math
from collections.abc import Callable
from typing import Final

from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.engine import CycleTimeline, Engine
from tenure.server.deadlines import Deadline
from tenure.server.shard import CallEnded
from tenure.server.solver_host.protocol import (
    CallOver,
    InvalidRequest,
    SolveRequest,
    SolveResponse,
    WorkerError,
)
from tenure.server.solver_host.solver_pool import SolverPool
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.cancellation import never
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.violations import SnapshotValidationError

_LOG: Final = logging.getLogger(__name__)


class SolverError(RuntimeError):
    """A cycle ended with an exception in its process."""

    def __init__(self, message: str, culprit: str) -> None:
        super().__init__(message)
        self.culprit: Final = culprit
        """The plugin or action that raised; empty: none did."""


class ProcessEngine(Engine):
    """Returns the same responses as Engine."""

    def __init__(self, profile: Profile, pool: SolverPool, registry: Registry = BUILT_IN) -> None:
        super().__init__(profile, registry)
        self._pool = pool

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: CycleTimeline | None = None,
    ) -> EncodedResponse:
        """Decide in a solver process. Raises what Engine does, SolverProcessLost and SolverUnavailable.

        The state is sent, because processes store none.
        """
        return self._solve(SolveRequest(request.SerializeToString(), _seconds(stop)), stop, timeline)

    def decide_state(
        self,
        cluster: Cluster,
        header: ClusterSnapshot,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: CycleTimeline | None = None,
        warm_start: WarmStart | None = None,
        read: Callable[[], ClusterSnapshot] | None = None,
    ) -> EncodedResponse:
        """Decide on a cluster. Raises what Engine does, SolverProcessLost and SolverUnavailable.

        The snapshot is sent, because processes store none.
        """
        assert read is not None, "the state must be sent to the process"
        whole = DecideRequest(snapshot=read(), actions=request.actions)
        whole.snapshot.now.CopyFrom(header.now)
        return self._solve(SolveRequest(whole.SerializeToString(), _seconds(stop)), stop, timeline)

    def warm_up(self, cluster: Cluster, warm_start: WarmStart, stop: Callable[[], bool] = never) -> None:
        """Do nothing: processes cache nothing."""

    def watch(self, notify: Callable[[bool], None]) -> None:
        """Call `notify` with False when too many processes were lost, and with True when cycles run again."""
        self._pool.watch(notify)

    def close(self) -> None:
        """End the processes. No requests may follow."""
        self._pool.close()

    def _solve(
        self, request: SolveRequest, stop: Callable[[], bool], timeline: CycleTimeline | None
    ) -> EncodedResponse:
        is_watched = timeline is not None and timeline.is_detailed
        match self._pool.solve(request._replace(is_detailed=is_watched), stop):
            case SolveResponse(response, entries, group_ids):
                if timeline is not None:
                    timeline.entries, timeline.group_ids = entries, group_ids
                return response
            case InvalidRequest(violations):
                raise SnapshotValidationError(violations)
            case CallOver():
                raise CallEnded
            case WorkerError(traceback, culprit):
                _LOG.error("Exception in a solver process: %s", traceback)
                raise SolverError("a cycle failed in its solver process; see the log", culprit)


def _seconds(stop: Callable[[], bool]) -> float:
    """Seconds until the deadline of `stop`, if known; the process observes the time itself."""
    return stop.remaining_seconds() if isinstance(stop, Deadline) else math.inf
