"""All collections of an API server at once: what is followed, and that nothing is missed."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tenure.client.kubernetes.dryrun import left_out
from tenure.client.kubernetes.observe.mirrors import COLLECTIONS, Mirrors
from tenure.client.kubernetes.observe.picture import Picture
from tenure.client.kubernetes.settings import WorkloadApi
from tenure.client.kubernetes.transport import MERGE_PATCH, Transport
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.kube.cluster import Cluster, eventually
from tests.kube.definitions import define_kinds
from tests.kube.fake.server import FakeApiServer
from tests.kube.observe.test_picture import ordered
from tests.kube.observe.world import CONFIG, NOW

_ALWAYS = {"nodes", "pods", "priority_classes"}


@contextmanager
def following(api: FakeApiServer, transport: Transport) -> Iterator[Mirrors]:
    mirrors = Mirrors.waking(lambda: None)
    reflectors = mirrors.follow(transport)
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


def once(transport: Transport) -> Mirrors:
    """Everything as it is now, listed afresh."""
    mirrors = Mirrors.waking(lambda: None)
    for reflector in mirrors.follow(transport):
        reflector.list_once()
    return mirrors


def shown(mirrors: Mirrors) -> ClusterSnapshot:
    return ordered(Picture(mirrors, CONFIG).snapshot(NOW))


def versions(mirrors: Mirrors) -> dict[str, set[str]]:
    return {
        one.name: {item.metadata.resource_version for item in getattr(mirrors, one.name).all()}
        for one in COLLECTIONS
    }


def test_kinds_that_are_not_served_are_not_followed(transport: Transport) -> None:
    assert once(transport).followed == _ALWAYS
    assert once(transport).problem == ""


@pytest.mark.parametrize(
    ("chosen", "more"),
    [
        (WorkloadApi.AUTO, {"kai_queues", "kai_pod_groups", "volcano_queues", "volcano_pod_groups"}),
        (WorkloadApi.KAI, {"kai_queues", "kai_pod_groups"}),
        (WorkloadApi.VOLCANO, {"volcano_queues", "volcano_pod_groups"}),
    ],
)
def test_of_those_that_are_the_chosen_ones_are(
    transport: Transport, chosen: WorkloadApi, more: set[str]
) -> None:
    define_kinds(transport)
    mirrors = Mirrors.waking(lambda: None)
    mirrors.follow(transport, left_out(chosen))
    assert mirrors.followed == _ALWAYS | more
    assert mirrors.problem.endswith("not listed yet")


def test_what_is_followed_through_broken_watches_and_lost_history_is_what_is_there(
    api: FakeApiServer, transport: Transport
) -> None:
    define_kinds(transport)
    cluster, chosen = Cluster(transport, "other"), random.Random(3)
    cluster.priorities(low=10)
    cluster.queue("q")
    with following(api, transport) as mirrors:
        eventually(lambda: not mirrors.problem)
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
        fresh = once(transport)
        eventually(lambda: versions(mirrors) == versions(fresh))
        assert shown(mirrors) == shown(fresh)
        eventually(lambda: not mirrors.problem)
    assert len(fresh.pods.all()) == 108
