"""An engine whose cycles run in processes of their own."""

import logging
import math
from collections.abc import Callable
from typing import Final

from tenure.server.codec.violations import InvalidSnapshot
from tenure.server.deadline import Deadline
from tenure.server.engine import Engine
from tenure.server.host.pool import Pool
from tenure.server.host.protocol import Answered, Defect, Question, Refused
from tenure.server.telemetry.timeline import Timeline
from tenure.solver.framework.opening import Opening
from tenure.solver.framework.profile import Profile
from tenure.solver.framework.stop import never
from tenure.solver.model.cluster import Cluster
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

_LOG: Final = logging.getLogger(__name__)


class SolverDefect(RuntimeError):
    """A cycle ended with an exception in its process."""


class ProcessEngine(Engine):
    """The same answers as those of Engine."""

    def __init__(self, profile: Profile, pool: Pool) -> None:
        super().__init__(profile)
        self._pool = pool

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
    ) -> DecideResponse:
        """See Engine. Raises ChildLost or NotReady as well."""
        return self._ask(Question(request.SerializeToString(), _seconds(stop)), stop, timeline)

    def decide_on(
        self,
        cluster: Cluster,
        header: ClusterSnapshot,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
        opening: Opening | None = None,
        read: Callable[[], ClusterSnapshot] | None = None,
    ) -> DecideResponse:
        """See Engine. Raises ChildLost or NotReady as well. Processes keep nothing, so they are sent it."""
        assert read is not None, "a process has to be sent the state"
        whole = DecideRequest(snapshot=read(), actions=request.actions)
        whole.snapshot.now.CopyFrom(header.now)
        return self._ask(Question(whole.SerializeToString(), _seconds(stop)), stop, timeline)

    def prepare(self, cluster: Cluster, opening: Opening) -> None:
        """See Engine. Processes keep nothing, so there is nothing to find out."""

    def watch(self, tell: Callable[[bool], None]) -> None:
        """See Engine: when processes are lost again and again, none is started for a while."""
        self._pool.watch(tell)

    def close(self) -> None:
        """No more questions come: end the processes."""
        self._pool.close()

    def _ask(self, question: Question, stop: Callable[[], bool], timeline: Timeline | None) -> DecideResponse:
        is_watched = timeline is not None and timeline.is_close
        match self._pool.ask(question._replace(is_watched=is_watched), stop):
            case Answered(response, entries, decided):
                if timeline is not None:
                    timeline.entries, timeline.decided = entries, decided
                return DecideResponse.FromString(response)
            case Refused(violations):
                raise InvalidSnapshot(violations)
            case Defect(traceback):
                _LOG.error("In a solver process: %s", traceback)
                raise SolverDefect("a cycle ended with an exception in its process; see above")


def _seconds(stop: Callable[[], bool]) -> float:
    """How long the caller waits, as far as `stop` knows; the process keeps an eye on the time itself."""
    return stop.seconds_left() if isinstance(stop, Deadline) else math.inf
