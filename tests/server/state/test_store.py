"""The state store: the least recently used and idle states are dropped, oversized ones are rejected."""

import threading
import time
import weakref

import pytest
from tenure.client import Client
from tenure.server.memory import MemoryExhausted, RequestMemory
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import (
    ChunkTooLarge,
    State,
    StateError,
    StateStore,
    StoreLimits,
    UploadMemory,
    full_state,
)
from tenure.server.sweeper import Sweeper
from tenure.v1 import snapshot_pb2
from tenure.v1 import state_pb2 as pb

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


class FakeClock:
    """A clock that tests set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def state(cluster: str, version: int = 7, note: str = "") -> State:
    snapshot = small_snapshot()
    snapshot.cluster_id, snapshot.version = cluster, version
    if note:
        snapshot.pod_groups[0].annotations["note"] = note
    return full_state("e", snapshot, DEFAULT_ROWS)


def is_stored(store: StateStore, cluster: str) -> bool:
    return store.newest(pb.StateReference(cluster_id=cluster)) is not None


def stored_clusters(store: StateStore) -> str:
    return "".join(name[-1] for name in ("shop-a", "shop-b", "shop-c", "shop-d") if is_stored(store, name))


def store_of(*clusters: str, clock: FakeClock | None = None, **bounds: int) -> StateStore:
    store = StateStore(
        StoreLimits(**{"max_states": 3, "max_bytes": 10**6, "idle_seconds": 60, **bounds}),
        clock or FakeClock(),
    )
    for cluster in clusters:
        store.put(state(cluster))
    return store


def test_least_recently_used_state_is_dropped_for_a_new_one() -> None:
    store = store_of("shop-a", "shop-b", "shop-c")
    store.find(state("shop-a").reference)
    store.put(state("shop-d"))
    assert stored_clusters(store) == "acd"


def test_new_version_replaces_the_old_one() -> None:
    store = store_of("shop-a", "shop-b", "shop-c")
    store.put(state("shop-b", version=8))
    assert stored_clusters(store) == "abc"


def test_memory_of_all_states_is_bounded() -> None:
    one, message = state("shop-a").memory_bytes, state("shop-a").snapshot.ByteSize()
    store = store_of("shop-a", "shop-b", max_bytes=one + message * 3 // 2)
    assert stored_clusters(store) == "ab"
    store.put(state("shop-c"))
    assert stored_clusters(store) == "bc"
    store.put(state("shop-b", note="x" * 60))
    assert stored_clusters(store) == "b"


def test_memory_of_a_delta_counts() -> None:
    roomy = store_of("shop-a")
    after = roomy.apply(delta_of(roomy, "shop-a", note="x" * 200))
    message = state("shop-b").snapshot.ByteSize()
    store = store_of("shop-a", "shop-b", max_bytes=after.memory_bytes + message // 2)
    assert stored_clusters(store) == "ab"
    store.apply(delta_of(store, "shop-a", note="x" * 200))
    assert stored_clusters(store) == "a"


def test_too_large_state_is_rejected_and_no_state_dropped() -> None:
    store = store_of("shop-a", "shop-b", max_bytes=2 * state("shop-a").memory_bytes)
    for too_large in (
        lambda: store.put(state("shop-c", note="x" * 20_000)),
        lambda: store.apply(delta_of(store, "shop-a", "x" * 20_000)),
    ):
        with pytest.raises(StateError, match=r"server\.maxStateMib") as caught:
            too_large()
        assert caught.value.code == pb.STATE_ERROR_CODE_TOO_LARGE
    assert stored_clusters(store) == "ab"
    assert store.find(state("shop-a").reference)


def delta_of(store: StateStore, cluster: str, note: str) -> pb.StateDelta:
    """A delta that adds an annotation to a pod group."""
    found = store.newest(pb.StateReference(cluster_id=cluster))
    assert found is not None
    delta = pb.StateDelta(base=found.reference, version=8, now=found.snapshot.now)
    delta.upserts.pod_groups.append(found.snapshot.pod_groups[0])
    delta.upserts.pod_groups[0].annotations["note"] = note
    return delta


def test_idle_state_is_dropped_after_its_timeout() -> None:
    clock = FakeClock()
    store = store_of("shop-a", "shop-b", clock=clock)
    clock.now = 60
    store.find(state("shop-a").reference)
    assert stored_clusters(store) == "ab"
    clock.now = 60.1
    assert stored_clusters(store) == "a"
    clock.now = 120
    assert stored_clusters(store) == "a"
    clock.now = 120.1
    assert stored_clusters(store) == ""


def test_memory_of_idle_states_is_freed_without_store_access() -> None:
    clock = FakeClock()
    store = store_of("shop-a", "shop-b", clock=clock)
    clock.now = 20
    store.find(state("shop-a").reference)
    freed = {name: weakref.ref(stored_notes(store, name)) for name in ("shop-a", "shop-b")}
    assert store.drop_idle() <= 40
    clock.now = 60.1
    assert store.drop_idle() <= 19.9
    assert (freed["shop-a"]() is None, freed["shop-b"]() is None) == (False, True)
    clock.now = 80.1
    store.drop_idle()
    assert freed["shop-a"]() is None


def stored_notes(store: StateStore, cluster: str) -> State:
    found = store.newest(pb.StateReference(cluster_id=cluster))
    assert found is not None
    return found


def test_sweeper_runs_when_notified_and_ends_when_stopped() -> None:
    swept, pauses = threading.Semaphore(0), iter((0.0, -1.0, 3_600.0))

    def sweep() -> float:
        swept.release()
        return next(pauses)

    sweeper = Sweeper(sweep)
    sweeper.stop()
    sweeper = Sweeper(sweep)
    sweeper.start()
    assert all(swept.acquire(timeout=10) for _ in range(3))
    sweeper.stop()
    assert not swept.acquire(blocking=False)


def test_server_frees_idle_states_by_itself() -> None:
    with run_server(state_idle_timeout=10**8) as (server, address), Client(address) as client:
        client.put_snapshot("e", small_snapshot())
        found = server._service._shared.states.newest(pb.StateReference(cluster_id="test"))
        assert found is not None
        left = weakref.ref(found)
        del found
        until = time.monotonic() + 10
        while left() is not None and time.monotonic() < until:
            time.sleep(0.02)
        assert left() is None


def test_earlier_version_stays_readable_after_a_delta() -> None:
    store = store_of("shop-a")
    before = store.find(state("shop-a").reference)
    content = before.snapshot.SerializeToString(deterministic=True)
    store.apply(delta_of(store, "shop-a", "changed"))
    assert before.snapshot.SerializeToString(deterministic=True) == content
    with pytest.raises(StateError, match="the state has version 8, not 7"):
        store.find(before.reference)


def chunk_of(size: int, *, is_first: bool = True) -> pb.PutSnapshotRequest:
    """A chunk; only the first one has a header."""
    part = small_snapshot()
    part.pod_groups[0].annotations["note"] = "x" * (size - part.ByteSize())
    if not is_first:
        part = snapshot_pb2.ClusterSnapshot(pod_groups=part.pod_groups)
    return pb.PutSnapshotRequest(epoch="e" if is_first else "", chunk=part)


def test_memory_of_unfinished_uploads_is_counted_bounded_and_released() -> None:
    memory = RequestMemory(12 * 2**20)
    uploads = UploadMemory(memory, 2**27, max_chunk_mib=1)
    with uploads.open() as first, uploads.open() as second:
        first.add(chunk_of(2**19))
        second.add(chunk_of(2**19))
        assert memory.bytes == first.memory_bytes + second.memory_bytes > 2**20
        first.add(chunk_of(2**19, is_first=False))
        with pytest.raises(MemoryExhausted):
            first.add(chunk_of(2**19, is_first=False))
    assert memory.bytes == 0
    small = UploadMemory(memory, 2**20, max_chunk_mib=1)
    with small.open() as upload, pytest.raises(StateError, match=r"server\.maxStateMib"):
        upload.add(chunk_of(2**19))
    assert memory.bytes == 0


def test_too_large_chunk_is_rejected() -> None:
    uploads = UploadMemory(RequestMemory(2**30), 2**30, 1)
    with uploads.open() as upload, pytest.raises(ChunkTooLarge, match=r"server\.maxChunkMib"):
        upload.add(chunk_of(2**20 + 100))


def test_stored_bytes_are_counted_once_despite_concurrent_readers() -> None:
    store = store_of("shop-a")
    reference = pb.StateReference(cluster_id="shop-a", epoch="e", version=7)
    for number in range(20):
        delta = pb.StateDelta(base=reference, version=8 + number)
        delta.now.CopyFrom(small_snapshot().now)
        delta.upserts.pods.add().CopyFrom(small_snapshot().pods[0])
        read = store.apply(delta).snapshot
        reference.version = delta.version
    store.put(state("shop-a", version=99))
    assert read.version == 27
    assert store.size() == (1, state("shop-a", version=99).memory_bytes)
