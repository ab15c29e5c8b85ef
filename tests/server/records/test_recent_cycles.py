"""ListStates and ListCycles on a real server: what programs that show a cluster read."""

from collections.abc import Iterator
from sys import getrefcount

import pytest
from tenure.client import Client, StateSession
from tenure.codec.engine import Engine
from tenure.server.records.recent_cycles import RecentCycles
from tenure.server.shard import Shard
from tenure.solver.registry import default_profile
from tenure.v1.cycles_pb2 import ListCyclesRequest, ListCyclesResponse
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


@pytest.fixture
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as client:
        yield client


def at(version: int, cluster: str = "test") -> ClusterSnapshot:
    snapshot = small_snapshot()
    snapshot.cluster_id, snapshot.version = cluster, version
    snapshot.now.seconds += version
    return snapshot


def listed(
    client: Client, cluster_id: str = "test", node_pool: str = "", after: int = 0
) -> ListCyclesResponse:
    return client.list_cycles(ListCyclesRequest(cluster_id=cluster_id, node_pool=node_pool, after=after))


def test_states_are_listed_with_their_newest_version(client: Client) -> None:
    with StateSession(client) as session:
        for cluster, version in (("b", 3), ("a", 1)):
            session.push(at(version, cluster))
        session.update(at(5, "a"))
    assert [(state.cluster_id, state.version) for state in client.list_states()] == [("a", 5), ("b", 3)]


def test_cycles_are_listed_as_they_were_decided_and_only_once(client: Client) -> None:
    responses = [client.decide(at(version)) for version in (1, 2)]
    cycles = listed(client).cycles
    assert [cycle.response for cycle in cycles] == responses
    assert cycles[0].number < cycles[1].number == cycles[1].decided_time.ToNanoseconds()
    assert [cycle.number for cycle in listed(client, after=cycles[0].number).cycles] == [cycles[1].number]
    assert not listed(client, after=cycles[1].number).cycles


def test_cycles_of_other_clusters_and_pools_are_not_listed(client: Client) -> None:
    client.decide(at(1))
    assert listed(client, cluster_id="other") == listed(client, node_pool="pool") == ListCyclesResponse()


def test_newest_version_is_listed_with_the_cycles(client: Client) -> None:
    with StateSession(client) as session:
        session.push(at(4))
    answer = listed(client)
    assert (answer.state.version, len(answer.cycles)) == (4, 0)


def numbers(recent: RecentCycles, cluster: str) -> list[int]:
    cycles = ListCyclesResponse.FromString(recent.after(Shard(cluster, ""), 0)).cycles
    return [cycle.response.header.version for cycle in cycles]


def add(recent: RecentCycles, *snapshots: ClusterSnapshot) -> None:
    engine = Engine(default_profile())
    for snapshot in snapshots:
        recent.add(engine.decide(DecideRequest(snapshot=snapshot)), "", "")


def idle(version: int) -> ClusterSnapshot:
    snapshot = at(version)
    del snapshot.pod_groups[:], snapshot.pods[:]
    return snapshot


def test_of_cycles_that_decide_nothing_the_last_is_kept() -> None:
    recent = RecentCycles()
    add(recent, at(1), idle(2), idle(3), at(4), idle(5))
    assert numbers(recent, "test") == [1, 3, 4, 5]


def test_oldest_cycles_are_dropped() -> None:
    recent = RecentCycles(max_cycles=2)
    add(recent, at(1), at(2), at(3))
    assert numbers(recent, "test") == [2, 3]


def test_the_cluster_with_the_most_bytes_loses_its_oldest_cycle_first() -> None:
    size = len(Engine(default_profile()).decide(DecideRequest(snapshot=at(1))).content) + 1024
    recent = RecentCycles(max_bytes=3 * size + size // 2)
    add(recent, at(1, "quiet"), at(1), at(2), at(3))
    assert (numbers(recent, "quiet"), numbers(recent, "test")) == ([1], [2, 3])
    assert RecentCycles(max_bytes=10).after(Shard("test", ""), 0) == b""


def test_only_counted_bytes_are_kept() -> None:
    recent, response = RecentCycles(), Engine(default_profile()).decide(DecideRequest(snapshot=at(1)))
    references = getrefcount(response), getrefcount(response.summary)
    recent.add(response, "", "")
    assert numbers(recent, "test") == [1]
    assert (getrefcount(response), getrefcount(response.summary)) == references
