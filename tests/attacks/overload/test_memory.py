"""Memory is divided and counted: no request, state or message takes the process beyond its limit."""

from pathlib import Path
from typing import Final

import grpc
import pytest
import yaml
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status
from tenure.client import Client
from tenure.server.memory import (
    MIB,
    OTHERS_RECEIVING,
    PROCESS_BYTES,
    MemoryExhausted,
    MemoryPlan,
    RequestMemory,
    RequestTooLarge,
)
from tenure.server.settings import ServerLimits
from tenure.server.state import StateStore, StoreLimits, stored_state
from tenure.v1.decide_pb2 import DecideRequest

from tests.attacks.hostile_requests import (
    DECIDE,
    empty_rows,
    reset_peak,
    resident_bytes,
    send_request,
    snapshot_of,
)
from tests.attacks.overload.stalled_messages import send, stalled_messages
from tests.server.servers import run_server, run_server_process
from tests.server.state.test_store import FakeClock, delta_of, state, stored_clusters
from tests.small_snapshot import small_snapshot

pytestmark = pytest.mark.long

SYNC: Final = "/tenure.v1.DecisionService/SyncState"
VALUES: Final = Path(__file__).parents[3] / "docker/helm/tenure/values.yaml"


def total_of(plan: MemoryPlan, limits: ServerLimits) -> int:
    """Memory that the parts of a plan take at most."""
    messages = (plan.max_receiving + OTHERS_RECEIVING) * limits.max_message_mib * MIB
    return PROCESS_BYTES + plan.states + plan.requests + messages


@pytest.mark.parametrize("mib", [1_024, 2_048, 4_096, 16_384, 65_536])
def test_all_parts_together_stay_below_the_limit(mib: int) -> None:
    limits = ServerLimits().model_copy(update={"max_memory_mib": mib})
    plan = MemoryPlan.of(limits)
    assert total_of(plan, limits) <= plan.limit == mib * MIB


def test_the_defaults_fit_into_the_memory_limit_of_the_chart() -> None:
    resources = yaml.safe_load(VALUES.read_text())["server"]["resources"]
    assert resources["limits"]["memory"].endswith("Gi")
    limit = int(resources["limits"]["memory"].removesuffix("Gi")) * 1024
    limits = ServerLimits().model_copy(update={"max_memory_mib": limit})
    plan = MemoryPlan.of(limits)
    assert plan.states == limits.max_state_mib * MIB
    assert total_of(plan, limits) <= limit * MIB


def test_the_largest_requests_are_refused_first() -> None:
    memory = RequestMemory(100 * MIB)
    memory.take("noisy", 60 * MIB)
    for size, is_served in ((30, False), (19, True), (5, True), (1, True)):
        assert fits(memory, "quiet", size) is is_served
    memory.free("noisy", 60 * MIB)
    assert fits(memory, "noisy", 100)
    with pytest.raises(RequestTooLarge, match=r"server\.maxMemoryMib"):
        memory.take("noisy", 101 * MIB)
    assert memory.bytes == 0


def fits(memory: RequestMemory, caller: str, mib: int) -> bool:
    """Whether a request of this size is served."""
    try:
        memory.take(caller, mib * MIB)
    except MemoryExhausted:
        return False
    memory.free(caller, mib * MIB)
    return True


def test_requests_of_one_caller_leave_memory_to_others() -> None:
    memory, taken = RequestMemory(1_000 * MIB), 0
    while fits(memory, "noisy", 50):
        memory.take("noisy", 50 * MIB)
        taken += 50
    assert taken == 750
    assert not fits(memory, "noisy", 2)
    assert fits(memory, "noisy", 1)
    assert fits(memory, "quiet", 125)


def test_a_request_beyond_the_memory_is_refused_and_others_are_served() -> None:
    many = snapshot_of(empty_rows("pods", 300_000))
    with run_server(max_memory_mib=512, max_message_mib=16) as (_, address), Client(address) as client:
        ended = send_request(address, many)
        assert ended.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "server.maxMemoryMib" in ended.details
        assert client.decide(small_snapshot()).outcomes


def test_requests_that_wait_for_memory_are_told_when_to_retry() -> None:
    with run_server() as (server, address), grpc.insecure_channel(address) as channel:
        memory = server._service._shared.request_memory
        memory.take("another", memory._max_bytes - 2 * MIB)
        large = DecideRequest(snapshot=small_snapshot())
        large.snapshot.pod_groups[0].annotations["note"] = "x" * MIB
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(DECIDE)(large.SerializeToString(), timeout=10)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        details = rpc_status.from_call(caught.value).details
        assert any(detail.Is(RetryInfo.DESCRIPTOR) for detail in details)
        small = DecideRequest(snapshot=small_snapshot()).SerializeToString()
        assert channel.unary_unary(DECIDE)(small, timeout=10)


@pytest.mark.parametrize(
    ("method", "count", "most"),
    [(DECIDE, 200, 512 * MIB), (SYNC, 64, 1_024 * MIB)],
    ids=["calls", "streams"],
)
def test_stalled_messages_do_not_fill_the_memory(method: str, count: int, most: int, tmp_path: Path) -> None:
    configuration = tmp_path / "small.yaml"
    configuration.write_text("server: {maxMemoryMib: 1024}\nrecords: {enabled: false}\n")
    with run_server_process("--config", str(configuration)) as (process, address):
        with Client(address) as client:
            client.decide(small_snapshot())
        reset_peak(process.pid)
        with stalled_messages(address, method, count, size=63 * MIB) as messages:
            send(messages, seconds=8)
        assert resident_bytes(process.pid, "VmHWM") < most
        with Client(address) as client:
            assert client.decide(small_snapshot()).outcomes


def store_with_rest(clock: FakeClock, **bounds: int) -> StateStore:
    limits = {"max_states": 3, "max_bytes": 10**6, "idle_seconds": 600, "rest_seconds": 60, **bounds}
    return StateStore(StoreLimits(**limits), clock)


def test_an_unused_state_takes_the_memory_of_its_message_and_stays_usable() -> None:
    clock, pushed = FakeClock(), state("shop-a")
    store, snapshot, reference, lineage = (
        store_with_rest(clock),
        pushed.snapshot,
        pushed.reference,
        pushed.lineage,
    )
    store.put(pushed)
    del pushed
    assert store.size()[1] > 12 * snapshot.ByteSize()
    clock.now = 60
    store.drop_idle()
    assert store.size()[1] == snapshot.ByteSize()
    awake = store.find(reference)
    assert awake.snapshot == snapshot
    assert (awake.reference, awake.lineage) == (reference, lineage)
    assert store.find(reference) is awake
    assert store.size()[1] == awake.memory_bytes


def test_states_are_put_to_rest_before_they_are_dropped() -> None:
    one, message = state("shop-a").memory_bytes, state("shop-a").snapshot.ByteSize()
    store = store_with_rest(FakeClock(), max_bytes=one + 2 * message)
    for name in ("shop-a", "shop-b", "shop-c"):
        store.put(state(name))
    assert store.size() == (3, one + 2 * message)
    assert store.find(state("shop-a").reference).cluster.tasks
    assert store.size() == (3, one + 2 * message)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """States may take no more than a multiple of their message, as large ones."""
    monkeypatch.setattr(stored_state, "KEPT_BYTES", 0)


@pytest.mark.usefixtures("strict")
def test_a_state_that_takes_much_more_than_its_message_rests_soon() -> None:
    clock = FakeClock()
    store, message = store_with_rest(clock), state("shop-a").snapshot.ByteSize()
    store.put(state("shop-a"))
    used = store.find(state("shop-a").reference)
    assert store.size() == (1, used.memory_bytes)
    clock.now = stored_state.LARGE_REST_SECONDS
    assert store.drop_idle() <= stored_state.LARGE_REST_SECONDS
    assert store.size() == (1, message + used.memory_bytes)
    assert store.find(used.reference) is used
    del used
    assert store.size() == (1, message)
    store.apply(delta_of(store, "shop-a", "x"))
    clock.now *= 2
    store.drop_idle()
    assert store.size()[1] < 2 * message


@pytest.mark.usefixtures("strict")
def test_calls_are_rejected_while_others_use_the_memory_of_states() -> None:
    one, message = state("shop-a").memory_bytes, state("shop-a").snapshot.ByteSize()
    store = store_with_rest(FakeClock(), max_bytes=one + 2 * message)
    for name in ("shop-a", "shop-b"):
        store.put(state(name))
    used = store.find(state("shop-a").reference)
    for call in (lambda: store.find(state("shop-b").reference), lambda: store.put(state("shop-c"))):
        with pytest.raises(MemoryExhausted):
            call()
    assert store.size() == (2, one + 2 * message)
    del used
    assert store.find(state("shop-b").reference).cluster.tasks


@pytest.mark.parametrize("limit", ["max_states", "max_bytes"])
def test_states_of_the_caller_with_the_most_are_dropped_first(limit: str) -> None:
    message = state("shop-a").snapshot.ByteSize()
    bounds = (
        {"max_states": 3}
        if limit == "max_states"
        else {"max_states": 9, "max_bytes": state("shop-a").memory_bytes + 2 * message}
    )
    store = store_with_rest(FakeClock(), **bounds)
    store.put(state("shop-a"), "quiet")
    for name in ("shop-b", "shop-c", "shop-d"):
        store.put(state(name), "noisy")
    assert stored_clusters(store) == "acd"
