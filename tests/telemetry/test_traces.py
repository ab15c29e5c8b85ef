"""Traces of a real server over OTLP: one trace per call, down to the results of plugins."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from tenure.client import Client, StateSession
from tenure.client.errors import InvalidSnapshot
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.telemetry.otlp_receiver import ReceivedTelemetry, number_attributes, run_receiver, text_attributes
from tests.telemetry.telemetry_server import contested_snapshot, run_telemetry_server

TracedServer = tuple[ReceivedTelemetry, str]
DECIDE = "tenure.v1.DecisionService/Decide"
ANCESTRY = (
    "tenure.plugin proportion",
    "tenure.scenario",
    "tenure.pod_group",
    "tenure.action reclaim",
    "tenure.cycle",
    DECIDE,
)


@pytest.fixture(scope="module", params=["thread", "process"])
def traced_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TracedServer]:
    """A receiver, and the address of a server that exports all telemetry to it."""
    folder = tmp_path_factory.mktemp(request.param)
    with (
        run_receiver() as (received, address),
        run_telemetry_server(folder, solver=request.param, otlpEndpoint=f"http://{address}") as (_, server),
    ):
        yield received, server


def decide(
    traced_server: TracedServer, snapshot: ClusterSnapshot | None = None
) -> tuple[Span, DecideResponse]:
    """Call `Decide` in a trace of the test. Return the span of the call, when complete, and the response."""
    received, server = traced_server
    tracer = TracerProvider().get_tracer("tests")
    with tracer.start_as_current_span("caller") as caller, Client(server) as client:
        answer = client.decide(snapshot or contested_snapshot())
    ours = caller.get_span_context().trace_id.to_bytes(16, "big")

    def arrived(received: ReceivedTelemetry) -> Span | None:
        return next((span for span in received.named(DECIDE) if span.trace_id == ours), None)

    span = received.wait_until(arrived)
    assert span.parent_span_id == caller.get_span_context().span_id.to_bytes(8, "big")
    return span, answer


def spans_of_trace(received: ReceivedTelemetry, call: Span) -> list[Span]:
    return [span for span in received.spans if span.trace_id == call.trace_id]


def test_call_is_one_trace_from_the_caller_to_the_guard_verdict(traced_server: TracedServer) -> None:
    call, _ = decide(traced_server)
    spans = {span.span_id: span for span in spans_of_trace(traced_server[0], call)}
    ancestries = set()
    for span in spans.values():
        ancestry = [span.name]
        while (parent := spans.get(span.parent_span_id)) is not None:
            span = parent  # noqa: PLW2901 (upwards)
            ancestry.append(span.name)
        ancestries.add(tuple(ancestry))
    assert ANCESTRY in ancestries
    assert all(ancestry[-1] == DECIDE for ancestry in ancestries)


def test_times_of_spans_are_within_the_call(traced_server: TracedServer) -> None:
    call, _ = decide(traced_server)
    for span in spans_of_trace(traced_server[0], call):
        assert call.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= call.end_time_unix_nano


def test_spans_refer_to_decisions_by_id(traced_server: TracedServer) -> None:
    call, answer = decide(traced_server)
    (group,) = answer.groups
    spans = spans_of_trace(traced_server[0], call)
    (cycle,) = [span for span in spans if span.name == "tenure.cycle"]
    assert [text_attributes(event.attributes)["tenure.decision.id"] for event in cycle.events] == [group.id]
    found = [text_attributes(span.attributes) for span in spans if span.name == "tenure.pod_group"]
    assert [each["tenure.outcome"] for each in found if "tenure.decision.id" in each] == ["placed"]
    assert number_attributes(cycle.attributes)["tenure.snapshot.version"] == answer.header.version


def test_names_of_workloads_nodes_and_queues_are_omitted(traced_server: TracedServer) -> None:
    snapshot = contested_snapshot()
    call, _ = decide(traced_server, snapshot)
    names = {pod.uid for pod in snapshot.pods} | {group.uid for group in snapshot.pod_groups}
    names |= {node.name for node in snapshot.nodes} | {queue.name for queue in snapshot.queues}
    for span in spans_of_trace(traced_server[0], call):
        assert not names & set(text_attributes(span.attributes).values())
        for event in span.events:
            assert not names & set(text_attributes(event.attributes).values())


def test_decision_links_to_the_span_that_pushed_its_state(traced_server: TracedServer) -> None:
    received, server = traced_server
    with Client(server) as client:
        session = StateSession(client)
        session.push(contested_snapshot())
        session.decide()
    call = received.wait_until(lambda got: next((span for span in got.named(DECIDE) if span.links), None))
    (pushed,) = [
        span
        for span in received.named("tenure.v1.DecisionService/PutSnapshot")
        if span.span_id == call.links[0].span_id
    ]
    assert pushed.trace_id == call.links[0].trace_id != call.trace_id


def test_rejected_request_is_not_a_server_error(traced_server: TracedServer) -> None:
    received, server = traced_server
    with Client(server) as client, pytest.raises(InvalidSnapshot):
        client.decide(ClusterSnapshot(cluster_id="nothing more"))
    refused = received.wait_until(
        lambda got: next(
            (s for s in got.named(DECIDE) if number_attributes(s.attributes)["rpc.grpc.status_code"] == 3),
            None,
        )
    )
    assert refused.status.code == Status.STATUS_CODE_UNSET


def test_call_without_trace_starts_one(traced_server: TracedServer) -> None:
    received, server = traced_server
    assert not trace.get_current_span().get_span_context().is_valid
    with Client(server) as client:
        client.decide(contested_snapshot())
    assert received.wait_until(lambda got: [span for span in got.named(DECIDE) if not span.parent_span_id])


def test_service_name_is_reported(traced_server: TracedServer) -> None:
    decide(traced_server)
    assert traced_server[0].services == {"tenure"}


def test_pod_groups_are_named_when_configured(tmp_path: Path) -> None:
    with (
        run_receiver() as (received, address),
        run_telemetry_server(tmp_path, otlpEndpoint=f"http://{address}", includeWorkloadNames=True) as (
            _,
            server,
        ),
        Client(server) as client,
    ):
        client.decide(contested_snapshot())
        spans = received.wait_until(lambda got: got.named("tenure.cycle") and got.named("tenure.pod_group"))
    named = [text_attributes(event.attributes) for span in spans for event in span.events]
    assert {"tenure.pod_group.uid": "waits"} in named


def test_ratio_of_zero_samples_only_calls_sampled_by_the_caller(tmp_path: Path) -> None:
    with (
        run_receiver() as (received, address),
        run_telemetry_server(tmp_path, otlpEndpoint=f"http://{address}", sampleRatio=0) as (_, server),
        Client(server) as client,
    ):
        client.decide(contested_snapshot())
        call, _ = decide((received, server))
        assert {span.trace_id for span in received.spans} == {call.trace_id}
