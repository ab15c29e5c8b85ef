"""One trace tells the life of a decision, from what the adapter observes to the call to the API server."""

from collections.abc import Iterator

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tenure.client.kubernetes.transport import Transport

from tests.kube.controlplane import ControlPlane
from tests.telemetry.life import GANG, live, live_cluster, telling_adapter
from tests.telemetry.programs import collector
from tests.telemetry.receiver import Received, receiving, text_of
from tests.telemetry.served import sent_at_once

pytestmark = pytest.mark.kube

EVICTION = "tenure.adapter.call POST pods/eviction"
BINDING = "tenure.adapter.call POST pods/binding"
ROUND = "tenure.adapter.round"


@pytest.fixture(scope="module")
def received(
    plane: ControlPlane, transport: Transport, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Received]:
    """What a real collector passes on of a life."""
    folder = tmp_path_factory.mktemp("life")
    with (
        sent_at_once(),
        receiving() as (received, onward),
        collector(folder, onward) as address,
        live_cluster(transport) as cluster,
        telling_adapter(plane, cluster, folder, address),
    ):
        live(cluster)
        received.until(lambda got: _bound(got) if len(_bound(got)) == 2 * GANG + 1 else None)
        received.until(lambda got: _links(got, "evicted"))
        yield received


def test_a_decision_can_be_followed_from_end_to_end(received: Received) -> None:
    eviction = received.until(lambda got: next(iter(got.named(EVICTION)), None))
    spans = received.until(lambda got: _whole(got, eviction.trace_id))
    assert _ancestry(spans, eviction) == [
        EVICTION,
        "tenure.adapter.step evict",
        "tenure.adapter.evict",
        ROUND,
    ]
    decided = _find(spans, "tenure.pod_group", "room")
    assert _ancestry(spans, decided) == [
        "tenure.pod_group",
        "tenure.action preempt",
        "tenure.cycle",
        "tenure.v1.DecisionService/Decide",
        "tenure.adapter.decide",
        ROUND,
    ]
    step = next(span for span in spans if span.span_id == eviction.parent_span_id)
    said = text_of(step.attributes)
    assert said["tenure.decision.id"] == text_of(decided.attributes)["tenure.decision.id"]
    assert said["tenure.result"] == "applied"
    assert {"tenure.adapter.observe", "tenure.adapter.remember"} <= {span.name for span in spans}
    assert received.services == {"tenure", "tenure-adapter"}


def test_a_binding_points_to_the_eviction_that_made_room_and_to_the_one_that_it_comes_back_from(
    received: Received,
) -> None:
    evictions = {span.span_id for span in received.named("tenure.adapter.step evict")}
    assert len(evictions) == GANG
    for role, pods in (("room", 1), ("evicted", GANG)):
        links = _links(received, role)
        assert len(links) == pods
        assert {link.span_id for link in links} <= evictions


def test_numbers_and_lines_of_an_adapter_arrive_too(received: Received) -> None:
    steps = received.until(lambda got: got.metrics.get("tenure_adapter_steps_total"))
    assert {tuple(sorted(text_of(p.attributes).items())) for p in steps.sum.data_points} == {
        (("result", "applied"), ("step", "bind")),
        (("result", "applied"), ("step", "evict")),
    }
    line = received.until(
        lambda got: next((one for one in got.lines if "requeue-delay" in one.body.string_value), None)
    )
    rounds = {span.trace_id for span in received.named(ROUND)}
    assert line.trace_id in rounds


def _bound(received: Received) -> list[Span]:
    return received.named(BINDING)


def _links(received: Received, role: str) -> list[Span.Link]:
    links = [link for span in received.named("tenure.adapter.step bind") for link in span.links]
    return [link for link in links if text_of(link.attributes)["tenure.link"] == role]


def _whole(received: Received, trace: bytes) -> list[Span] | None:
    """The spans of a trace when its root, which ends last, has come."""
    spans = [span for span in received.spans if span.trace_id == trace]
    return spans if any(span.name == ROUND for span in spans) else None


def _find(spans: list[Span], name: str, outcome: str) -> Span:
    return next(
        span
        for span in spans
        if span.name == name and text_of(span.attributes).get("tenure.outcome") == outcome
    )


def _ancestry(spans: list[Span], span: Span | None) -> list[str]:
    by_id = {each.span_id: each for each in spans}
    names = []
    while span is not None:
        names.append(span.name)
        span = by_id.get(span.parent_span_id)
    return names
