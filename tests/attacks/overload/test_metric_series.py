"""Who chooses names of queues without end hides no queue of others from the metrics, and fills no memory."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from tenure.codec.encoded_response import QueueSummary
from tenure.process.telemetry import MAX_SERIES, SERIES_LIMITS
from tenure.server.telemetry.gauges import (
    MAX_NAMES_OF_SHARD,
    MAX_QUEUES,
    MAX_SHARDS,
    OTHER,
    LastCycles,
)

from tests.server.telemetry.cycle_summaries import summary_with

_GPU: Final = 1_000
_RENAMINGS: Final = 40


class Page:
    """The shares of queues as an SDK collects them, with the limits of this product."""

    def __init__(self) -> None:
        self.cycles = LastCycles()
        self._reader = InMemoryMetricReader(cardinality_limits=SERIES_LIMITS)
        self._provider = MeterProvider([self._reader], shutdown_on_exit=False)
        observe = self.cycles.shares(attrgetter("fair_share"))
        self._provider.get_meter("test").create_observable_gauge("share", [observe])

    def decide(self, cluster: str, queues: Iterable[str]) -> None:
        """Finish a cycle of a cluster with queues of one GPU each."""
        shares = tuple(QueueSummary(name, (0, 0, _GPU), (0, 0, 0)) for name in sorted(queues))
        self.cycles.update(summary_with(cluster_id=cluster, queues=shares))

    def collect(self) -> dict[tuple[str, str], float]:
        """GPUs by cluster and queue."""
        return {
            (str(labels["cluster"]), str(labels["queue"])): float(point.value)
            for point in self._points()
            if (labels := dict(point.attributes or {})).get("resource", "gpu") == "gpu"
        }

    def close(self) -> None:
        """End the SDK."""
        self._provider.shutdown()

    def _points(self) -> Iterator[NumberDataPoint]:
        data = self._reader.get_metrics_data()
        assert data is not None
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    yield from (one for one in metric.data.data_points if isinstance(one, NumberDataPoint))


@pytest.fixture
def page() -> Iterator[Page]:
    made = Page()
    yield made
    made.close()


def renamed(number: int) -> list[str]:
    return [f"queue-{number}-{i}" for i in range(MAX_QUEUES)]


def test_caller_that_renames_its_queues_hides_no_queue_of_others(page: Page) -> None:
    """The SDK never forgets a series, and merges all that come after its limit."""
    for number in range(_RENAMINGS):
        page.decide("hostile", renamed(number))
        page.collect()
    page.decide("honest", ["research"])
    shares = page.collect()
    assert shares["honest", "research"] == 1
    assert shares["hostile", OTHER] == MAX_QUEUES
    assert sum(cluster == "hostile" for cluster, _ in shares) == 1


def test_name_that_was_exported_stays_exported(page: Page) -> None:
    page.decide("cluster", ["old"])
    page.collect()
    for number in range(_RENAMINGS):
        page.decide("cluster", renamed(number))
        page.collect()
    page.decide("cluster", ["old", "new"])
    assert page.collect() == {("cluster", "old"): 1, ("cluster", OTHER): 1}


def test_renamed_classes_of_nodes_fill_no_memory() -> None:
    """The pairs of queue and class that have series are limited since the start; the rest is one."""
    cycles, seen, last = LastCycles(), set[tuple[object, object]](), dict[tuple[object, object], float]()
    for number in range(_RENAMINGS):
        by_class = tuple((f"class-{number}-{i}", _GPU) for i in range(16))
        queue = QueueSummary("q", (0, 0, 0), (0, 0, 0), by_class=by_class)
        cycles.update(summary_with(cluster_id="c", queues=(queue,)))
        points = cycles.class_allocated(None)
        last = {(each.attributes["queue"], each.attributes["class"]): each.value for each in points}
        assert sum(last.values()) == pytest.approx(16)
        seen |= last.keys()
    assert len(seen) == MAX_NAMES_OF_SHARD + 1
    assert last == {(OTHER, OTHER): pytest.approx(16)}


def test_all_queues_of_all_shards_have_series(page: Page) -> None:
    for number in range(MAX_SHARDS):
        page.decide(f"cluster-{number}", renamed(0))
    assert len(page.collect()) == MAX_SHARDS * MAX_QUEUES


@pytest.mark.long
def test_clusters_without_end_are_not_exported_without_end(page: Page) -> None:
    """Only callers whose rules permit all clusters can do this."""
    page.decide("honest", ["research"])
    seen = set(page.collect())
    for number in range(_RENAMINGS):
        page.decide(f"hostile-{number}", renamed(number))
        seen |= set(page.collect())
    page.decide("honest", ["research"])
    assert page.collect()["honest", "research"] == 1
    assert 3 * len(seen) <= MAX_SERIES
    assert len(seen) > MAX_NAMES_OF_SHARD
