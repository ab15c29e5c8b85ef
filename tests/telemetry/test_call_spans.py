"""One span per call, in the caller's trace, with an error status only for server errors."""

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2_grpc import DecisionServiceStub
from tenure.v1.state_pb2 import StateDelta, StateReference, SyncStateRequest

from tests.server.servers import FailingEngine, run_server
from tests.small_snapshot import small_snapshot

DECIDE = "/tenure.v1.DecisionService/Decide"
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(scope="session")
def exporter() -> InMemorySpanExporter:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


def call(request: DecideRequest, engine: Engine | None = None) -> None:
    metadata = [("traceparent", f"00-{TRACE}-b7ad6b7169203331-01")]
    with run_server(engine) as (_, address), grpc.insecure_channel(address) as channel:
        future = channel.unary_unary(DECIDE).future(request.SerializeToString(), 10, metadata=metadata)
        future.exception()


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = [span for span in spans.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    return span


def test_call_is_a_span_in_the_caller_s_trace(spans: InMemorySpanExporter) -> None:
    call(DecideRequest(snapshot=small_snapshot()))
    span = only(spans)
    assert span.name == "tenure.v1.DecisionService/Decide"
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.attributes == {
        "rpc.system": "grpc",
        "rpc.service": "tenure.v1.DecisionService",
        "rpc.method": "Decide",
        "rpc.grpc.status_code": 0,
    }


def test_rejected_request_is_not_a_server_error(spans: InMemorySpanExporter) -> None:
    call(DecideRequest())
    assert only(spans).attributes["rpc.grpc.status_code"] == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert only(spans).status.status_code is trace.StatusCode.UNSET


def test_internal_error_is_an_error_span(spans: InMemorySpanExporter) -> None:
    call(DecideRequest(), FailingEngine(default_profile()))
    assert only(spans).status.status_code is trace.StatusCode.ERROR
    assert not only(spans).events


def test_deltas_of_a_stream_have_their_own_traces(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    with run_server() as (_, address), Client(address) as client, grpc.insecure_channel(address) as channel:
        base = client.put_snapshot("epoch", small_snapshot())
        deltas = [SyncStateRequest(nonce=str(n), delta=next_version(base, n)) for n in (1, 2)]
        stub = DecisionServiceStub(channel)
        answers = list(stub.SyncState(iter(deltas)))
        client.decide_state(answers[-1].state)
    stream, *others = [span for span in spans.get_finished_spans() if span.name.endswith("/SyncState")]
    assert not others
    first, second = [span for span in spans.get_finished_spans() if span.name == "tenure.state.delta"]
    assert len({span.context.trace_id for span in (stream, first, second)}) == 3
    assert [span.links[0].context for span in (first, second)] == [stream.context] * 2
    decide = next(span for span in spans.get_finished_spans() if span.name.endswith("/Decide"))
    assert [link.context for link in decide.links] == [second.context]
    assert not [record for record in caplog.records if "context" in record.getMessage()]


def next_version(base: StateReference, number: int) -> StateDelta:
    delta = StateDelta(version=base.version + number, now=small_snapshot().now)
    delta.base.CopyFrom(base)
    delta.base.version += number - 1
    return delta
