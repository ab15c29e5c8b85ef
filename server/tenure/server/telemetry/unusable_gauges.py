"""Gauges of free GPUs that the workloads of pushed states cannot use (semantics R3.87)."""

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
"""Seconds for which the figures of a state are kept: they take time in proportion to it."""


class ShownCluster(NamedTuple):
    """The newest version of a state that is in memory."""

    shard: Shard
    cluster: Cluster


class UnusableGauges:
    """Figures of all states, as of the last collection or at most a minute before."""

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
        """By state; found again when they are older than a minute."""
        now, kept = self._clock(), dict[Shard, tuple[float, UnusableGpus]]()
        for shard, cluster in self._clusters():
            if shard not in self._named and len(self._named) >= MAX_SHARDS:
                continue
            self._named.add(shard)
            known = self._known.get(shard)
            is_fresh = known is not None and now - known[0] < PERIOD
            kept[shard] = known if is_fresh and known else (now, unusable_gpus(cluster))
        self._known = kept
        return {shard: found for shard, (_, found) in kept.items()}

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
