"""A call beyond its deadline ends while it is read, decoded, opened, folded or encoded, not only in a search.

Where it ends is decided by a count of checks, or by a wait beyond the deadline; nothing here depends on how
fast the machine is. What a call leaves when it ends is compared with what was there before.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
import pytest
from tenure.client import Client
from tenure.codec.encoded_response import EncodedResponse
from tenure.codec.engine import Engine
from tenure.server.service.service import SERVICE
from tenure.server.settings import ServerLimits
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.shard import CallEnded
from tenure.server.state import StateStore, StoreLimits
from tenure.server.state.state import State
from tenure.server.state.versions import full_state
from tenure.server.telemetry.timeline import Timeline
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.terms.cancellation import STRIDE, never
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.state_pb2 import PutSnapshotRequest, StateDelta
from tenure.wire.columns import to_columns
from tenure.wire.deltas import HEADER
from tenure.wire.scanner import check_request

from tests.attacks.hostile_requests import empty_rows, snapshot_of
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

DECIDE: Final = f"/{SERVICE}/Decide"
PUT_SNAPSHOT: Final = f"/{SERVICE}/PutSnapshot"
SECONDS: Final = 1.0
PATIENCE: Final = 60.0
ROWS: Final = 4 * STRIDE


class Countdown:
    """Ends the call at the check with this number."""

    def __init__(self, checks: int) -> None:
        self.left = checks

    def __call__(self) -> bool:
        return False

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise CallEnded


def large_snapshot(version: int = 7) -> pb.ClusterSnapshot:
    """The small snapshot with more running pods than there are rows between two checks, half as columns."""
    snapshot = small_snapshot()
    snapshot.version = version
    for i in range(ROWS):
        uid = f"many-{i}"
        snapshot.pods.add(uid=uid, pod_group="runs", shape="gpu", status=pb.POD_STATUS_FAILED, name=uid)
    columns = pb.ClusterSnapshot()
    columns.pods.extend(snapshot.pods[ROWS // 2 :])
    del snapshot.pods[ROWS // 2 :]
    snapshot.pod_columns.CopyFrom(to_columns(columns).pod_columns)
    return snapshot


def ended_at_every_check(call: Callable[[Countdown], object]) -> int:
    """End a call at its first check, at its second one, and so on; return how many checks it has."""
    for checks in range(10_000):
        try:
            call(Countdown(checks))
        except CallEnded:
            continue
        return checks
    raise AssertionError("a call has too many checks")


def test_every_stride_of_rows_is_checked_when_a_request_is_decided_on() -> None:
    engine, request = Engine(default_profile()), DecideRequest(snapshot=large_snapshot())
    expected = engine.decide(request).content
    assert ended_at_every_check(lambda stop: engine.decide(request, stop)) > ROWS // STRIDE + 20
    assert engine.decide(request).content == expected


def test_call_that_ends_in_a_cycle_leaves_a_state_as_it_was() -> None:
    def state() -> State:
        return full_state("e", large_snapshot(), DEFAULT_ROWS)

    def decide(on: State, stop: Callable[[], bool] = never) -> bytes:
        header = on.header
        return engine.decide_state(on.cluster, header, request, stop, warm_start=on.warm_start).content

    engine, request, kept = Engine(default_profile()), DecideRequest(), state()
    expected = decide(state())
    assert ended_at_every_check(lambda stop: decide(kept, stop)) > 20
    assert decide(kept) == decide(kept) == expected


def test_call_that_ends_in_a_delta_leaves_the_version_before() -> None:
    store = StateStore(StoreLimits(4, 10**9, 3_600))
    store.put(full_state("e", large_snapshot(), DEFAULT_ROWS))
    before = large_snapshot()
    delta = StateDelta(version=8, now=before.now, upserts=large_snapshot())
    for field in HEADER:
        delta.upserts.ClearField(field)
    delta.base.cluster_id, delta.base.epoch, delta.base.version = before.cluster_id, "e", 7

    def apply(stop: Countdown) -> None:
        try:
            store.apply(delta, check=stop.check)
        except CallEnded:
            kept = store.newest(delta.base)
            assert kept is not None
            assert kept.header.version == 7
            assert kept.snapshot.SerializeToString() == before.SerializeToString()
            raise

    assert ended_at_every_check(apply) > ROWS // STRIDE
    after = store.newest(delta.base)
    assert after is not None
    assert after.header.version == 8


def test_bytes_are_scanned_in_bounded_steps() -> None:
    request = snapshot_of(empty_rows("pods", 300_000))
    scanned = ended_at_every_check(
        lambda stop: check_request(request, DecideRequest, ServerLimits(), stop.check)
    )
    assert scanned == 2


class Sleeper:
    """A plugin that waits beyond the deadline of the call, when it is constructed or when it is asked."""

    def __init__(self, in_constructor: bool) -> None:
        self._in_constructor = in_constructor

    def __call__(self, context: PluginContext, arguments: Mapping[str, str]) -> "Sleeper":
        if self._in_constructor:
            time.sleep(SECONDS)
        return self

    def protections(self, pod_groups: object) -> tuple[()]:
        """Report nothing."""
        if not self._in_constructor:
            time.sleep(SECONDS)
        return ()


class WatchedEngine(Engine):
    """Notes how calls end, and may wait beyond the deadline before it decodes."""

    def __init__(self, plugin: Sleeper | None = None, *, waits: bool = False) -> None:
        default, name = default_profile(), "sleeper"
        plugins, registry = default.plugins, BUILT_IN
        if plugin is not None:
            plugins = (*plugins, PluginConfig(name))
            registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, name: plugin})
        super().__init__(Profile(default.actions, plugins), registry)
        self.waits = waits
        self.ended: list[type | None] = []
        self.has_ended = threading.Semaphore(0)

    def decide(
        self,
        request: DecideRequest,
        stop: Callable[[], bool] = never,
        timeline: Timeline | None = None,
    ) -> EncodedResponse:
        if self.waits:
            time.sleep(SECONDS)
        try:
            response = super().decide(request, stop, timeline)
        except BaseException as error:
            self.ended.append(type(error))
            raise
        else:
            self.ended.append(None)
            return response
        finally:
            self.has_ended.release()


STAGES: Final[dict[str, Callable[[], WatchedEngine]]] = {
    "decoding": lambda: WatchedEngine(waits=True),
    "session": lambda: WatchedEngine(Sleeper(in_constructor=True)),
    "folding": lambda: WatchedEngine(Sleeper(in_constructor=False)),
}


@pytest.mark.parametrize("stage", STAGES)
def test_call_beyond_its_deadline_ends_and_frees_its_slot(stage: str) -> None:
    engine = STAGES[stage]()
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with (
        run_server(engine, max_concurrent_cycles=1, max_queued_calls=1) as (server, address),
        grpc.insecure_channel(address) as channel,
    ):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(DECIDE)(request, timeout=SECONDS / 2)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert engine.has_ended.acquire(timeout=PATIENCE)
        assert engine.ended == [CallEnded]
        assert channel.unary_unary(DECIDE)(request, timeout=PATIENCE)
        wait_until(lambda: server.load()[:4] == (0, 0, 0, 0))


def test_cancelled_call_ends_before_its_search() -> None:
    engine = WatchedEngine(waits=True)
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with run_server(engine) as (_, address), grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(DECIDE).future(request)
        time.sleep(SECONDS / 4)
        call.cancel()
        assert engine.has_ended.acquire(timeout=PATIENCE)
    assert engine.ended == [CallEnded]


def test_push_beyond_its_deadline_leaves_the_state_before() -> None:
    engine = WatchedEngine(Sleeper(in_constructor=True))
    with run_server(engine) as (_, address), grpc.insecure_channel(address) as channel:
        push = channel.stream_unary(PUT_SNAPSHOT)
        push(chunks("first"), timeout=PATIENCE)
        with pytest.raises(grpc.RpcError) as caught:
            push(chunks("second"), timeout=SECONDS / 2)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        time.sleep(SECONDS)
        with Client(address) as client:
            reference, _ = client.get_state("test")
        assert reference.epoch == "first"


def chunks(epoch: str) -> Iterator[bytes]:
    request = PutSnapshotRequest(epoch=epoch, chunk=small_snapshot(), last_chunk=True)
    yield request.SerializeToString()


class WaitingEngine(Engine):
    """Decodes until the call is ended."""

    entered = threading.Event()

    def decide(
        self,
        request: DecideRequest,
        stop: Any = never,
        timeline: Timeline | None = None,
    ) -> EncodedResponse:
        while True:
            stop.check()
            self.entered.set()
            time.sleep(0.01)


def test_server_that_stops_ends_calls_that_have_not_begun_to_search() -> None:
    engine = WaitingEngine(default_profile())
    request = DecideRequest(snapshot=small_snapshot()).SerializeToString()
    with (
        ThreadPoolExecutor() as pool,
        run_server(engine, drain_timeout=10**8) as (server, address),
        grpc.insecure_channel(address) as channel,
    ):
        call = channel.unary_unary(DECIDE).future(request, timeout=PATIENCE)
        assert engine.entered.wait(PATIENCE)
        stopping = pool.submit(server.drain)
        assert call.code() is grpc.StatusCode.UNAVAILABLE
        assert stopping.result(PATIENCE)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
