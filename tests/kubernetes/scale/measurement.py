"""Resource usage of a server and an adapter on a large cluster, from spans, metrics and the kernel."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.scale.large_cluster import add_pod_group, finish_pod
from tests.telemetry.cost.process_usage import processor_seconds, resident_mib
from tests.telemetry.otlp_receiver import ReceivedTelemetry, text_attributes

RECONCILE: Final = "tenure.adapter.reconcile"
CYCLE: Final = "tenure.cycle"
FIRST_SECONDS: Final = 600.0
STEP_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 3.0
"""Time without a reconcile after which all decisions are applied, reported and annotated."""
_CALLS: Final = "tenure_adapter_api_call_duration_seconds"
_PARTS: Final = {
    "tenure.adapter.observe": "observing it and pushing all of it",
    "tenure.v1.DecisionService/PutSnapshot": "of that, the server",
    "tenure.adapter.journal": "storing what is to be sent",
    "tenure.adapter.decide": "asking",
    CYCLE: "of that, the cycle",
    "tenure.adapter.bind": "binding",
    "tenure.adapter.report": "reporting and annotating",
}
"""Spans of a reconcile and their names in the tables."""


class Measurement(NamedTuple):
    """A measured figure."""

    what: str
    value: float
    unit: str


class Process(NamedTuple):
    """A measured process."""

    name: str
    pid: int


def measure_first_reconcile(
    received: ReceivedTelemetry, processes: Sequence[Process], began_at: float
) -> list[Measurement]:
    """Measure from the start of the adapter, in seconds since 1970, to the end of its first reconcile."""
    wait_for(lambda: bool(_deciding_reconciles(received)), FIRST_SECONDS)
    one = _deciding_reconciles(received)[0]
    return [
        Measurement("pods listed", _listing_seconds(received, "pods"), "s"),
        Measurement("started, listed, begun", one.start_time_unix_nano / 1e9 - began_at, "s"),
        Measurement("the first round", _seconds(one), "s"),
        *_parts(received, one, 1, "s"),
        *(Measurement(f"processor, {each.name}", processor_seconds(each.pid), "s") for each in processes),
    ]


def measure_small_changes(
    received: ReceivedTelemetry,
    transport: Transport,
    processes: Sequence[Process],
    times: int,
    has_done: Callable[[], None],
) -> list[Measurement]:
    """Measure small changes, one after the other: a pod ends, and a new pod is bound."""
    wait_until_idle(received)
    bound, before = [], len(_deciding_reconciles(received))
    used = [processor_seconds(one.pid) for one in processes]
    for number in range(times):
        finish_pod(transport, number)
        wait_until_idle(received)
        path, begin = add_pod_group(transport, f"more-{number}"), time.monotonic()
        wait_for(lambda path=path: b'"nodeName"' in transport.get(path), STEP_SECONDS)  # type: ignore[misc]
        bound.append((time.monotonic() - begin) * 1e3)
        wait_until_idle(received)
        has_done()
    rounds = _deciding_reconciles(received)[before:]
    middle = sorted(rounds, key=_seconds)[len(rounds) // 2]
    return [
        Measurement("a new pod, from its creation to its binding", median(bound), "ms"),
        Measurement("the slowest of these", max(bound), "ms"),
        Measurement("a round that decides, the median", _seconds(middle) * 1e3, "ms"),
        *_parts(received, middle, 1e3, "ms"),
        *(
            Measurement(
                f"processor of a round, {one.name}",
                (processor_seconds(one.pid) - so_far) / len(rounds) * 1e3,
                "ms",
            )
            for one, so_far in zip(processes, used, strict=True)
        ),
    ]


def measure_idle(
    received: ReceivedTelemetry, processes: Sequence[Process], seconds: float
) -> list[Measurement]:
    """Measure while nothing changes."""
    wait_until_idle(received)
    rounds, before = len(received.named(RECONCILE)), {one: processor_seconds(one.pid) for one in processes}
    time.sleep(seconds)
    used = {one: processor_seconds(one.pid) - before[one] for one in processes}
    return [
        *(Measurement(f"processor, {one.name}", 100 * used[one] / seconds, "%") for one in processes),
        Measurement("rounds", len(received.named(RECONCILE)) - rounds, ""),
    ]


def measure_memory(processes: Sequence[Process]) -> list[Measurement]:
    """Measure resident memory."""
    return [Measurement(f"memory, {one.name}", resident_mib(one.pid), "MiB") for one in processes]


def wait_until_idle(received: ReceivedTelemetry) -> None:
    """Wait until there has been no reconcile for a while."""
    last, at = -1, time.monotonic()
    while time.monotonic() < at + QUIET_SECONDS:
        if (now := len(received.named(RECONCILE))) != last:
            last, at = now, time.monotonic()
        time.sleep(0.1)


def _deciding_reconciles(received: ReceivedTelemetry) -> list[Span]:
    """Return the reconciles that requested a decision, in order."""
    asked = {span.parent_span_id for span in received.named("tenure.adapter.bind")}
    rounds = [span for span in received.named(RECONCILE) if span.span_id in asked]
    return sorted(rounds, key=lambda span: span.start_time_unix_nano)


def _parts(received: ReceivedTelemetry, one: Span, factor: float, unit: str) -> list[Measurement]:
    """Durations of the parts of a reconcile. The server exports its own spans, which can arrive later."""
    received.wait_until(lambda got: [span for span in got.named(CYCLE) if span.trace_id == one.trace_id])
    spans = [span for span in received.spans if span.trace_id == one.trace_id]
    taken = {
        words: sum(_seconds(span) for span in spans if span.name == name) for name, words in _PARTS.items()
    }
    return [Measurement(words, seconds * factor, unit) for words, seconds in taken.items() if seconds]


def _listing_seconds(received: ReceivedTelemetry, resource: str) -> float:
    """Return the total time of the calls that listed a collection."""
    points = received.wait_until(lambda got: got.metrics.get(_CALLS)).histogram.data_points
    about = {"method": "GET", "resource": resource, "result": "ok"}
    return sum(point.sum for point in points if text_attributes(point.attributes) == about)


def _seconds(span: Span) -> float:
    return (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9


def wait_for(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"it does not come about within {seconds:g} seconds")
        time.sleep(0.01)
