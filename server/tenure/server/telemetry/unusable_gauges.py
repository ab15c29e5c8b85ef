"""Gauges of free GPUs that the workloads of pushed states cannot use (semantics R3.87)."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation
from tenure.server.shard import Shard
from tenure.server.telemetry.gauges import MAX_SHARDS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.unusable_gpus import UnusableGpus
from tenure.solver.registry import unusable_gpus

PERIOD: Final = 60.0
"""Seconds after which the figures of a state are found again: they take time in proportion to it."""
MAX_FOUND: Final = 4
"""Maximum number of states whose figures one collection finds, so that it does not take long."""


class ShownCluster(NamedTuple):
    """The newest version of a state that is in memory."""

    shard: Shard
    cluster: Cluster


class UnusableGauges:
    """Figures of all states. A state with none yet has them after one of the next collections."""

    def __init__(
        self, clusters: Callable[[], Sequence[ShownCluster]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clusters = clusters
        self._clock = clock
        self._known: dict[Shard, tuple[float, UnusableGpus]] = {}
        self._named: set[Shard] = set()
        """States that have series of their own, since the start: the SDK never forgets one."""

    def register(self) -> None:
        """Export them. To be called once."""
        meter = metrics.get_meter("tenure.server")
        meter.create_observable_gauge(
            "tenure_free_gpus",
            [self._observe_free],
            description="Free GPUs of the ready nodes of pushed states, in parts of devices, too.",
        )
        meter.create_observable_gauge(
            "tenure_unusable_gpus",
            [self._observe_unusable],
            description="Free GPUs that the workloads of a pushed state cannot use, by the cause.",
        )

    def figures(self) -> dict[Shard, UnusableGpus]:
        """By state. Of those that are older than a minute, the oldest few are found again."""
        now, clusters = self._clock(), dict[Shard, Cluster]()
        for shard, cluster in self._clusters():
            if shard in self._named or len(self._named) < MAX_SHARDS:
                self._named.add(shard)
                clusters[shard] = cluster
        self._known = {shard: known for shard, known in self._known.items() if shard in clusters}
        found_at = {shard: self._known[shard][0] if shard in self._known else -math.inf for shard in clusters}
        stale = [
            shard for shard in sorted(clusters, key=found_at.__getitem__) if now - found_at[shard] >= PERIOD
        ]
        for shard in stale[:MAX_FOUND]:
            self._known[shard] = now, unusable_gpus(clusters[shard])
        return {shard: found for shard, (_, found) in self._known.items()}

    def _observe_free(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(found.free / 1000, _labels(shard)) for shard, found in self.figures().items()]

    def _observe_unusable(self, _: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(amount / 1000, {**_labels(shard), "cause": cause})
            for shard, found in self.figures().items()
            for cause, amount in found._asdict().items()
            if cause != "free"
        ]


def _labels(shard: Shard) -> dict[str, str]:
    return {"cluster": shard.cluster_id, "node_pool": shard.node_pool}
