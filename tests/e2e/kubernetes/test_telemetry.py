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
        received.wait_until(lambda got: len(_bound(got)) == 2 * GANG + 1)
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
    decided = _placed(spans)
    assert decided is not None
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
    assert received.services == {"tenure", "tenure-adapter"}


def test_binding_links_to_the_freeing_and_to_the_previous_eviction(
    received: ReceivedTelemetry,
) -> None:
    def eviction_ids() -> set[bytes]:
        return {span.span_id for span in received.named("tenure.adapter.apply evict")}

    received.wait_until(lambda got: len(eviction_ids()) == GANG)
    for role, pods in (("freed_by", 1), ("previous_eviction", GANG)):
        received.wait_until(lambda got, role=role, pods=pods: len(_links(got, role)) == pods)  # type: ignore[misc]
        assert {link.span_id for link in _links(received, role)} <= eviction_ids()


def test_metrics_and_log_records_of_an_adapter_are_exported(received: ReceivedTelemetry) -> None:
    """The latest export has the evictions too."""
    applied = {
        (("kind", "bind"), ("result", "applied")),
        (("kind", "evict"), ("result", "applied")),
    }
    received.wait_until(lambda got: _attempts(got) == applied)
    line = received.wait_until(
        lambda got: next((one for one in got.lines if "requeue-delay" in one.body.string_value), None)
    )
    received.wait_until(lambda got: line.trace_id in {span.trace_id for span in got.named(RECONCILE)})


def _bound(received: ReceivedTelemetry) -> list[Span]:
    return received.named(BINDING)


def _links(received: ReceivedTelemetry, role: str) -> list[Span.Link]:
    links = [link for span in received.named("tenure.adapter.apply bind") for link in span.links]
    return [link for link in links if text_attributes(link.attributes)["tenure.link"] == role]


def _attempts(received: ReceivedTelemetry) -> set[tuple[tuple[str, str], ...]]:
    """Attributes of the attempts to apply decisions that are counted."""
    steps = received.metrics.get("tenure_adapter_apply_attempts_total")
    points = steps.sum.data_points if steps is not None else ()
    return {tuple(sorted(text_attributes(point.attributes).items())) for point in points}


def _complete_trace(received: ReceivedTelemetry, trace: bytes) -> list[Span] | None:
    """Return the spans of a trace after all have arrived: those of the adapter, and those of the server.

    Each program exports its spans in the order in which they end, but the collector may overtake itself.
    """
    spans = [span for span in received.spans if span.trace_id == trace]
    ids = {span.span_id for span in spans}
    has_gaps = any(span.parent_span_id and span.parent_span_id not in ids for span in spans)
    has_leaves = {"tenure.adapter.observe", "tenure.adapter.journal"} <= {span.name for span in spans}
    return spans if has_leaves and _placed(spans) and not has_gaps else None


def _placed(spans: list[Span]) -> Span | None:
    """The span of a pod group that was placed."""
    named = (span for span in spans if span.name == "tenure.pod_group")
    placed = (span for span in named if text_attributes(span.attributes).get("tenure.outcome") == "placed")
    return next(placed, None)


def _ancestry(spans: list[Span], span: Span | None) -> list[str]:
    by_id = {each.span_id: each for each in spans}
    names = []
    while span is not None:
        names.append(span.name)
        span = by_id.get(span.parent_span_id)
    return names
