"""A caller with many calls, streams or stalled messages leaves slots and turns to every other caller."""

import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_status import rpc_status
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.server.health_service import MAX_WATCHES_OF_A_PEER, REJECTED_APART_SECONDS
from tenure.server.receiving_calls import ReceivingCalls
from tenure.server.security.access_control import AccessControl
from tenure.server.service.admission import (
    PAUSE_APART_SECONDS,
    PAUSE_SECONDS,
    Admission,
    TooManyCalls,
)
from tenure.server.service.cycle_queue import CycleQueue
from tenure.server.service.recent_callers import KEPT_SECONDS
from tenure.server.settings import Security
from tenure.server.shard import Shard
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub

from tests.load.slow_caller import begin_call
from tests.server.security.certificate_authority import OTHER_TOKEN, TOKEN, token_file
from tests.server.servers import BlockingEngine, run_server
from tests.server.service.test_cycle_queue import QueuedCalls, queued_calls
from tests.server.state.test_store import FakeClock
from tests.small_snapshot import small_snapshot
from tests.state.state_calls import delta, push

NOISY: Final = (("authorization", f"Bearer {TOKEN}"),)
QUIET: Final = (("authorization", f"Bearer {OTHER_TOKEN}"),)
EXHAUSTED: Final = grpc.StatusCode.RESOURCE_EXHAUSTED
A, B, C, D = (Shard("cluster", pool) for pool in "abcd")


@contextmanager
def run_server_for_two(folder: Path, engine: Engine | None = None, **limits: int) -> Iterator[grpc.Channel]:
    file = token_file(folder, f"noisy {TOKEN}", f"quiet {OTHER_TOKEN}")
    guard = AccessControl.of(Security.model_construct(token_file=file))
    with run_server(engine, guard, **limits) as (_, address), grpc.insecure_channel(address) as channel:
        yield channel


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def has_retry_time(error: grpc.RpcError) -> bool:
    return any(detail.Is(RetryInfo.DESCRIPTOR) for detail in rpc_status.from_call(error).details)


def test_cycles_are_served_round_robin_by_caller() -> None:
    with queued_calls(1) as calls:
        calls.call("a1", A, is_served=True, caller="noisy")
        for name, shard in (("b1", B), ("c1", C), ("b2", B)):
            calls.call(name, shard, is_served=False, caller="noisy")
        for name in ("d1", "d2"):
            calls.call(name, D, is_served=False, caller="quiet")
        for name in ("a1", "b1", "d1", "c1", "d2"):
            calls.end(name, serves=1)
        calls.end("b2", serves=0)
        assert calls.served == ["a1", "b1", "d1", "c1", "d2", "b2"]


@pytest.mark.parametrize(("seconds_later", "is_served"), [(KEPT_SECONDS, False), (KEPT_SECONDS + 1, True)])
def test_a_slot_is_kept_for_a_caller_that_called_lately(seconds_later: float, is_served: bool) -> None:
    clock = FakeClock()
    with ThreadPoolExecutor() as pool:
        calls = QueuedCalls(CycleQueue(2, 10, clock), pool)
        calls.call("d1", D, is_served=True, caller="quiet")
        calls.end("d1", serves=0)
        wait_until(lambda: calls.queue.load() == (0, 0))
        clock.now = seconds_later
        calls.call("a1", A, is_served=True, caller="noisy")
        calls.call("b1", B, is_served=is_served, caller="noisy")
        calls.end("a1", serves=0 if is_served else 1)
        calls.end("b1", serves=0)


def test_a_full_queue_pushes_out_the_latest_call_of_the_caller_with_the_most() -> None:
    queue, ended = CycleQueue(1, 2), []

    def call(name: str, caller: str) -> None:
        try:
            with queue.acquire(A, 30, caller):
                ended.append(f"{name} served")
        except TooManyCalls:
            ended.append(f"{name} rejected")

    with ThreadPoolExecutor() as pool, queue.acquire(A, 30, "noisy"):
        for number, (name, caller) in enumerate((("first", "noisy"), ("second", "noisy")), 1):
            pool.submit(call, name, caller)
            wait_until(lambda number=number: queue.load()[1] == number)
        pool.submit(call, "quiet", "quiet")
        wait_until(lambda: bool(ended))
        call("third", "noisy")
        assert ended == ["second rejected", "third rejected"]
    assert sorted(ended[2:]) == ["first served", "quiet served"]


def test_a_call_gets_a_slot_while_another_caller_has_all(tmp_path: Path) -> None:
    engine = BlockingEngine()
    request = DecideRequest(snapshot=small_snapshot())
    limits = {"max_concurrent_cycles": 1, "max_queued_calls": 3}
    with run_server_for_two(tmp_path, engine, **limits) as channel:
        decide = DecisionServiceStub(channel).Decide
        noisy = [decide.future(request, metadata=NOISY, timeout=60) for _ in range(4)]
        assert engine.entered.acquire(timeout=10)
        wait_until(lambda: _rejected(decide, request))
        quiet = decide.future(request, metadata=QUIET, timeout=60)
        wait_until(lambda: any(call.done() for call in noisy))
        engine.release.set()
        assert quiet.result(30).outcomes
        ended = [call.exception(30) for call in noisy]
    [pushed_out] = [error for error in ended if error is not None]
    assert pushed_out.code() is EXHAUSTED
    assert has_retry_time(pushed_out)


def test_the_last_slot_is_kept_for_a_caller_that_called_lately() -> None:
    admission = Admission(max_calls=3, max_streams=1)
    with ExitStack() as calls:
        with admission.call("quiet"):
            calls.enter_context(admission.call("noisy"))
        calls.enter_context(admission.call("noisy"))
        with pytest.raises(TooManyCalls), admission.call("noisy"):
            pass
        with admission.call("quiet"), pytest.raises(TooManyCalls), admission.call("quiet"):
            pass


def test_calls_that_are_rejected_together_do_not_end_together() -> None:
    admission, together = Admission(max_calls=1, max_streams=1), 8

    def call(_: int) -> None:
        with pytest.raises(TooManyCalls), admission.call("noisy"):
            pass

    with admission.call("noisy"), ThreadPoolExecutor(together) as pool:
        begin = time.monotonic()
        list(pool.map(call, range(together)))
    assert time.monotonic() - begin >= PAUSE_SECONDS + (together - 1) * PAUSE_APART_SECONDS


def test_health_watches_that_are_rejected_together_do_not_end_together() -> None:
    together = 8
    with run_server() as (_, address), grpc.insecure_channel(address) as channel:
        health = HealthStub(channel)
        begin = time.monotonic()
        watches = [
            health.Watch(HealthCheckRequest(), timeout=60) for _ in range(MAX_WATCHES_OF_A_PEER + together)
        ]
        wait_until(lambda: sum(not watch.is_active() for watch in watches) == together)
        assert time.monotonic() - begin >= together * REJECTED_APART_SECONDS
        assert {watch.code() for watch in watches if not watch.is_active()} == {EXHAUSTED}
        for watch in watches:
            watch.cancel()


def _rejected(decide: "grpc.UnaryUnaryMultiCallable", request: DecideRequest) -> bool:
    """Whether a fifth call of the noisy caller is rejected: then its first four are admitted."""
    fifth = decide.future(request, metadata=NOISY, timeout=2)
    error = fifth.exception(30)
    return isinstance(error, grpc.Call) and error.code() is EXHAUSTED


def test_a_stream_gets_a_slot_while_another_caller_has_all(tmp_path: Path) -> None:
    halt = threading.Event()

    def requests() -> Iterator[object]:
        halt.wait(60)
        yield from ()

    with run_server_for_two(tmp_path, max_streams=4) as channel, ExitStack() as stack:
        stack.callback(halt.set)
        service = DecisionServiceStub(channel)
        noisy: list[grpc.Call] = []

        def open_stream() -> grpc.Call:
            return service.SyncState(requests(), metadata=NOISY, timeout=60)

        def has_all() -> bool:
            noisy[:] = [stream for stream in noisy if stream.is_active()]
            noisy.extend(open_stream() for _ in range(4 - len(noisy)))
            return _has_ended(open_stream()) and all(stream.is_active() for stream in noisy)

        wait_until(has_all)
        push(_WithMetadata(service, QUIET))
        wait_until(lambda: any(not stream.is_active() for stream in noisy))
        assert [stream.is_active() for stream in noisy].count(False) == 1
        [ended] = [stream for stream in noisy if not stream.is_active()]
        assert ended.code() is EXHAUSTED
        assert has_retry_time(ended)
        stub = _WithMetadata(service, QUIET)
        assert stub.ApplyDelta(_apply_request(), timeout=10).state.version == 8


def _apply_request() -> object:
    from tenure.v1.state_pb2 import ApplyDeltaRequest

    return ApplyDeltaRequest(delta=delta())


class _WithMetadata:
    """A stub whose calls carry a token."""

    def __init__(self, service: DecisionServiceStub, metadata: tuple[tuple[str, str], ...]) -> None:
        self._service = service
        self._metadata = metadata

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._service, name)
        return lambda request, timeout: method(request, timeout=timeout, metadata=self._metadata)


def _has_ended(stream: grpc.Call) -> bool:
    """Whether a fifth stream of the noisy caller is rejected. It may displace one of the first four."""
    deadline = time.monotonic() + 2
    while stream.is_active() and time.monotonic() < deadline:
        time.sleep(0.01)
    stream.cancel()
    return stream.code() is EXHAUSTED


def test_health_watches_of_a_peer_are_limited_and_cost_callers_nothing() -> None:
    with run_server() as (_, address), grpc.insecure_channel(address) as channel, Client(address) as client:
        health = HealthStub(channel)
        accepted = []
        for _ in range(3 * MAX_WATCHES_OF_A_PEER):
            watch = health.Watch(HealthCheckRequest(), timeout=60)
            try:
                assert next(watch).status == HealthCheckResponse.SERVING
                accepted.append(watch)
            except grpc.RpcError as error:
                assert error.code() is EXHAUSTED  # noqa: PT017
                assert has_retry_time(error)  # noqa: PT017
        assert len(accepted) == MAX_WATCHES_OF_A_PEER
        assert client.decide(small_snapshot()).outcomes
        assert health.Check(HealthCheckRequest(), timeout=5).status == HealthCheckResponse.SERVING
        accepted[0].cancel()
        wait_until(lambda: _is_watching(health))
        for watch in accepted:
            watch.cancel()


def _is_watching(health: HealthStub) -> bool:
    try:
        return bool(next(health.Watch(HealthCheckRequest(), timeout=60)))
    except grpc.RpcError:
        return False


def test_a_watch_that_is_not_read_does_not_delay_health_checks() -> None:
    no_window = struct.pack(">HI", 4, 0)  # SETTINGS_INITIAL_WINDOW_SIZE
    watch = "/grpc.health.v1.Health/Watch"
    with (
        run_server() as (server, address),
        grpc.insecure_channel(address) as channel,
        begin_call(address, watch, claimed=0, settings=no_window),
    ):
        health = HealthStub(channel)
        for is_ready, status in (
            (False, HealthCheckResponse.NOT_SERVING),
            (True, HealthCheckResponse.SERVING),
        ):
            time.sleep(0.2)  # until the server sends to the watch
            server.set_ready(is_ready)
            assert health.Check(HealthCheckRequest(), timeout=5).status == status


class Messages:
    """Calls that wait for a message which never comes, by name; their threads end when they are cancelled."""

    def __init__(self, calls: ReceivingCalls, pool: ThreadPoolExecutor) -> None:
        self._calls, self._pool = calls, pool
        self._ends: dict[str, threading.Event] = {}
        self.receiving: list[str] = []
        self.cancelled: list[str] = []

    def begin(self, name: str, caller: str) -> None:
        """Add a call; return when it receives or waits."""
        self._ends[name] = threading.Event()
        before = len(self._calls._calls)
        self._pool.submit(self._run, name, caller)
        wait_until(lambda: len(self._calls._calls) > before or bool(self.cancelled))

    def end(self, name: str) -> None:
        self._ends[name].set()

    def _run(self, name: str, caller: str) -> None:
        def cancel() -> None:
            self.cancelled.append(name)
            self._ends[name].set()

        def message() -> Iterator[str]:
            self.receiving.append(name)
            self._ends[name].wait(30)
            yield name

        self._calls.receive(caller, cancel, message())


@contextmanager
def messages(most: int, most_receiving: int, patience: float = 30) -> Iterator[Messages]:
    with ThreadPoolExecutor() as pool:
        calls = Messages(ReceivingCalls(most, most_receiving, patience), pool)
        try:
            yield calls
        finally:
            for name in list(calls._ends):
                calls.end(name)


def test_the_oldest_call_of_the_caller_with_the_most_is_cancelled() -> None:
    with messages(most=3, most_receiving=3) as calls:
        calls.begin("quiet", "quiet")
        for name in ("first", "second", "third"):
            calls.begin(name, "noisy")
        wait_until(lambda: calls.cancelled == ["first"] and calls.receiving[-1] == "third")


def test_the_caller_with_the_fewest_messages_receives_next() -> None:
    with messages(most=10, most_receiving=2) as calls:
        for name, caller in (("a1", "noisy"), ("a2", "noisy"), ("b1", "quiet"), ("a3", "noisy")):
            calls.begin(name, caller)
        for ended, receiving in (("a1", ["a1", "a2", "b1"]), ("a2", ["a1", "a2", "b1", "a3"])):
            calls.end(ended)
            wait_until(lambda receiving=receiving: calls.receiving == receiving)


def test_a_stalled_message_makes_room_for_those_that_wait() -> None:
    with messages(most=10, most_receiving=1, patience=0.05) as calls:
        calls.begin("stalled", "noisy")
        calls.begin("next", "quiet")
        wait_until(lambda: calls.receiving == ["stalled", "next"])
        assert calls.cancelled == ["stalled"]


@pytest.mark.parametrize("method", ["Decide", "ApplyDelta", "Explain"])
def test_stalled_messages_do_not_delay_other_callers(method: str, tmp_path: Path) -> None:
    halt = threading.Event()
    with run_server_for_two(tmp_path) as channel, ExitStack() as stack:
        stack.callback(halt.set)
        call = channel.stream_stream(f"/tenure.v1.DecisionService/{method}")
        stalled = [call(iter(halt.wait, True), metadata=NOISY) for _ in range(200)]
        service = DecisionServiceStub(channel)
        for _ in range(5):
            request = DecideRequest(snapshot=small_snapshot())
            assert service.Decide(request, metadata=QUIET, timeout=10).outcomes
        assert stalled, "calls end when they are forgotten"
