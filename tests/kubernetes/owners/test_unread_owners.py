"""Owners of a kind that the adapter may not read: pods say so at once, and count in no other queue."""

from typing import Any, Final, NamedTuple

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.fake_api_server.server import FakeApiServer
from tests.kubernetes.observe.cached_cluster import NOW
from tests.kubernetes.owners.owner_chains import OwnedPods

QUEUE: Final = "kai.scheduler/queue"
MUCH_LATER: Final = Timestamp(seconds=NOW.seconds + 1_000)


class Case(NamedTuple):
    """Where queues are named, and that of the pod after a minute; "": it waits."""

    of_notebook: dict[str, str]
    of_set: dict[str, str]
    of_pod: dict[str, str]
    queue: str


CASES: Final = {
    "nothing names a queue": Case({}, {}, {}, ""),
    "the owner that cannot be read names it": Case({QUEUE: "research"}, {}, {}, ""),
    "the pod names it": Case({}, {}, {QUEUE: "research"}, "research"),
    "a lower owner names it": Case({}, {QUEUE: "research"}, {}, "research"),
    "the project of the pod names it": Case({}, {}, {"project": "vision"}, "vision"),
}


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def notebook(transport: Transport, case: Case, **more: Any) -> OwnedPods:
    world = OwnedPods(transport)
    world.owner("kubeflow.org/v1beta1", "Notebook/n", labels=case.of_notebook)
    world.owner("apps/v1", "StatefulSet/n", "Notebook/n", labels=case.of_set)
    world.pod("n-0", "StatefulSet/n", labels=case.of_pod, **more)
    return world


@pytest.mark.parametrize("name", CASES)
def test_pod_says_at_once_that_its_owner_cannot_be_read_and_keeps_its_queue(
    api: FakeApiServer, transport: Transport, name: str
) -> None:
    world, clock = notebook(transport, CASES[name]), Clock()
    api.faults.refuse("GET", "/apis/kubeflow.org*", 403)
    builder = world.builder(stopwatch=clock)
    assert not builder.snapshot(NOW).pods
    [told] = builder.set_aside.take_new()
    assert (told.target.name, told.reason.code) == ("n-0", "SetAside")
    assert "Notebook of kubeflow.org" in told.reason.text
    api.faults.refuse("GET", "/apis/kubeflow.org*", 403)
    clock.seconds = 61.0
    builder.delta(MUCH_LATER)
    pod = builder.pod("uid-n-0")
    assert (pod is not None) == bool(CASES[name].queue)
    if pod is not None:
        row = builder.pod_group(pod.pod_group)
        assert row is not None
        assert row.queue == CASES[name].queue
    assert bool(builder.set_aside.objects) == (pod is None)


def test_pod_counts_in_the_queue_of_its_owner_once_that_may_be_read(
    api: FakeApiServer, transport: Transport
) -> None:
    world, clock = notebook(transport, CASES["the owner that cannot be read names it"]), Clock()
    api.faults.refuse("GET", "/apis/kubeflow.org*", 403)
    builder = world.builder(stopwatch=clock)
    builder.snapshot(NOW)
    clock.seconds = 61.0
    builder.delta(MUCH_LATER)
    [row] = builder.snapshot(MUCH_LATER).pod_groups
    assert row.queue == "research"
    assert not builder.set_aside.objects


def test_running_pod_stays_in_reach_while_its_owner_cannot_be_read(
    api: FakeApiServer, transport: Transport
) -> None:
    world, clock = notebook(transport, CASES["nothing names a queue"], phase="Running"), Clock()
    api.faults.refuse("GET", "/apis/kubeflow.org*", 403)
    builder = world.builder(stopwatch=clock)
    builder.snapshot(NOW)
    api.faults.refuse("GET", "/apis/kubeflow.org*", 403)
    clock.seconds = 61.0
    builder.delta(MUCH_LATER)
    assert builder.pod("uid-n-0") is not None
