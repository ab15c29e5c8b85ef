"""All collections of an API server: which ones are watched, and that no change is missed."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tenure.kubernetes.api.object_caches import COLLECTIONS, OPTIONAL, ObjectCaches, unfollowed_collections
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.choices import WorkloadApi
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.fake_api_server.server import FakeApiServer
from tests.kubernetes.observe.cached_cluster import CONFIG, NOW
from tests.kubernetes.observe.test_snapshot_builder import ordered

_ALWAYS = {"nodes", "pods", "priority_classes", "disruption_budgets"}


@contextmanager
def open_caches(api: FakeApiServer, transport: Transport) -> Iterator[ObjectCaches]:
    mirrors = ObjectCaches.create(lambda: None)
    reflectors = mirrors.follow(transport, OPTIONAL)
    threads = [threading.Thread(target=reflector.run) for reflector in reflectors]
    for thread in threads:
        thread.start()
    try:
        yield mirrors
    finally:
        for reflector in reflectors:
            reflector.stop()
        while any(thread.is_alive() for thread in threads):
            api.break_watches()
            threads[-1].join(0.05)


def list_everything(transport: Transport) -> ObjectCaches:
    """List all collections with new object caches."""
    mirrors = ObjectCaches.create(lambda: None)
    for reflector in mirrors.follow(transport, OPTIONAL):
        reflector.list_once()
    return mirrors


def cached_objects(mirrors: ObjectCaches) -> ClusterSnapshot:
    return ordered(SnapshotBuilder(mirrors, CONFIG).snapshot(NOW))


def versions(mirrors: ObjectCaches) -> dict[str, set[str]]:
    return {
        one.name: {item.metadata.resource_version for item in getattr(mirrors, one.name).all()}
        for one in COLLECTIONS
    }


def test_unserved_kinds_are_not_watched(transport: Transport) -> None:
    assert list_everything(transport).followed_collections.keys() == _ALWAYS
    assert list_everything(transport).problem == ""


@pytest.mark.parametrize(
    ("chosen", "more"),
    [
        (WorkloadApi.AUTO, {"kai_queues", "kai_pod_groups", "volcano_queues", "volcano_pod_groups"}),
        (WorkloadApi.KAI, {"kai_queues", "kai_pod_groups"}),
        (WorkloadApi.VOLCANO, {"volcano_queues", "volcano_pod_groups"}),
    ],
)
def test_chosen_served_kinds_are_watched(transport: Transport, chosen: WorkloadApi, more: set[str]) -> None:
    define_kinds(transport)
    mirrors = ObjectCaches.create(lambda: None)
    mirrors.follow(transport, unfollowed_collections(chosen))
    assert mirrors.followed_collections.keys() == _ALWAYS | more
    assert mirrors.problem.endswith("not listed yet")


def test_caches_match_the_cluster_despite_broken_watches_and_lost_history(
    api: FakeApiServer, transport: Transport
) -> None:
    define_kinds(transport)
    cluster, chosen = UserCluster(transport, "other"), random.Random(3)
    cluster.priorities(low=10)
    cluster.queue("q")
    with open_caches(api, transport) as mirrors:
        wait_until(lambda: not mirrors.problem)
        for i in range(60):
            cluster.node(f"n{i}")
            cluster.workload(f"w{i}", pods=2, gpus=1)
            path = f"{cluster.pods_path}/w{chosen.randrange(i + 1)}"
            transport.patch(f"{path}-0", {"metadata": {"labels": {"round": str(i)}}}, MERGE_PATCH)
            if i % 7 == 3:
                api.break_watches()
            if i % 20 == 11:
                api.compact()
            if i % 5 == 4:
                transport.delete(f"/api/v1/nodes/n{i - 1}")
                transport.delete(f"{cluster.pods_path}/w{i - 2}-1")
        fresh = list_everything(transport)
        wait_until(lambda: versions(mirrors) == versions(fresh))
        assert cached_objects(mirrors) == cached_objects(fresh)
        wait_until(lambda: not mirrors.problem)
    assert len(fresh.pods.all()) == 108
