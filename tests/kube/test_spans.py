"""Spans of a round are bounded, those outside of rounds are none, and links lead to evictions."""

from collections import Counter
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tenure.client.kubernetes import evictions, spans
from tenure.client.kubernetes.evictions import Evictions
from tenure.client.kubernetes.failures import Conflict
from tenure.client.kubernetes.resources import collection_of, resource_of
from tenure.v1.decision_pb2 import Evict


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_TRACER", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


def test_a_round_has_so_many_spans_and_counts_the_rest(kept: InMemorySpanExporter) -> None:
    with spans.round_span(), spans.span(spans.BIND, pods=300):
        for _ in range(300):
            with spans.step_span("bind", "g"), spans.call_span("POST", "pods/binding"):
                pass
    (whole,) = [span for span in kept.get_finished_spans() if span.name == spans.ROUND]
    names = Counter(span.name for span in kept.get_finished_spans())
    assert sum(names.values()) == spans.MOST_SPANS + 2
    assert whole.attributes == {spans.MORE_SPANS: 600 - spans.MOST_SPANS}


def test_the_next_round_has_its_own(kept: InMemorySpanExporter) -> None:
    for _ in range(2):
        with spans.round_span():
            for _ in range(spans.MOST_SPANS):
                with spans.call_span("GET", "pods"):
                    pass
    assert len(kept.get_finished_spans()) == 2 * (spans.MOST_SPANS + 1)
    assert all(spans.MORE_SPANS not in (span.attributes or {}) for span in kept.get_finished_spans())


def test_calls_outside_of_rounds_have_no_spans(kept: InMemorySpanExporter) -> None:
    with spans.call_span("PUT", "leases") as current:
        assert not current.is_recording()
    assert not kept.get_finished_spans()


def test_a_binding_is_linked_once_to_what_made_room_and_to_what_it_comes_back_from(
    kept: InMemorySpanExporter,
) -> None:
    remembered = Evictions()
    with spans.round_span(), spans.step_span("evict", "g") as step:
        remembered.remember(Evict(pod="p", pod_group="victim", beneficiary="winner"))
    for uid, role in (("winner", "room"), ("victim", "evicted")):
        (link,) = remembered.take_links(uid)
        assert (link.context, link.attributes) == (step.get_span_context(), {spans.LINK: role})
        assert remembered.take_links(uid) == []


def test_only_the_last_evictions_are_remembered(kept: InMemorySpanExporter) -> None:
    remembered = Evictions()
    with spans.round_span():
        for i in range(evictions.MOST):
            remembered.remember(Evict(pod_group=f"victim-{i}", beneficiary="winner"))
    assert remembered.take_links("victim-0") == []
    assert remembered.take_links(f"victim-{evictions.MOST - 1}")


def test_what_nobody_traces_is_not_remembered() -> None:
    remembered = Evictions()
    remembered.remember(Evict(pod_group="victim", beneficiary="winner"))
    assert remembered.take_links("victim") == []


def test_a_failure_is_marked_and_its_words_are_not_kept(kept: InMemorySpanExporter) -> None:
    with pytest.raises(Conflict), spans.round_span(), spans.call_span("PATCH", "podgroups"):
        raise Conflict("PATCH /apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/secret: 409")
    for span in kept.get_finished_spans():
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
def test_paths_become_few_words(path: str, resource: str) -> None:
    assert resource_of(path) == resource


def test_collections_of_two_apis_are_told_apart() -> None:
    assert collection_of("/api/v1/pods") == "pods"
    assert collection_of("/apis/scheduling.run.ai/v2/queues") == "queues.scheduling.run.ai"
