"""One trace covers the life of a decision, from the adapter's observation to the API server call."""

from collections.abc import Iterator

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.environment.control_plane import ControlPlane
from tests.telemetry.decision_life import GANG, run_decision_life, run_live_cluster, run_telemetry_adapter
from tests.telemetry.external_programs import run_collector
from tests.telemetry.otlp_receiver import ReceivedTelemetry, run_receiver, text_attributes
from tests.telemetry.telemetry_server import export_immediately

pytestmark = pytest.mark.kube

EVICTION = "tenure.adapter.call POST pods/eviction"
BINDING = "tenure.adapter.call POST pods/binding"
RECONCILE = "tenure.adapter.reconcile"


@pytest.fixture(scope="module")
def received(
    plane: ControlPlane, transport: Transport, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReceivedTelemetry]:
    """Telemetry of such a life, passed on by a real collector."""
    folder = tmp_path_factory.mktemp("life")
    with (
        export_immediately(),
        run_receiver() as (received, onward),
        run_collector(folder, onward) as address,
        run_live_cluster(transport) as cluster,
        run_telemetry_adapter(plane, cluster, folder, address),
    ):
        run_decision_life(cluster)
        received.wait_until(lambda got: _bound(got) if len(_bound(got)) == 2 * GANG + 1 else None)
        received.wait_until(lambda got: _links(got, "previous_eviction"))
        yield received


def test_trace_covers_a_decision_from_observation_to_api_call(received: ReceivedTelemetry) -> None:
    eviction = received.wait_until(lambda got: next(iter(got.named(EVICTION)), None))
    spans = received.wait_until(lambda got: _complete_trace(got, eviction.trace_id))
    assert _ancestry(spans, eviction) == [
        EVICTION,
        "tenure.adapter.apply evict",
        "tenure.adapter.evict",
        RECONCILE,
    ]
    decided = _find(spans, "tenure.pod_group", "placed")
    assert _ancestry(spans, decided) == [
        "tenure.pod_group",
        "tenure.action preempt",
        "tenure.cycle",
        "tenure.v1.DecisionService/Decide",
        "tenure.adapter.decide",
        RECONCILE,
    ]
    step = next(span for span in spans if span.span_id == eviction.parent_span_id)
    attributes = text_attributes(step.attributes)
    assert attributes["tenure.decision.id"] == text_attributes(decided.attributes)["tenure.decision.id"]
    assert attributes["tenure.result"] == "applied"
    assert {"tenure.adapter.observe", "tenure.adapter.journal"} <= {span.name for span in spans}
    assert received.services == {"tenure", "tenure-adapter"}


def test_binding_links_to_the_freeing_and_to_the_previous_eviction(
    received: ReceivedTelemetry,
) -> None:
    evictions = {span.span_id for span in received.named("tenure.adapter.apply evict")}
    assert len(evictions) == GANG
    for role, pods in (("freed_by", 1), ("previous_eviction", GANG)):
        links = _links(received, role)
        assert len(links) == pods
        assert {link.span_id for link in links} <= evictions


def test_metrics_and_log_records_of_an_adapter_are_exported(received: ReceivedTelemetry) -> None:
    steps = received.wait_until(lambda got: got.metrics.get("tenure_adapter_apply_attempts_total"))
    assert {tuple(sorted(text_attributes(p.attributes).items())) for p in steps.sum.data_points} == {
        (("kind", "bind"), ("result", "applied")),
        (("kind", "evict"), ("result", "applied")),
    }
    line = received.wait_until(
        lambda got: next((one for one in got.lines if "requeue-delay" in one.body.string_value), None)
    )
    rounds = {span.trace_id for span in received.named(RECONCILE)}
    assert line.trace_id in rounds


def _bound(received: ReceivedTelemetry) -> list[Span]:
    return received.named(BINDING)


def _links(received: ReceivedTelemetry, role: str) -> list[Span.Link]:
    links = [link for span in received.named("tenure.adapter.apply bind") for link in span.links]
    return [link for link in links if text_attributes(link.attributes)["tenure.link"] == role]


def _complete_trace(received: ReceivedTelemetry, trace: bytes) -> list[Span] | None:
    """Return the spans of a trace after its root, which ends last, has arrived."""
    spans = [span for span in received.spans if span.trace_id == trace]
    return spans if any(span.name == RECONCILE for span in spans) else None


def _find(spans: list[Span], name: str, outcome: str) -> Span:
    return next(
        span
        for span in spans
        if span.name == name and text_attributes(span.attributes).get("tenure.outcome") == outcome
    )


def _ancestry(spans: list[Span], span: Span | None) -> list[str]:
    by_id = {each.span_id: each for each in spans}
    names = []
    while span is not None:
        names.append(span.name)
        span = by_id.get(span.parent_span_id)
    return names
