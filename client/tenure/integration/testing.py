"""Crash tests for adapters: kill an adapter at each of its writes, start another one, compare the result.

    @pytest.mark.parametrize("kill", kill_points(14))
    def test_killed_adapter_applies_every_decision_once(client, kill):
        check_crash(MyCluster(), client, kill)

An adapter runs them on its own cluster, which implements CrashCluster. `tenure.integration.fake_scheduler`
is the reference implementation.
"""

from collections import Counter
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from tenure.client.client import Client
from tenure.integration.ports import ClusterError, JournalConflict
from tenure.v1 import snapshot_pb2 as pb

RECONCILES: Final = 8
"""Reconciles that an undisturbed adapter needs at most for the crash scenario."""
CRASH_EFFECTS: Final = {"evict low-0": 1, "evict low-1": 1, "bind high-0": 1}
"""What an adapter applies in the crash scenario, and how often."""
PAUSE_SECONDS: Final = 60.0
"""For how long `check_pause` lets a cluster refuse an eviction."""
_GIB: Final = 2**30


class AdapterKilled(Exception):
    """The adapter is dead: it was killed at this write or before."""


class KillPoint(NamedTuple):
    """When an adapter is killed."""

    write: int
    """At which of its writes, from 1. 0: never."""
    after: bool = False
    """Whether the write has its effect, but no response."""


def kill_points(writes: int) -> list[KillPoint]:
    """Before and after each write. `check_crash` returns how many writes an undisturbed adapter needs."""
    return [KillPoint(write, after) for write in range(1, writes + 1) for after in (False, True)]


class AdapterRun(Protocol):
    """An adapter that runs."""

    @property
    def groups_in_flight(self) -> int:
        """Number of decision groups in the journal."""

    def reconcile(self) -> None:
        """Reconcile once."""

    def close(self) -> None:
        """Release all resources. The process ends without any further write."""


class CrashCluster(Protocol):
    """A cluster with the crash scenario.

    One node `n1` has 8 GPUs, one queue `q` is unlimited. Pod group `low` runs there: a preemptible gang of
    `low-0` and `low-1`, with 4 GPUs each and priority 10. Pod group `high` is pending: `high-0`, with 8 GPUs
    and priority 90.
    """

    applied: Counter[str]
    """Effects on pods, such as "evict low-0"; each attempt that reaches the cluster counts."""
    writes: int
    """Writes of the running adapter."""
    is_dead: bool
    """Whether the running adapter was killed."""

    def start(self, client: Client, kill: KillPoint) -> AdapterRun:
        """Start an adapter, to be killed at a write."""

    def pass_time(self) -> None:
        """Let evicted pods terminate and bound pods run."""

    def stored_pod_group(self, name: str) -> pb.PodGroup:
        """The fields of a pod group that the cluster stores."""


class RefusingCluster(CrashCluster, Protocol):
    """A cluster with the crash scenario that can refuse decisions for some time."""

    attempts: Counter[str]
    """Effects on pods, such as "evict low-0"; refused attempts count, too."""

    def refuse(self, effect: str, seconds: float) -> None:
        """Refuse the next attempt, and request a pause of so many seconds."""

    def pass_time(self, seconds: float = 0.0) -> None:
        """Let evicted pods terminate, bound pods run, and so many seconds pass."""


def check_crash(cluster: CrashCluster, client: Client, kill: KillPoint) -> int:
    """Kill an adapter, start another one, and check the result. Returns the writes of the first adapter."""
    _run(cluster, client, kill)
    writes = cluster.writes
    left = _run(cluster, client, KillPoint(0))
    low, high = cluster.stored_pod_group("low"), cluster.stored_pod_group("high")
    assert dict(cluster.applied) == CRASH_EFFECTS, f"{dict(cluster.applied)}"
    assert left == 0, f"{left} groups stay in the journal"
    assert low.eviction_count == 1, f"eviction count {low.eviction_count}"
    assert low.HasField("last_eviction_time"), "the eviction time is not stored"
    assert high.HasField("last_start_time"), "the start time is not stored"
    return writes


def check_pause(cluster: RefusingCluster, client: Client) -> None:
    """Refuse an eviction once, and check that it is sent again, after the pause and not before."""
    cluster.refuse("evict low-0", PAUSE_SECONDS)
    adapter = cluster.start(client, KillPoint(0))
    for _ in range(3):
        adapter.reconcile()
        cluster.pass_time(PAUSE_SECONDS / 4)
        early = cluster.attempts["evict low-0"] - 1
        assert not early, f"{early} attempts during the pause that the cluster requested"
    cluster.pass_time(PAUSE_SECONDS / 4)
    for _ in range(RECONCILES):
        adapter.reconcile()
        cluster.pass_time()
    left = adapter.groups_in_flight
    adapter.close()
    assert dict(cluster.applied) == CRASH_EFFECTS, f"{dict(cluster.applied)}"
    assert cluster.attempts["evict low-0"] == 2, f"{cluster.attempts['evict low-0']} attempts"
    assert left == 0, f"{left} groups stay in the journal"


def _run(cluster: CrashCluster, client: Client, kill: KillPoint) -> int:
    adapter = cluster.start(client, kill)
    for _ in range(RECONCILES):
        with suppress(AdapterKilled, ClusterError, JournalConflict):
            adapter.reconcile()
        if cluster.is_dead:
            break
        cluster.pass_time()
    left = adapter.groups_in_flight
    adapter.close()
    return left


def crash_scenario(cluster_id: str, now_seconds: int) -> pb.ClusterSnapshot:
    """The crash scenario as a snapshot, which starts at a time in seconds since 1970."""
    gpus = {name: {"limit": -1, "quota": -1} for name in ("cpu_milli", "memory_bytes", "gpu_milli")}
    amounts = {"cpu_milli": 1_000, "memory_bytes": _GIB}
    snapshot = pb.ClusterSnapshot(cluster_id=cluster_id)
    allocatable = {"cpu_milli": 64_000, "memory_bytes": 512 * _GIB, "gpu_milli": 8_000, "pods": 110}
    snapshot.nodes.add(name="n1", allocatable=allocatable, gpu_memory_mib=40_960)
    snapshot.queues.add(name="q", **gpus)
    for name, count, priority in (("low", 2, 10), ("high", 1, 90)):
        snapshot.shapes.add(id=name, requests=amounts, gpu={"devices": 8 // count})
        row = snapshot.pod_groups.add(uid=name, name=name, queue="q", min_member=count, priority=priority)
        row.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
        row.creation_time.seconds = now_seconds - 1_000 + priority
        for i in range(count):
            pod = snapshot.pods.add(uid=f"{name}-{i}", pod_group=name, shape=name)
            pod.status = pb.POD_STATUS_RUNNING if name == "low" else pb.POD_STATUS_PENDING
            pod.node = "n1" if name == "low" else ""
    return snapshot
