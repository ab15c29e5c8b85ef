"""The check `hostile-objects`: random hostile objects beside an honest pod, which is bound every time.

Objects are observed in batches by one adapter and sent to a server process, as snapshots and as deltas. In
every batch a new honest pod waits.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Final, NamedTuple
from uuid import uuid4

import typer
from rich.console import Console
from rich.progress import track
from tenure.client import Client, TenureError
from tenure.kubernetes.limits.server_refusals import server_limits
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import QueueAccess
from tenure.kubernetes.observe.stored_annotations import KEY_BYTES, StoredAnnotations
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateReference
from tenure.wire.row_limits import SenderLimits

from tests.attacks.tenants.hostile_objects import hostile_objects
from tests.checks import Counts
from tests.kubernetes.observe.cached_cluster import CONFIG, NOW, CachedCluster, node, pod, queue
from tests.server.servers import run_server_process

BATCH: Final = 200
SNAPSHOT_EVERY: Final = 10
"""Batches that are sent as a full snapshot; the others are deltas."""
_HONEST: Final = {"cpu": "1", "memory": "1Gi"}
_UNLIMITED: Final = {"quota": -1, "limit": -1}
_SCOPE: Final = replace(CONFIG, queue_access=QueueAccess(namespaces={"honest": ("honest",)}))
"""Of all namespaces, only the honest one may use the honest queue."""


class Summary(NamedTuple):
    """Results of a run."""

    objects: int
    set_aside: int
    """Objects without a row at the end of their batch."""
    failures: list[str]
    """Batches whose honest pod was not bound."""


class HonestCluster:
    """A large node, two queues, and an honest pod."""

    def __init__(self, client: Client) -> None:
        self.world = CachedCluster()
        self.world.put("nodes", node(allocatable={"cpu": "1M", "memory": "1Pi", "pods": "100000"}))
        self.world.put("nodes", node("theirs", spec={"taints": [{"key": "theirs", "effect": "NoSchedule"}]}))
        for name in ("q", "honest"):
            shares = dict.fromkeys(("cpu", "memory", "gpu"), _UNLIMITED)
            self.world.put("kai_queues", queue(name, resources=shares))
        self._client = client
        limits = server_limits(client) or SenderLimits()
        stored = StoredAnnotations(bytes(KEY_BYTES))
        self.builder = SnapshotBuilder(self.world.mirrors, _SCOPE, None, stored, limits)
        self._state: StateReference | None = None

    def add_honest_pod(self, name: str) -> str:
        """Create a pending honest pod, and return its uid."""
        meta = {"namespace": "honest", "labels": {"kai.scheduler/queue": "honest"}}
        return self.world.put("pods", pod(name, meta=meta, requests=_HONEST))

    def is_bound(self, uid: str, *, as_snapshot: bool) -> bool:
        """Send what is observed, and return whether the pod is bound. Raises TenureError."""
        if as_snapshot or self._state is None:
            self._state = self._push(self.builder.snapshot(NOW))
        else:
            self._state = self._apply(self.builder.delta(NOW), self._state)
        return uid in _bound(self._client.decide_state(self._state))

    def forget(self) -> None:
        """Send a full snapshot next, as after an error."""
        self._state = None

    def _push(self, snapshot: ClusterSnapshot) -> StateReference:
        return self._client.put_snapshot(str(uuid4()), snapshot)

    def _apply(self, delta: StateDelta, base: StateReference) -> StateReference:
        delta.base.CopyFrom(base)
        return self._client.apply_delta(delta)


def _bound(response: DecideResponse) -> set[str]:
    decisions = (decision for group in response.groups for decision in group.decisions)
    return {decision.bind.pod for decision in decisions if decision.HasField("bind")}


def run(
    client: Client, seed: int, count: int, first: int = 0, on_object: Callable[[], None] = lambda: None
) -> Summary:
    """Observe this many objects, starting with this number, in batches."""
    cluster, failures, set_aside = HonestCluster(client), list[str](), 0
    for batch in range(first, first + count, BATCH):
        honest, hostile = cluster.add_honest_pod(f"honest-{batch}"), []
        for number in range(batch, min(batch + BATCH, first + count)):
            for collection, item in hostile_objects(seed, number):
                hostile.append((collection, cluster.world.put(collection, item)))
            on_object()
        problem = _problem(cluster, honest, as_snapshot=batch // BATCH % SNAPSHOT_EVERY == 0)
        if problem:
            failures.append(f"--seed {seed} --first {batch} --count {BATCH}: {problem}")
            cluster.forget()
        set_aside += len(cluster.builder.set_aside.objects)
        for collection, uid in (*hostile, ("pods", honest)):
            cluster.world.remove(collection, uid)
    return Summary(count, set_aside, failures)


def _problem(cluster: HonestCluster, honest: str, *, as_snapshot: bool) -> str:
    try:
        return "" if cluster.is_bound(honest, as_snapshot=as_snapshot) else "the honest pod was not bound"
    except TenureError as refused:
        return str(refused)[:2_000]


def main(
    count: Annotated[int, typer.Option(min=1, help="Number of objects")] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of the objects")] = 1,
    first: Annotated[int, typer.Option(min=0, help="Number of the first object")] = 0,
) -> Counts:
    """Observe hostile objects beside an honest pod, which must be bound in every batch."""
    console = Console()
    progress = iter(track(range(count), "hostile objects", console=console))
    with run_server_process("--log-level", "error") as (_, address), Client(address) as client:
        summary = run(client, seed, count, first, lambda: next(progress, None))
    next(progress, None)  # completes the progress bar
    for failure in summary.failures:
        console.print(failure, markup=False)
    console.print(f"{summary.objects:,} objects, of which {summary.set_aside:,} were set aside")
    batches = -(-count // BATCH)
    return Counts(batches - len(summary.failures), len(summary.failures))
