"""Reconciles have a bounded number of spans, other calls have none, and links lead to evictions."""

from collections import Counter
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tenure.integration import telemetry
from tenure.integration.telemetry import EvictionLinks
from tenure.kubernetes.api.api_errors import Conflict
from tenure.kubernetes.api.api_paths import collection_of, resource_of
from tenure.kubernetes.telemetry import call_span
from tenure.v1.decision_pb2 import Evict


@pytest.fixture
def exported_spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_TRACER", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


def test_reconcile_has_a_bounded_number_of_spans_and_counts_the_rest(
    exported_spans: InMemorySpanExporter,
) -> None:
    with telemetry.reconcile_span(), telemetry.span(telemetry.BIND, pods=300):
        for _ in range(300):
            with telemetry.apply_span("bind", "g"), call_span("POST", "pods/binding"):
                pass
    (whole,) = [span for span in exported_spans.get_finished_spans() if span.name == telemetry.RECONCILE]
    names = Counter(span.name for span in exported_spans.get_finished_spans())
    assert sum(names.values()) == telemetry.MAX_SPANS + 2
    assert whole.attributes == {telemetry.OMITTED_SPANS: 600 - telemetry.MAX_SPANS}


def test_next_reconcile_has_its_own_span_limit(exported_spans: InMemorySpanExporter) -> None:
    for _ in range(2):
        with telemetry.reconcile_span():
            for _ in range(telemetry.MAX_SPANS):
                with call_span("GET", "pods"):
                    pass
    assert len(exported_spans.get_finished_spans()) == 2 * (telemetry.MAX_SPANS + 1)
    assert all(
        telemetry.OMITTED_SPANS not in (span.attributes or {}) for span in exported_spans.get_finished_spans()
    )


def test_calls_outside_of_a_reconcile_have_no_spans(exported_spans: InMemorySpanExporter) -> None:
    with call_span("PUT", "leases") as current:
        assert not current.is_recording()
    assert not exported_spans.get_finished_spans()


def test_binding_links_once_to_the_freeing_and_to_the_previous_eviction(
    exported_spans: InMemorySpanExporter,
) -> None:
    remembered = EvictionLinks()
    with telemetry.reconcile_span(), telemetry.apply_span("evict", "g") as step:
        remembered.add(Evict(pod="p", pod_group="victim", preemptor="winner"))
    for uid, role in (("winner", "freed_by"), ("victim", "previous_eviction")):
        (link,) = remembered.take_links(uid)
        assert (link.context, link.attributes) == (step.get_span_context(), {telemetry.LINK: role})
        assert remembered.take_links(uid) == []


def test_only_the_last_evictions_are_stored(exported_spans: InMemorySpanExporter) -> None:
    remembered = EvictionLinks()
    with telemetry.reconcile_span():
        for i in range(telemetry.MAX_LINKS):
            remembered.add(Evict(pod_group=f"victim-{i}", preemptor="winner"))
    assert remembered.take_links("victim-0") == []
    assert remembered.take_links(f"victim-{telemetry.MAX_LINKS - 1}")


def test_untraced_eviction_is_not_stored() -> None:
    remembered = EvictionLinks()
    remembered.add(Evict(pod_group="victim", preemptor="winner"))
    assert remembered.take_links("victim") == []


def test_failed_span_has_error_status_without_the_message(exported_spans: InMemorySpanExporter) -> None:
    with pytest.raises(Conflict), telemetry.reconcile_span(), call_span("PATCH", "podgroups"):
        raise Conflict("PATCH /apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/secret: 409")
    for span in exported_spans.get_finished_spans():
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
        assert not span.events


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/nodes", "nodes"),
        ("/api/v1/namespaces/pods/pods/p/binding", "pods/binding"),
        ("/api/v1/namespaces/n/pods/p", "pods"),
        ("/apis/scheduling.run.ai/v2alpha2/namespaces/n/podgroups/g/status", "podgroups/status"),
        ("/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "leases"),
        ("/apis/kubeflow.org/v1/namespaces/n/pytorchjobs/j", "others"),
        ("/apis/scheduling.run.ai/v2", "discovery"),
        ("/api/v1", "discovery"),
    ],
)
def test_paths_map_to_a_few_resource_names(path: str, resource: str) -> None:
    assert resource_of(path) == resource


def test_collections_of_two_apis_have_distinct_names() -> None:
    assert collection_of("/api/v1/pods") == "pods"
    assert collection_of("/apis/scheduling.run.ai/v2/queues") == "queues.scheduling.run.ai"
