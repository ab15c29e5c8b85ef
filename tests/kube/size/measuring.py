"""What a server and an adapter take for a large cluster, by their spans and metrics and by the kernel."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tenure.client.kubernetes.transport import Transport

from tests.kube.size.populating import finish, one_more
from tests.telemetry.receiver import Received, text_of
from tests.telemetry.usage import processor_seconds, resident_mib

ROUND: Final = "tenure.adapter.round"
FIRST_SECONDS: Final = 600.0
STEP_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 3.0
"""Without a round: what was decided is done, told and annotated."""
_CALLS: Final = "tenure_adapter_api_call_duration_seconds"
_PARTS: Final = {
    "tenure.adapter.observe": "observing it and pushing all of it",
    "tenure.v1.DecisionService/PutSnapshot": "of that, the server",
    "tenure.adapter.remember": "storing what is to be sent",
    "tenure.adapter.decide": "asking",
    "tenure.cycle": "of that, the cycle",
    "tenure.adapter.bind": "binding",
    "tenure.adapter.report": "reporting and annotating",
}
"""Spans of a round, and what they are called here."""


class Figure(NamedTuple):
    """Something that was measured."""

    what: str
    value: float
    unit: str


class Process(NamedTuple):
    """One of those that are measured."""

    name: str
    pid: int


def first(received: Received, processes: Sequence[Process], began_at: float) -> list[Figure]:
    """From the start of the adapter, in seconds since 1970, to the end of its first round."""
    _wait(lambda: bool(_decided(received)), FIRST_SECONDS)
    one = _decided(received)[0]
    return [
        Figure("pods listed", _listing_seconds(received, "pods"), "s"),
        Figure("started, listed, begun", one.start_time_unix_nano / 1e9 - began_at, "s"),
        Figure("the first round", _seconds(one), "s"),
        *_parts(received, one, 1, "s"),
        *(Figure(f"processor, {each.name}", processor_seconds(each.pid), "s") for each in processes),
    ]


def steady(
    received: Received,
    transport: Transport,
    processes: Sequence[Process],
    times: int,
    has_done: Callable[[], None],
) -> list[Figure]:
    """Small changes, one after the other: a pod ends, and a pod comes and is bound."""
    settle(received)
    bound, before = [], len(_decided(received))
    used = [processor_seconds(one.pid) for one in processes]
    for number in range(times):
        finish(transport, number)
        settle(received)
        path, begin = one_more(transport, f"more-{number}"), time.monotonic()
        _wait(lambda path=path: b'"nodeName"' in transport.get(path), STEP_SECONDS)  # type: ignore[misc]
        bound.append((time.monotonic() - begin) * 1e3)
        settle(received)
        has_done()
    rounds = _decided(received)[before:]
    middle = sorted(rounds, key=_seconds)[len(rounds) // 2]
    return [
        Figure("a new pod, from its creation to its binding", median(bound), "ms"),
        Figure("the slowest of these", max(bound), "ms"),
        Figure("a round that decides, the median", _seconds(middle) * 1e3, "ms"),
        *_parts(received, middle, 1e3, "ms"),
        *(
            Figure(
                f"processor of a round, {one.name}",
                (processor_seconds(one.pid) - so_far) / len(rounds) * 1e3,
                "ms",
            )
            for one, so_far in zip(processes, used, strict=True)
        ),
    ]


def idle(received: Received, processes: Sequence[Process], seconds: float) -> list[Figure]:
    """Nothing changes."""
    settle(received)
    rounds, before = len(received.named(ROUND)), {one: processor_seconds(one.pid) for one in processes}
    time.sleep(seconds)
    used = {one: processor_seconds(one.pid) - before[one] for one in processes}
    return [
        *(Figure(f"processor, {one.name}", 100 * used[one] / seconds, "%") for one in processes),
        Figure("rounds", len(received.named(ROUND)) - rounds, ""),
    ]


def memory(processes: Sequence[Process]) -> list[Figure]:
    """What is resident now."""
    return [Figure(f"memory, {one.name}", resident_mib(one.pid), "MiB") for one in processes]


def settle(received: Received) -> None:
    """Wait until there was no round for a while."""
    last, at = -1, time.monotonic()
    while time.monotonic() < at + QUIET_SECONDS:
        if (now := len(received.named(ROUND))) != last:
            last, at = now, time.monotonic()
        time.sleep(0.1)


def _decided(received: Received) -> list[Span]:
    """Rounds in which a decision was asked for, in their order."""
    asked = {span.parent_span_id for span in received.named("tenure.adapter.bind")}
    rounds = [span for span in received.named(ROUND) if span.span_id in asked]
    return sorted(rounds, key=lambda span: span.start_time_unix_nano)


def _parts(received: Received, one: Span, factor: float, unit: str) -> list[Figure]:
    spans = [span for span in received.spans if span.trace_id == one.trace_id]
    taken = {
        words: sum(_seconds(span) for span in spans if span.name == name) for name, words in _PARTS.items()
    }
    return [Figure(words, seconds * factor, unit) for words, seconds in taken.items() if seconds]


def _listing_seconds(received: Received, resource: str) -> float:
    """How long all calls together took that read a collection."""
    points = received.until(lambda got: got.metrics.get(_CALLS)).histogram.data_points
    about = {"method": "GET", "resource": resource, "result": "ok"}
    return sum(point.sum for point in points if text_of(point.attributes) == about)


def _seconds(span: Span) -> float:
    return (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9


def _wait(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"it does not come about within {seconds:g} seconds")
        time.sleep(0.01)
