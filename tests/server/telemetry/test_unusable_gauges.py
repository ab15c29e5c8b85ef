"""Gauges of free GPUs that workloads cannot use: found once a minute, of a limited number of states."""

from opentelemetry.metrics import CallbackOptions
from tenure.server.shard import Shard
from tenure.server.telemetry.gauges import MAX_SHARDS
from tenure.server.telemetry.unusable_gauges import MAX_FOUND, PERIOD, ShownCluster, UnusableGauges
from tenure.solver.model.cluster import Cluster
from tenure.solver.testing import ClusterBuilder

SHARD = Shard("c", "p")


def cluster(gpus: int) -> Cluster:
    """A node that is too small for the only request, by its GPUs."""
    builder = ClusterBuilder().queue("q", quota=-1).node("n", gpus=gpus, cpus=8)
    return builder.pending("j", queue="q", gpus=8, cpus=1).build()


def test_figures_are_found_again_after_a_minute_r3_87() -> None:
    now, shown = [0.0], [ShownCluster(SHARD, cluster(2))]
    gauges = UnusableGauges(lambda: shown, lambda: now[0])
    assert gauges.figures()[SHARD].no_gpu == 2000
    shown[0] = ShownCluster(SHARD, cluster(4))
    now[0] = PERIOD - 1
    assert gauges.figures()[SHARD].no_gpu == 2000
    now[0] = PERIOD
    assert gauges.figures()[SHARD].no_gpu == 4000
    shown.clear()
    assert gauges.figures() == {}


def test_observations_have_one_value_for_each_cause_r3_87() -> None:
    gauges = UnusableGauges(lambda: [ShownCluster(SHARD, cluster(4))])
    found = {
        each.attributes["cause"]: each.value
        for each in gauges._observe_unusable(CallbackOptions())
        if each.attributes
    }
    assert found == {"no_cpu": 0, "no_gpu": 4, "neither": 0, "other_kind": 0}
    (free,) = gauges._observe_free(CallbackOptions())
    assert (free.value, free.attributes) == (4, {"cluster": "c", "node_pool": "p"})


def test_number_of_states_with_series_is_limited() -> None:
    shown = [ShownCluster(Shard(f"c{number}", ""), cluster(1)) for number in range(MAX_SHARDS + 3)]
    gauges = UnusableGauges(lambda: shown)
    for _ in range(len(shown)):
        found = gauges.figures()
    assert list(found) == [each.shard for each in shown[:MAX_SHARDS]]


def test_a_collection_finds_few_figures_the_oldest_first() -> None:
    now = [0.0]
    shown = [ShownCluster(Shard(f"c{number}", ""), cluster(1)) for number in range(MAX_FOUND + 1)]
    gauges = UnusableGauges(lambda: shown, lambda: now[0])
    assert len(gauges.figures()) == MAX_FOUND
    now[0] = PERIOD
    shown[:] = [each._replace(cluster=cluster(2)) for each in shown]
    assert [found.free for found in gauges.figures().values()] == [2000] * (MAX_FOUND - 1) + [1000, 2000]
    assert [found.free for found in gauges.figures().values()] == [2000] * (MAX_FOUND + 1)
