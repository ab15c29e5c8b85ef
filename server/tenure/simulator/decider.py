"""What decides in a simulation: the solver on a warm state, or any caller of the service."""

from collections.abc import Callable
from typing import Final, Protocol

from tenure.codec.decode import DecodedSnapshot, decode
from tenure.codec.encode import encode_response
from tenure.codec.engine import build_header
from tenure.codec.incremental_decode import decode_change, with_base
from tenure.codec.pod_group_status import unusable_message
from tenure.solver.actions.known_failures import passing_over_known_failures
from tenure.solver.cycle import decide
from tenure.solver.ends import End
from tenure.solver.model.cluster import Cluster
from tenure.solver.play.played_cluster import PlayedCluster
from tenure.solver.play.sequential_warm_start import SequentialWarmStart
from tenure.solver.play.start_times import FirstCycle, Played, StartPlayer
from tenure.solver.plugin_api.profile import Profile, profile_digest
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, with_required_plugins
from tenure.terms.cancellation import never
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.carried import changed_workload_rows, workload_rows

SAMPLE_PERIOD: Final = 3_600 * SECOND
"""Free GPUs that cannot be used are found in the first cycle of each period."""


class Decider(Protocol):
    """Decides cycle after cycle on a state that changes by deltas."""

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        """Decide on the state after a delta. `snapshot` returns that state as a whole."""


class SolverDecider:
    """The solver in this process, with a decoded state and derived data that are kept between cycles.

    The response has no outcomes, protections, nominations or warnings: the simulation does not read them.
    """

    def __init__(self, profile: Profile, registry: Registry = BUILT_IN) -> None:
        self._profile = with_required_plugins(profile)
        self._passing_over = passing_over_known_failures(self._profile)
        self._digest = profile_digest(profile)
        self._registry = registry
        self._decoded: DecodedSnapshot | None = None
        self._carried = ClusterSnapshot()
        """The eviction history and the in-flight groups of the state."""
        self._warm_start = SequentialWarmStart()
        self._last_hour = -1
        """Of the last decision."""

    @property
    def cluster(self) -> Cluster:
        """The state of the last decision."""
        assert self._decoded is not None
        return self._decoded.cluster

    def play_on(self, end_at: Callable[[End], int | None]) -> Played:
        """A play from that state, as `Explain.when_starts` plays it (semantics R17.22)."""
        forked = self._warm_start.fork()
        first = FirstCycle(PlayedCluster(self.cluster, self._profile, self._registry, never, forked))
        return StartPlayer(first, end_at, is_last=True).play()

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        """Decide on the state after a delta; the first one is decided on as a whole."""
        self._apply(delta, snapshot)
        assert self._decoded is not None
        result = decide(
            self._decoded.cluster,
            self._passing_over,
            warm_start=self._warm_start,
            registry=self._registry,
        ).close()
        header = ClusterSnapshot(
            cluster_id=delta.base.cluster_id,
            node_pool=delta.base.node_pool,
            version=delta.version,
            now=delta.now,
        )
        cluster = self._decoded.cluster
        response = encode_response(cluster, result, build_header(header, self._digest)).parse()
        last, self._last_hour = self._last_hour, cluster.now // SAMPLE_PERIOD
        if self._last_hour != last:
            response.unusable_gpus.CopyFrom(unusable_message(cluster))
        return response

    def _apply(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> None:
        before = self._decoded
        if before is not None:
            changed = decode_change(
                before, self._carried, delta.upserts, delta.removals, delta.now.ToNanoseconds()
            )
            if changed is not None:
                self._decoded = changed
                self._carried = changed_workload_rows(self._carried, delta)
                if changed.change is None:
                    self._warm_start = SequentialWarmStart()
                else:
                    self._warm_start.advance(changed.change, len(changed.pod_groups))
                return
        whole = snapshot()
        self._carried = workload_rows(whole)
        self._decoded = with_base(decode(whole, self._registry.guarded.names), whole)
        self._warm_start = SequentialWarmStart()
